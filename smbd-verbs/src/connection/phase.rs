//! The phase of the transport connection.

use std::net::SocketAddr;
use std::time::Duration;

use smbd_core::Limits;

use super::call::Call;
use crate::depth::Terms;

#[derive(Debug)]
pub(super) enum Phase {
    /// Nothing was asked for.
    Idle(Way),
    /// The peer's address is looked up.
    ResolvingAddr(Route),
    /// The way there is.
    ResolvingRoute,
    /// The request is on its way; the call may be, too.
    Connecting(Option<Call>),
    /// The answer is on its way.
    Accepting(Terms),
    /// Up, and given a moment before anyone hears of it.
    Settling(Limits),
    /// Up.
    Up,
    /// Never came up, or gone.
    Down,
    /// The own disconnect is under way.
    Ending(Ending),
    /// All is back.
    Over,
}

#[derive(Debug)]
pub(super) enum Way {
    Connect(Route),
    Accept,
}

/// Where an initiator connects to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Route {
    pub(super) to: SocketAddr,
    pub(super) from: Option<SocketAddr>,
    pub(super) timeout: Duration,
}

/// How far the own disconnect is.
#[derive(Debug)]
pub(super) enum Ending {
    /// The device is returning what is posted. With a marker, until that is back.
    Flushing { marker: bool, stage: Stage },
    /// The queue pair is destroyed; its last completions are being read.
    Destroyed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Orderly,
    InError,
    GivenUp,
    /// The timer fired in the orderly stage: the queue pair has to be put into the error state.
    Overdue,
}

impl Ending {
    pub(super) const fn time_is_up(&mut self) {
        if let Self::Flushing { stage, .. } = self {
            *stage = match stage {
                Stage::Orderly => Stage::Overdue,
                Stage::InError | Stage::GivenUp | Stage::Overdue => Stage::GivenUp,
            };
        }
    }
}
