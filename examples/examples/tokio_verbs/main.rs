//! SMB Direct over an RDMA device in an async runtime, with `smbd_verbs::tokio`: a server that returns messages, and clients that
//! send them.
//!
//!     cargo run --locked -p smbd-examples --features verbs --example tokio_verbs -- ADDRESS:PORT
//!
//! No device? `conformance/lab` makes one in software.

use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use clap::Parser;
use smbd_core::{Config, Params};
use smbd_verbs::ListenOptions;
use smbd_verbs::tokio::{Incoming, Listener, connect};

/// Anything that goes wrong, where nobody has to tell one from the other.
type Failure = Box<dyn Error + Send + Sync>;

/// How long a close waits for messages that are not sent yet.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends messages to a server that returns them, over an RDMA device of this host.
///
/// Exit status: 0 if all came back in order, 1 if not.
#[derive(Clone, Debug, Parser)]
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

/// Returns every message.
async fn serve(incoming: Incoming, config: Config) -> Result<(), Failure> {
    let mut connection = incoming.accept(&config).await?;
    while let Ok(message) = connection.recv().await {
        connection.send(message).await?;
    }
    connection.close(CLOSE_TIMEOUT).await?;
    Ok(())
}

async fn ask(client: usize, config: Config, options: Options) -> Result<(), Failure> {
    let mut connection = connect(options.address, &config).await?;
    for n in 0..options.messages {
        let message = message(client, n, options.bytes);
        connection.send(message.clone()).await?;
        if connection.recv().await? != message {
            return Err(format!("message {n} of client {client} came back changed").into());
        }
    }
    let reason = connection.close(CLOSE_TIMEOUT).await?;
    println!("client {client}: {} messages came back in order, {reason}", options.messages);
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let options = Options::parse();
    let config = Config::try_from(Params::windows())?;
    let mut listener = Listener::bind(options.address, ListenOptions::default())?;
    let mut tasks = tokio::task::JoinSet::new();
    for client in 0..options.clients {
        tasks.spawn(ask(client, config.clone(), options.clone()));
    }
    for _ in 0..options.clients {
        tasks.spawn(serve(listener.accept().await?, config.clone()));
    }
    while let Some(over) = tasks.join_next().await {
        over??;
    }
    Ok(())
}
