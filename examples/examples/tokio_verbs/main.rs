//! SMB Direct over an RDMA device in an async runtime, without a thread of its own: one task for each connection sleeps on
//! the one file descriptor of its end.
//!
//! - `task.rs`: the task, one `select!` over the descriptor, the timer and the program's commands;
//! - `readable.rs`: the descriptor in tokio;
//! - here: a server that returns messages, and clients that send them, over any RDMA device.
//!
//!     cargo run -p smbd-examples --features verbs --example tokio_verbs -- ADDRESS:PORT
//!
//! No device? `conformance/lab` makes one in software.

mod readable;
mod task;

use std::error::Error;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use bytes::Bytes;
use clap::Parser;
use smbd_core::{Config, Params, Role};
use smbd_verbs::{Clock, ListenOptions, Listener, VerbsConnection};

use readable::Readable;
use task::Connection;

/// Anything that goes wrong, where nobody has to tell one from the other.
type Failure = Box<dyn Error + Send + Sync>;

/// Sends messages to a server that returns them, over an RDMA device of this host.
///
/// Exit status: 0 if all came back in order, 1 if not.
#[derive(Debug, Parser)]
struct Options {
    /// Address of an RDMA device, and a free port.
    address: SocketAddr,
    /// How many clients at the same time.
    #[arg(long, value_name = "N", default_value_t = 4)]
    clients: usize,
    /// How many messages each sends.
    #[arg(long, value_name = "N", default_value_t = 100)]
    messages: usize,
    /// Length of the longest in bytes.
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    bytes: u32,
}

/// Message number `n` of a client: every one has another length and another content.
fn message(client: usize, n: usize, longest: u32) -> Bytes {
    let len = 1 + n.wrapping_mul(7919) % longest as usize;
    Bytes::from(vec![u8::try_from((n + client) % 251).unwrap_or(0); len])
}

/// Accepts so many connections, and returns every message of each.
async fn serve(mut listener: Listener, config: Config, connections: usize) -> Result<(), Failure> {
    let readable = Readable::new(listener.as_fd())?;
    let mut served = Vec::new();
    while served.len() < connections {
        let Some(incoming) = listener.poll()? else {
            readable.wait().await?;
            continue;
        };
        let end = incoming.accept(&config, Clock::start())?;
        let config = config.clone();
        served.push(tokio::spawn(async move {
            let mut connection = Connection::establish(Role::Acceptor, end, &config).await?;
            while let Some(message) = connection.recv().await {
                connection.send(message).await?;
            }
            connection.close().await
        }));
    }
    for connection in served {
        connection.await??;
    }
    Ok(())
}

async fn ask(client: usize, config: Config, options: &Options) -> Result<(), Failure> {
    let end = VerbsConnection::connect(options.address, None, &config, Clock::start())?;
    let mut connection = Connection::establish(Role::Initiator, end, &config).await?;
    for n in 0..options.messages {
        let message = message(client, n, options.bytes);
        connection.send(message.clone()).await?;
        if connection.recv().await.ok_or("the connection ended early")? != message {
            return Err(format!("message {n} of client {client} came back changed").into());
        }
    }
    let reason = connection.close().await?;
    println!("client {client}: {} messages came back in order, {reason}", options.messages);
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let options = Options::parse();
    let config = Config::try_from(Params::windows())?;
    let listener = Listener::bind(options.address, ListenOptions::default())?;
    let server = tokio::spawn(serve(listener, config.clone(), options.clients));
    tokio::try_join!(all(&options, &config), async { server.await? })?;
    Ok(())
}

/// All clients at once, on this thread.
async fn all(options: &Options, config: &Config) -> Result<(), Failure> {
    let local = tokio::task::LocalSet::new();
    let asked = (0..options.clients).map(|client| {
        let (config, options) = (config.clone(), Options { ..*options });
        local.spawn_local(async move { ask(client, config, &options).await })
    });
    let asked: Vec<_> = asked.collect();
    local
        .run_until(async {
            for client in asked {
                client.await??;
            }
            Ok(())
        })
        .await
}
