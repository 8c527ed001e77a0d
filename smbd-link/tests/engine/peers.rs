//! The peers of an engine's connections, driven when something has come for them, and the poller that has them driven.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use smbd_core::backend::drive;
use smbd_core::{Config, Endpoint, Instant, Role};
use smbd_link::Waitable;
use smbd_link::engine::Poller;
use thiserror::Error;

use super::program::Program;
use super::wire::{At, End, Wires};

pub struct Peer {
    pub endpoint: Endpoint,
    pub end: End,
    pub program: Program,
    deadline: Option<Instant>,
}

impl Peer {
    /// Drives it until it can be woken.
    fn turn(&mut self) {
        loop {
            self.deadline = drive(&mut self.endpoint, &mut self.end, &mut self.program).unwrap();
            if self.endpoint.connection().is_drained() || !self.end.arm().unwrap() {
                return;
            }
        }
    }
}

#[derive(Default)]
pub struct Peers {
    pub wires: Rc<Wires>,
    peers: RefCell<Vec<Peer>>,
}

impl Peers {
    /// One more, which connects; the engine's end.
    pub fn connect(&self, config: &Config) -> End {
        let wire = self.wires.add();
        let end = |at| End::new(&self.wires, wire, at, &config.budget());
        let endpoint = Endpoint::new(Role::Initiator, config, self.wires.now());
        let program = Program { to_ask: Some(0), ..Program::default() };
        let mut peer = Peer { endpoint, end: end(At::Peer), program, deadline: None };
        peer.turn();
        self.peers.borrow_mut().push(peer);
        end(At::Engine)
    }

    /// Lets one do something.
    pub fn with<T>(&self, wire: usize, act: impl FnOnce(&mut Peer) -> T) -> T {
        let mut peers = self.peers.borrow_mut();
        let result = act(&mut peers[wire]);
        peers[wire].turn();
        result
    }

    pub fn all(&self, is_so: impl FnMut(&Peer) -> bool) -> bool {
        self.peers.borrow().iter().all(is_so)
    }

    /// Drives those for which something has come. Whether there was one.
    fn turn(&self) -> bool {
        let woken = self.wires.take_woken(At::Peer);
        let mut peers = self.peers.borrow_mut();
        woken.iter().for_each(|wire| peers[*wire].turn());
        !woken.is_empty()
    }

    /// Lets time pass until somebody's deadline.
    fn pass(&self, until: Option<Instant>) -> Result<(), Stuck> {
        let mut peers = self.peers.borrow_mut();
        let deadlines = peers.iter().filter_map(|peer| peer.deadline);
        let at = deadlines.chain(until).min().ok_or(Stuck)?;
        self.wires.pass_to(at);
        peers.iter_mut().filter(|peer| peer.deadline.is_some_and(|due| due <= at)).for_each(Peer::turn);
        Ok(())
    }
}

/// Nothing will ever happen.
#[derive(Debug, Error)]
#[error("nothing will ever happen")]
pub struct Stuck;

/// Finds what was woken; while it waits, peers are driven and time passes.
pub struct Waiting(Rc<Peers>);

impl Poller<End> for Waiting {
    type Error = Stuck;
    type Clock = Rc<Peers>;
    type Watched<'a> = ();

    fn open(peers: Rc<Peers>) -> Result<Self, Stuck> {
        Ok(Self(peers))
    }

    fn clock(&self) -> Rc<Peers> {
        Rc::clone(&self.0)
    }

    fn now(&self) -> Instant {
        self.0.wires.now()
    }

    fn add(&mut self, end: &End, name: usize) -> Result<(), Stuck> {
        assert_eq!(end.wire(), name, "connections are added in order");
        Ok(())
    }

    fn remove(&mut self, _: &End, _: usize) {}

    fn watch(&self, (): ()) -> Result<(), Stuck> {
        Ok(())
    }

    fn wait(&mut self, until: Option<Instant>, ready: &mut Vec<usize>) -> Result<bool, Stuck> {
        loop {
            ready.append(&mut self.0.wires.take_woken(At::Engine));
            if !ready.is_empty() || until.is_some_and(|until| until <= self.now()) {
                return Ok(false);
            }
            if !self.0.turn() {
                self.0.pass(until)?;
            }
        }
    }

    fn pause(&self) {
        self.0.wires.pass(Duration::from_micros(1));
        self.0.turn();
    }
}
