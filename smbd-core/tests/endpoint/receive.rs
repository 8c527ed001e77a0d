use bytes::Bytes;
use proptest::prelude::*;
use smbd_core::backend::{ReceiveMemory, ShortReceive};
use smbd_core::endpoint::{EndpointEvent, Message};
use smbd_core::{Action, Config, Endpoint, Input, Instant, Params, Role};

use crate::peer::{PEER_CLOSED, Played, params, pattern};

fn messages(played: &mut Played) -> Vec<Message> {
    let events = std::mem::take(&mut played.events);
    events
        .into_iter()
        .map(|event| match event {
            EndpointEvent::Message(message) => message,
            other => panic!("{other:?} is no message"),
        })
        .collect()
}

fn owned(played: &mut Played) -> Bytes {
    match messages(played).pop() {
        Some(Message::Owned(bytes)) => bytes.freeze(),
        other => panic!("{other:?} was not copied"),
    }
}

fn no_borrowing() -> Params {
    Params { borrowed_max: 0, ..params() }
}

proptest! {
    #[test]
    fn messages_arrive_whole_whatever_their_fragments(
        sent in prop::collection::vec((1..6000_usize, prop::collection::vec(1..=1000_usize, 1..5)), 1..12),
        borrowed_max in 0..4_u16,
        keep in prop::collection::vec(any::<bool>(), 12),
    ) {
        let mut played = Played::established(Params { borrowed_max, ..params() }, 10);
        let mut kept = Vec::new();
        for ((seed, (len, fragments)), keep) in sent.iter().enumerate().zip(keep) {
            let message = pattern(*len, seed);
            played.message(&message, fragments);
            let got = messages(&mut played);
            prop_assert_eq!(got.len(), 1);
            for message in got {
                kept.push((seed, message));
            }
            prop_assert!(played.endpoint.borrowed() <= borrowed_max);
            // What is kept stays as it was, whatever comes later.
            for (seed, message) in &kept {
                prop_assert_eq!(message.bytes(&played.slab).unwrap(), pattern(sent[*seed].0, *seed));
            }
            if !keep {
                for (_, message) in kept.drain(..) {
                    if let Message::Borrowed(fragment) = message {
                        played.endpoint.release(Instant::ORIGIN, fragment).unwrap();
                    }
                }
                prop_assert_eq!(played.endpoint.borrowed(), 0);
                played.drain();
            }
        }
        // Each byte is copied once or never.
        let total: u64 = sent.iter().map(|(len, _)| u64::try_from(*len).unwrap()).sum();
        prop_assert!(played.endpoint.stats().bytes_copied <= total);
    }
}

proptest! {
    #[test]
    fn in_pieces_each_fragment_is_delivered_where_it_lies_with_what_remains_of_its_message(
        sent in prop::collection::vec((1..6000_usize, prop::collection::vec(1..=1000_usize, 1..5)), 1..12),
    ) {
        let config = Config::try_from(no_borrowing()).unwrap();
        let endpoint = Endpoint::new(Role::Acceptor, &config, Instant::ORIGIN).in_pieces();
        let mut played = Played::established_with(endpoint, 10);
        for (seed, (len, fragments)) in sent.iter().enumerate() {
            let expected = pattern(*len, seed);
            let (mut rest, mut lengths) = (&expected[..], fragments.iter().cycle());
            while !rest.is_empty() {
                let (piece, later) = rest.split_at((*lengths.next().unwrap()).min(rest.len()));
                rest = later;
                played.data(piece, later.len(), 0);
                let Some(Message::Borrowed(fragment)) = messages(&mut played).pop() else { panic!("not borrowed") };
                prop_assert_eq!(played.slab.fragment(&fragment).unwrap(), piece);
                prop_assert_eq!(usize::try_from(fragment.remaining()).unwrap(), later.len());
                prop_assert_eq!(played.endpoint.borrowed(), 1);
                played.endpoint.release(Instant::ORIGIN, fragment).unwrap();
                played.drain();
                played.complete_grants();
            }
        }
        let stats = played.endpoint.stats();
        prop_assert_eq!((stats.messages_borrowed, stats.messages_copied), (sent.len() as u64, 0));
        prop_assert_eq!((stats.bytes_copied, played.endpoint.reassembly_capacity()), (0, 0));
    }
}

#[test]
fn a_message_in_one_piece_is_borrowed_where_it_lies() {
    let mut played = Played::established(params(), 10);
    played.message(&pattern(900, 1), &[1000]);
    let Some(Message::Borrowed(fragment)) = messages(&mut played).pop() else { panic!("not borrowed") };
    assert_eq!(played.slab.fragment(&fragment).unwrap(), pattern(900, 1));
    assert_eq!(played.slab.received(fragment.recv()).len(), 924);
    assert_eq!((played.endpoint.stats().messages_borrowed, played.endpoint.stats().bytes_copied), (1, 0));
    played.endpoint.release(Instant::ORIGIN, fragment).unwrap();
    assert_eq!(played.endpoint.borrowed(), 0);
}

#[test]
fn beyond_borrowed_max_messages_are_copied_and_their_slots_posted_again() {
    let mut played = Played::established(Params { borrowed_max: 2, ..params() }, 10);
    let mut borrowed = Vec::new();
    for round in 0..20 {
        played.message(&pattern(500, round), &[1000]);
        match messages(&mut played).pop() {
            Some(Message::Borrowed(fragment)) => borrowed.push(fragment),
            Some(Message::Owned(bytes)) => assert_eq!(bytes, pattern(500, round)),
            None => panic!("no message"),
        }
    }
    assert_eq!(borrowed.len(), 2);
    assert_eq!(played.endpoint.connection().credits().posted(), 10);
    let stats = played.endpoint.stats();
    assert_eq!((stats.messages_borrowed, stats.messages_copied, stats.bytes_copied), (2, 18, 18 * 500));
    // Given back, the next one is borrowed again.
    played.endpoint.release(Instant::ORIGIN, borrowed.pop().unwrap()).unwrap();
    played.message(&pattern(500, 0), &[1000]);
    assert!(matches!(messages(&mut played)[..], [Message::Borrowed(_)]));
}

#[test]
fn slots_of_copied_fragments_are_free_before_the_message_is_complete() {
    let mut played = Played::established(no_borrowing(), 10);
    // Far more fragments than receives.
    played.message(&pattern(100_000, 3), &[1000]);
    assert_eq!(owned(&mut played), pattern(100_000, 3));
    assert_eq!(played.endpoint.connection().outstanding().borrowed, 0);
}

#[test]
fn the_buffer_grows_with_what_arrives_not_with_what_is_announced() {
    let mut played = Played::established(no_borrowing(), 10);
    let total = 131_072;
    let mut arrived = 0;
    while arrived < total {
        let len = 1000.min(total - arrived);
        arrived += len;
        played.data(&pattern(len, 0), total - arrived, 0);
        played.complete_grants();
        if arrived < total {
            let capacity = played.endpoint.reassembly_capacity();
            assert!(capacity <= (2 * arrived).min(total), "{capacity} bytes for {arrived} that arrived");
        }
    }
    assert_eq!(owned(&mut played).len(), total);
}

#[test]
fn growing_copies_again_only_until_messages_of_that_length_have_been_seen() {
    let mut played = Played::established(no_borrowing(), 10);
    played.message(&pattern(100_000, 1), &[1000]);
    let grown = played.endpoint.stats().bytes_moved;
    assert!(grown < 2 * 100_000, "{grown}");
    // Dropped before the next one comes, as a server that handles one request at a time does.
    drop(messages(&mut played));
    for round in 0..10 {
        played.message(&pattern(100_000, round), &[1000]);
        assert_eq!(owned(&mut played), pattern(100_000, round));
    }
    // These leave a rest of the buffer that is too short for the next one.
    for round in 0..10 {
        played.message(&pattern(60_000, round), &[1000]);
        assert_eq!(owned(&mut played), pattern(60_000, round));
    }
    assert_eq!(played.endpoint.stats().bytes_moved, grown);
    assert_eq!(played.endpoint.stats().bytes_copied, 11 * 100_000 + 10 * 60_000);
}

#[test]
fn a_message_cut_short_by_the_end_leaves_nothing_behind() {
    let mut played = Played::established(no_borrowing(), 10);
    played.data(&pattern(1000, 0), 500, 0);
    assert!(played.endpoint.reassembly_capacity() >= 1000);
    played.endpoint.handle(played.now, PEER_CLOSED).unwrap();
    let event = played.endpoint.poll_action(&played.slab).unwrap();
    assert!(matches!(event, Action::Notify(EndpointEvent::Closed(_))), "{event:?}");
    assert_eq!(played.endpoint.reassembly_capacity(), 0);
}

#[test]
fn one_buffer_is_used_again_and_again() {
    let mut played = Played::established(no_borrowing(), 10);
    played.message(&pattern(3000, 1), &[1000]);
    let first = owned(&mut played);
    let address = first.as_ptr();
    drop(first);
    played.message(&pattern(3000, 2), &[1000]);
    assert_eq!(owned(&mut played).as_ptr(), address);
}

#[test]
fn the_buffer_stays_within_max_fragmented_recv_size_whatever_is_kept() {
    let mut played = Played::established(no_borrowing(), 10);
    let mut kept = Vec::new();
    for round in 0..24 {
        played.message(&pattern(1 + 9000 * (round % 7), round), &[999, 3, 512]);
        let message = owned(&mut played);
        if round % 3 == 0 {
            kept.push((round, message));
        }
        assert!(played.endpoint.reassembly_capacity() <= 131_072);
    }
    for (round, message) in kept {
        assert_eq!(message, pattern(1 + 9000 * (round % 7), round));
    }
}

struct Nothing;

impl ReceiveMemory for Nothing {
    fn received(&self, _: smbd_core::RecvId) -> &[u8] {
        &[0; 30]
    }
}

#[test]
fn a_fragment_that_is_not_there_is_an_error_that_stays() {
    let mut played = Played::established(params(), 10);
    let id = played.posted.pop_front().unwrap();
    let mut message = vec![10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 24, 0, 0, 0, 100, 0, 0, 0, 0, 0, 0, 0];
    message.resize(124, 0);
    let head = smbd_core::Head::of(&message);
    let input = Input::Received { id, head, len: 124, invalidated: None };
    played.endpoint.handle(played.now, input).unwrap();
    let short = ShortReceive { recv: id, start: 24, end: 124, got: 30 };
    assert_eq!(played.endpoint.poll_action(&Nothing).unwrap_err(), short);
    assert_eq!(played.endpoint.poll_action(&played.slab).unwrap_err(), short);
    assert!(short.to_string().ends_with("bytes 24 to 124, its buffer has 30"), "{short}");
}

#[test]
fn what_is_borrowed_is_counted() {
    let mut played = Played::established(params(), 10);
    let mut borrowed = Vec::new();
    for nth in 1..=2 {
        played.message(&pattern(100, 1), &[1000]);
        let Some(Message::Borrowed(fragment)) = messages(&mut played).pop() else { panic!("not borrowed") };
        borrowed.push(fragment);
        assert_eq!(played.endpoint.borrowed(), nth);
    }
    for (left, fragment) in [1, 0].into_iter().zip(borrowed) {
        played.endpoint.release(Instant::ORIGIN, fragment).unwrap();
        assert_eq!(played.endpoint.borrowed(), left);
    }
}

#[test]
fn all_is_over_once_what_was_borrowed_is_given_back_after_the_end() {
    let mut played = Played::established(params(), 10);
    played.message(&pattern(900, 1), &[1000]);
    let Some(Message::Borrowed(fragment)) = messages(&mut played).pop() else { panic!("not borrowed") };
    played.endpoint.handle(played.now, PEER_CLOSED).unwrap();
    assert!(!played.finish(), "a message is borrowed");
    played.endpoint.release(played.now, fragment).unwrap();
    assert!(played.finish(), "nothing is");
}
