//! The backend test kit: what the contract says, line by line, as code that a backend's tests run.
//!
//! A backend brings a [`Lab`], which makes [`Fixture`]s: two hosts with a backend on each, whose connection comes up or fails as
//! the [`Situation`] says. The kit gives raw [`BackendOp`](super::BackendOp)s with ids of its own and looks at the inputs that
//! come back. [`run`] runs every line and returns a [`Report`]; nothing in here panics.
//!
//! ```
//! use smbd_core::backend::kit;
//!
//! let report = kit::run(&mut kit::reference::Reference::default());
//! assert!(report.passed(), "{report}");
//! ```
//!
//! [`mod@reference`] is a small correct backend in memory: a model for others, and what the kit itself is tested with.
//!
//! # How the kit waits
//!
//! It asks backends for inputs, calls [`Fixture::pass`] with 1 ms, and asks again, until what it waits for has come or
//! [`Capabilities::patience`] is over. Some lines wait for a completion at one backend and do not ask the other one
//! meanwhile: a device completes work without its host. So whatever moves messages has to move them in [`Fixture::pass`] or on
//! a thread of its own, never only in [`next_input`](super::Backend::next_input) of the peer's backend. A fixture over real
//! devices sleeps in `pass`; one in virtual time moves its clock, and everything that is due by then happens on both hosts.
//!
//! # An acceptor that exists only after `accept`
//!
//! The kit posts a receive and gives `Accept` before the peer's request comes. Where a provider makes the acceptor's queue pair
//! from the request, [`Fixture::Backend`] is an enum of two states. *Waiting* keeps each `PostRecv`, remembers `Accept`, and
//! answers `Disconnect` with the receives as [`Flushed`](crate::error::WorkError::Flushed) and then `Disconnected`
//! ([`TransportReports`](super::TransportReports) orders them). When the request has come and `Accept` was given, the fixture makes the
//! backend, gives it the receives and `Accept`, and is *ready*. `smbd-live` does this for librdmacm
//! (`conformance/src/bin/smbd-live/kit/acceptor.rs`).

mod bench;
mod lines;
pub mod reference;
mod report;
mod seen;

use alloc::vec::Vec;
use core::time::Duration;

pub use lines::{Line, lines};
pub use report::{Finding, Outcome, Report};

use super::HostMemory;
use crate::{Config, ConfigError, Params, Role};
#[cfg(doc)]
use crate::{Input, Limits};

/// Makes fixtures of one kind of backend.
pub trait Lab {
    /// What it makes.
    type Fixture: Fixture;

    /// What the backend can do and the fixture can bring about. Lines that need more are not applicable.
    fn capabilities(&self) -> Capabilities;

    /// Fresh ends for one line, with nothing posted. Their memory and queues are sized by `config.budget()`.
    ///
    /// # Errors
    /// A line that gets none fails with this text.
    fn fixture(
        &mut self,
        situation: Situation,
        config: &Config,
    ) -> Result<Self::Fixture, alloc::string::String>;
}

/// Two hosts with a backend on each, and a second connection between them where the situation asks for one.
pub trait Fixture {
    /// A handle to memory, as [`Backend::Buffer`](super::Backend::Buffer).
    type Buffer: Clone + core::fmt::Debug;
    /// A backend of this fixture: a value or a `&mut`.
    type Backend<'a>: HostMemory<Buffer = Self::Buffer>
    where
        Self: 'a;

    /// One end.
    fn backend(&mut self, end: Peer) -> Self::Backend<'_>;

    /// Lets `time` pass, real or virtual. What is under way on the devices and between the hosts makes progress in it, on both
    /// hosts, without any backend being asked for inputs.
    fn pass(&mut self, time: Duration);

    /// From now on the device of `end` takes `accepted` more work requests and refuses all later ones, those of the
    /// receive queue counted as well. Called only with [`Capabilities::refusal`].
    fn refuse_after(&mut self, end: Peer, accepted: usize);
}

/// One of the ends of a fixture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Who connects.
    pub role: Role,
    /// 0, or 1 for the second connection of [`Situation::TwoConnections`].
    pub connection: usize,
}

impl Peer {
    /// Who connects.
    pub const INITIATOR: Self = Self { role: Role::Initiator, connection: 0 };
    /// Who is connected to.
    pub const ACCEPTOR: Self = Self { role: Role::Acceptor, connection: 0 };
    /// As `INITIATOR`, of the second connection.
    pub const SECOND_INITIATOR: Self = Self { role: Role::Initiator, connection: 1 };
    /// As `ACCEPTOR`, of the second connection.
    pub const SECOND_ACCEPTOR: Self = Self { role: Role::Acceptor, connection: 1 };

    const ALL: [Self; 4] = [Self::INITIATOR, Self::ACCEPTOR, Self::SECOND_INITIATOR, Self::SECOND_ACCEPTOR];

    const fn index(self) -> usize {
        match (self.role, self.connection) {
            (Role::Initiator, 0) => 0,
            (Role::Acceptor, 0) => 1,
            (Role::Initiator, _) => 2,
            (Role::Acceptor, _) => 3,
        }
    }
}

/// What becomes of the attempt to connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Situation {
    /// The ends connect when one got `Connect` and the other `Accept`.
    Connects,
    /// Two such connections, between the same hosts.
    TwoConnections,
    /// The acceptor hears that it is connected only after the first message has arrived.
    LateConnected,
    /// Nobody listens.
    Refused,
    /// No route leads there.
    Unreachable,
    /// Nobody answers.
    Silent,
}

/// What a backend can do and its fixture can bring about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// [`Fixture::refuse_after`] works.
    pub refusal: bool,
    /// [`Situation::TwoConnections`] can be made.
    pub two_connections: bool,
    /// [`Situation::LateConnected`] can be made.
    pub late_connected: bool,
    /// [`Situation::Refused`] can be made.
    pub refused: bool,
    /// [`Situation::Unreachable`] can be made.
    pub unreachable: bool,
    /// [`Situation::Silent`] can be made.
    pub silent: bool,
    /// RDMA Reads and Writes, and registrations.
    pub rdma: bool,
    /// Memory that is registered for writing alone cannot be read. Every provider should see to it; one that does not
    /// checks no right of a read at all.
    pub read_rights: bool,
    /// A message that has invalidated a token says so. Without it the limits should not offer registrations that can be
    /// invalidated.
    pub invalidation_told: bool,
    /// An orderly close by the peer is told from every other end, as
    /// [`PeerClosed`](crate::error::DisconnectReason::PeerClosed).
    pub peer_close_told: bool,
    /// The longest that anything takes, a connect timeout included. The kit never waits longer for something.
    pub patience: Duration,
}

/// The configuration that lines use: small enough to reach its limits, with everything switched on.
///
/// # Errors
/// None, as far as tests go.
pub fn config() -> Result<Config, ConfigError> {
    Config::try_from(Params {
        receive_credit_max: 20,
        send_slots: 8,
        rdma_ops: 4,
        rdma_slots: 4,
        read_depth: 2,
        registrations: 4,
        segments_max: 4,
        registration_slots: 4,
        ..Params::example()
    })
}

/// Runs every line.
pub fn run<L: Lab>(lab: &mut L) -> Report {
    let outcomes: Vec<_> = lines::<L>()
        .iter()
        .map(|line| Outcome { id: line.id, about: line.about, law: line.law, result: (line.run)(lab) })
        .collect();
    Report { outcomes }
}
