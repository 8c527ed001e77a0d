//! Credits.

mod grants;
mod last;
mod limits;
mod queue;
mod targets;

use super::Entry;
use crate::suite::words::Words;
use crate::suite::{Peer, Question, Seen, Whole};

/// The cases of this group.
pub(super) const CASES: &[Entry] = &[
    Entry::new("credits::no_credit_is_ever_lost", grants::never_lost),
    Entry::new("credits::no_more_is_granted_than_was_asked_for", targets::no_more_than_asked),
    Entry::new("credits::each_credit_granted_has_its_receive", grants::each_has_its_receive),
    Entry::new("credits::a_message_without_a_credit_ends_the_connection", limits::without_a_credit),
    Entry::new("credits::without_a_credit_nothing_is_sent", queue::nothing_without),
    Entry::new("credits::the_last_credit_goes_to_a_message_that_grants", last::goes_to_a_grant),
    Entry::new("credits::the_last_credit_waits_when_nothing_can_be_granted", last::waits),
    Entry::new("credits::grants_do_not_answer_grants", grants::no_ping_pong),
    Entry::new("credits::a_peer_is_told_before_it_stands_still", grants::told_in_time),
    Entry::new("credits::a_target_may_change_with_every_message", targets::changes),
    Entry::new("credits::every_message_asks_for_the_target", targets::asked_for).with(targets::asks_for_77),
    Entry::new("credits::no_credits_asked_for_ends_the_connection", limits::none_asked_for),
    Entry::new("credits::credits_add_up_to_65535", limits::add_up),
    Entry::new("credits::a_grant_is_worked_out_when_the_message_leaves", grants::worked_out_late),
    Entry::new("credits::a_queue_keeps_its_order", queue::keeps_its_order),
    Entry::new("credits::one_credit_each_way_moves_64_kib", last::one_each_way),
    Entry::new("credits::a_probe_may_bring_the_credit_for_its_answer", queue::probe_with_credit),
    Entry::new("credits::one_answer_for_any_number_of_probes", queue::one_answer),
];

/// Whoever spends the last credit grants.
fn last_credit_grants(peer: &mut Peer<'_>, statements: &str, seen: &Seen) {
    let (left, granted) = (seen.message.left, seen.header.credits_granted);
    peer.check(statements, left > 0 || granted > 0, || {
        format!("the message that spends the last credit should grant 1 at least, {} came", seen.words())
    });
}

/// The answer to `question` is all there.
fn is_whole(peer: &mut Peer<'_>, statements: &str, question: &Question, whole: &Whole) {
    let answered = peer.is_answer(question, &whole.payload);
    peer.check(statements, answered, || {
        format!("the answer should come whole, {} bytes came", whole.payload.len())
    });
}

/// No credit is spent that is not there.
fn had_a_credit(peer: &mut Peer<'_>, statements: &str, seen: &Seen) {
    let left = seen.message.left;
    peer.check(statements, left >= 0, || {
        format!("no message should come without a credit, {} more came than were granted", -left)
    });
}
