//! The command line.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use smbd_core::Config;
use smbd_tools::load::{Kind, Length, Plan};
use smbd_tools::tool::{Parameters, Target, seconds};

/// Measures an SMB Direct connection to smbd-echo.
///
/// Needs an RDMA device on both sides; `rdma link` lists those of a host. All connections are measured together: when all
/// are up they warm up, then completions are counted.
#[derive(Debug, Parser)]
#[command(name = "smbd-perf", version, after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Where smbd-echo listens. IPv6 addresses take brackets.
    #[arg(value_name = "ADDR:PORT")]
    target: Target,
    /// What to measure.
    #[arg(value_enum)]
    kind: KindChoice,
    /// Bytes of one operation (default: 65536, for latency 64).
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(1..=1 << 30))]
    size: Option<u32>,
    /// Operations kept under way on each connection (default: 16, for latency 1).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    depth: Option<u16>,
    /// Seconds to measure.
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = seconds)]
    time: Duration,
    /// Measures so many operations on each connection instead of a time.
    #[arg(long, value_name = "N", conflicts_with = "time", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Connections, all on one thread.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096))]
    connections: u32,
    /// Seconds to run before measuring.
    #[arg(long, value_name = "SECONDS", default_value = "0.5", value_parser = seconds)]
    warm_up: Duration,
    /// Compares what was moved: with send both sides hash all bytes, with read and write the buffers are compared at the
    /// end.
    #[arg(long)]
    verify: bool,
    /// Microseconds to look for completions before sleeping: lower latency, more of a processor (default: what the
    /// device's provider is known to like).
    #[arg(long, value_name = "MICROS", value_parser = clap::value_parser!(u64).range(..=1_000_000))]
    spin: Option<u64>,
    /// Prints one JSON object instead of text.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    parameters: Parameters,
}

const EXAMPLES: &str = "\
Examples:
  smbd-echo --listen 10.9.0.1:5445                       on the other side
  smbd-perf 10.9.0.1:5445 send                           messages, counted by the server
  smbd-perf 10.9.0.1:5445 read --size 1048576 --depth 8  RDMA Reads of 1 MiB
  smbd-perf 10.9.0.1:5445 latency --spin 50              round trips of small messages
  smbd-perf 10.9.0.1:5445 write --connections 8 --json   for a program

Exit status:
  0  measured
  1  the peer did not do what it should, or there is no RDMA device that leads to it
  2  wrong usage, or the output cannot be written";

/// As [`Kind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum KindChoice {
    /// Messages to the server, which counts them; the count is compared.
    Send,
    /// RDMA Reads from a buffer of the server.
    Read,
    /// RDMA Writes to a buffer of the server.
    Write,
    /// Messages that the server returns: times of whole round trips.
    Latency,
}

/// The options, checked.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) address: SocketAddr,
    pub(crate) plan: Plan,
    pub(crate) length: Length,
    pub(crate) connections: u32,
    pub(crate) warm_up: Duration,
    pub(crate) spin: Option<u64>,
    pub(crate) config: Config,
}

impl Options {
    /// # Errors
    /// Names option, value and range.
    pub(crate) fn settings(&self) -> Result<Settings, String> {
        let kind = match self.kind {
            KindChoice::Send => Kind::Send,
            KindChoice::Read => Kind::Read,
            KindChoice::Write => Kind::Write,
            KindChoice::Latency => Kind::Latency,
        };
        if self.verify && kind == Kind::Latency {
            return Err("--verify is not for latency, which compares nothing".into());
        }
        if self.target.port.is_none() {
            let target = &self.target;
            return Err(format!(
                "'{target}' has no port; smbd-echo says at which it listens, such as {target}:5445"
            ));
        }
        let (size, depth) = if kind == Kind::Latency { (64, 1) } else { (65536, 16) };
        let plan = Plan {
            kind,
            size: self.size.unwrap_or(size),
            depth: self.depth.unwrap_or(depth),
            verify: self.verify,
        };
        let address = self.target.at(0).map_err(|error| error.to_string())?;
        let length = self.count.map_or(Length::Time(self.time), Length::Count);
        let (connections, warm_up, spin) = (self.connections, self.warm_up, self.spin);
        Ok(Settings { address, plan, length, connections, warm_up, spin, config: self.config(&plan)? })
    }

    /// What is asked for has to fit into the connection.
    fn config(&self, plan: &Plan) -> Result<Config, String> {
        self.parameters.config_for(|params| {
            let (size, depth) = (plan.size, plan.depth);
            match plan.kind {
                // One more for requests.
                Kind::Send | Kind::Latency => params.message_slots = params.message_slots.max(depth + 1),
                Kind::Read | Kind::Write => {
                    params.rdma_ops = params.rdma_ops.max(depth);
                    params.rdma_slots = params.rdma_slots.max(depth);
                    params.max_read_write_size = params.max_read_write_size.max(size);
                }
            }
            if plan.kind == Kind::Latency {
                params.max_fragmented_recv_size = params.max_fragmented_recv_size.max(size);
            }
        })
    }
}
