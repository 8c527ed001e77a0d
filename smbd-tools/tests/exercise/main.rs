//! Every request of the exercise, over the simulated device on both kinds of network.

mod hostile;
mod limits;
mod pair;
mod rdma;

use std::collections::BTreeSet;

use bytes::Bytes;
use pair::{PERSONALITIES, Pair};
use smbd_tools::exercise::{Answer, Digest, Limits, Report, Request, pattern};

#[test]
fn ordinary_messages_come_back_as_they_were_and_in_order() {
    for personality in PERSONALITIES {
        let mut pair = Pair::new(personality);
        let messages: Vec<_> =
            [1, 16, 999, 1000, 1001, 50_000, 131_072, 3].map(|len| pattern(len as u64, len)).into();
        for message in &messages {
            pair.send(message.clone());
        }
        pair.run_until(|pair| pair.client.ordinary.len() == messages.len());
        assert_eq!(pair.client.ordinary, messages);
        assert_eq!((pair.server.stats().returned, pair.server.backlog()), (8, 0));
        pair.close();
    }
}

#[test]
fn counted_messages_are_not_returned_and_their_hash_is_that_of_all_bytes() {
    for personality in PERSONALITIES {
        let mut pair = Pair::new(personality);
        assert_eq!(pair.ask(&Request::Count { hash: true }), Answer::Done);
        let mut digest = Digest::default();
        for (seed, len) in [1, 5000, 131_072, 77].into_iter().enumerate() {
            let message = pattern(seed as u64, len);
            digest.update(&message);
            pair.send(message);
        }
        let expected = Report { messages: 4, bytes: 136_150, hash: digest.value() };
        assert_eq!(pair.ask(&Request::Report), Answer::Report(expected));
        assert_eq!(pair.ask(&Request::Report), Answer::Report(expected), "a report changes nothing");
        assert_eq!(pair.client.ordinary.len(), 0);
        pair.send(Bytes::from_static(b"after"));
        pair.run_until(|pair| pair.client.ordinary.len() == 1);
        pair.close();
    }
}

#[test]
fn messages_are_sourced_while_others_are_returned() {
    for personality in PERSONALITIES {
        let mut pair = Pair::new(personality);
        assert_eq!(pair.ask(&Request::Source { messages: 50, size: 3000, seed: 100 }), Answer::Done);
        for seed in 0..50 {
            pair.send(pattern(seed, 2000));
        }
        pair.run_until(|pair| pair.client.ordinary.len() == 100);
        let (sourced, returned): (Vec<_>, Vec<_>) =
            pair.client.ordinary.iter().cloned().partition(|message| message.len() == 3000);
        assert!(sourced.into_iter().eq((100..150).map(|seed| pattern(seed, 3000))));
        assert!(returned.into_iter().eq((0..50).map(|seed| pattern(seed, 2000))));
        pair.close();
    }
}

#[test]
fn hello_says_what_is_allowed() {
    for personality in PERSONALITIES {
        let mut pair = Pair::new(personality);
        assert_eq!(pair.ask(&Request::Hello), Answer::Hello(Limits::default()));
        pair.close();
    }
}

#[test]
fn requests_that_wait_for_room_are_all_answered() {
    for personality in PERSONALITIES {
        let mut pair = Pair::new(personality);
        let (_, descriptors) = pair.register(&pattern(3, 10_000), smbd_core::Access::Read);
        // Four operations and sixteen messages have room in the connection.
        let read = Request::Read { offset: 0, length: 10_000, descriptors: descriptors.into() };
        let tags: BTreeSet<_> = (0..60).map(|_| pair.send_request(&read)).collect();
        pair.run_until(|pair| pair.client.answers.len() == 60);
        assert_eq!(pair.client.answers.iter().map(|answer| answer.tag).collect::<BTreeSet<_>>(), tags);
        assert_eq!(pair.server.stats().reads, 60);
        pair.close();
    }
}
