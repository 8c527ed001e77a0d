//! Steps of a search.

use super::local::Own;
use crate::Side;

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// A packet arrives.
    Packet(Side),
    /// An RDMA Read is answered.
    Answer(Side),
    /// The request, or the consent, arrives.
    Word(Side),
    /// A side notices that the connection is over.
    Gone(Side),
    /// Its device does.
    Down(Side),
    Own(Side, Own),
    /// Time passes until the next deadline.
    Elapse,
    /// The connection is lost.
    Lose,
}

impl Step {
    /// Whether it is a fault: nothing may depend on its scheduled.
    pub(super) const fn is_fault(self) -> bool {
        matches!(self, Self::Lose | Self::Own(_, Own::RegistrationFails))
    }
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Packet(side) => write!(f, "{}: packet", side.short()),
            Self::Answer(side) => write!(f, "{}: answer to a read", side.short()),
            Self::Word(side) => write!(f, "{}: connection management", side.short()),
            Self::Gone(side) => write!(f, "{}: end noticed", side.short()),
            Self::Down(side) => write!(f, "{}: device down", side.short()),
            Self::Own(side, own) => write!(f, "{}: {}", side.short(), own.name()),
            Self::Elapse => f.write_str("time passes"),
            Self::Lose => f.write_str("connection lost"),
        }
    }
}
