//! An implementation of SMB Direct for `smbd-conformance run --target socket`: `smbd-core` over the end of a socket, with
//! the upper layer of `smbd_tools::exercise`. Whoever writes a backend or an upper layer of his own begins with this.
//!
//!     cargo run --locked -p smbd-conformance --example socket_echo -- --listen /tmp/smbd.sock
//!     cargo run --locked -p smbd-conformance --example socket_echo -- --connect /tmp/smbd.sock

use std::error::Error;
use std::process::ExitCode;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::Duration;

use smbd_conformance::socket::{Address, Clock, Listener, SocketEnd, Stream};
use smbd_core::backend::{Backend as _, drive};
use smbd_core::{Config, Endpoint, Params, PhaseName, Role};
use smbd_tools::exercise::{Limits, Server};

type Failure = Box<dyn Error + Send + Sync>;

/// Between two attempts to connect: the suite listens anew for each case.
const PAUSE: Duration = Duration::from_millis(20);

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--listen", at] => listen(at).and_then(|listener| accept(&listener)),
        ["--connect", to] => to.parse().map_err(Failure::from).and_then(|to| connect(&to)),
        _ => Err("usage: socket_echo --listen ADDR:PORT|PATH, or --connect ADDR:PORT|PATH".into()),
    };
    done.map_or_else(
        |error| {
            eprintln!("socket_echo: {error}");
            ExitCode::from(2)
        },
        |()| ExitCode::SUCCESS,
    )
}

fn listen(at: &str) -> Result<Listener, Failure> {
    Ok(at.parse::<Address>()?.listen()?)
}

/// Serves each connection on a thread of its own.
pub(crate) fn accept(listener: &Listener) -> Result<(), Failure> {
    loop {
        let stream = listener.wait()?;
        thread::spawn(move || report(serve(stream, Role::Acceptor, None)));
    }
}

/// Connects again and again. A connection stays until the suite ends it; as soon as the suite has accepted one, the next is
/// asked for, because cases may need several.
pub(crate) fn connect(to: &Address) -> Result<(), Failure> {
    loop {
        let Ok(stream) = to.connect() else {
            thread::sleep(PAUSE);
            continue;
        };
        let (waits, accepted) = mpsc::channel();
        thread::spawn(move || report(serve(stream, Role::Initiator, Some(waits))));
        // Ends when nothing can be sent any more.
        let _ = accepted.recv();
    }
}

fn report(served: Result<(), Failure>) {
    if let Err(error) = served {
        eprintln!("socket_echo: {error}");
    }
}

/// Drives one connection until it is drained. Drops `waits` when the transport connection is up, or never will be.
fn serve(stream: Stream, role: Role, mut waits: Option<Sender<()>>) -> Result<(), Failure> {
    let config = Config::try_from(Params::windows())?;
    let mut end = SocketEnd::new(stream, role, &config, Clock::start())?;
    let mut endpoint = Endpoint::new(role, &config, end.now());
    let mut upper = Server::new(Limits::default());
    loop {
        let deadline = drive(&mut endpoint, &mut end, &mut upper)?;
        match endpoint.connection().phase() {
            PhaseName::Connecting => {}
            PhaseName::Drained => return Ok(()),
            _ => drop(waits.take()),
        }
        end.wait(deadline)?;
    }
}
