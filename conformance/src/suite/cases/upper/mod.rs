//! The upper layer.

mod commands;
mod connection;

use std::time::Duration;

use smbd_core::{Keepalive, Params};

use super::Entry;

/// The cases of this group.
pub(super) const CASES: &[Entry] = &[
    Entry::new("upper::a_connection_is_told_when_it_can_be_used", connection::told_when_usable),
    Entry::new("upper::nothing_can_be_commanded_before", connection::nothing_before),
    Entry::new("upper::the_query_tells_what_was_settled", connection::query).with(queried),
    Entry::new("upper::each_message_sent_is_reported_once", commands::sent_once),
    Entry::new("upper::the_payload_may_be_anything", commands::any_payload),
    Entry::new("upper::a_slow_upper_layer_starts_no_endless_talk", commands::slow_upper_layer)
        .with(few_receives),
];

fn queried(params: &mut Params) {
    (params.max_send_size, params.max_receive_size) = (2000, 3000);
    (params.max_fragmented_recv_size, params.max_read_write_size) = (200_000, 5_000_000);
    let (interval, answer_timeout) = (Duration::from_secs(60), Duration::from_secs(5));
    params.keepalive = Some(Keepalive { interval, answer_timeout });
}

/// 10 receives, and 8 more for what the upper layer holds.
fn few_receives(params: &mut Params) {
    (params.receive_credit_max, params.borrowed_max) = (10, 8);
}
