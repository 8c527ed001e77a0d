//! SMB Direct as two async functions, `send` and `recv`: one task for each connection drives an `Endpoint` and a byte
//! stream, and nothing else in the program knows that there is a protocol.
//!
//! - `connection.rs`: what a program uses;
//! - `driver.rs`: the task, one `select!` over stream, commands and the timer of `Action::Wait`;
//! - `inbox.rs`: messages that wait for the program;
//! - `stream.rs`: messages on a byte stream, which stands for a transport that keeps their borders.
//!
//! Here a client sends messages over loopback TCP to a server that returns them, and gives up waiting again and again:
//! cancelled calls lose nothing.
//!
//!     cargo run -p smbd-examples --example async_tokio -- --help

pub(crate) mod connection;
mod driver;
mod inbox;
mod stream;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use clap::Parser;
use smbd_core::error::CloseReason;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use connection::{Connection, Failure};

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

/// Messages that may be under way to the server and back.
const UNANSWERED_MAX: usize = 3;

/// Message number `n`: every one has another length and another content.
fn message(n: usize, longest: u32) -> Bytes {
    let len = 1 + n.wrapping_mul(7919) % longest as usize;
    Bytes::from(vec![u8::try_from(n % 251).unwrap_or(0); len])
}

async fn serve(listener: TcpListener) -> Result<CloseReason, Failure> {
    let (stream, _) = listener.accept().await?;
    let mut connection = Connection::accept(stream).await?;
    while let Some(message) = connection.recv().await {
        connection.send(message).await?;
    }
    connection.close().await
}

async fn ask(stream: TcpStream, options: &Options) -> Result<CloseReason, Failure> {
    let mut connection = Connection::connect(stream).await?;
    let sender = connection.sender();
    let (count, longest) = (options.messages, options.bytes);
    // The program's own brake, see `Sender::send`.
    let unanswered = Arc::new(Semaphore::new(UNANSWERED_MAX));
    let may_send = Arc::clone(&unanswered);
    let sending = tokio::spawn(async move {
        for n in 0..count {
            may_send.acquire().await?.forget();
            sender.send(message(n, longest)).await?;
        }
        Ok::<_, Failure>(())
    });
    let mut given_up = 0;
    for n in 0..count {
        let answer = loop {
            // A call that is given up takes nothing with it.
            match tokio::time::timeout(Duration::from_micros(50), connection.recv()).await {
                Ok(answer) => break answer.ok_or("the connection ended early")?,
                Err(_) => given_up += 1,
            }
        };
        if answer != message(n, longest) {
            return Err(format!("message {n} came back changed").into());
        }
        unanswered.add_permits(1);
    }
    sending.await??;
    println!("client: {count} messages came back in order; receiving was given up {given_up} times");
    connection.close().await
}

pub(crate) async fn run(options: &Options) -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = tokio::spawn(serve(listener));
    let client = ask(TcpStream::connect(address).await?, options).await?;
    println!("client: {client}");
    let server = server.await??;
    println!("server: {server}");
    if (client, server) != (CloseReason::Local, CloseReason::PeerClosed) {
        return Err("the connection did not end as it should".into());
    }
    Ok(())
}

fn main() -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(run(&Options::parse()))
}
