//! What a client may not.

use bytes::Bytes;
use smbd_core::{Access, BufferDescriptorV1, Params, Token};
use smbd_tools::exercise::{Answer, Limits, MAGIC, Request, pattern};

use super::pair::{PERSONALITIES, Pair};

const LIMITS: Limits =
    Limits { message: 10_000, buffer: 20_000, buffers: 50_000, backlog_messages: 16, backlog: 100_000 };

fn params() -> Params {
    Params { keepalive: None, max_read_write_size: 18_000, ..Params::example() }
}

#[test]
fn what_exceeds_a_limit_is_refused_with_value_and_limit() {
    for personality in PERSONALITIES {
        let mut pair = Pair::with(personality, LIMITS, params());
        let offer = |length| Request::Offer { length, access: Access::Read, seed: 0 };
        assert_eq!(
            pair.refusal(&offer(20_001)),
            "too large: a buffer of 20001 bytes; 20000 bytes are allowed"
        );
        assert_eq!(pair.refusal(&offer(0)), "too large: a buffer of 0 bytes has nothing to access");
        assert!(matches!(pair.ask(&offer(20_000)), Answer::Offered { id: 1, .. }));
        assert!(matches!(pair.ask(&offer(20_000)), Answer::Offered { id: 2, .. }));
        assert_eq!(
            pair.refusal(&offer(20_000)),
            "no room: a buffer of 20000 bytes besides 40000 in use; 50000 bytes are allowed together"
        );
        assert_eq!(
            pair.refusal(&Request::Hash { id: 1, offset: 1, length: 20_000 }),
            "not found: 20000 bytes from 1 on; buffer 1 has 20000 bytes"
        );
        assert_eq!(pair.refusal(&Request::Withdraw { id: 3 }), "not found: there is no buffer 3");
        for size in [0, 10_001] {
            assert_eq!(
                pair.refusal(&Request::Source { messages: 1, size, seed: 0 }),
                format!("too large: a message of {size} bytes; 1 to 10000 can be sent to you")
            );
        }
        pair.send(pattern(1, 10_001));
        let text = pair.answer(0);
        assert_eq!(
            text,
            Answer::failed(
                smbd_tools::exercise::Status::TooLarge,
                "a message of 10001 bytes; 1 to 10000 can be sent to you"
            )
        );
        assert_eq!(pair.ask(&Request::Withdraw { id: 1 }), Answer::Done);
        pair.close();
    }
}

#[test]
fn what_the_connection_does_not_allow_is_refused_in_its_words() {
    for personality in PERSONALITIES {
        let mut pair = Pair::with(personality, LIMITS, params());
        let one = [BufferDescriptorV1 { offset: 0, token: Token(1), length: 100 }];
        let read = |offset, length| Request::Read { offset, length, descriptors: one.into() };
        assert_eq!(
            pair.refusal(&read(0, 18_001)),
            "refused: operation of 18001 bytes is above MaxReadWriteSize 18000"
        );
        assert_eq!(
            pair.refusal(&read(1, 100)),
            "refused: bytes 1 to 1 + 100 are beyond the descriptors' 100 bytes (3.1.4.5)"
        );
        for id in 1..=4 {
            let offer = Request::Offer { length: 10, access: Access::Read, seed: 0 };
            assert!(matches!(pair.ask(&offer), Answer::Offered { id: got, .. } if got == id));
        }
        let fifth = Request::Offer { length: 10, access: Access::Read, seed: 0 };
        assert_eq!(pair.refusal(&fifth), "no room: all registrations or segments are taken");
        assert_eq!(pair.server.buffer_bytes(), 40);
        pair.close();
    }
}

#[test]
fn one_source_at_a_time() {
    for personality in PERSONALITIES {
        let mut pair = Pair::with(personality, LIMITS, params());
        let source = |messages| Request::Source { messages, size: 5000, seed: 0 };
        let (first, second) = (pair.send_request(&source(1000)), pair.send_request(&source(1)));
        assert_eq!(pair.answer(first), Answer::Done);
        assert!(matches!(pair.answer(second), Answer::Failed(_)));
        pair.run_until(|pair| pair.client.ordinary.len() == 1000);
        assert_eq!(pair.ask(&source(0)), Answer::Done);
        assert!(pair.server.stats().backlog_max <= LIMITS.backlog);
        pair.close();
    }
}

#[test]
fn malformed_requests_are_answered_and_answers_are_not() {
    for personality in PERSONALITIES {
        let mut pair = Pair::with(personality, LIMITS, params());
        pair.send(Bytes::copy_from_slice(&MAGIC));
        let Answer::Failed(failure) = pair.answer(0) else { panic!("a failure was expected") };
        assert_eq!(failure.to_string(), "malformed request: the header is cut short (kind 0x0000, 8 bytes)");
        pair.send(Answer::Done.encode(5));
        assert_eq!(pair.ask(&Request::Count { hash: true }), Answer::Done);
        assert!(pair.client.answers.is_empty(), "two servers would else answer for ever");
        pair.close();
    }
}

#[test]
fn who_sends_more_than_it_receives_is_disconnected() {
    for personality in PERSONALITIES {
        let limits = Limits { backlog_messages: 4, ..LIMITS };
        let mut pair = Pair::with(personality, limits, params());
        // All of them are there before the server can have sent one.
        pair.send_at_once((0..9).map(|seed| pattern(seed, 800)));
        pair.run_until(Pair::is_drained);
        let overrun = pair.server.overrun().expect("it ended the connection").to_string();
        assert!(
            overrun.contains("5 messages of 4000 bytes wait for it, 4 messages of 100000 bytes may"),
            "{overrun}"
        );
    }
}

#[test]
fn a_client_within_the_backlog_is_never_disconnected() {
    for personality in PERSONALITIES {
        let mut pair = Pair::with(personality, LIMITS, params());
        let mut returned = 0;
        for seed in 0..200 {
            pair.send(pattern(seed, 6000));
            // Twelve of them under way.
            pair.run_until(|pair| seed as usize + 1 < pair.client.ordinary.len() + 12);
            returned = pair.client.ordinary.len();
        }
        assert!(returned > 180);
        pair.run_until(|pair| pair.client.ordinary.len() == 200);
        assert_eq!(pair.server.overrun(), None);
        pair.close();
    }
}
