use crate::error::{CloseReason, ConnectError, ConnectReason, DisconnectReason, Violation, WorkError};
use crate::wire::NtStatus;
use crate::{Event, Instant, WrId};

/// Where a connection is in its life; data of a phase live in it.
#[derive(Clone, Debug)]
pub(crate) enum Phase {
    /// From creation until the transport connection is up.
    Connecting { deadline: Instant, step: Step },
    /// The transport connection is up, the negotiation message of the peer is not in yet.
    Negotiating { deadline: Instant, request: Request },
    /// The acceptor says no: the answer must be gone before the connection is ended (3.1.5.3, NE-2).
    Rejecting { deadline: Instant, posted: bool, status: NtStatus, violation: Violation },
    /// Negotiation succeeded.
    Established(Established),
    /// Over: commands are being answered, work is being waited for.
    Closing(Closing),
    /// Over and empty.
    Drained,
}

/// What is handed out first (NE-14: the receive before anything can arrive for it).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    PostReceive,
    Start,
    Await,
}

/// The initiator's Negotiate Request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Request {
    Due,
    Posted,
    /// The acceptor has none to send.
    Theirs,
}

#[derive(Clone, Debug)]
pub(crate) struct Established {
    /// The acceptor's Negotiate Response is not out yet.
    pub(crate) respond: bool,
    /// The upper layer was not told yet, for want of `Connected`; the negotiation timer still runs.
    pub(crate) announce_by: Option<Instant>,
    /// Closing in good order until then: what was commanded is finished, nothing new is taken.
    pub(crate) flush: Option<Instant>,
}

impl Established {
    /// Whether the upper layer may know of the connection: after the response was handed out (NE-7).
    pub(crate) const fn is_announced(&self) -> bool {
        self.announce_by.is_none() && !self.respond
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Closing {
    pub(crate) outcome: Outcome,
    pub(crate) told: bool,
}

/// What the upper layer is told at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Outcome {
    ConnectFailed(ConnectError),
    Closed(CloseReason),
}

impl Outcome {
    pub(super) const fn event(self) -> Event {
        match self {
            Self::ConnectFailed(error) => Event::ConnectFailed(error),
            Self::Closed(reason) => Event::Closed(reason),
        }
    }

    /// Receive and send queue have no common order, and the news of the end has none with either: a flush may be reported
    /// before what caused it. What fails after the peer has closed is a consequence of that.
    pub(super) fn refine(&mut self, cause: Cause) {
        let (Self::ConnectFailed(ConnectError::Lost { reason }) | Self::Closed(CloseReason::Lost { reason })) =
            *self
        else {
            return;
        };
        let unexplained = reason == DisconnectReason::Unknown;
        if matches!(cause, Cause::Transport { .. }) || unexplained && matches!(cause, Cause::Lost(_)) {
            match self {
                Self::ConnectFailed(error) => *error = cause.connect_error(),
                Self::Closed(reason) => *reason = cause.close_reason(),
            }
        }
    }

    pub(super) const fn is_connect_failure(self) -> bool {
        matches!(self, Self::ConnectFailed(_))
    }

    /// The same without the name of the work that failed: for fingerprints.
    pub(crate) const fn anonymous(self) -> (bool, Option<WorkError>, Option<Self>) {
        match self {
            Self::ConnectFailed(ConnectError::Transport { error, .. }) => (false, Some(error), None),
            Self::Closed(CloseReason::Transport { error, .. }) => (true, Some(error), None),
            Self::ConnectFailed(_) | Self::Closed(_) => (false, None, Some(self)),
        }
    }
}

/// Why a connection ends, before it is known what the upper layer has seen of it (LC-1).
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cause {
    Local,
    Connect(ConnectReason),
    Lost(DisconnectReason),
    NegotiationTimeout,
    KeepaliveTimeout,
    CreditStall,
    Rejected(NtStatus),
    RejectedPeer { status: NtStatus, violation: Violation },
    Violation(Violation),
    Transport { id: WrId, error: WorkError },
}

impl Cause {
    /// A flush is a consequence, never a cause.
    pub(crate) fn of_failure(id: WrId, error: WorkError) -> Self {
        if error == WorkError::Flushed {
            Self::Lost(DisconnectReason::Unknown)
        } else {
            Self::Transport { id, error }
        }
    }

    /// For a connection the upper layer has never seen.
    pub(crate) const fn connect_error(self) -> ConnectError {
        match self {
            Self::Local => ConnectError::Local,
            Self::Connect(reason) => ConnectError::Connect(reason),
            Self::Lost(DisconnectReason::PeerClosed) => ConnectError::PeerClosed,
            Self::Lost(reason) => ConnectError::Lost { reason },
            Self::NegotiationTimeout | Self::KeepaliveTimeout | Self::CreditStall => ConnectError::Timeout,
            Self::Rejected(status) => ConnectError::Rejected { status },
            Self::RejectedPeer { status, violation } => ConnectError::RejectedPeer { status, violation },
            Self::Violation(violation) => ConnectError::Violation(violation),
            Self::Transport { id, error } => ConnectError::Transport { id, error },
        }
    }

    /// For a connection the upper layer uses. The causes of a failed negotiation cannot come any more.
    pub(crate) const fn close_reason(self) -> CloseReason {
        match self {
            Self::Local => CloseReason::Local,
            Self::Lost(DisconnectReason::PeerClosed) => CloseReason::PeerClosed,
            Self::Lost(reason) => CloseReason::Lost { reason },
            Self::Connect(_) | Self::NegotiationTimeout | Self::Rejected(_) => {
                CloseReason::Lost { reason: DisconnectReason::Unknown }
            }
            Self::KeepaliveTimeout => CloseReason::KeepaliveTimeout,
            Self::CreditStall => CloseReason::CreditStall,
            Self::RejectedPeer { violation, .. } | Self::Violation(violation) => {
                CloseReason::Violation(violation)
            }
            Self::Transport { id, error } => CloseReason::Transport { id, error },
        }
    }
}

/// The phases of a connection, from its creation to its end.
///
/// | from | when | to |
/// |---|---|---|
/// | [`Connecting`](Self::Connecting) | [`Input::Connected`](crate::Input::Connected) | [`Negotiating`](Self::Negotiating) |
/// | [`Connecting`](Self::Connecting) | acceptor: a valid Negotiate Request comes before `Connected` (RoCE can reorder them) | [`Established`](Self::Established) |
/// | [`Connecting`](Self::Connecting) | acceptor: a request that is answered with a failure status comes before `Connected` | [`Rejecting`](Self::Rejecting) |
/// | [`Connecting`](Self::Connecting) | the connection fails, times out, is closed, or the peer breaks a rule | [`Closing`](Self::Closing) |
/// | [`Negotiating`](Self::Negotiating) | a valid Negotiate Request or Response comes (3.1.5.6, 3.1.5.7) | [`Established`](Self::Established) |
/// | [`Negotiating`](Self::Negotiating) | acceptor: a request that is answered with a failure status (3.1.5.3) | [`Rejecting`](Self::Rejecting) |
/// | [`Negotiating`](Self::Negotiating) | the connection fails, times out, is closed, or the peer breaks a rule | [`Closing`](Self::Closing) |
/// | [`Rejecting`](Self::Rejecting) | the failure response is sent, or the negotiation timer expires | [`Closing`](Self::Closing) |
/// | [`Established`](Self::Established) | the connection fails, is closed, or the peer breaks a rule | [`Closing`](Self::Closing) |
/// | [`Closing`](Self::Closing) | all work is complete, all fragments are released, the transport connection has ended | [`Drained`](Self::Drained) |
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PhaseName {
    /// The transport connection is not up yet.
    Connecting,
    /// The transport connection is up; the peer's negotiation message has not arrived.
    Negotiating,
    /// Acceptor only: a Negotiate Response with a failure status is being sent (3.1.5.3).
    Rejecting,
    /// Negotiation succeeded. Commands are possible from [`Event::Established`] on.
    Established,
    /// The connection has ended. Commands get their results, and posted work completes.
    Closing,
    /// Nothing is outstanding. Buffers and registered memory may be freed.
    Drained,
}

impl PhaseName {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Connecting => "Connecting",
            Self::Negotiating => "Negotiating",
            Self::Rejecting => "Rejecting",
            Self::Established => "Established",
            Self::Closing => "Closing",
            Self::Drained => "Drained",
        }
    }
}

impl Phase {
    pub(crate) const fn name(&self) -> PhaseName {
        match self {
            Self::Connecting { .. } => PhaseName::Connecting,
            Self::Negotiating { .. } => PhaseName::Negotiating,
            Self::Rejecting { .. } => PhaseName::Rejecting,
            Self::Established(_) => PhaseName::Established,
            Self::Closing(_) => PhaseName::Closing,
            Self::Drained => PhaseName::Drained,
        }
    }
}
