//! SMB Direct as async functions, with `smbd_link::handles` over a backend of one's own: a byte stream, which stands for a
//! transport that keeps the borders of messages.
//!
//! - `backend.rs`: a stream as a backend that a task can wait for;
//! - `stream.rs`: messages on it;
//! - here: a client that sends messages over loopback TCP to a server that returns them, and gives up waiting again and again.
//!   Cancelled calls lose nothing.
//!
//!     cargo run --locked -p smbd-examples --example async_tokio -- --help

mod backend;
mod stream;

use std::error::Error;
use std::time::Duration;

use bytes::Bytes;
use clap::Parser;
use smbd_core::error::CloseReason;
use smbd_core::{Config, Params, Role};
use smbd_link::handles::{self, Options as Waiting, open};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};

use backend::StreamEnd;

/// Anything that goes wrong, where nobody has to tell one from the other.
pub(crate) type Failure = Box<dyn Error + Send + Sync>;
pub(crate) type Connection<S> = handles::Connection<StreamEnd<S>>;

/// How long a close waits for messages that are not sent yet.
pub(crate) const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends messages to a server that returns them, over loopback TCP.
///
/// Exit status: 0 if all came back in order and both sides closed in order, 1 if not.
#[derive(Debug, Parser)]
pub(crate) struct Options {
    /// How many messages.
    #[arg(long, value_name = "N", default_value_t = 200)]
    messages: usize,
    /// Length of the longest in bytes (1 to 1048576).
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    bytes: u32,
}

/// Negotiates over a stream that is connected already.
pub(crate) async fn establish<S>(role: Role, stream: S) -> Result<Connection<S>, Failure>
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    // A byte stream has no remote memory.
    let config = Config::try_from(Params { read_depth: 0, max_read_write_size: 0, ..Params::windows() })?;
    let (connecting, driver) = open(role, StreamEnd::new(stream, &config), &config, Waiting::default());
    tokio::spawn(driver);
    Ok(connecting.await?)
}

/// Message number `n`: every one has another length and another content.
fn message(n: usize, longest: u32) -> Bytes {
    let len = 1 + n.wrapping_mul(7919) % longest as usize;
    Bytes::from(vec![u8::try_from(n % 251).unwrap_or(0); len])
}

async fn serve(listener: TcpListener) -> Result<CloseReason, Failure> {
    let mut connection = establish(Role::Acceptor, listener.accept().await?.0).await?;
    while let Ok(message) = connection.recv().await {
        connection.send(message).await?;
    }
    Ok(connection.close(CLOSE_TIMEOUT).await?)
}

async fn ask(stream: TcpStream, options: &Options) -> Result<CloseReason, Failure> {
    let (sender, mut receiver) = establish(Role::Initiator, stream).await?.split();
    let (sends, count, longest) = (sender.clone(), options.messages, options.bytes);
    let sending = tokio::spawn(async move {
        for n in 0..count {
            sends.send(message(n, longest)).await?;
        }
        Ok::<_, Failure>(())
    });
    let mut given_up = 0;
    for n in 0..count {
        // A call that is given up takes nothing with it.
        let answer = loop {
            match tokio::time::timeout(Duration::from_micros(50), receiver.recv()).await {
                Ok(answer) => break answer?,
                Err(_) => given_up += 1,
            }
        };
        if answer != message(n, longest) {
            return Err(format!("message {n} came back changed").into());
        }
    }
    sending.await??;
    println!("client: {count} messages came back in order; receiving was given up {given_up} times");
    Ok(sender.close(CLOSE_TIMEOUT).await?)
}

pub(crate) async fn run(options: &Options) -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = tokio::spawn(serve(listener));
    let client = ask(TcpStream::connect(address).await?, options).await?;
    let server = server.await??;
    println!("client: {client}\nserver: {server}");
    if (client, server) != (CloseReason::Local, CloseReason::PeerClosed) {
        return Err("the connection did not end as it should".into());
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(run(&Options::parse()))
}
