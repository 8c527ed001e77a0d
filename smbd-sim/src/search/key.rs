//! What a state is: two numbers.

use crate::Side;

/// A state: for each side, the number of its half. A half is a side's own state and what is under way from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key([u32; 2]);

impl Key {
    pub(super) const fn of(halves: [u32; 2]) -> Self {
        Self(halves)
    }

    pub(super) const fn half(self, side: Side) -> u32 {
        self.0[side.index()]
    }

    /// The half of one side, and that of the other.
    pub(super) const fn with(side: Side, own: u32, other: u32) -> Self {
        match side {
            Side::Initiator => Self([own, other]),
            Side::Acceptor => Self([other, own]),
        }
    }

    /// Both numbers as one.
    pub(super) const fn bits(self) -> u64 {
        (self.0[0] as u64) << 32 | self.0[1] as u64
    }
}
