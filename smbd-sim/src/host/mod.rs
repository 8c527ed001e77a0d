//! One host: connection, device, memory and upper layer, and the driver between them.

mod actions;
mod bare;
mod context;
mod depths;
mod inputs;
mod local;
mod registration;
mod upper;

use std::collections::VecDeque;

use smbd_core::{Config, Connection, Instant, WrId};

pub(crate) use bare::BareStep;
pub use context::Context;
pub use depths::PrivateData;
pub(crate) use local::Local;
pub use upper::{Listener, Upper};

use crate::Side;
use crate::memory::DomainId;
use crate::nic::{Nic, NicConfig};
use local::LocalMemory;

/// What a host is made of.
#[derive(Debug)]
pub struct HostConfig<U> {
    /// Of its connection.
    pub config: Config,
    /// Of its device.
    pub nic: NicConfig,
    /// Its upper layer.
    pub upper: U,
}

/// In which order, and how many at once, completions are handed to the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Polling {
    /// Draws which queue is polled next, instead of receives first.
    pub shuffled: bool,
    /// Most inputs before the connection is drained, at least 1.
    pub batch: u32,
}

impl Default for Polling {
    fn default() -> Self {
        Self { shuffled: false, batch: 64 }
    }
}

/// Where a host is with the transport connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Link {
    /// `Connect` or `Accept` was carried out.
    pub(crate) started: bool,
    /// The connection was told that it is up.
    pub(crate) up: bool,
    /// The connection was told, or soon will be, that it is over.
    pub(crate) ended: bool,
    /// `Disconnect` was carried out.
    pub(crate) disconnected: bool,
}

/// A host.
#[derive(Debug)]
pub struct Host<U> {
    /// Which one.
    pub side: Side,
    /// Its upper layer.
    pub upper: U,
    /// Its device, memory and tokens, and the breaches found there.
    pub nic: Nic,
    config: Config,
    connection: Option<Connection>,
    local: LocalMemory,
    inbox: VecDeque<Local>,
    bare: Option<bare::Bare>,
    polling: Polling,
    link: Link,
    read_depth: u16,
    said: depths::Said,
    /// A post was refused: the rest is not posted.
    refusing: bool,
    drained: bool,
    /// When the connection wants to be told the time.
    pub(crate) deadline: Option<Instant>,
    /// When the upper layer wants to be called.
    pub(crate) alarm: Option<Instant>,
    /// When completions are looked at.
    pub(crate) due: Option<Instant>,
}

impl<U: Upper> Host<U> {
    pub(crate) fn new(side: Side, parts: HostConfig<U>, polling: Polling) -> Self {
        let domain = DomainId(u32::from(side == Side::Acceptor) + 1);
        Self {
            side,
            upper: parts.upper,
            read_depth: parts.nic.read_depth,
            nic: Nic::new(parts.nic, domain),
            config: parts.config,
            connection: None,
            local: LocalMemory::default(),
            inbox: VecDeque::new(),
            bare: None,
            polling,
            link: Link::default(),
            said: depths::Said::default(),
            refusing: false,
            drained: false,
            deadline: None,
            alarm: None,
            due: None,
        }
    }

    /// Ready for another connection on the same device, memory and upper layer: with a protection domain of its own.
    pub(crate) fn renew(&mut self) {
        self.nic.renew();
        self.connection = None;
        self.local = LocalMemory::default();
        self.inbox.clear();
        self.link = Link::default();
        self.read_depth = self.nic.config.read_depth;
        (self.refusing, self.drained) = (false, false);
        (self.deadline, self.alarm, self.due) = (None, None, None);
    }

    /// When its connection wants to be told the time.
    #[must_use]
    pub const fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Its connection, once there is one.
    #[must_use]
    pub const fn connection(&self) -> Option<&Connection> {
        self.connection.as_ref()
    }

    /// Whether its connection said `Drained`.
    #[must_use]
    pub const fn is_drained(&self) -> bool {
        self.drained
    }

    /// All breaches of this host, those of its memory included.
    pub fn breaches(&self) -> impl Iterator<Item = crate::Breach> + '_ {
        self.nic.breaches.first().iter().chain(self.nic.buffers.breaches.first()).copied()
    }

    /// Whether the transport connection was taken or asked for, and is not over.
    pub(crate) const fn link(&self) -> Link {
        self.link
    }

    pub(crate) const fn settle_read_depth(&mut self, peer: u16) {
        self.read_depth = if self.nic.config.read_depth < peer { self.nic.config.read_depth } else { peer };
    }

    pub(crate) const fn read_depth(&self) -> u16 {
        self.read_depth
    }

    fn no_memory(&mut self, id: impl Into<WrId>) {
        self.nic.breaches.record(crate::Breach::NoMemory(id.into()));
    }
}
