//! RDMA, registrations and invalidation.

mod answers;
mod broken;
mod depth;
mod headers;
mod invalidation;
mod offers;
mod pieces;
mod refused;
mod transfers;

use super::Entry;

/// The cases of this group.
pub(super) const CASES: &[Entry] = &[
    Entry::new("rdma::a_write_goes_to_the_bytes_described", transfers::write),
    Entry::new("rdma::a_read_brings_the_bytes_described", transfers::read),
    Entry::new("rdma::any_number_of_descriptors_is_used", transfers::many_descriptors),
    Entry::new("rdma::descriptors_of_no_bytes_are_skipped", transfers::empty_descriptors),
    Entry::new("rdma::a_range_outside_the_descriptors_is_refused_locally", refused::outside),
    Entry::new("rdma::an_operation_has_max_read_write_size_at_most", refused::too_long)
        .with(refused::small_max_read_write_size),
    Entry::new("rdma::a_peer_that_offers_none_gets_none", refused::none_offered),
    Entry::new("rdma::a_registration_gives_the_rights_asked_for", offers::rights),
    Entry::new("rdma::a_token_is_worthless_on_another_connection", offers::other_connection),
    Entry::new("rdma::descriptors_cover_the_buffer_once_and_in_order", offers::descriptors),
    Entry::new("rdma::a_registration_that_fails_leaves_nothing_open", offers::failed_registration),
    Entry::new("rdma::nothing_is_open_when_deregistration_is_done", offers::deregistration),
    Entry::new("rdma::a_deregistration_that_fails_is_told", offers::failed_deregistration),
    Entry::new("rdma::a_message_invalidates_one_token_once", invalidation::once),
    Entry::new("rdma::an_smb2_answer_invalidates_the_first_token", answers::of_smb2),
    Entry::new("rdma::without_invalidation_the_message_is_sent_all_the_same", invalidation::without),
    Entry::new("rdma::an_invalidated_token_is_told_and_then_gone", invalidation::is_told),
    Entry::new("rdma::a_foreign_token_cannot_be_invalidated", invalidation::foreign),
    Entry::new("rdma::reads_stay_within_the_depth_agreed", depth::reads),
    Entry::new("rdma::a_bad_descriptor_ends_the_connection", broken::descriptors),
    Entry::new("rdma::the_answer_to_an_ird_ord_header_has_one", headers::answered).with(headers::depth_of_16),
    Entry::new("rdma::without_an_ird_ord_header_none_is_answered", headers::none),
    Entry::new("rdma::a_depth_of_zero_is_not_agreed_on", headers::zero),
    Entry::new("rdma::an_initiators_ird_ord_header_is_plausible", headers::asked).with(headers::depth_of_16),
];
