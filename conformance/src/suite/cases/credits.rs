//! Credits.

use super::Entry;

/// The cases of this group.
pub(super) const CASES: &[Entry] = &[];

/// Cases of this group that are still to be written.
pub(super) const TO_WRITE: &[&str] = &[
    "credits::no_credit_is_ever_lost",
    "credits::no_more_is_granted_than_was_asked_for",
    "credits::each_credit_granted_has_its_receive",
    "credits::a_message_without_a_credit_ends_the_connection",
    "credits::without_a_credit_nothing_is_sent",
    "credits::the_last_credit_goes_to_a_message_that_grants",
    "credits::the_last_credit_waits_when_nothing_can_be_granted",
    "credits::grants_do_not_answer_grants",
    "credits::a_peer_is_told_before_it_stands_still",
    "credits::a_target_may_change_with_every_message",
    "credits::every_message_asks_for_the_target",
    "credits::no_credits_asked_for_ends_the_connection",
    "credits::credits_add_up_to_65535",
    "credits::a_grant_is_worked_out_when_the_message_leaves",
    "credits::a_queue_keeps_its_order",
    "credits::one_credit_each_way_moves_64_kib",
    "credits::a_question_may_bring_the_credit_for_its_answer",
    "credits::one_answer_for_any_number_of_questions",
];
