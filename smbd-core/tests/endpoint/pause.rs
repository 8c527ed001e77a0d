use smbd_core::backend::ReceiveMemory;
use smbd_core::endpoint::{EndpointEvent, Message};
use smbd_core::error::{CloseReason, DisconnectReason};
use smbd_core::{Input, Params};

use crate::peer::{Played, params, pattern};

/// The bytes of all messages so far; borrowed ones are given back.
fn taken(played: &mut Played) -> Vec<Vec<u8>> {
    let mut messages = Vec::new();
    for event in std::mem::take(&mut played.events) {
        match event {
            EndpointEvent::Message(Message::Owned(bytes)) => messages.push(bytes.to_vec()),
            EndpointEvent::Message(Message::Borrowed(fragment)) => {
                messages.push(played.slab.fragment(&fragment).unwrap().to_vec());
                played.endpoint.release(played.now, fragment).unwrap();
            }
            other => panic!("{other:?} is no message"),
        }
    }
    messages
}

#[test]
fn a_paused_endpoint_hands_nothing_up_and_takes_the_peers_credits_away() {
    let mut played = Played::established(Params { borrowed_max: 3, ..params() }, 10);
    played.endpoint.pause();
    let mut sent = 0;
    while played.credits > 0 {
        played.data(&pattern(500, sent), 0, 0);
        sent += 1;
        assert!(sent < 100, "the peer never runs out of credits");
    }
    assert!(played.events.is_empty());
    // All that may be posted or borrowed, and no byte copied.
    assert_eq!(sent, usize::try_from(played.endpoint.connection().config().budget().recv_slots).unwrap());
    assert_eq!(played.endpoint.stats().bytes_copied, 0);
    assert!(played.endpoint.is_paused());

    played.endpoint.resume();
    played.drain();
    assert_eq!(taken(&mut played), (0..sent).map(|nth| pattern(500, nth)).collect::<Vec<_>>());
    played.drain();
    played.complete_grants();
    assert!(played.credits > 0, "the peer may send again");
    played.data(&pattern(7, 7), 0, 0);
    assert_eq!(taken(&mut played), [pattern(7, 7)]);
}

#[test]
fn a_pause_in_the_middle_of_a_message_keeps_its_order() {
    let mut played = Played::established(Params { borrowed_max: 0, ..params() }, 10);
    let long = pattern(2500, 1);
    played.data(&long[..1000], 1500, 0);
    played.endpoint.pause();
    played.data(&long[1000..2000], 500, 0);
    played.data(&long[2000..], 0, 0);
    played.data(&pattern(3, 2), 0, 0);
    assert!(played.events.is_empty());
    played.endpoint.resume();
    played.drain();
    assert_eq!(taken(&mut played), [long.to_vec(), pattern(3, 2).to_vec()]);
}

#[test]
fn a_message_that_was_asked_to_pause_is_the_last_one_until_it_ends() {
    let mut played = Played::established(Params { borrowed_max: 0, ..params() }, 10);
    played.endpoint.pause();
    (0..3).for_each(|nth| played.data(&pattern(100, nth), 0, 0));
    for nth in 0..3 {
        played.endpoint.resume();
        // As an upper layer whose queue is full with each.
        let action = played.endpoint.poll_action(&played.slab).unwrap();
        let smbd_core::Action::Notify(EndpointEvent::Message(Message::Owned(bytes))) = action else {
            panic!("{action:?}")
        };
        assert_eq!(bytes, pattern(100, nth));
        played.endpoint.pause();
        played.drain();
        assert!(played.events.is_empty(), "{:?}", played.events);
    }
}

#[test]
fn when_the_connection_ends_all_that_came_is_handed_up_before_it_is_said() {
    let mut played = Played::established(Params { borrowed_max: 0, ..params() }, 10);
    played.endpoint.pause();
    (0..3).for_each(|nth| played.data(&pattern(100, nth), 0, 0));
    played.data(&pattern(1000, 3), 500, 0);
    played.endpoint.handle(played.now, Input::Disconnected { reason: DisconnectReason::PeerClosed }).unwrap();
    // Nobody may hold back what is left.
    let mut said = Vec::new();
    loop {
        played.endpoint.pause();
        match played.endpoint.poll_action(&played.slab).unwrap() {
            smbd_core::Action::Notify(EndpointEvent::Message(Message::Owned(bytes))) => said.push(bytes),
            smbd_core::Action::Notify(EndpointEvent::Closed(reason)) => {
                assert_eq!(reason, CloseReason::PeerClosed);
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(said, [pattern(100, 0), pattern(100, 1), pattern(100, 2)]);
    assert!(played.finish(), "nothing is borrowed");
}
