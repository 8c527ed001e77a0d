//! A pair of connections on a perfect wire: negotiation, data transfer, credits, keepalive.

mod pair;

use std::time::Duration;

use pair::{ACCEPTOR, INITIATOR, Pair};
use smbd_core::{Event, Params};

#[test]
fn the_examples_of_section_4_1_to_4_3() {
    let mut pair = Pair::new(Params::example(), Params::example());
    pair.connect();
    pair.drain(INITIATOR);
    pair.deliver(INITIATOR);
    pair.drain(ACCEPTOR);
    pair.deliver(ACCEPTOR);
    // The upper layer answers Established with a message: it carries the first grant.
    let (now, side) = (pair.now, &mut pair.sides[INITIATOR]);
    let event = side.connection.poll_action();
    assert!(matches!(event, smbd_core::Action::Notify(Event::Established(_))), "{event:?}");
    side.connection.send(now, 256, None).unwrap();
    pair.run();
    pair.send(INITIATOR, 500);
    pair.run();
    pair.send(INITIATOR, 65_536);
    pair.run();
    insta::assert_snapshot!(pair.trace);
}

#[test]
fn an_idle_peer_is_asked_once_an_interval_and_answers_once() {
    let patient = Params { keepalive: None, ..Params::windows() };
    let mut pair = Pair::established(Params::windows(), patient);
    let quiet = pair.messages.each_ref().map(Vec::len);
    pair.sleep(Duration::from_secs(24 * 3600));
    let intervals = 24 * 3600 / 120;
    assert_eq!(pair.messages[INITIATOR].len() - quiet[INITIATOR], intervals);
    assert_eq!(pair.messages[ACCEPTOR].len() - quiet[ACCEPTOR], intervals);
    assert!(pair.data_headers(ACCEPTOR).iter().all(|header| header.flags.0 == 0), "an answer asks back");
}

#[test]
fn peers_that_ask_at_the_same_moment_both_answer_and_are_quiet_again() {
    let mut pair = Pair::established(Params::windows(), Params::windows());
    let quiet = pair.messages.each_ref().map(Vec::len);
    pair.sleep(Duration::from_secs(24 * 3600));
    let sent = |pair: &Pair, index: usize| pair.messages[index].len() - quiet[index];
    assert_eq!((sent(&pair, INITIATOR), sent(&pair, ACCEPTOR)), (2 * 720, 2 * 720));
    assert!(pair.sides.iter().all(|side| side.events.iter().all(|e| !matches!(e, Event::Closed(_)))));
}
