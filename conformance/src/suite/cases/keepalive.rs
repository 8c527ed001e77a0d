//! Keepalive.

use super::Entry;

/// The cases of this group.
pub(super) const CASES: &[Entry] = &[];

/// Cases of this group that are still to be written.
pub(super) const TO_WRITE: &[&str] = &[
    "keepalive::an_answer_does_not_ask",
    "keepalive::silence_is_questioned",
    "keepalive::an_unanswered_question_ends_the_connection",
    "keepalive::a_question_that_cannot_be_sent_ends_the_connection_too",
    "keepalive::only_what_comes_is_a_sign_of_life",
    "keepalive::any_message_is_an_answer",
    "keepalive::messages_keep_the_question_away",
    "keepalive::a_question_is_asked_once",
    "keepalive::a_message_that_waits_carries_the_question",
    "keepalive::a_message_takes_back_a_question_not_yet_sent",
    "keepalive::both_may_ask_at_once",
];
