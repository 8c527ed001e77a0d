//! How the two sides come together.

use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use smbd_core::error::{ConnectError, ConnectReason};
use smbd_core::{Config, Endpoint, Params, Role};
use smbd_tools::exercise::{Limits, Server, ServerStats};
use smbd_verbs::blocking::{Connection, Failure as CallFailure};
use smbd_verbs::{Buffer, Clock, Engine, ListenOptions, Listener};

use crate::case::{Context, Failure};
use crate::patience::PATIENCE;
use crate::settings;

/// The other side may not listen yet.
const AGAIN: Duration = Duration::from_millis(100);

/// Which of the two hosts this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Listens.
    A,
    /// Connects.
    B,
}

/// Which of the two hosts this is, as the lab says.
pub(super) fn side() -> Result<Side, Failure> {
    match std::env::var("LAB_SIDE").as_deref() {
        Ok("a") => Ok(Side::A),
        Ok("b") => Ok(Side::B),
        _ => {
            Err("this test needs two hosts: LAB_SIDE has to be a or b, PEER the address of the other".into())
        }
    }
}

/// A listener for one test.
pub(super) fn listen(context: &Context, port: u16) -> Result<Listener, Failure> {
    Ok(Listener::bind(SocketAddr::new(context.address, port), ListenOptions::default())?)
}

/// Serves one connection with the exercise until it ends.
pub(super) fn serve(context: &Context, port: u16, params: Params) -> Result<ServerStats, Failure> {
    let config = Config::try_from(params)?;
    let mut listener = listen(context, port)?;
    let incoming = listener.wait(PATIENCE)?.ok_or("the other side did not connect")?;
    let mut engine = Engine::<Server<Buffer>>::new(Clock::start())?;
    let clock = engine.clock();
    let end = incoming.accept(&config, clock)?;
    engine.add(Endpoint::new(Role::Acceptor, &config, clock.now()), end, Server::new(Limits::default()))?;
    loop {
        engine.poll(None)?;
        if let Some(finished) = engine.finished() {
            finished.result?;
            return Ok(*finished.upper.stats());
        }
    }
}

/// Connects to the other side as soon as it listens.
pub(super) fn connect(context: &Context, port: u16, params: Params) -> Result<Connection, Failure> {
    let config = Config::try_from(params)?;
    let clock = Clock::start();
    let until = clock.now().saturating_add(PATIENCE);
    loop {
        match Connection::connect(SocketAddr::new(context.peer, port), &config) {
            Err(CallFailure::Connect(ConnectError::Connect(ConnectReason::Refused)))
                if clock.now() < until =>
            {
                thread::sleep(AGAIN);
            }
            other => return Ok(other?),
        }
    }
}

/// Both sides are here; `b` may go on only when `a` has called this.
pub(super) fn meet(context: &Context, port: u16) -> Result<(), Failure> {
    if side()? == Side::A {
        serve(context, port, settings::windows())?;
    } else {
        connect(context, port, settings::windows())?.close(PATIENCE)?;
    }
    Ok(())
}
