//! Runs that may fail, recognised by their parameters alone.

use super::{Kind, Plan};
use crate::Side;

/// Why a peer with these parameters comes to a stand, by its own rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Exception {
    /// In a few words.
    pub reason: &'static str,
}

/// Section 4.1: the initiator's first message is its first grant. Where there is none, the acceptor has no credit.
const MUTE: Exception = Exception { reason: "an initiator with nothing to send never grants" };

/// RA-7: the rest of the message would need receives that are held for its beginning.
const HELD: Exception = Exception { reason: "a message has more fragments than Linux has receives (RA-7)" };
/// RA-7 and CR-4: a connection that has sent as many messages as Linux has receives lives from those that are posted again.
/// cifs posts again when a buffer comes back, and while a message is incomplete none does; both spend the last credit on a
/// message that grants nothing, if that is the next to leave. Then neither side has a credit. Before it has sent that many
/// the connection has credits to grant with.
const SPENT: Exception = Exception {
    reason: "as many messages as 255 receives: held (RA-7), or posted again with no credit to grant them (CR-4)",
};
/// The same with fewer receives than it has unless told otherwise.
const SPENT_FEW: Exception = Exception { reason: "the same with fewer receives" };

/// The exception of a plan, decided before it is run.
#[must_use]
pub fn of(plan: &Plan) -> Option<Exception> {
    let says = |side: Side| !plan.script[side.index()].is_empty();
    let mute = plan.kind.side() == Side::Initiator && !says(Side::Initiator) && says(Side::Acceptor);
    if mute && plan.kind.grants_with_messages() {
        return Some(MUTE);
    }
    if !plan.kind.holds_receives() {
        return None;
    }
    let receives = u64::from(plan.model.receive_credit_max);
    if fragments(plan, plan.kind.side().peer()).any(|fragments| fragments > receives) {
        return Some(HELD);
    }
    // The engine of 7.3 keeps its last credit while it has nothing to grant and its peer has none.
    if !matches!(plan.kind, Kind::LinuxClient | Kind::LinuxServer) {
        return None;
    }
    let spent = messages_max(plan) >= receives - 1;
    spent.then_some(if receives == 255 { SPENT } else { SPENT_FEW })
}

/// Of each message of a side.
fn fragments(plan: &Plan, side: Side) -> impl Iterator<Item = u64> {
    let payload = plan.payload(side);
    plan.script[side.index()].iter().map(move |scripted| u64::from(scripted.len.div_ceil(payload)))
}

/// Most messages that the connection sends while Linux has receives: fragments, and messages that only grant, each of which
/// takes more than half a window of messages of the peer. Those are fragments, and empty ones: of cifs at most one for each
/// message it gets, of ksmbd one for all its receives, and an answer.
fn messages_max(plan: &Plan) -> u64 {
    let [ours, theirs] =
        [plan.kind.side().peer(), plan.kind.side()].map(|side| fragments(plan, side).sum::<u64>());
    let window = u64::from(plan.config.receive_credit_max.min(plan.model.send_credit_target).max(3));
    let needed = window / 2 + 1;
    match plan.kind {
        // g grants: g * needed <= theirs + ours + g, and one when the connection is up.
        Kind::LinuxClient => ours + (theirs + ours) / (needed - 1) + 1,
        _ => ours + (theirs + 2) / needed + 1,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::peers::{ScriptedMessage, Verdict, run};

    /// cifs with 20 receives, to which the connection sends one message of so many bytes.
    fn plan(seed: u64, len: impl Fn(u32) -> u32) -> Plan {
        let mut plan = Plan::of(Kind::LinuxClient, seed);
        plan.model.receive_credit_max = 20;
        let small = ScriptedMessage { len: 1, key: 0, pause: Duration::from_millis(1) };
        let len = len(plan.payload(Side::Acceptor));
        plan.script = [vec![small], vec![ScriptedMessage { len, ..small }]];
        plan
    }

    #[test]
    fn a_message_of_more_fragments_than_linux_has_receives_is_one_too_many() {
        for seed in 0..100 {
            let fits = plan(seed, |payload| payload * 14);
            assert_ne!(of(&fits), Some(HELD), "seed {seed}");
            assert_eq!(run(&fits, None).verdict, Verdict::Delivered, "seed {seed}");
            let more = plan(seed, |payload| payload * 20 + 1);
            assert_eq!(of(&more), Some(HELD), "seed {seed}");
            assert_eq!(run(&more, None).verdict, Verdict::Stalled, "seed {seed}");
        }
    }

    #[test]
    fn initiators_with_nothing_to_send_are_an_exception_where_they_are_waited_for() {
        for kind in Kind::ALL.iter().copied() {
            let mut plan = Plan::of(kind, 1);
            plan.script[Side::Initiator.index()].clear();
            let mute = of(&plan) == Some(MUTE);
            let waited_for = kind.side() == Side::Initiator && kind != Kind::LinuxClient;
            assert_eq!(mute, waited_for, "{}", kind.name());
            plan.script[Side::Acceptor.index()].clear();
            assert_ne!(of(&plan), Some(MUTE), "{}: nobody has anything to say", kind.name());
        }
    }
}
