//! Ends.

use super::Entry;

/// The cases of this group.
pub(super) const CASES: &[Entry] = &[];

/// Cases of this group that are still to be written.
pub(super) const TO_WRITE: &[&str] = &[
    "closing::a_peer_may_leave_at_any_time",
    "closing::the_upper_layer_is_told_once",
    "closing::every_command_gets_its_result",
    "closing::what_comes_after_the_end_means_nothing",
    "closing::a_hundred_connections_leave_nothing",
    "closing::a_flush_is_a_consequence",
    "closing::a_failed_negotiation_message_is_told",
    "closing::a_receive_that_cannot_be_posted_ends_the_connection",
    "closing::a_connect_that_fails_says_why",
];
