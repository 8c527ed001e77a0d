//! The state of a registration, and the work that its device has not completed.

use core::num::NonZeroU32;
use core::ops::Range;

use crate::error::WorkError;
use crate::{Access, BufferDescriptorV1, Token};

/// A contiguous piece of a registered buffer, which the peer may access until its token is invalidated (2.2.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Segment {
    pub(super) offset: u64,
    pub(super) token: Token,
    /// `None` once the peer has invalidated the token.
    pub(super) live_length: Option<NonZeroU32>,
}

impl Segment {
    pub(super) const UNUSED: Self = Self { offset: 0, token: Token(0), live_length: None };

    /// The segment as a connection keeps it: `live` after `Registered`, not live after the peer's invalidation. With
    /// feature `kit`.
    #[cfg(feature = "kit")]
    #[must_use]
    pub fn of(descriptor: BufferDescriptorV1, live: bool) -> Self {
        let BufferDescriptorV1 { offset, token, length } = descriptor;
        Self { offset, token, live_length: NonZeroU32::new(length).filter(|_| live) }
    }

    /// The token (Steering Tag).
    #[must_use]
    pub const fn token(&self) -> Token {
        self.token
    }

    /// The descriptor for the peer (2.2.3.1); `None` after the peer has invalidated the token.
    #[must_use]
    pub fn descriptor(&self) -> Option<BufferDescriptorV1> {
        let length = self.live_length?.get();
        Some(BufferDescriptorV1 { offset: self.offset, token: self.token, length })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum State {
    /// `register` was called, nothing has left the core.
    Requested,
    Registering,
    /// Valid. `bound: false`: work requests of it are still on the send queue.
    Active {
        bound: bool,
    },
    /// `deregister` was called, nothing has left the core; nothing does before the binds are complete.
    Unwanted {
        bound: bool,
    },
    Deregistering,
    /// The end waits to be told: of a failed registration or of a deregistration.
    Ended(Result<(), WorkError>),
    /// The connection is over and the upper layer knows; the device still works on it.
    Abandoned(Work),
}

/// What the device does with a registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Work {
    Registering,
    Binding,
    Deregistering,
}

#[derive(Clone, Debug)]
pub(super) struct Registration {
    pub(super) state: State,
    pub(super) access: Access,
    /// Its segments: from `start` on, `reserved` of them until registered, then as many as there are.
    pub(super) start: u16,
    pub(super) count: u16,
    /// Places on the send queue it has now.
    pub(super) requests: u32,
    /// Why the last deregistration failed, until told.
    pub(super) failure: Option<WorkError>,
}

impl State {
    /// What the device owes a completion for.
    pub(super) const fn work(self) -> Option<Work> {
        match self {
            Self::Registering => Some(Work::Registering),
            Self::Active { bound: false } | Self::Unwanted { bound: false } => Some(Work::Binding),
            Self::Deregistering => Some(Work::Deregistering),
            Self::Abandoned(work) => Some(work),
            Self::Requested
            | Self::Active { bound: true }
            | Self::Unwanted { bound: true }
            | Self::Ended(_) => None,
        }
    }
}

impl Registration {
    /// Whether the peer may use its segments.
    pub(super) const fn is_valid(&self) -> bool {
        matches!(self.state, State::Active { .. } | State::Unwanted { .. } | State::Deregistering)
    }

    pub(super) fn range(&self) -> Range<usize> {
        usize::from(self.start)..usize::from(self.start).saturating_add(usize::from(self.count))
    }
}
