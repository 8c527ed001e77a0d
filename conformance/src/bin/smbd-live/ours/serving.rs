//! A server on a thread of its own: an engine with the exercise protocol.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use smbd_core::backend::{BufferLookup, Handler};
use smbd_core::endpoint::EndpointEvent;
use smbd_core::error::{CloseReason, ConnectError};
use smbd_core::{Config, Endpoint, OpId, RegId, Role};
use smbd_tools::exercise::{Limits, Server, ServerStats};
use smbd_verbs::{Buffer, Clock, Engine, ListenOptions, Listener, VerbsConnection};

use super::pair::is_readable;
use crate::case::Failure;

/// Serves until it is dropped.
#[derive(Debug)]
pub(crate) struct Serving {
    pub(crate) at: SocketAddr,
    ended: Receiver<Ended>,
    /// Closed to stop the thread.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<Result<(), String>>>,
}

/// A connection that is over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    pub(crate) how: Option<How>,
    pub(crate) stats: ServerStats,
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    NeverUp(ConnectError),
    Closed(CloseReason),
}

impl Serving {
    pub(crate) fn start(at: SocketAddr, config: &Config, options: ListenOptions) -> Result<Self, Failure> {
        let (stop, stopped) = UnixStream::pair()?;
        let (tell, ended) = channel();
        let listener = Listener::bind(at, options)?;
        let config = config.clone();
        let thread = thread::spawn(move || {
            serve(listener, &config, &stopped, &tell).map_err(|failure| failure.to_string())
        });
        Ok(Self { at, ended, stop: Some(stop), thread: Some(thread) })
    }

    /// The next connection that ends.
    pub(crate) fn ended(&self, within: Duration) -> Result<Ended, Failure> {
        let none = |_| format!("no connection ended within {} s", within.as_secs());
        Ok(self.ended.recv_timeout(within).map_err(none)?)
    }

    /// How the connections ended that have, and how often: for the report of a failure.
    pub(crate) fn story(&self) -> String {
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        // The cause may be on its way.
        let first = self.ended.recv_timeout(Duration::from_secs(5)).ok();
        for ended in first.into_iter().chain(self.ended.try_iter()) {
            let how = match ended.how {
                Some(How::NeverUp(error)) => error.to_string(),
                Some(How::Closed(reason)) => reason.to_string(),
                None => "cut off".to_owned(),
            };
            *counts.entry(how).or_default() += 1;
        }
        let parts: Vec<_> = counts.iter().map(|(how, count)| format!("{count} x {how}")).collect();
        if parts.is_empty() { "no connection ended".to_owned() } else { parts.join(", ") }
    }

    /// Stops; connections that are left end at once.
    pub(crate) fn stop(mut self) -> Result<(), Failure> {
        self.stop = None;
        let Some(thread) = self.thread.take() else { return Ok(()) };
        Ok(thread.join().map_err(|_| "the server panicked")??)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(
    mut listener: Listener,
    config: &Config,
    stopped: &UnixStream,
    tell: &Sender<Ended>,
) -> Result<(), Failure> {
    let clock = Clock::start();
    let mut engine: Engine<Served> = Engine::new(clock)?;
    engine.watch(listener.as_fd())?;
    engine.watch(stopped.as_fd())?;
    loop {
        let woken = engine.poll(None)?;
        // One each time: those that are there should not wait while others are set up.
        if woken && let Some(incoming) = listener.poll()? {
            // What cannot be accepted is refused, and the initiator's test says so.
            let Ok(end) = incoming.accept(config, clock) else { continue };
            let endpoint = Endpoint::new(Role::Acceptor, config, clock.now());
            engine.add(endpoint, end, Served::new())?;
        }
        while let Some(finished) = engine.finished() {
            finished.result?;
            // Nobody may want to know.
            let _ = tell.send(Ended { how: finished.upper.how, stats: *finished.upper.server.stats() });
        }
        if woken && is_readable(stopped, Duration::ZERO)? {
            return Ok(());
        }
    }
}

/// The upper layer: the exercise server, and how its connection ended.
#[derive(Debug)]
struct Served {
    server: Server<Buffer>,
    how: Option<How>,
}

impl Served {
    fn new() -> Self {
        Self { server: Server::new(Limits::default()), how: None }
    }
}

impl BufferLookup<Buffer> for Served {
    fn operation(&self, op: OpId) -> Option<&Buffer> {
        self.server.operation(op)
    }

    fn registration(&self, id: RegId) -> Option<&Buffer> {
        self.server.registration(id)
    }
}

impl Handler<VerbsConnection, Endpoint> for Served {
    fn event(&mut self, endpoint: &mut Endpoint, end: &mut VerbsConnection, event: EndpointEvent) {
        match event {
            EndpointEvent::Closed(reason) => self.how = Some(How::Closed(reason)),
            EndpointEvent::ConnectFailed(error) => self.how = Some(How::NeverUp(error)),
            _ => {}
        }
        self.server.event(endpoint, end, event);
    }
}
