//! The end of connections.

mod commands;
mod device;
mod leaving;

use smbd_core::error::CloseReason;

use super::Entry;

/// The cases of this group.
pub(super) const CASES: &[Entry] = &[
    Entry::new("closing::a_peer_may_leave_at_any_time", leaving::at_any_time),
    Entry::new("closing::the_upper_layer_is_told_once", leaving::told_once).with(leaving::short_timers),
    Entry::new("closing::every_command_gets_its_result", commands::every_result),
    Entry::new("closing::what_comes_after_the_end_means_nothing", leaving::after_the_end),
    Entry::new("closing::a_hundred_connections_leave_nothing", leaving::a_hundred),
    Entry::new("closing::a_flush_is_a_consequence", device::flush),
    Entry::new("closing::a_failed_negotiation_message_is_told", device::negotiation_message),
    Entry::new("closing::a_receive_that_cannot_be_posted_ends_the_connection", device::receive),
    Entry::new("closing::a_refused_first_receive_ends_the_connection", device::first_receive),
    Entry::new("closing::a_connect_that_fails_says_why", device::connect),
];

/// Whether the transport connection ended it (3.1.7.1): not the subject, and nothing that failed by itself.
const fn is_of_the_transport(reason: CloseReason) -> bool {
    matches!(reason, CloseReason::PeerClosed | CloseReason::Lost { .. })
}
