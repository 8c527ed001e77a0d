//! 3.1.4.2, 3.1.5.1, 3.1.5.4: the queue, fragments, completions and tokens of messages.

use smbd_core::backend::Protocol;
use smbd_core::error::{Aborted, CommandError, SendError};
use smbd_core::wire::{DataTransfer, Flags, NegotiateRequest};
use smbd_core::{Action, Event, Input, MsgId, Params, Role, Token};

use crate::pair::{DATA, LIMITS, REQUEST, Side, shape};

fn side(params: Params, credits: u16) -> Side {
    let mut side = Side::accepted(Params { keepalive: None, send_credit_timeout: None, ..params }, &REQUEST);
    side.receive_data(DataTransfer { credits_granted: credits, ..DATA });
    side.settle();
    side
}

fn fragments(side: &Side) -> Vec<(u32, u32)> {
    side.data_headers().iter().map(|header| (header.data_length, header.remaining_data_length)).collect()
}

fn sent(side: &Side) -> Vec<(u32, Result<(), Aborted>)> {
    let result = |event: &Event| match event {
        Event::Sent { msg, result } => Some((msg.sequence(), *result)),
        _ => None,
    };
    side.events.iter().filter_map(result).collect()
}

#[test]
fn a_message_is_cut_into_fragments_of_max_send_size_less_24() {
    for (len, expected) in [
        (1, vec![(1, 0)]),
        (999, vec![(999, 0)]),
        (1000, vec![(1000, 0)]),
        (1001, vec![(1000, 1), (1, 0)]),
        (2000, vec![(1000, 1000), (1000, 0)]),
        (2001, vec![(1000, 1001), (1000, 1), (1, 0)]),
    ] {
        let mut side = side(Params::example(), 100);
        side.send(len);
        side.settle();
        assert_eq!(fragments(&side), expected, "TX-1");
        assert_eq!(side.connection.stats().sent.bytes, u64::from(len));
        let cut = if len > 1000 { expected.len() } else { 0 };
        assert_eq!(side.connection.stats().sent.fragments, u64::try_from(cut).unwrap());
    }
}

#[test]
fn the_body_of_a_fragment_is_its_range_of_the_message() {
    let mut side = side(Params::example(), 100);
    let msg = side.send(2500);
    let bodies: Vec<_> = side
        .drain()
        .into_iter()
        .filter_map(|action| if let Action::PostSend { body, .. } = action { body } else { None })
        .map(|body| (body.msg, body.offset, body.len))
        .collect();
    assert_eq!(bodies, [(msg, 0, 1000), (msg, 1000, 1000), (msg, 2000, 500)]);
}

#[test]
fn a_message_has_1_to_max_fragmented_size_bytes() {
    // TX-5, TX-8.
    let mut side = side(Params::example(), 1000);
    assert_eq!(side.connection.send(side.now, 0, None), Err(SendError::Empty));
    for len in [131_073, u32::MAX - 7, u32::MAX] {
        let error = side.connection.send(side.now, len, None);
        assert_eq!(error, Err(SendError::TooLong { len, max: 131_072 }));
    }
    side.send(131_072);
    side.settle();
    assert_eq!(fragments(&side).iter().map(|(len, _)| len).sum::<u32>(), 131_072);
}

#[test]
fn a_peer_may_take_4_gibibytes() {
    let request = NegotiateRequest { max_fragmented_size: u32::MAX, ..REQUEST };
    let mut side = Side::accepted(Params { keepalive: None, ..Params::example() }, &request);
    side.receive_data(DataTransfer { credits_granted: 3, ..DATA });
    side.send(u32::MAX);
    side.settle();
    assert_eq!(fragments(&side)[..2], [(1000, u32::MAX - 1000), (1000, u32::MAX - 2000)]);
}

#[test]
fn messages_leave_and_complete_in_order_and_are_never_mixed() {
    let mut side = side(Params::example(), 100);
    let ids: Vec<_> = [1500, 10, 2500].map(|len| side.send(len).sequence()).into();
    side.settle();
    assert_eq!(ids, [0, 1, 2]);
    assert_eq!(fragments(&side), [(1000, 500), (500, 0), (10, 0), (1000, 1500), (1000, 500), (500, 0)]);
    assert_eq!(sent(&side), [(0, Ok(())), (1, Ok(())), (2, Ok(()))]);
}

#[test]
fn a_message_is_sent_when_its_last_fragment_completes() {
    let mut side = side(Params::example(), 100);
    side.send(1500);
    side.drain();
    side.complete_send();
    side.drain();
    assert_eq!(sent(&side), []);
    side.complete_send();
    side.drain();
    assert_eq!(sent(&side), [(0, Ok(()))]);
}

#[test]
fn nothing_comes_between_the_fragments_of_a_message() {
    // RA-4, TX-4: an answer and a grant are due, a credit is there, and yet.
    let mut side = side(Params::example(), 1);
    side.send(3000);
    side.settle();
    for _ in 0..4 {
        side.receive_data(DataTransfer { flags: Flags::RESPONSE_REQUESTED, ..DATA });
        side.settle();
    }
    assert_eq!(fragments(&side), [(1000, 2000)]);
    side.receive_data(DataTransfer { credits_granted: 4, ..DATA });
    side.settle();
    // The fragments have answered and granted.
    assert_eq!(fragments(&side), [(1000, 2000), (1000, 1000), (1000, 0)]);
    assert_eq!(side.connection.credits().ungranted(), 0);
}

#[test]
fn a_full_queue_takes_no_more_and_says_when_it_does_again() {
    let mut side = side(Params { message_slots: 2, ..Params::example() }, 0);
    side.send(8);
    side.send(8);
    let full = SendError::Command(CommandError::NoRoom { what: "message slots" });
    assert_eq!(side.connection.send(side.now, 8, None), Err(full));
    side.settle();
    assert!(!side.events.iter().any(|event| matches!(event, Event::Writable)));
    side.receive_data(DataTransfer { credits_granted: 5, ..DATA });
    side.settle();
    let writable = |side: &Side| side.events.iter().filter(|event| matches!(event, Event::Writable)).count();
    assert_eq!(writable(&side), 1);
    let msg: MsgId = side.send(8);
    assert_eq!(msg.sequence(), 2, "a refused message has no number");
    side.settle();
    assert_eq!(writable(&side), 1, "only after a refusal");
}

#[test]
fn a_token_rides_on_the_last_fragment() {
    // TX-6.
    let mut side = side(Params::example(), 100);
    side.connection.send(side.now, 2500, Some(Token(7))).unwrap();
    side.settle();
    let tokens: Vec<_> = side.sent[1..].iter().map(|message| message.invalidate).collect();
    assert_eq!(tokens, [None, None, Some(Token(7))]);
    assert_eq!(side.connection.stats().sent.invalidations, 1);
}

#[test]
fn a_token_is_dropped_where_a_send_cannot_invalidate() {
    let mut side = Side::new(Role::Acceptor, Params { keepalive: None, ..Params::example() });
    side.limits.send_with_invalidate = false;
    side.drain();
    side.connect();
    side.receive(&crate::pair::request(&REQUEST));
    side.settle();
    side.receive_data(DataTransfer { credits_granted: 5, ..DATA });
    side.connection.send(side.now, 8, Some(Token(7))).unwrap();
    side.settle();
    assert_eq!(side.sent[1].invalidate, None);
    let stats = side.connection.stats();
    assert_eq!((stats.sent.invalidations, stats.invalidations_dropped), (0, 1));
}

/// Which sends have asked for a completion.
fn signals(side: &Side) -> Vec<bool> {
    side.sent[1..].iter().map(|message| message.signal).collect()
}

/// The places of those, from 0 on.
fn signalled(side: &Side) -> Vec<usize> {
    signals(side).iter().enumerate().filter(|(_, signal)| **signal).map(|(at, _)| at).collect()
}

#[test]
fn a_completion_is_asked_for_with_the_last_send_for_now_and_every_32nd() {
    let mut side = side(Params::windows(), 1000);
    side.send(100_000);
    side.drain();
    assert_eq!(side.sent.len() - 1, 100);
    assert_eq!(signalled(&side), [31, 63, 95, 99]);
}

#[test]
fn a_completion_is_asked_for_when_sends_run_out_of_places() {
    let mut side = side(Params { send_slots: 4, ..Params::example() }, 1000);
    side.send(100_000);
    side.drain();
    assert_eq!(signals(&side), [false, false, false, true]);
}

/// A queue of 20 places and credits for far more.
fn with_a_short_queue() -> Side {
    let mut side = Side::new(Role::Acceptor, Params { keepalive: None, ..Params::windows() });
    side.limits = smbd_core::Limits { send_queue: 20, ..LIMITS };
    side.drain();
    side.connect();
    side.receive(&crate::pair::request(&REQUEST));
    side.settle();
    side.receive_data(DataTransfer { credits_granted: 500, ..DATA });
    side
}

#[test]
fn a_completion_is_asked_for_when_under_a_quarter_of_the_queue_is_free() {
    let mut one_message = with_a_short_queue();
    one_message.send(100_000);
    let mut many = with_a_short_queue();
    for _ in 0..100 {
        many.send(8);
    }
    for mut side in [one_message, many] {
        side.drain();
        let signals = signals(&side);
        assert_eq!(signals.len(), 20, "as many as the queue has places");
        // After the sixteenth, four places are free.
        assert_eq!(signals.iter().position(|signal| *signal), Some(15));
        assert!(signals[15..].iter().all(|signal| *signal));
    }
}

#[test]
fn a_completion_is_asked_for_when_the_next_fragment_has_to_wait_for_a_receive() {
    // One credit is left, and no slot for the receive that the last one has to grant.
    let params = Params { receive_credit_max: 4, borrowed_max: 0, keepalive: None, ..Params::example() };
    let mut side = Side::accepted(params, &NegotiateRequest { credits_requested: 4, ..REQUEST });
    side.release = false;
    side.receive_data(DataTransfer { credits_granted: 2, data_offset: 24, data_length: 8, ..DATA });
    side.settle();
    side.send(2500);
    side.drain();
    assert_eq!(fragments(&side), [(1000, 1500)]);
    assert!(side.sent.last().unwrap().signal);
}

#[test]
fn a_completion_is_asked_for_when_credits_run_out() {
    let mut side = side(Params::windows(), 3);
    side.send(100_000);
    side.drain();
    let signals = signals(&side);
    assert_eq!(signals.len(), 3);
    assert!(signals[2], "the last");
}

#[test]
fn every_message_ends_signalled_when_the_side_goes_quiet() {
    for len in [1, 1000, 5000, 33_000, 70_000] {
        for credits in [2, 5, 40, 1000] {
            let mut side = side(Params::example(), credits);
            side.send(len);
            side.drain();
            assert!(side.sent.last().unwrap().signal, "{len} {credits}");
        }
    }
}

/// Sends as many unsignalled messages, each when the one before it has left.
fn send_unsignalled(side: &mut Side, count: u32) {
    for _ in 0..count {
        side.connection.send_unsignalled(side.now, 8, None).unwrap();
        side.drain();
    }
}

#[test]
fn no_completion_is_asked_for_with_unsignalled_messages() {
    for len in [8, 2500] {
        let mut side = side(Params::windows(), 1000);
        side.connection.send_unsignalled(side.now, len, None).unwrap();
        side.drain();
        assert!(!signals(&side).is_empty() && signals(&side).iter().all(|signal| !signal), "{len}");
    }
    // Nor when its next fragment waits for credits.
    let mut side = side(Params::windows(), 1);
    side.connection.send_unsignalled(side.now, 2500, None).unwrap();
    side.drain();
    assert_eq!(signals(&side), [false]);
}

#[test]
fn a_completion_is_asked_for_with_every_32nd_unsignalled_message() {
    let mut side = side(Params::windows(), 1000);
    send_unsignalled(&mut side, 70);
    assert_eq!(signalled(&side), [31, 63]);
}

#[test]
fn a_completion_is_asked_for_when_unsignalled_messages_run_out_of_places() {
    let mut side = side(Params { send_slots: 4, ..Params::example() }, 1000);
    send_unsignalled(&mut side, 4);
    assert_eq!(signals(&side), [false, false, false, true]);
}

#[test]
fn on_a_queue_shorter_than_the_budget_unsignalled_messages_are_signalled() {
    let mut side = with_a_short_queue();
    send_unsignalled(&mut side, 3);
    assert_eq!(signals(&side), [true; 3]);
}

#[test]
fn a_message_is_reported_promptly_though_an_unsignalled_one_leaves_behind_it() {
    let mut side = side(Params::windows(), 1000);
    side.connection.send_unsignalled(side.now, 8, None).unwrap();
    side.send(8);
    side.connection.send_unsignalled(side.now, 8, None).unwrap();
    side.drain();
    assert_eq!(signals(&side), [false, false, true]);
    // And only once.
    side.connection.send_unsignalled(side.now, 8, None).unwrap();
    side.drain();
    assert_eq!(signals(&side), [false, false, true, false]);
}

#[test]
fn unsignalled_messages_are_reported_with_what_completes_them() {
    let mut side = side(Params::windows(), 1000);
    side.connection.send_unsignalled(side.now, 8, None).unwrap();
    side.drain();
    assert_eq!(sent(&side), []);
    side.send(8);
    side.settle();
    assert_eq!(sent(&side), [(0, Ok(())), (1, Ok(()))]);
}

#[test]
fn a_solicited_event_is_asked_for_with_the_last_fragment_if_at_all() {
    for solicit in [false, true] {
        let mut side = side(Params { solicit, ..Params::example() }, 100);
        side.send(2500);
        side.settle();
        let marks: Vec<_> = side.sent[1..].iter().map(|message| message.solicit).collect();
        assert_eq!(marks, [false, false, solicit]);
    }
}

#[test]
fn events_come_before_what_is_posted_next() {
    // The upper layer may command in answer to an event, and it leaves in the same drain.
    let mut side = side(Params::example(), 100);
    side.send(8);
    side.drain();
    side.complete_send();
    side.receive_data(DataTransfer { data_offset: 24, data_length: 8, ..DATA });
    side.send(8);
    assert_eq!(shape(&side.drain()), "nsrw", "Sent, (data,) send, the reserve");
}

#[test]
fn commands_before_established_are_refused() {
    let mut side = Side::connected(Role::Initiator, Params::example());
    let early = CommandError::NotEstablished;
    assert_eq!(side.connection.send(side.now, 8, None), Err(SendError::Command(early)));
    assert_eq!(side.connection.probe(side.now), Err(early));
}

#[test]
fn a_command_between_two_fragments_has_its_effect_at_once() {
    let mut side = side(Params::windows(), 1000);
    side.send(100_000);
    for _ in 0..5 {
        side.poll();
    }
    let op = side.rdma(smbd_core::RdmaVerb::Write, 0, &[(0, 8)], 0);
    side.poll();
    assert!(
        matches!(side.events.last(), Some(Event::RdmaDone { op: done, .. }) if *done == op),
        "done at once"
    );
    side.poll();
    side.connection.probe(side.now).unwrap();
    side.poll();
    assert_eq!(side.last_header().flags, Flags::RESPONSE_REQUESTED);
    side.drain();
    assert_eq!(fragments(&side).iter().map(|(len, _)| len).sum::<u32>(), 100_000);
}

#[test]
fn an_answer_that_is_owed_and_has_no_place_leaves_after_a_completion_that_is_told_at_once() {
    let mut side = side(Params { send_slots: 2, ..Params::example() }, 1000);
    side.send(8);
    side.send(8);
    side.drain();
    side.receive_data(DataTransfer { flags: Flags::RESPONSE_REQUESTED, ..DATA });
    side.drain();
    let before = side.sent.len();
    // As `drive` does it.
    let id = side.sends.pop_front().unwrap();
    let told = Protocol::handle_and_tell(&mut side.connection, side.now, Input::Sent { id });
    assert!(matches!(told, Ok(Some(Event::Sent { .. }))), "{told:?}");
    side.drain();
    assert_eq!(side.sent.len(), before + 1);
}
