use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;
use smbd_core::endpoint::{EndpointEvent, Message};
use smbd_core::error::{Aborted, CommandError, SendError};
use smbd_core::{Access, Action, BufferDescriptorV1, Close, Head, Input, MsgId, Params, RdmaVerb, Token};

use crate::peer::{PEER_CLOSED, Played, params, pattern};

fn given_back(played: &mut Played) -> Vec<(MsgId, Bytes, Result<(), Aborted>)> {
    let events = std::mem::take(&mut played.events);
    events
        .into_iter()
        .filter_map(|event| match event {
            EndpointEvent::Sent { msg, payload, result } => Some((msg, payload, result)),
            _ => None,
        })
        .collect()
}

#[test]
fn bodies_put_together_are_the_message() {
    let mut played = Played::established(params(), 10);
    let message = pattern(5000, 1);
    let msg = played.endpoint.send(played.now, message.clone(), None).unwrap();
    played.drain();
    let bodies: Vec<u8> = played.sends.iter().flat_map(|(_, bytes)| bytes.iter().skip(24).copied()).collect();
    assert_eq!(bodies, message);
    assert_eq!(played.endpoint.payload(msg), Some(&message));
    while let Some((id, _)) = played.sends.pop_front() {
        assert_eq!(given_back(&mut played), []);
        played.endpoint.handle(played.now, Input::Sent { id }).unwrap();
        played.drain();
    }
    assert_eq!(given_back(&mut played), [(msg, message.clone(), Ok(()))]);
    assert_eq!(played.endpoint.payload(msg), None);
}

#[test]
fn the_payload_given_back_is_the_one_that_was_sent_not_a_copy() {
    let mut played = Played::established(params(), 10);
    let message = pattern(100, 1);
    let address = message.as_ptr();
    played.endpoint.send(played.now, message, None).unwrap();
    played.drain();
    let (id, _) = played.sends.pop_front().unwrap();
    played.endpoint.handle(played.now, Input::Sent { id }).unwrap();
    played.drain();
    assert_eq!(given_back(&mut played)[0].1.as_ptr(), address);
}

#[test]
fn a_message_that_is_not_taken_comes_back_with_the_error() {
    let mut played = Played::established(Params { message_slots: 1, ..params() }, 1);
    let refused = played.endpoint.send(played.now, Bytes::new(), None).unwrap_err();
    assert_eq!(refused.error, SendError::Empty);
    played.endpoint.send(played.now, pattern(50, 1), None).unwrap();
    let refused = played.endpoint.send(played.now, pattern(60, 2), None).unwrap_err();
    assert_eq!(refused.payload, pattern(60, 2));
    assert!(matches!(refused.error, SendError::Command(CommandError::NoRoom { .. })), "{refused}");
}

#[test]
fn who_was_refused_for_want_of_room_hears_when_there_is_some() {
    let mut played = Played::established(Params { message_slots: 1, ..params() }, 2);
    // More than the peer has granted messages for.
    played.endpoint.send(played.now, pattern(5000, 1), None).unwrap();
    let refused = played.endpoint.send(played.now, pattern(60, 2), None).unwrap_err();
    played.drain();
    assert!(played.events.is_empty(), "{:?}", played.events);
    played.data(&[], 0, 8);
    assert!(matches!(played.events[..], [EndpointEvent::Writable]), "{:?}", played.events);
    played.endpoint.send(played.now, refused.payload, None).unwrap();
}

proptest! {
    #[test]
    fn an_end_at_any_time_gives_every_payload_back_exactly_once(
        lengths in prop::collection::vec(1..4000_usize, 1..10),
        credits in 1..12_u16,
        completed in 0..12_usize,
        abort in any::<bool>(),
    ) {
        let mut played = Played::established(params(), credits);
        let mut sent = Vec::new();
        for (seed, len) in lengths.iter().enumerate() {
            let message = pattern(*len, seed);
            sent.push((played.endpoint.send(played.now, message.clone(), None).unwrap(), message));
            played.drain();
        }
        for _ in 0..completed {
            if let Some((id, _)) = played.sends.pop_front() {
                played.endpoint.handle(played.now, Input::Sent { id }).unwrap();
                played.drain();
            }
        }
        let mut back = given_back(&mut played);
        if abort {
            played.endpoint.close(played.now, Close::Abort);
        } else {
            played.endpoint.handle(played.now, PEER_CLOSED).unwrap();
        }
        prop_assert!(played.finish());
        back.extend(given_back(&mut played));
        let mut payloads: Vec<_> = back.into_iter().map(|(msg, payload, _)| (msg, payload)).collect();
        payloads.sort_by_key(|(msg, _)| msg.sequence());
        prop_assert_eq!(payloads, sent);
    }
}

/// What the endpoint asks of its device until it waits, and what it tells.
fn actions(played: &mut Played) -> Vec<Action<EndpointEvent>> {
    let mut actions = Vec::new();
    loop {
        match played.endpoint.poll_action(&played.slab).unwrap() {
            Action::Wait(_) => return actions,
            action => actions.push(action),
        }
    }
}

#[test]
fn commands_that_are_not_about_messages_reach_the_connection() {
    let mut played = Played::established(params(), 10);
    played.endpoint.probe(played.now).unwrap();
    assert!(played.endpoint.probe(played.now).is_err(), "one at a time");
    let asked = actions(&mut played);
    assert!(
        matches!(asked[..], [Action::PostSend { ref head, body: None, .. }] if head.as_bytes()[4] == 1),
        "{asked:?}"
    );

    let id = played.endpoint.register(played.now, Access::Read, 1).unwrap();
    let asked = actions(&mut played);
    assert!(matches!(asked[..], [Action::Register { id: asked, .. }] if asked == id), "{asked:?}");
    let segment = BufferDescriptorV1 { offset: 0, token: Token(1), length: 8 };
    let input = Input::Registered { id, segments: &[segment], bind_complete: true };
    played.endpoint.handle(played.now, input).unwrap();
    assert_eq!(played.endpoint.connection().live_segments(id).collect::<Vec<_>>(), [segment]);

    let told = actions(&mut played);
    assert!(
        matches!(told[..], [Action::Notify(EndpointEvent::Registered { id: told, result: Ok(()) })] if told == id),
        "{told:?}"
    );
    played.endpoint.deregister(played.now, id).unwrap();
    let asked = actions(&mut played);
    assert!(matches!(asked[..], [Action::Deregister { id: asked }] if asked == id), "{asked:?}");
    played.endpoint.handle(played.now, Input::Deregistered { id }).unwrap();
    let told = actions(&mut played);
    assert!(
        matches!(told[..], [Action::Notify(EndpointEvent::Deregistered { id: told, result: Ok(()) })] if told == id),
        "{told:?}"
    );
}

#[test]
fn an_operation_and_an_invalidation_are_told_as_they_are() {
    let mut played = Played::established(params(), 10);
    let far: Arc<[BufferDescriptorV1]> =
        [BufferDescriptorV1 { offset: 0, token: Token(9), length: 8 }].into();
    let op = played.endpoint.rdma(played.now, RdmaVerb::Write, 8, far, 0).unwrap();
    let Some(Action::PostRdma { id, .. }) = actions(&mut played).pop() else { panic!("nothing was posted") };
    played.endpoint.handle(played.now, Input::RdmaDone { id }).unwrap();
    let told = actions(&mut played);
    assert!(
        matches!(told[..], [Action::Notify(EndpointEvent::RdmaDone { op: told, result: Ok(()) })] if told == op),
        "{told:?}"
    );

    let id = played.endpoint.register(played.now, Access::Read, 1).unwrap();
    actions(&mut played);
    let segment = BufferDescriptorV1 { offset: 0, token: Token(1), length: 8 };
    let input = Input::Registered { id, segments: &[segment], bind_complete: true };
    played.endpoint.handle(played.now, input).unwrap();
    actions(&mut played);
    let recv = played.posted.pop_front().unwrap();
    let message = [10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let input = Input::Received { id: recv, head: Head::of(&message), len: 20, invalidated: Some(Token(1)) };
    played.endpoint.handle(played.now, input).unwrap();
    let told = actions(&mut played);
    let is_told = |action: &Action<EndpointEvent>| matches!(action, Action::Notify(EndpointEvent::Invalidated { id: told, token: Token(1) }) if *told == id);
    assert!(told.iter().any(is_told), "{told:?}");
}

#[test]
fn debug_shows_the_length_of_payload_and_no_byte_of_it() {
    let mut played = Played::established(Params { message_slots: 1, ..params() }, 1);
    let message = Bytes::from(vec![0x5a; 2000]);
    let msg = played.endpoint.send(played.now, message.clone(), None).unwrap();
    let not_sent = played.endpoint.send(played.now, message.clone(), None).unwrap_err();
    let sent = EndpointEvent::Sent { msg, payload: message.clone(), result: Ok(()) };
    let came = EndpointEvent::Message(Message::Owned(message.into()));
    insta::assert_snapshot!(format!("{not_sent:?}"), @r#"NotSent { error: Command(NoRoom { what: "message slots" }), payload: 2000 bytes }"#);
    insta::assert_snapshot!(format!("{sent:?}"), @"Sent { msg: msg0, payload: 2000 bytes, result: Ok(()) }");
    insta::assert_snapshot!(format!("{came:?}"), @"Message(Owned(2000 bytes))");
    let endpoint = format!("{:?}", played.endpoint);
    assert!(endpoint.contains("outgoing: 1 messages of 2000 bytes"), "{endpoint}");
}
