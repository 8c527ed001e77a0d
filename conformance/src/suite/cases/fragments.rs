//! Fragments of messages.

use super::Entry;

/// The cases of this group.
pub(super) const CASES: &[Entry] = &[];

/// Cases of this group that are still to be written.
pub(super) const TO_WRITE: &[&str] = &[
    "fragments::a_message_is_cut_exactly",
    "fragments::nothing_comes_between_fragments",
    "fragments::fragments_must_continue_exactly",
    "fragments::a_sequence_cannot_grow",
    "fragments::empty_messages_between_fragments_are_taken",
    "fragments::fragments_of_no_bytes_are_fragments",
    "fragments::the_next_message_starts_from_nothing",
    "fragments::an_unfinished_sequence_is_left_alone",
    "fragments::data_may_begin_at_any_multiple_of_8",
    "fragments::data_inside_the_header_end_the_connection",
    "fragments::an_offset_without_data_is_taken",
    "fragments::an_empty_message_has_an_aligned_offset_inside_it",
    "fragments::unknown_flags_are_ignored",
    "fragments::what_has_no_meaning_is_ignored",
    "fragments::nothing_reserved_is_used",
    "fragments::a_message_is_as_long_as_max_receive_size_at_most",
    "fragments::a_short_message_ends_the_connection",
    "fragments::sums_do_not_wrap",
    "fragments::nothing_of_a_bad_message_takes_effect",
    "fragments::a_message_may_have_max_fragmented_size",
    "fragments::many_small_fragments_need_few_receives",
    "fragments::an_empty_message_is_nothing_to_the_upper_layer",
    "fragments::both_sides_send_at_once",
];
