//! Runs that need not end well, told from their parameters alone.

use super::Plan;
use crate::Side;

/// Why a peer with these parameters comes to a stand, by its own rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Exception {
    /// In a few words.
    pub reason: &'static str,
}

/// Section 4.1: the initiator's first message is its first grant. Where there is none, the acceptor has no credit.
const MUTE: Exception = Exception { reason: "an initiator with nothing to send grants nothing" };

/// The exception of a plan, decided before it is run.
#[must_use]
pub fn of(plan: &Plan) -> Option<Exception> {
    let says = |side: Side| !plan.errands[side.index()].is_empty();
    let mute = plan.kind.side() == Side::Initiator && !says(Side::Initiator) && says(Side::Acceptor);
    (mute && plan.kind.grants_with_messages()).then_some(MUTE)
}
