//! The kinds of faults in a run.

use crate::named::named;

named! {
    /// A way for things to go wrong.
    pub enum FaultKind {
        /// The device does not take a receive.
        RefusedReceive = "receive refused",
        /// The device does not take a send.
        RefusedSend = "send refused",
        /// The device does not take an RDMA request.
        RefusedRdma = "RDMA request refused",
        /// The device does not take a work request of a registration.
        RefusedBind = "bind refused",
        /// A registration fails.
        FailedRegistration = "registration failed",
        /// A deregistration fails.
        FailedDeregistration = "deregistration failed",
        /// Registrations and deregistrations take their time.
        SlowRegistration = "registration slow",
        /// The peer says no.
        ConnectRefused = "connect refused",
        /// There is no way to the peer.
        ConnectUnreachable = "connect unreachable",
        /// The peer says nothing.
        ConnectTimedOut = "connect timed out",
        /// The acceptor learns that the connection is up after the first message.
        ReceiveFirst = "receive before connected",
        /// The queue pair of one side breaks: everything is flushed.
        QueuePairBroken = "queue pair broken",
        /// The link is gone, and both sides are told.
        LinkLost = "link lost",
        /// The link is gone, and nobody is told.
        LinkSilent = "link silent",
        /// A side closes the connection at once.
        Abort = "abort",
        /// A side closes the connection in good order, in the middle of everything.
        EarlyFlush = "early flush",
        /// A host does nothing for minutes.
        HostHangs = "host hangs",
        /// A host sees its completions late.
        LateCompletions = "completions late",
        /// A host sees its timers late.
        LateTimers = "timers late",
        /// Time jumps ahead.
        ClockJump = "clock jump",
        /// An upper layer gives nothing back for longer than the peer waits for credits.
        Hoarding = "fragments hoarded",
        /// An upper layer gives fragments back late.
        SlowUpper = "slow upper layer",
        /// An upper layer has a token invalidated that is none.
        NonsenseInvalidation = "invalidation of no window",
        /// A backend reports work as complete a second time, or that it never had.
        Forgery = "forged completion",
        /// The send queue is shorter than the configuration reserves.
        ShortSendQueue = "send queue short",
        /// Few RDMA Reads may be outstanding.
        LowReadDepth = "read depth low",
        /// Short RDMA requests only.
        ShortRdma = "RDMA requests short",
        /// Registrations come in many segments.
        ManySegments = "many segments",
        /// A completion wakes nobody, and is seen when something else wakes the host.
        LostWakeUp = "wake-up lost",
        /// Completions are seen all at once, however many there are.
        MergedCompletions = "completions merged",
        /// A backend asks for completions that nobody needs.
        SignalledSends = "sends signalled",
        /// The peer breaks the protocol.
        HostilePeer = "hostile peer",
    }
}

/// How many there are.
pub(crate) const KINDS: usize = FaultKind::ALL.len();

impl FaultKind {
    /// Whether the world asks for it, so that it happens at a certain piece of work instead of a certain step.
    pub(super) const fn is_asked_for(self) -> bool {
        matches!(
            self,
            Self::RefusedReceive
                | Self::RefusedSend
                | Self::RefusedRdma
                | Self::RefusedBind
                | Self::FailedRegistration
                | Self::FailedDeregistration
                | Self::SlowRegistration
                | Self::ConnectRefused
                | Self::ConnectUnreachable
                | Self::ConnectTimedOut
                | Self::ReceiveFirst
        )
    }
}
