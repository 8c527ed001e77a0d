//! Limits.

use super::Entry;

/// The cases of this group.
pub(super) const CASES: &[Entry] = &[];

/// Cases of this group that are still to be written.
pub(super) const TO_WRITE: &[&str] = &[
    "limits::values_that_can_never_be_negotiated_are_refused",
    "limits::no_send_is_longer_than_windows_takes",
    "limits::the_peers_max_fragmented_size_is_kept",
    "limits::a_message_of_no_bytes_is_refused",
    "limits::more_credits_than_places_in_the_send_queue",
    "limits::noise_ends_a_connection_and_nothing_else",
];
