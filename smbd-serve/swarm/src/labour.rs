//! The work of the server's threads: how long it takes, and what the plan has behind it.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use smbd_core::Instant;
use tokio::sync::{oneshot, watch};

use crate::memory::OfServer;
use crate::plan::{End, How};
use crate::shared::Shared;
use smbd_testkit::{Breach, Chance, law};

/// Bytes of buffers for RDMA, beyond which the server holds more than a client may have it hold.
const HELD_MAX: usize = 64 << 20;
/// How long what the client has asked for may take when the server ends: longer than it takes.
const DRAIN: Duration = Duration::from_secs(1);
/// Operations that a client may have under way at once.
const WORK_MAX: usize = 4096;

/// All work of the server.
pub struct Labour {
    chance: RefCell<Chance>,
    under_way: Cell<usize>,
    done: Cell<usize>,
    /// Tells the server to end.
    stop: watch::Sender<bool>,
    /// Drops what serves a connection.
    drops: RefCell<[Option<oneshot::Sender<()>>; 2]>,
    /// What the plan has for a connection has happened.
    is_struck: [Cell<bool>; 2],
    /// Connections that are served.
    serves: [Cell<bool>; 2],
    /// How long the server takes to end.
    drain: Duration,
    /// What served a connection was dropped.
    has_dropped: Cell<bool>,
    /// The server is gone from one moment to the next.
    has_vanished: Cell<bool>,
}

impl Labour {
    pub fn new(mut chance: Chance) -> Self {
        let drain = chance.pick(&[DRAIN, Duration::ZERO]);
        Self {
            drain,
            chance: RefCell::new(chance),
            under_way: Cell::new(0),
            done: Cell::new(0),
            stop: watch::channel(false).0,
            drops: RefCell::default(),
            is_struck: Default::default(),
            serves: Default::default(),
            has_dropped: Cell::new(false),
            has_vanished: Cell::new(false),
        }
    }

    /// What tells the server to end.
    pub fn stops(&self) -> watch::Receiver<bool> {
        self.stop.subscribe()
    }

    /// Told when what serves a connection is to be dropped.
    pub fn drops(&self, number: usize) -> oneshot::Receiver<()> {
        let (tell, told) = oneshot::channel();
        self.drops.borrow_mut()[number] = Some(tell);
        told
    }

    /// A connection is served from now on. How long the server takes to end.
    pub fn begins_to_serve(&self, number: usize) -> Duration {
        self.serves[number].set(true);
        self.drain
    }

    /// A connection is over.
    pub fn has_served(&self, number: usize) {
        self.serves[number].set(false);
    }

    /// Whether any connection is served.
    pub fn serves_any(&self) -> bool {
        self.serves.iter().any(Cell::get)
    }

    /// Whether a name is to be looked for, or bytes are to be read, when a thread has time for that.
    pub fn takes_long(&self) -> bool {
        self.chance.borrow_mut().one_in(4)
    }

    /// Whether the server was told to end, and has time for all that it was asked for.
    pub fn ends_in_order(&self) -> bool {
        *self.stop.borrow() && self.drain == DRAIN
    }

    pub const fn has_dropped(&self) -> bool {
        self.has_dropped.get()
    }

    pub const fn has_vanished(&self) -> bool {
        self.has_vanished.get()
    }

    /// Work begins. When it will have ended.
    pub fn begins(&self, shared: &Shared) -> Instant {
        self.under_way.set(self.under_way.get() + 1);
        let (work, held) = (self.under_way.get(), OfServer::held());
        let judged = (|| {
            law!(
                "limits",
                work <= WORK_MAX && held <= HELD_MAX,
                "{work} operations and {held} bytes are held"
            );
            Ok(())
        })();
        shared.notes.judge(judged);
        shared.notes.soon(&mut self.chance.borrow_mut(), shared.plan.pace.works)
    }

    /// Work has ended.
    pub fn ends(&self, connections: [&Shared; 2]) {
        self.under_way.set(self.under_way.get() - 1);
        self.did(connections);
    }

    /// An operation is carried out. The plan may have the client's connections end behind a number of operations.
    pub fn did(&self, connections: [&Shared; 2]) {
        self.done.set(self.done.get() + 1);
        self.strike(connections[0]);
        self.lose(connections);
    }

    fn strike(&self, shared: &Shared) {
        let (plan, notes) = (&shared.plan, &shared.notes);
        let is_end_of_server = matches!(plan.end, End::ServerCloses | End::ServerVanishes);
        if !is_end_of_server || self.done.get() <= plan.end_at || self.is_struck[0].replace(true) {
            return;
        }
        notes.note(|seen| seen.is_struck = true);
        notes.step(|| format!("server: {:?}", plan.end));
        if plan.end == End::ServerVanishes {
            self.has_vanished.set(true);
            shared.tear();
        } else {
            self.stop.send_replace(true);
        }
    }

    /// The client loses connections where the plan says so.
    fn lose(&self, connections: [&Shared; 2]) {
        let [Shared { plan, notes, .. }, _] = connections;
        let Some(channels) = &plan.channels else { return };
        for (number, shared) in connections.into_iter().enumerate() {
            let loss = channels.losses[number];
            let is_due = loss.is_some_and(|loss| self.done.get() > loss.at);
            if !is_due || !self.serves[number].get() || self.is_struck[number].replace(true) {
                continue;
            }
            notes.step(|| format!("the plan ends connection {number}: {loss:?}"));
            notes.count("connections that the plan ends");
            match loss.map(|loss| loss.how) {
                Some(How::Torn) => shared.tear(),
                Some(How::ServerDrops) => {
                    self.has_dropped.set(true);
                    drop(self.drops.borrow_mut()[number].take());
                }
                // The device does it.
                Some(How::Device) | None => {}
            }
        }
    }

    /// Nothing is left of the server's work when all of its connections are over.
    pub fn is_over(&self) -> Result<(), Breach> {
        let work = self.under_way.get();
        law!("ends", work == 0, "{work} operations are carried out when the server's connections are over");
        Ok(())
    }
}
