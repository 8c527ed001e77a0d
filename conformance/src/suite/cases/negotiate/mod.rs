//! Negotiation.

mod acceptor;
mod initiator;
mod request;
mod response;
mod response_fields;

use std::time::Duration;

use smbd_core::Params;

use super::Entry;
use crate::suite::words::Words;
use crate::suite::{Peer, Stop};

/// The cases of this group.
pub(super) const CASES: &[Entry] = &[
    Entry::new("negotiate::the_response_has_the_subjects_own_values", acceptor::own_values).with(own_values),
    Entry::new("negotiate::what_the_response_grants_is_posted", acceptor::grants_are_posted),
    Entry::new("negotiate::a_refusal_is_32_bytes_with_nothing_but_its_reason", request::refusal),
    Entry::new("negotiate::the_version_is_judged_before_the_fields", request::version_first),
    Entry::new("negotiate::an_empty_range_of_versions_is_refused", request::empty_ranges),
    Entry::new("negotiate::reserved_of_the_request_is_ignored", request::reserved),
    Entry::new("negotiate::a_short_request_is_not_answered", request::short),
    Entry::new("negotiate::a_request_of_20_to_512_bytes_is_taken", request::long),
    Entry::new("negotiate::the_acceptor_does_not_speak_first", acceptor::does_not_speak_first),
    Entry::new("negotiate::the_first_message_is_read_as_a_request", request::first_message),
    Entry::new("negotiate::a_second_request_is_read_as_data", request::second_request),
    Entry::new("negotiate::data_may_follow_the_response_at_once", acceptor::data_at_once),
    Entry::new("negotiate::data_do_not_come_before_the_response", acceptor::data_too_early),
    Entry::new("negotiate::two_connections_know_nothing_of_each_other", acceptor::two_connections),
    Entry::new("negotiate::the_timer_stops_with_the_response", acceptor::timer_stops),
    Entry::new("negotiate::the_largest_values_are_good_together", request::largest),
    Entry::new("negotiate::the_smallest_values_are_good_together", request::smallest),
    Entry::new("negotiate::the_request_has_the_subjects_own_values", initiator::own_values).with(own_values),
    Entry::new("negotiate::the_request_comes_first_and_alone", initiator::comes_first),
    Entry::new("negotiate::the_subject_speaks_the_version_it_offers", initiator::version),
    Entry::new("negotiate::a_short_response_ends_the_connection", response::short),
    Entry::new("negotiate::a_response_of_32_to_512_bytes_is_taken", response::long),
    Entry::new("negotiate::a_refused_initiator_learns_the_status", response::status_is_told),
    Entry::new("negotiate::a_bad_status_is_no_success", response::bad_status),
    Entry::new("negotiate::another_version_ends_the_connection", response::other_version),
    Entry::new(
        "negotiate::max_receive_size_of_the_response_at_its_boundaries",
        response_fields::max_receive_size,
    ),
    Entry::new(
        "negotiate::max_fragmented_size_of_the_response_at_its_boundaries",
        response_fields::max_fragmented_size,
    ),
    Entry::new("negotiate::credits_of_the_response_at_their_boundaries", response_fields::credits),
    Entry::new(
        "negotiate::preferred_send_size_of_the_response_at_its_boundaries",
        response_fields::preferred_send_size,
    ),
    Entry::new("negotiate::what_the_response_says_besides_is_ignored", response_fields::besides),
    Entry::new("negotiate::the_initiator_waits_120_seconds", initiator::waits),
    Entry::new("negotiate::a_late_response_is_in_time", initiator::late_response),
    Entry::new("negotiate::connecting_takes_from_the_same_timer", initiator::connecting_counts),
    Entry::new("negotiate::the_initiators_first_message_grants", initiator::first_message_grants),
    Entry::new("negotiate::a_new_connection_starts_from_nothing", initiator::starts_from_nothing),
    Entry::new("negotiate::a_good_response_establishes", response::establishes),
    Entry::new("negotiate::sizes_hold_until_the_end", initiator::sizes_hold),
];

/// What was read as a probe is answered, without data.
fn empty_answer(peer: &mut Peer<'_>, statements: &str) -> Result<(), Stop> {
    let answer = peer.answer(statements, Duration::from_secs(5))?;
    peer.check("3.1.5.4-01", answer.header.data_length == 0, || {
        format!("an empty message should answer, {} came", answer.words())
    });
    Ok(())
}

/// Values that no implementation has by itself.
fn own_values(params: &mut Params) {
    params.send_credit_target = 77;
    params.max_send_size = 2000;
    params.max_receive_size = 3000;
    params.max_fragmented_recv_size = 200_000;
    params.max_read_write_size = 5_000_000;
}
