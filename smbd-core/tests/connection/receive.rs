//! 3.1.5.8: what is taken, what is tolerated and what ends the connection.

use proptest::prelude::*;
use smbd_core::error::Violation;
use smbd_core::wire::{DataTransfer, Flags};
use smbd_core::{Event, Params, PhaseName, Stats, Token};

use crate::pair::{DATA, REQUEST, RESPONSE, Side, data};

/// Acceptor with 1024-byte messages, 131072 bytes reassembled, 10 credits out.
fn side() -> Side {
    Side::accepted(Params { keepalive: None, ..Params::example() }, &REQUEST)
}

/// The same as initiator.
fn initiating() -> Side {
    Side::initiated(Params { keepalive: None, ..Params::example() }, &RESPONSE)
}

fn strict() -> Side {
    Side::accepted(Params { keepalive: None, strict: true, ..Params::example() }, &REQUEST)
}

const DATA8: DataTransfer = DataTransfer { data_offset: 24, data_length: 8, ..DATA };

/// Feeds `header` in a message of `len` bytes and says how the connection ended, if it did.
fn end_after(mut side: Side, header: DataTransfer, len: u32) -> Option<Violation> {
    side.receive_long(&data(&header), len, None);
    violation(&mut side)
}

fn violation(side: &mut Side) -> Option<Violation> {
    side.drain();
    side.events.iter().find_map(|event| match event {
        Event::Closed(smbd_core::error::CloseReason::Violation(violation)) => Some(*violation),
        Event::Closed(other) => panic!("{other:?}"),
        _ => None,
    })
}

fn opened(mut side: Side, remaining: u32) -> Side {
    side.receive_data(DataTransfer { remaining_data_length: remaining, ..DATA8 });
    side.drain();
    side
}

#[test]
fn a_message_needs_its_20_bytes() {
    let mut short = side();
    short.receive(&data(&DATA)[..19]);
    let expected = Violation::ShortMessage { needed: 20, got: 19, section: "3.1.5.8" };
    assert_eq!(violation(&mut short), Some(expected));
    assert_eq!(end_after(side(), DATA, 20), None);
}

#[test]
fn a_message_may_be_as_long_as_max_receive_size_and_no_longer() {
    let full = DataTransfer { data_offset: 24, data_length: 1000, ..DATA };
    assert_eq!(end_after(side(), full, 1024), None);
    for len in [1001, 1002, 1008, 2000] {
        let over = DataTransfer { data_offset: 24, data_length: len, ..DATA };
        let long = Violation::LongMessage { max: 1024, got: 24 + len };
        assert_eq!(end_after(side(), over, 24 + len), Some(long));
    }
    assert_eq!(end_after(side(), DATA8, 1025), Some(Violation::LongMessage { max: 1024, got: 1025 }));
    assert_eq!(end_after(side(), DATA8, u32::MAX), Some(Violation::LongMessage { max: 1024, got: u32::MAX }));
}

#[test]
fn credits_have_to_be_requested() {
    let none = DataTransfer { credits_requested: 0, ..DATA };
    assert_eq!(end_after(side(), none, 20), Some(Violation::CreditsRequestedZero { section: "3.1.5.8" }));
    assert_eq!(end_after(side(), DataTransfer { credits_requested: 1, ..DATA }, 20), None);
}

#[test]
fn data_are_aligned_to_8_bytes_also_where_there_are_none() {
    for offset in [1, 4, 7, 9, 20, 25, 28] {
        let crooked = DataTransfer { data_offset: offset, ..DATA8 };
        assert_eq!(end_after(side(), crooked, 64), Some(Violation::DataMisaligned { offset }));
        // VA-8.
        let empty = DataTransfer { data_offset: offset, ..DATA };
        assert_eq!(end_after(side(), empty, 64), Some(Violation::DataMisaligned { offset }));
    }
    for offset in [24, 32, 40, 1016] {
        assert_eq!(end_after(side(), DataTransfer { data_offset: offset, ..DATA8 }, offset + 8), None);
    }
}

#[test]
fn data_never_lie_inside_the_header() {
    for offset in [0, 8, 16] {
        let aliased = DataTransfer { data_offset: offset, data_length: 1, ..DATA };
        assert_eq!(
            end_after(side(), aliased, 64),
            Some(Violation::DataInsideHeader { offset, len: 1 }),
            "VA-3"
        );
        assert_eq!(end_after(side(), DataTransfer { data_offset: offset, ..DATA }, 64), None, "VA-4");
    }
}

#[test]
fn data_end_where_the_message_ends_at_the_latest() {
    assert_eq!(end_after(side(), DATA8, 32), None);
    let beyond = Violation::DataBeyondMessage { offset: 24, len: 8, got: 31 };
    assert_eq!(end_after(side(), DATA8, 31), Some(beyond));
    // VA-1: the sum of 24 and 0xFFFFFFFF is 23 in 32 bits.
    for (offset, len) in [(24, u32::MAX), (24, u32::MAX - 23), (0xFFFF_FFF8, 8), (0x8000_0000, 0x8000_0000)] {
        let header = DataTransfer { data_offset: offset, data_length: len, ..DATA };
        let beyond = Violation::DataBeyondMessage { offset, len, got: 64 };
        assert_eq!(end_after(side(), header, 64), Some(beyond));
    }
    // VA-4: an empty message's offset is inside the message too.
    assert_eq!(end_after(side(), DataTransfer { data_offset: 24, ..DATA }, 24), None);
    let beyond = Violation::DataBeyondMessage { offset: 24, len: 0, got: 23 };
    assert_eq!(end_after(side(), DataTransfer { data_offset: 24, ..DATA }, 23), Some(beyond));
}

#[test]
fn a_message_announces_max_fragmented_size_at_most() {
    let header = |remaining| DataTransfer { remaining_data_length: remaining, ..DATA8 };
    assert_eq!(end_after(side(), header(131_064), 32), None);
    for remaining in [131_065, u32::MAX - 8, u32::MAX - 7, u32::MAX] {
        let long = Violation::MessageTooLong { len: 8, remaining, max: 131_072 };
        assert_eq!(end_after(side(), header(remaining), 32), Some(long), "VA-2");
    }
    let opening = DataTransfer { remaining_data_length: 131_072, ..DATA };
    assert_eq!(end_after(side(), opening, 20), None, "RA-5");
    let long = Violation::MessageTooLong { len: 0, remaining: 131_073, max: 131_072 };
    assert_eq!(end_after(side(), DataTransfer { remaining_data_length: 131_073, ..DATA }, 20), Some(long));
}

#[test]
fn a_fragment_continues_the_sequence_exactly() {
    for (len, remaining) in [(8, 92), (100, 0), (99, 1), (1, 99)] {
        let header =
            DataTransfer { data_offset: 24, data_length: len, remaining_data_length: remaining, ..DATA };
        assert_eq!(end_after(opened(side(), 100), header, 24 + len), None);
    }
    for (len, remaining) in [(8, 91), (8, 93), (101, 0), (99, 0), (8, 100), (100, u32::MAX - 99)] {
        let header =
            DataTransfer { data_offset: 24, data_length: len, remaining_data_length: remaining, ..DATA };
        let result = end_after(opened(side(), 100), header, 24 + len);
        // RA-2, RA-3; in 32 bits the last sum is 0.
        if remaining > 131_072 {
            assert_eq!(result, Some(Violation::MessageTooLong { len, remaining, max: 131_072 }));
        } else {
            assert_eq!(result, Some(Violation::FragmentMismatch { len, remaining, expected: 100 }));
        }
    }
}

#[test]
fn a_sequence_cannot_grow() {
    // RA-3: each of these alone is fine.
    let mut side = opened(side(), 1000);
    side.receive_data(DataTransfer { remaining_data_length: 1000, ..DATA8 });
    let mismatch = Violation::FragmentMismatch { len: 8, remaining: 1000, expected: 1000 };
    assert_eq!(violation(&mut side), Some(mismatch));
}

#[test]
fn a_message_that_falls_short_is_noticed() {
    // RA-1: the counter reaches 0 while more is announced, then a "first" fragment follows.
    let mut side = opened(side(), 8);
    side.receive_data(DataTransfer { remaining_data_length: 8, ..DATA8 });
    let mismatch = Violation::FragmentMismatch { len: 8, remaining: 8, expected: 8 };
    assert_eq!(violation(&mut side), Some(mismatch));
}

#[test]
fn zero_length_fragments_open_and_continue_a_sequence_without_becoming_fragments() {
    // RA-5, as Microsoft's VariableLengthSegment: one kind with DataOffset 0, one with 24.
    let mut side = side();
    side.receive_data(DataTransfer { remaining_data_length: 16, ..DATA });
    side.receive_data(DataTransfer { remaining_data_length: 8, ..DATA8 });
    side.receive_long(&data(&DataTransfer { remaining_data_length: 8, data_offset: 24, ..DATA }), 24, None);
    side.receive_data(DataTransfer { remaining_data_length: 8, ..DATA });
    side.receive_data(DATA8);
    side.drain();
    assert_eq!(side.data, [(true, 8, 8), (false, 8, 0)]);
    side.receive_data(DATA8);
    side.drain();
    assert_eq!(side.data.last(), Some(&(true, 8, 0)));
}

#[test]
fn a_zero_length_fragment_that_promises_something_else_ends_the_connection() {
    let mut side = opened(side(), 100);
    side.receive_data(DataTransfer { remaining_data_length: 99, ..DATA });
    let mismatch = Violation::FragmentMismatch { len: 0, remaining: 99, expected: 100 };
    assert_eq!(violation(&mut side), Some(mismatch));
}

#[test]
fn empty_messages_inside_a_sequence_change_nothing_and_count() {
    let mut side = opened(side(), 8);
    for _ in 0..3 {
        side.receive_data(DataTransfer { credits_granted: 1, ..DATA });
    }
    side.receive_data(DATA8);
    side.drain();
    assert_eq!(side.data, [(true, 8, 8), (false, 8, 0)]);
    let stats = side.connection.stats();
    assert_eq!(stats.tolerances.empty_inside_sequence, 3);
    assert_eq!((stats.received.empties, stats.received.messages, stats.received.bytes), (3, 5, 16));
    assert_eq!(stats.received.credits, 3);
}

/// Flagged, so that they are looked at closely.
#[test]
fn fragments_with_data_or_with_more_to_come_are_not_empty() {
    let mut side = opened(strict(), 16);
    let flagged = DataTransfer { flags: Flags::RESPONSE_REQUESTED, ..DATA8 };
    side.receive_data(DataTransfer { remaining_data_length: 8, ..flagged });
    side.receive_data(flagged);
    side.drain();
    assert_eq!(side.data, [(true, 8, 16), (false, 8, 8), (false, 8, 0)]);
    assert_eq!(side.connection.stats().tolerances.empty_inside_sequence, 0);
}

#[test]
fn empty_messages_are_nothing_to_the_upper_layer() {
    // RA-6.
    let mut side = side();
    side.receive_data(DATA);
    side.drain();
    assert!(side.data.is_empty());
    assert_eq!(side.posted.len(), 11, "the receive is posted again");
}

#[test]
fn each_tolerance_is_counted_and_in_strict_mode_ends_the_connection() {
    type Count = fn(&Stats) -> u64;
    let cases: [(DataTransfer, u32, Option<Violation>, Count); 6] = [
        (DATA8, 33, Some(Violation::TrailingBytes { extra: 1 }), |s| s.tolerances.trailing_bytes),
        (DATA, 21, Some(Violation::TrailingBytes { extra: 1 }), |s| s.tolerances.trailing_bytes),
        (
            DataTransfer { data_offset: 32, ..DATA8 },
            40,
            Some(Violation::UnusualDataOffset { offset: 32 }),
            |s| s.tolerances.unusual_data_offset,
        ),
        (
            DataTransfer { data_offset: 24, ..DATA },
            24,
            Some(Violation::UnusualDataOffset { offset: 24 }),
            |s| s.tolerances.unusual_data_offset,
        ),
        (DataTransfer { flags: Flags(0x8000), ..DATA }, 20, None, |s| s.tolerances.unknown_flags),
        (DataTransfer { flags: Flags(0x0002), ..DATA8 }, 32, None, |s| s.tolerances.unknown_flags),
    ];
    for (header, len, violation_if_strict, count) in cases {
        let mut tolerant = side();
        tolerant.receive_long(&data(&header), len, None);
        assert_eq!(violation(&mut tolerant), None);
        assert_eq!(count(tolerant.connection.stats()), 1, "{header:?}");
        assert_eq!(end_after(strict(), header, len), violation_if_strict);
    }
    let mut side = opened(strict(), 100);
    side.receive_data(DATA);
    assert_eq!(violation(&mut side), Some(Violation::EmptyInsideSequence { expected: 100 }));
}

#[test]
fn what_is_usual_is_not_counted() {
    for mut side in [side(), strict()] {
        side.receive_data(DATA);
        side.receive_data(DATA8);
        side.receive_data(DataTransfer { flags: Flags::RESPONSE_REQUESTED, ..DATA });
        side.receive_data(DataTransfer { remaining_data_length: 8, ..DATA });
        side.receive_data(DATA8);
        assert_eq!(violation(&mut side), None);
        assert_eq!(side.connection.stats().tolerances, smbd_core::Tolerances::default());
        assert_eq!(side.connection.stats().received.keepalives, 1);
    }
}

#[test]
fn a_fragment_says_where_its_bytes_are() {
    for offset in [24, 32, 1016] {
        let mut side = side();
        side.release = false;
        side.receive_data(DataTransfer { data_offset: offset, ..DATA8 });
        side.drain();
        let start = usize::try_from(offset).unwrap();
        assert_eq!(side.fragments[0].range(), start..start + 8);
        assert_eq!((side.fragments[0].len(), side.fragments[0].is_last()), (8, true));
        side.release_all();
    }
}

#[test]
fn an_invalidated_token_that_is_none_of_ours_ends_the_connection() {
    let mut side = side();
    side.receive_long(&data(&DATA8), 32, Some(Token(0xDEAD)));
    assert_eq!(violation(&mut side), Some(Violation::ForeignInvalidation { token: Token(0xDEAD) }));
    assert!(side.data.is_empty());
}

#[test]
fn nothing_of_a_bad_message_takes_effect() {
    // KA-6: checked before anything is done about it.
    let mut side = side();
    let before = *side.connection.stats();
    side.receive_data(DataTransfer {
        credits_requested: 0,
        credits_granted: 9,
        flags: Flags::RESPONSE_REQUESTED,
        ..DATA8
    });
    assert_eq!(side.connection.credits().send(), 0);
    assert_eq!(side.connection.stats().received, before.received);
    side.drain();
    assert_eq!(side.connection.phase(), PhaseName::Drained);
}

/// What a message does, by the text and the decisions beside it, from its raw fields.
#[derive(Debug)]
struct Reference {
    expected: Option<u32>,
    peer_holds: i64,
    credits: u32,
}

impl Reference {
    fn takes(&mut self, bytes: &[u8], len: u32) -> bool {
        let max_receive = 1024;
        let max_fragmented = 131_072;
        if bytes.len() < 20 || len > max_receive {
            return false;
        }
        let u16_at = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let u32_at = |at: usize| u64::from(u16_at(at)) | u64::from(u16_at(at + 2)) << 16;
        let (requested, granted) = (u16_at(0), u16_at(2));
        let (remaining, offset, length) = (u32_at(8), u32_at(12), u32_at(16));
        let aliased = length > 0 && offset < 20;
        if requested < 1 || offset % 8 > 0 || aliased || offset + length > u64::from(len) {
            return false;
        }
        let total = length + remaining;
        let credits = self.credits + u32::from(granted);
        if total > max_fragmented || self.peer_holds == 0 || credits > 65_535 {
            return false;
        }
        if total > 0 {
            if self.expected.is_some_and(|expected| u64::from(expected) != total) {
                return false;
            }
            self.expected = u32::try_from(remaining).ok().filter(|left| *left > 0);
        }
        self.peer_holds -= 1;
        self.credits = credits;
        true
    }
}

fn any_edge_u32() -> impl Strategy<Value = u32> {
    prop_oneof![
        4 => 0..64_u32,
        2 => 900..1100_u32,
        2 => 131_000..131_100_u32,
        1 => any::<u32>(),
        1 => (0..64_u32).prop_map(|n| u32::MAX - n),
        1 => Just(0x8000_0000_u32),
    ]
}

prop_compose! {
    fn any_header()(
        credits_requested in prop_oneof![9 => 1..20_u16, 1 => Just(0), 1 => any::<u16>()],
        credits_granted in prop_oneof![9 => 0..20_u16, 1 => any::<u16>()],
        flags in prop_oneof![3 => 0..2_u16, 1 => any::<u16>()],
        remaining_data_length in any_edge_u32(),
        data_offset in prop_oneof![3 => Just(24), 2 => Just(0), 2 => (0..140_u32).prop_map(|n| n * 8), 1 => any_edge_u32()],
        data_length in any_edge_u32(),
    ) -> DataTransfer {
        let flags = Flags(flags);
        DataTransfer { credits_requested, credits_granted, flags, remaining_data_length, data_offset, data_length }
    }
}

/// Half of the time mended into something a sequence of fragments could contain.
fn mend(mut header: DataTransfer, how: u8, expected: Option<u32>) -> DataTransfer {
    if how & 1 == 0 {
        return header;
    }
    let total = expected.unwrap_or(header.remaining_data_length % 4000);
    header.data_length = header.data_length.min(total).min(1000);
    header.remaining_data_length = total - header.data_length;
    if how & 2 == 0 {
        header.data_offset = if header.data_length > 0 { 24 } else { 0 };
    }
    header
}

fn message_len(header: &DataTransfer, how: u8) -> u32 {
    let end = header.data_offset.saturating_add(header.data_length).max(20);
    match how >> 4 {
        0..=9 => end.min(2000),
        10 => end.min(2000).saturating_sub(1),
        11 => 1024,
        12 => 1025,
        13 => 20,
        14 => u32::from(how) % 20,
        _ => end.saturating_add(3).min(2000),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]
    #[test]
    fn exactly_the_messages_of_a_plain_reference_are_taken(
        initiator: bool,
        messages in proptest::collection::vec((any_header(), any::<u8>()), 1..60)
    ) {
        let mut side = if initiator { initiating() } else { side() };
        let mut reference = Reference { expected: None, peer_holds: 10, credits: 0 };
        let mut bytes_taken = 0;
        for (header, how) in messages {
            let header = mend(header, how, reference.expected);
            let len = message_len(&header, how);
            let mut bytes = data(&header);
            bytes.resize(usize::try_from(len).unwrap().min(32), 0);
            reference.peer_holds = i64::from(side.connection.credits().outstanding());
            reference.credits = side.connection.credits().send();
            if side.posted.is_empty() {
                break;
            }
            let taken = reference.takes(&bytes, len);
            side.receive_long(&bytes, len, None);
            side.settle();
            let closed = violation(&mut side);
            prop_assert_eq!(closed.is_none(), taken, "{:?} in {} bytes: {:?}", header, len, closed);
            if !taken {
                prop_assert_eq!(side.connection.phase(), PhaseName::Drained);
                break;
            }
            bytes_taken += u64::from(header.data_length);
            prop_assert_eq!(side.connection.stats().received.bytes, bytes_taken);
        }
    }

    #[test]
    fn no_bytes_at_all_make_a_fresh_side_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..=40),
        len in any_edge_u32(),
        acceptor: bool,
    ) {
        let role = if acceptor { smbd_core::Role::Acceptor } else { smbd_core::Role::Initiator };
        let mut side = Side::connected(role, Params::example());
        let len = len.max(u32::try_from(bytes.len()).unwrap());
        side.receive_long(&bytes, len, None);
        side.drain();
        let ended = side.connection.phase() == PhaseName::Drained;
        prop_assert!(ended || side.connection.phase() != PhaseName::Negotiating);
    }
}

proptest! {
    /// Of payload the core is shown at most the bytes that share the first 32 with the header: it reads none of them.
    #[test]
    fn payload_and_padding_influence_nothing(bytes in any::<[u8; 12]>(), length in 1..900_u32, remaining in 0..5000_u32) {
        let header = DataTransfer {
            data_offset: 24,
            data_length: length,
            remaining_data_length: remaining,
            ..DATA
        };
        let after = |tail: [u8; 12]| {
            let mut side = Side::accepted(Params::example(), &REQUEST);
            let mut message = vec![0; 24 + usize::try_from(length).unwrap()];
            header.encode(&mut message).unwrap();
            for (place, byte) in message[20..].iter_mut().zip(tail) {
                *place = byte;
            }
            side.receive(&message);
            let actions = format!("{:?}", side.drain());
            (actions, *side.connection.stats(), side.data.clone())
        };
        prop_assert_eq!(after(bytes), after([0; 12]));
    }
}

#[test]
fn what_is_missing_of_a_message_can_be_watched() {
    let mut side = side();
    let missing = |side: &Side| side.connection.incomplete();
    assert_eq!(missing(&side), 0);
    for remaining in [20, 12, 4] {
        side.receive_data(DataTransfer { remaining_data_length: remaining, ..DATA8 });
        side.drain();
        assert_eq!(missing(&side), remaining);
    }
    side.receive_data(DataTransfer { data_length: 4, ..DATA8 });
    side.drain();
    assert_eq!(missing(&side), 0);
}

#[test]
fn parts_of_a_message_are_counted_and_whole_ones_are_not() {
    let mut side = side();
    let fragments = |side: &Side| side.connection.stats().received.fragments;
    side.receive_data(DATA8);
    assert_eq!(fragments(&side), 0, "a whole message");
    for (nth, remaining) in [(1, 16), (2, 8), (3, 0)] {
        side.receive_data(DataTransfer { remaining_data_length: remaining, ..DATA8 });
        side.drain();
        assert_eq!(fragments(&side), nth);
    }
    side.receive_data(DATA);
    assert_eq!((fragments(&side), side.connection.stats().received.messages), (3, 5), "nothing is no part");
}

#[test]
fn a_fragment_is_never_empty_and_says_what_is_behind_it() {
    let mut side = side();
    side.release = false;
    side.receive_data(DataTransfer { remaining_data_length: 3, ..DATA8 });
    side.drain();
    let fragment = &side.fragments[0];
    assert!(!fragment.is_empty() && !fragment.is_last() && fragment.is_first());
    assert_eq!((fragment.len(), fragment.remaining()), (8, 3));
}
