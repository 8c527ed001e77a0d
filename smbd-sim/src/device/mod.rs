//! One side of a transport connection on a simulated device, as in a backend of a real one: the queue pair, its work
//! queues, registered memory, and the events of the connection manager.
//!
//! Completions are those of real devices: one for each signalled or failed work request, none for an unsignalled send
//! that succeeded. [`WorkQueues`] and [`TransportReports`] derive the inputs, as in any backend. They are compared with
//! the records of the device (`outcomes`).

mod depths;
mod end;
mod link;
mod memory;
mod outcomes;
mod posts;
mod registration;
mod reports;

use std::collections::VecDeque;

use smbd_core::backend::{TransportReports, WorkQueues};
use smbd_core::{Budget, Input, Instant};

pub use depths::PrivateData;
pub(crate) use end::DeviceBackend;
pub(crate) use link::Link;
pub use memory::Placed;
pub(crate) use memory::SimMemory;

use crate::fabric::Notice;
use crate::memory::DomainId;
use crate::nic::{Nic, NicConfig};
use crate::{Breach, DriveFault, Side};
use outcomes::Outcomes;
use posts::Chained;
use registration::Registrations;

/// In which order, and how many at once, completions are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Polling {
    /// Draws which queue is polled next, instead of receives first.
    pub shuffled: bool,
    /// Most inputs that are seen at one look, at least 1.
    pub batch: u32,
    /// After so many inputs it says once that there is none, although there is; at least 1.
    pub pause: u32,
}

impl Default for Polling {
    fn default() -> Self {
        Self { shuffled: false, batch: 64, pause: u32::MAX }
    }
}

/// One end.
#[derive(Debug)]
pub struct Device {
    /// Which one.
    pub side: Side,
    /// The device itself, its memory and tokens, and the breaches found there.
    pub nic: Nic,
    budget: Budget,
    queues: WorkQueues,
    /// Noted in the queues and not handed to the device.
    chain: Vec<Chained>,
    outcomes: Outcomes,
    registrations: Registrations,
    link: Link,
    link_reports: TransportReports,
    inbox: VecDeque<Notice>,
    /// To be told before anything else is looked at.
    ready: VecDeque<Input<'static>>,
    /// The queues may have something to report.
    derives: bool,
    /// Everything is complete, and nothing is posted any more.
    reaped: bool,
    polling: Polling,
    /// Inputs that may still be seen at this look; `None` if it has no end.
    sight: Option<u32>,
    /// Inputs given.
    given: u64,
    /// Inputs given since it last said that there is none.
    burst: u32,
    /// It was asked for inputs since the doorbell was last rung.
    asked: bool,
    read_depth: u16,
    said: depths::Said,
    /// The initiator's request has arrived.
    requested: bool,
    /// When completions are looked at.
    pub(crate) due: Option<Instant>,
}

impl Device {
    /// A device whose queues are those of `budget`, or shorter if it has less.
    pub(crate) fn new(side: Side, nic: NicConfig, budget: &Budget, polling: Polling) -> Self {
        let domain = DomainId(u32::from(side == Side::Acceptor) + 1);
        Self {
            side,
            queues: queues(&nic, budget),
            read_depth: nic.read_depth,
            nic: Nic::new(nic, domain),
            budget: *budget,
            chain: Vec::new(),
            outcomes: Outcomes::default(),
            registrations: Registrations::default(),
            link: Link::default(),
            link_reports: TransportReports::default(),
            inbox: VecDeque::new(),
            ready: VecDeque::new(),
            derives: false,
            reaped: false,
            polling,
            sight: Some(0),
            given: 0,
            burst: 0,
            asked: true,
            said: depths::Said::default(),
            requested: false,
            due: None,
        }
    }

    /// Ready for another connection on the same device and memory: with a queue pair and a protection domain of its own.
    pub(crate) fn renew(&mut self) {
        self.nic.renew();
        self.queues = queues(&self.nic.config, &self.budget);
        self.chain.clear();
        self.outcomes = Outcomes::default();
        self.registrations = Registrations::default();
        (self.link, self.link_reports) = (Link::default(), TransportReports::default());
        self.inbox.clear();
        self.ready.clear();
        (self.derives, self.reaped, self.requested, self.given) = (false, false, false, 0);
        self.read_depth = self.nic.config.read_depth;
        self.due = None;
    }

    /// All breaches of this end, those of its memory included.
    pub fn breaches(&self) -> impl Iterator<Item = Breach> + '_ {
        self.nic.breaches.first().iter().chain(self.nic.buffers.breaches.first()).copied()
    }

    /// Another look, at which so many inputs may be seen; `None` for one without an end.
    pub(crate) const fn begin_look(&mut self, inputs: Option<u32>) {
        self.sight = inputs;
        (self.burst, self.asked) = (0, true);
    }

    /// Inputs given since the connection began.
    pub(crate) const fn given(&self) -> u64 {
        self.given
    }

    /// Most inputs that are seen at one look.
    pub(crate) fn batch(&self) -> u32 {
        self.polling.batch.max(1)
    }

    /// Whoever drives rings the doorbell: between two of them it asks for inputs, or what has come is told behind the time.
    fn note_doorbell(&mut self) {
        if !std::mem::replace(&mut self.asked, false) {
            self.nic.breaches.record(Breach::Drive(DriveFault::NotAsked));
        }
    }

    /// Whether something is chained that no doorbell was rung for.
    pub(crate) fn has_chain(&self) -> bool {
        !self.chain.is_empty()
    }
}

/// For what the connection may post, or a device made for more; and no more than the device takes.
fn queues(nic: &NicConfig, budget: &Budget) -> WorkQueues {
    let mut depths = *budget;
    depths.recv_queue = depths.recv_queue.max(nic.recv_queue);
    depths.send_queue = depths.send_queue.max(nic.send_queue);
    let mut queues = WorkQueues::new(&depths);
    queues.limit_send(nic.send_queue);
    queues
}
