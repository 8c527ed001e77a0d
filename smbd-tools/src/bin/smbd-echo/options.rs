//! The command line.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use clap::{Parser, ValueEnum};
use smbd_core::Config;
use smbd_tools::exercise::Limits;
use smbd_tools::tool::{Parameters, seconds};
use smbd_verbs::{ListenOptions, Ports};

/// Serves smbd-perf and tests: returns messages as they came, counts them, gives and uses memory by RDMA.
///
/// Needs an RDMA device; `rdma link` lists those of this host. Says "listening on ADDR:PORT" on standard output for each
/// address and how much memory its connections may take, then a line when a connection comes up and one when it ends, with
/// who ended it and why. SIGUSR1 shows statistics,
/// SIGINT and SIGTERM end it in good order.
#[derive(Debug, Parser)]
#[command(name = "smbd-echo", version, after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Where to listen; may be repeated. IPv6 addresses take brackets. With --ports by-link-type the port may be left
    /// out.
    #[arg(long, value_name = "ADDR:PORT", required = true)]
    listen: Vec<String>,
    /// Which ports.
    #[arg(long, value_enum, default_value_t)]
    ports: PortChoice,
    /// Connections at the same time; more are refused.
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..))]
    max_connections: u32,
    /// Of those, connections that are not up yet.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    max_pending: u32,
    /// Connections of one IP address at the same time, so that one host cannot take what others may have; as many as
    /// --max-connections unless given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_per_host: Option<u32>,
    /// Longest message to return, in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20, value_parser = clap::value_parser!(u32).range(1..))]
    max_message: u32,
    /// Longest buffer for RDMA, in bytes. All buffers of a connection together may have eight times as much.
    #[arg(long, value_name = "BYTES", default_value_t = 8 << 20, value_parser = clap::value_parser!(u32).range(1..))]
    max_buffer: u32,
    /// Bytes that may wait to be sent on a connection. A client that sends more than it receives is disconnected then.
    #[arg(long, value_name = "BYTES", default_value_t = 16 << 20)]
    max_backlog: u64,
    /// Ends when there was no connection for so many seconds.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    idle_exit: Option<Duration>,
    /// Ends after so many connections.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    connections: Option<u64>,
    /// Microseconds to look for work before sleeping: lower latency, more of a processor.
    #[arg(long, value_name = "MICROS", value_parser = clap::value_parser!(u64).range(..=1_000_000))]
    spin: Option<u64>,
    #[command(flatten)]
    parameters: Parameters,
}

const EXAMPLES: &str = "\
Examples:
  smbd-echo --listen 10.9.0.1:5445                 one address, any port
  smbd-echo --listen 0.0.0.0 --ports by-link-type  445 on InfiniBand and RoCE, 5445 on iWARP
  smbd-perf 10.9.0.1:5445 send                     measure against it";

/// As [`Ports`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum PortChoice {
    /// Those of --listen.
    #[default]
    Fixed,
    /// 445 on InfiniBand and RoCE, 5445 on iWARP.
    ByLinkType,
}

/// The options, checked.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) listen: ListenOptions,
    pub(crate) limits: Limits,
    pub(crate) config: Config,
    pub(crate) idle_exit: Option<Duration>,
    pub(crate) connections: Option<u64>,
    pub(crate) spin: Option<u64>,
}

impl Options {
    pub(crate) fn settings(&self) -> Result<Settings, String> {
        let addresses = self.listen.iter().map(|text| self.address(text)).collect::<Result<_, _>>()?;
        let ports = match self.ports {
            PortChoice::Fixed => Ports::Fixed,
            PortChoice::ByLinkType => Ports::ByLinkType,
        };
        let listen = ListenOptions {
            ports,
            max_pending: self.max_pending,
            max_connections: self.max_connections,
            max_per_host: self.max_per_host.unwrap_or(self.max_connections),
            ..ListenOptions::default()
        };
        let limits = Limits {
            message: self.max_message,
            buffer: self.max_buffer,
            buffers: u64::from(self.max_buffer) * 8,
            backlog: self.max_backlog,
            ..Limits::default()
        };
        if limits.backlog < u64::from(limits.message) {
            let (backlog, message) = (limits.backlog, limits.message);
            return Err(format!(
                "--max-backlog is {backlog}, must be at least --max-message, which is {message}: no message of that \
                 length could be returned"
            ));
        }
        let (idle_exit, connections, spin) = (self.idle_exit, self.connections, self.spin);
        Ok(Settings { addresses, listen, limits, config: self.config()?, idle_exit, connections, spin })
    }

    /// What is to be served has to fit into the connection.
    fn config(&self) -> Result<Config, String> {
        self.parameters.config_for(|params| {
            params.max_fragmented_recv_size = params.max_fragmented_recv_size.max(self.max_message);
            params.max_read_write_size = params.max_read_write_size.max(self.max_buffer);
        })
    }

    fn address(&self, text: &str) -> Result<SocketAddr, String> {
        let bare = || {
            let ip: IpAddr = text.trim_matches(['[', ']']).parse().ok()?;
            (self.ports == PortChoice::ByLinkType).then(|| SocketAddr::new(ip, 0))
        };
        text.parse().ok().or_else(bare).ok_or_else(|| {
            format!(
                "--listen is '{text}', must be an address of this host with a port, such as 10.9.0.1:5445"
            )
        })
    }
}
