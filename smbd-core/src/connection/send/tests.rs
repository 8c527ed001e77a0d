//! Counters wrap; a connection lives that long.

use std::vec::Vec;

use super::{Carries, Report, Sender};
use crate::{Config, MsgId, Params};

/// A sender that has sent 2^32 - 1 messages.
fn old() -> Sender {
    let config = Config::try_from(Params::example()).unwrap();
    let mut sender = Sender::new(&config);
    sender.set_max_send_size(1024);
    sender.first = MsgId(u32::MAX);
    sender.next_send = u32::MAX;
    sender
}

/// Hands the first message over whole.
fn leave(sender: &mut Sender) -> MsgId {
    let piece = sender.cut().unwrap();
    assert_eq!(piece.remaining, 0);
    sender.post(Carries::Last(piece.body.msg)).unwrap();
    piece.body.msg
}

#[test]
fn numbers_of_messages_wrap() {
    let mut sender = old();
    let accepted: Vec<_> = (0..3).map(|_| sender.enqueue(8, None, 0, Report::Prompt).unwrap()).collect();
    assert_eq!(accepted, [MsgId(u32::MAX), MsgId(0), MsgId(1)]);
    let left: Vec<_> = (0..3).map(|_| leave(&mut sender)).collect();
    assert_eq!(left, accepted);
}

#[test]
fn messages_are_aborted_oldest_first_also_across_the_wrap() {
    let mut sender = old();
    for _ in 0..4 {
        sender.enqueue(8, None, 0, Report::Prompt).unwrap();
    }
    leave(&mut sender);
    leave(&mut sender);
    let aborted: Vec<_> = core::iter::from_fn(|| sender.abort_one()).collect();
    assert_eq!(aborted, [MsgId(u32::MAX), MsgId(0), MsgId(1), MsgId(2)]);
}

#[test]
fn a_message_waits_for_writes_also_across_the_wrap() {
    let mut sender = old();
    // Two writes were commanded after number 2^32 - 1.
    sender.enqueue(8, None, 1, Report::Prompt).unwrap();
    let ready = [u32::MAX - 1, u32::MAX, 0, 1, 2].map(|posted| sender.is_ready(posted));
    assert_eq!(ready, [false, false, false, true, true]);
}
