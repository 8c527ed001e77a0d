//! The backend test kit: a check for each line of the contract, for the tests of a backend.
//!
//! A backend provides a [`Lab`], which makes [`Fixture`]s: two hosts with a backend on each, whose connection comes up
//! or fails as the [`Situation`] says. The kit executes raw [`BackendOp`](super::BackendOp)s with ids of its own and
//! checks the inputs that the backends report. [`run`] runs every line and returns a [`Report`]. It blocks until all
//! lines are done; nothing panics.
//!
//! ```
//! use smbd_core::backend::kit;
//!
//! let report = kit::run(&mut kit::reference::Reference::default());
//! assert!(report.passed(), "{report}");
//! ```
//!
//! [`mod@reference`] is a small correct backend in memory: a model for others, and the backend of the kit's own tests.
//!
//! # How the kit waits
//!
//! It polls backends for inputs, calls [`Fixture::pass`] with 1 ms, and polls again, until the expected input arrives
//! or [`Capabilities::patience`] is over. Some lines wait for a completion at one backend and do not poll the other one
//! meanwhile: a device completes work without its host. So messages have to move in [`Fixture::pass`] or on a thread of
//! their own, never only in [`next_input`](super::Backend::next_input) of the peer's backend. A fixture over real
//! devices sleeps in `pass`. A fixture in virtual time advances its clock, and carries out everything that is due on
//! both hosts.
//!
//! # An acceptor that exists only after `accept`
//!
//! The kit posts a receive and gives `Accept` before the peer's request arrives. If a provider makes the acceptor's
//! queue pair from the request, [`Fixture::Backend`] is an enum of two states. *Waiting* keeps each `PostRecv`,
//! remembers `Accept`, and answers `Disconnect` with the receives as [`Flushed`](crate::error::WorkError::Flushed) and
//! then `Disconnected` ([`TransportReports`](super::TransportReports) orders them). When the request has arrived and
//! `Accept` was given, the fixture makes the backend, gives it the receives and `Accept`, and is *ready*. `smbd-live`
//! does this for librdmacm (`conformance/src/bin/smbd-live/kit/acceptor.rs`).

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
    /// The type of its fixtures.
    type Fixture: Fixture;

    /// What the backend supports and the fixture can produce. Lines that need more are not applicable.
    fn capabilities(&self) -> Capabilities;

    /// A new fixture for one line, with nothing posted. Its memory and queues have the sizes of `config.budget()`.
    ///
    /// # Errors
    /// There is no fixture. The line fails with this text.
    fn fixture(
        &mut self,
        situation: Situation,
        config: &Config,
    ) -> Result<Self::Fixture, alloc::string::String>;
}

/// Two hosts with a backend on each, and a second connection between them for [`Situation::TwoConnections`].
pub trait Fixture {
    /// A handle to memory, as [`Backend::Buffer`](super::Backend::Buffer).
    type Buffer: Clone + core::fmt::Debug;
    /// A backend of this fixture: a value or a `&mut`.
    type Backend<'a>: HostMemory<Buffer = Self::Buffer>
    where
        Self: 'a;

    /// One of its backends.
    fn backend(&mut self, end: Peer) -> Self::Backend<'_>;

    /// Lets `time` pass, real or virtual. Work on the devices and messages between the hosts make progress meanwhile,
    /// on both hosts, without a poll of any backend.
    fn pass(&mut self, time: Duration);

    /// From now on the device of `end` takes `accepted` more work requests, of both queues together, and refuses all
    /// later ones. Called only with [`Capabilities::refusal`].
    fn refuse_after(&mut self, end: Peer, accepted: usize);
}

/// One of the ends of a fixture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The role of this end.
    pub role: Role,
    /// 0, or 1 for the second connection of [`Situation::TwoConnections`].
    pub connection: usize,
}

impl Peer {
    /// The initiator.
    pub const INITIATOR: Self = Self { role: Role::Initiator, connection: 0 };
    /// The acceptor.
    pub const ACCEPTOR: Self = Self { role: Role::Acceptor, connection: 0 };
    /// The initiator of the second connection.
    pub const SECOND_INITIATOR: Self = Self { role: Role::Initiator, connection: 1 };
    /// The acceptor of the second connection.
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

/// The result of the attempt to connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Situation {
    /// The connection comes up after `Connect` and `Accept`.
    Connects,
    /// Two such connections, between the same hosts.
    TwoConnections,
    /// The acceptor's `Connected` is reported only after the first message has arrived.
    LateConnected,
    /// No listener at the address: the request is refused.
    Refused,
    /// No route to the address.
    Unreachable,
    /// No answer to the request.
    Silent,
}

/// What a backend supports and its fixture can produce.
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
    /// The peer cannot read memory that is registered for writing only. Every provider should check this; one that does
    /// not checks no right of a read at all.
    pub read_rights: bool,
    /// `Received` of a message that invalidated a token has that token. Without it the backend should not use
    /// registrations that the peer can invalidate.
    pub invalidation_told: bool,
    /// An orderly close by the peer is told from every other end, as
    /// [`PeerClosed`](crate::error::DisconnectReason::PeerClosed).
    pub peer_close_told: bool,
    /// The longest time that any operation takes, including a connect timeout. The kit never waits longer for one
    /// input.
    pub patience: Duration,
}

/// The configuration of the lines: small enough to reach its limits, with all features.
///
/// # Errors
/// A parameter is out of its range. The crate's own tests show that none is.
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

/// Runs every line, and blocks until all are done.
pub fn run<L: Lab>(lab: &mut L) -> Report {
    let outcomes: Vec<_> = lines::<L>()
        .iter()
        .map(|line| Outcome { id: line.id, about: line.about, law: line.law, result: (line.run)(lab) })
        .collect();
    Report { outcomes }
}
