//! An implementation of SMB Direct for `smbd-conformance run --target socket`: `smbd-core` over the end of a socket, with
//! the upper layer of `smbd_tools::exercise`. Whoever writes a backend or an upper layer of his own begins with this.
//!
//!     cargo run --locked -p smbd-conformance --example socket_echo -- --listen /tmp/smbd.sock
//!     cargo run --locked -p smbd-conformance --example socket_echo -- --connect /tmp/smbd.sock

use std::error::Error;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use smbd_conformance::socket::{Address, Clock, SocketEnd, Stream};
use smbd_core::backend::{Backend as _, drive};
use smbd_core::{Config, Endpoint, Params, Role};
use smbd_tools::exercise::{Limits, Server};

type Failure = Box<dyn Error + Send + Sync>;

/// Between two attempts to connect: the suite listens anew for each case.
const PAUSE: Duration = Duration::from_millis(20);

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--listen", at] => at.parse().map_err(Failure::from).and_then(|at| accept(&at)),
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

/// Serves each connection on a thread of its own.
fn accept(at: &Address) -> Result<(), Failure> {
    let listener = at.listen()?;
    loop {
        let stream = listener.wait()?;
        thread::spawn(move || report(serve(stream, Role::Acceptor)));
    }
}

/// Connects again and again; connections stay until the suite ends them.
fn connect(to: &Address) -> Result<(), Failure> {
    loop {
        match to.connect() {
            Ok(stream) => report(serve(stream, Role::Initiator)),
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

fn report(served: Result<(), Failure>) {
    if let Err(error) = served {
        eprintln!("socket_echo: {error}");
    }
}

/// Drives one connection until it is drained.
fn serve(stream: Stream, role: Role) -> Result<(), Failure> {
    let config = Config::try_from(Params::windows())?;
    let mut end = SocketEnd::new(stream, role, &config, Clock::start())?;
    let mut endpoint = Endpoint::new(role, &config, end.now());
    let mut upper = Server::new(Limits::default());
    loop {
        let deadline = drive(&mut endpoint, &mut end, &mut upper)?;
        if endpoint.connection().is_drained() {
            return Ok(());
        }
        end.wait(deadline)?;
    }
}
