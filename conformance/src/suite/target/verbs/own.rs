//! `smbd-core` over `smbd-verbs` as the subject: endpoints of one engine, with an upper layer that returns messages and
//! does RDMA when asked to.

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

use smbd_core::backend::{Backend, LocalMemory, Upper};
use smbd_core::endpoint::EndpointEvent;
use smbd_core::{Config, Endpoint, Instant, OpId, RegId, Role};
use smbd_examples::exercise::{Limits, Server};
use smbd_verbs::{Buffer, Clock, End, Engine, ListenOptions, Listener};

use super::super::Unable;
use super::rig::Subject;
use crate::suite::trace::{By, Event, What};

/// The subject.
pub(super) struct Own {
    at: SocketAddr,
    config: Config,
    listener: Option<Listener>,
    engine: Engine<Layer>,
    /// Connections made so far.
    made: usize,
    events: Vec<Event>,
    faults: Vec<String>,
}

fn broken(error: smbd_verbs::Error) -> Unable {
    Unable::Broken(error.to_string())
}

impl Own {
    /// One that accepts.
    pub(super) fn listening(at: SocketAddr, config: Config) -> Result<Self, Unable> {
        let listener = Listener::bind(at, ListenOptions::default()).map_err(broken)?;
        let mut own = Self::new(at, config)?;
        own.engine.watch(listener.as_fd()).map_err(broken)?;
        own.listener = Some(listener);
        Ok(own)
    }

    /// One that connects.
    pub(super) fn connecting(config: Config) -> Result<Self, Unable> {
        Self::new(SocketAddr::from(([0, 0, 0, 0], 0)), config)
    }

    fn new(at: SocketAddr, config: Config) -> Result<Self, Unable> {
        let engine = Engine::new(Clock::start()).map_err(broken)?;
        Ok(Self { at, config, listener: None, engine, made: 0, events: Vec::new(), faults: Vec::new() })
    }

    fn add(&mut self, role: Role, end: End) -> Result<(), smbd_verbs::Error> {
        let endpoint = Endpoint::new(role, &self.config, self.engine.clock().now());
        self.engine.add(endpoint, end, Layer::new(self.made))?;
        self.made += 1;
        Ok(())
    }

    fn turn(&mut self) -> Result<(), smbd_verbs::Error> {
        // What is due now; the rig does the waiting.
        let woken = self.engine.turn(Some(Instant::ORIGIN))?;
        if woken
            && let Some(listener) = &mut self.listener
            && let Some(incoming) = listener.poll()?
        {
            let end = incoming.accept(&self.config, self.engine.clock())?;
            self.add(Role::Acceptor, end)?;
        }
        while let Some(finished) = self.engine.finished() {
            self.faults.extend(finished.result.err().map(|error| error.to_string()));
            self.events.extend(finished.upper.events);
        }
        Ok(())
    }
}

impl Subject for Own {
    fn address(&self) -> SocketAddr {
        self.at
    }

    fn connect(&mut self, to: SocketAddr) -> Result<(), Unable> {
        let end = End::connect(to, None, &self.config, self.engine.clock()).map_err(broken)?;
        self.add(Role::Initiator, end).map_err(broken)
    }

    fn drive(&mut self) -> Option<Instant> {
        if let Err(error) = self.turn() {
            self.faults.push(error.to_string());
            return None;
        }
        self.engine.deadline()
    }

    fn clock(&self) -> Option<Clock> {
        Some(self.engine.clock())
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.engine.as_fd())
    }

    fn seen(&mut self) -> Vec<Event> {
        let keys: Vec<_> = self.engine.keys().collect();
        for key in keys {
            if let Some((.., layer)) = self.engine.get_mut(key) {
                self.events.append(&mut layer.events);
            }
        }
        self.events.sort_by_key(|event| event.at);
        std::mem::take(&mut self.events)
    }

    fn faults(&self) -> Vec<String> {
        self.faults.clone()
    }
}

/// The upper layer of one connection.
struct Layer {
    server: Server<Buffer>,
    connection: usize,
    events: Vec<Event>,
}

impl Layer {
    fn new(connection: usize) -> Self {
        let limits = Limits { backlog_messages: 1 << 20, ..Limits::default() };
        Self { server: Server::new(limits), connection, events: Vec::new() }
    }
}

impl LocalMemory<Buffer> for Layer {
    fn operation(&self, op: OpId) -> Option<&Buffer> {
        self.server.operation(op)
    }

    fn registration(&self, id: RegId) -> Option<&Buffer> {
        self.server.registration(id)
    }
}

impl Upper<End, Endpoint> for Layer {
    fn event(&mut self, endpoint: &mut Endpoint, end: &mut End, event: EndpointEvent) {
        let text = match &event {
            EndpointEvent::Established(_) => Some("established".into()),
            EndpointEvent::ConnectFailed(error) => Some(format!("not connected: {error}")),
            EndpointEvent::Closed(reason) => Some(format!("closed: {reason}")),
            _ => None,
        };
        if let Some(text) = text {
            let (at, connection) = (end.now().as_nanos(), self.connection);
            self.events.push(Event { at, connection, by: By::Subject, what: What::Upper { text } });
        }
        self.server.event(endpoint, end, event);
    }
}
