//! Negotiation.

use super::Entry;

/// The cases of this group.
pub(super) const CASES: &[Entry] = &[];

/// Cases of this group that are still to be written.
pub(super) const TO_WRITE: &[&str] = &[
    "negotiate::the_response_has_the_subjects_own_values",
    "negotiate::what_the_response_grants_is_posted",
    "negotiate::a_refusal_is_32_bytes_with_nothing_but_its_reason",
    "negotiate::the_version_is_judged_before_the_fields",
    "negotiate::an_empty_range_of_versions_is_refused",
    "negotiate::reserved_of_the_request_is_ignored",
    "negotiate::a_short_request_is_not_answered",
    "negotiate::a_request_of_20_to_512_bytes_is_taken",
    "negotiate::the_acceptor_does_not_speak_first",
    "negotiate::the_first_message_is_read_as_a_request",
    "negotiate::a_second_request_is_read_as_data",
    "negotiate::data_may_follow_the_response_at_once",
    "negotiate::data_do_not_come_before_the_response",
    "negotiate::two_connections_know_nothing_of_each_other",
    "negotiate::the_timer_stops_with_the_response",
    "negotiate::the_largest_values_are_good_together",
    "negotiate::the_smallest_values_are_good_together",
    "negotiate::the_request_has_the_subjects_own_values",
    "negotiate::the_request_comes_first_and_alone",
    "negotiate::the_subject_speaks_the_version_it_offers",
    "negotiate::a_short_response_ends_the_connection",
    "negotiate::a_response_of_32_to_512_bytes_is_taken",
    "negotiate::a_refused_initiator_learns_the_status",
    "negotiate::a_bad_status_is_no_success",
    "negotiate::another_version_ends_the_connection",
    "negotiate::max_receive_size_of_the_response_at_its_boundaries",
    "negotiate::max_fragmented_size_of_the_response_at_its_boundaries",
    "negotiate::credits_of_the_response_at_their_boundaries",
    "negotiate::preferred_send_size_of_the_response_at_its_boundaries",
    "negotiate::what_the_response_says_besides_is_ignored",
    "negotiate::the_initiator_waits_120_seconds",
    "negotiate::a_late_response_is_in_time",
    "negotiate::connecting_takes_from_the_same_timer",
    "negotiate::the_initiators_first_message_grants",
    "negotiate::a_new_connection_starts_from_nothing",
    "negotiate::a_good_response_establishes",
    "negotiate::sizes_hold_until_the_end",
];
