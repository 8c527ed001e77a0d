//! Which cause a closed connection names: real devices report consequences before causes.

use smbd_core::error::{CloseReason, ConnectError, WorkError};
use smbd_core::{Action, Event, Input, Params, Role};

use crate::pair::{REQUEST, RESPONSE, Side, flushed, request};

fn closed(side: &Side) -> Option<CloseReason> {
    side.events.iter().find_map(|event| match event {
        Event::Closed(reason) => Some(*reason),
        _ => None,
    })
}

#[test]
fn a_flush_as_first_news_is_a_lost_connection() {
    let mut side = Side::initiated(Params::example(), &RESPONSE);
    let (id, _) = side.posted.pop_front().unwrap();
    side.handle(flushed(id.into()));
    side.drain();
    assert_eq!(closed(&side), Some(CloseReason::Lost));
}

#[test]
fn a_cause_reported_behind_its_consequence_is_the_cause() {
    let mut side = Side::initiated(Params::example(), &RESPONSE);
    let (first, _) = side.posted.pop_front().unwrap();
    side.handle(flushed(first.into()));
    let (second, _) = side.posted.pop_front().unwrap();
    let error = WorkError::LocalLength;
    side.handle(Input::Failed { id: second.into(), error });
    side.drain();
    assert_eq!(closed(&side), Some(CloseReason::Transport { id: second.into(), error }));
}

#[test]
fn a_cause_behind_another_cause_changes_nothing() {
    let mut side = Side::initiated(Params::example(), &RESPONSE);
    let (first, _) = side.posted.pop_front().unwrap();
    let error = WorkError::LocalLength;
    side.handle(Input::Failed { id: first.into(), error });
    let (second, _) = side.posted.pop_front().unwrap();
    side.handle(Input::Failed { id: second.into(), error: WorkError::RemoteAccess });
    side.drain();
    assert_eq!(closed(&side), Some(CloseReason::Transport { id: first.into(), error }));
}

#[test]
fn a_refused_receive_ends_the_connection_that_was_announced() {
    // NE-17: that it was refused is news, and there is none of one that was not.
    let mut side = Side::initiated(Params::example(), &RESPONSE);
    assert!(side.events.iter().any(|event| matches!(event, Event::Established(_))));
    let (first, _) = side.posted.pop_front().unwrap();
    let error = WorkError::PostFailed { errno: 12 };
    side.handle(Input::Failed { id: first.into(), error });
    side.drain();
    assert_eq!(closed(&side), Some(CloseReason::Transport { id: first.into(), error }));
}

#[test]
fn what_was_told_is_not_taken_back() {
    let mut side = Side::initiated(Params::example(), &RESPONSE);
    side.disconnected = true;
    side.handle(Input::Disconnected);
    let told = side.connection.poll_action();
    assert!(matches!(told, Action::Notify(Event::Closed(CloseReason::Lost))), "{told:?}");
    let (id, _) = side.posted.pop_front().unwrap();
    side.handle(Input::Failed { id: id.into(), error: WorkError::LocalLength });
    side.drain();
    assert_eq!(closed(&side), None);
}

#[test]
fn a_connection_lost_before_the_response_left_was_never_there() {
    let mut side = Side::connected(Role::Acceptor, Params::example());
    side.receive(&request(&REQUEST));
    side.disconnected = true;
    side.handle(Input::Disconnected);
    side.drain();
    let events = &side.events;
    assert!(matches!(events[..], [Event::ConnectFailed(ConnectError::Lost), Event::Drained]), "{events:?}");
}
