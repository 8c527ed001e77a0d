//! Why a work request cannot be chained.

use thiserror::Error;

use crate::ffi::window::NotBindable;

/// A work request cannot be chained. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum ChainError {
    /// Memory outside of the registration.
    #[error("{len} bytes from {offset} on are not inside a registration of {size} bytes")]
    OutOfRange {
        /// First byte.
        offset: u64,
        /// How many.
        len: u64,
        /// Size of the registration.
        size: u32,
    },
    /// No such slot.
    #[error("slot {slot} of {slots}")]
    NoSlot {
        /// The slot.
        slot: u16,
        /// How many there are.
        slots: u32,
    },
    /// The slot is with the device.
    #[error("slot {slot} is still in use by the device")]
    InFlight {
        /// The slot.
        slot: u16,
    },
    /// More than a slot holds.
    #[error("{len} bytes for a slot of {slot_len}")]
    TooLong {
        /// How many bytes.
        len: usize,
        /// Length of a slot.
        slot_len: u32,
    },
    /// All places of the queue are taken.
    #[error("all places of the queue are taken")]
    Full,
    /// The window has a bind that was not handed over yet.
    #[error("the window has a bind that was not handed over yet")]
    BindChained,
    /// The window went with the queue pair that bound it last.
    #[error("the window went with the queue pair that bound it last")]
    WindowFreed,
}

impl From<NotBindable> for ChainError {
    fn from(why: NotBindable) -> Self {
        match why {
            NotBindable::Chained => Self::BindChained,
            NotBindable::Freed => Self::WindowFreed,
        }
    }
}
