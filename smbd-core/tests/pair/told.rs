//! What whoever drives a connection is told at once is what a poll would tell.

use std::hash::{DefaultHasher, Hasher};

use smbd_core::backend::Protocol;
use smbd_core::{Action, Connection, Input, Instant};

/// Whether the input of this number is checked: all of a short run, and a part of a long one, for it takes a copy of the connection.
pub const fn is_checked(number: u64) -> bool {
    number < 40 || number.is_multiple_of(11)
}

/// Gives `input` to `before` in the way of `drive`, and compares it with `after`, which has handled it.
pub fn check_at_once(mut before: Connection, mut after: Connection, now: Instant, input: Input<'_>) {
    let event = Protocol::handle_and_tell(&mut before, now, input).expect("the input was handled");
    if let Some(event) = event {
        assert_eq!(
            format!("{:?}", Action::Notify(event)),
            format!("{:?}", after.poll_action()),
            "told at once, and polled"
        );
    }
    assert_eq!(fingerprint(&before, now), fingerprint(&after, now), "after {input:?}");
    // What one of them remembers of decisions makes no difference.
    loop {
        let [left, right] = [&mut before, &mut after].map(Connection::poll_action);
        assert_eq!(format!("{left:?}"), format!("{right:?}"), "after {input:?}");
        if matches!(left, Action::Wait(_)) {
            return;
        }
    }
}

fn fingerprint(connection: &Connection, now: Instant) -> u64 {
    let mut hasher = DefaultHasher::new();
    connection.fingerprint(now, &mut hasher);
    hasher.finish()
}
