//! The upper layer.

use super::Entry;

/// The cases of this group.
pub(super) const CASES: &[Entry] = &[];

/// Cases of this group that are still to be written.
pub(super) const TO_WRITE: &[&str] = &[
    "upper::a_connection_is_told_when_it_can_be_used",
    "upper::nothing_can_be_commanded_before",
    "upper::the_query_tells_what_was_settled",
    "upper::each_message_sent_is_reported_once",
    "upper::the_payload_may_be_anything",
    "upper::a_slow_upper_layer_starts_no_endless_talk",
];
