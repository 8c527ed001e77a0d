//! An owner, as a broker sees it.

use super::slots::Slots;

/// An owner.
#[derive(Debug, Default)]
pub(super) struct Owner {
    pub(super) phase: Phase,
    /// Its name, as it says.
    pub(super) name: String,
    pub(super) slots: Slots,
    /// Memory that is being made for it.
    pub(super) making: Option<Making>,
}

#[derive(Debug, Default)]
pub(super) enum Phase {
    /// It has not said HELLO.
    #[default]
    Silent,
    /// It takes part.
    Present,
    /// It has done something wrong, and its socket is being closed.
    Closing(String),
    /// It is gone. The device may still use its slots.
    Gone,
}

/// The call for which memory is being made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Making {
    pub(super) tag: u64,
    pub(super) first: u16,
    pub(super) count: u16,
}

impl Owner {
    pub(super) const fn is_present(&self) -> bool {
        matches!(self.phase, Phase::Present)
    }
}
