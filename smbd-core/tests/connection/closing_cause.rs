//! Which cause a closed connection names: real devices report consequences before causes.

use smbd_core::error::{CloseReason, ConnectError, DisconnectReason, WorkError};
use smbd_core::{Action, Event, Input, Params, Role};

use crate::pair::{LOST, PEER_CLOSED, REQUEST, RESPONSE, Side, flushed, request};

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
    assert_eq!(closed(&side), Some(CloseReason::Lost { reason: DisconnectReason::Unknown }));
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
    side.handle(LOST);
    let told = side.connection.poll_action();
    assert!(
        matches!(
            told,
            Action::Notify(Event::Closed(CloseReason::Lost { reason: DisconnectReason::Unknown }))
        ),
        "{told:?}"
    );
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
    side.handle(LOST);
    side.drain();
    let events = &side.events;
    assert!(
        matches!(
            events[..],
            [Event::ConnectFailed(ConnectError::Lost { reason: DisconnectReason::Unknown }), Event::Drained]
        ),
        "{events:?}"
    );
}

fn lost(reason: DisconnectReason) -> Input<'static> {
    Input::Disconnected { reason }
}

const REASONS: [DisconnectReason; 6] = [
    DisconnectReason::Local,
    DisconnectReason::PeerClosed,
    DisconnectReason::PeerAborted,
    DisconnectReason::Unreachable,
    DisconnectReason::DeviceFailed,
    DisconnectReason::Unknown,
];

#[test]
fn an_orderly_close_by_the_peer_is_told_as_one_and_any_other_end_with_its_reason() {
    for reason in REASONS {
        let is_orderly = reason == DisconnectReason::PeerClosed;
        let mut side = Side::initiated(Params::example(), &RESPONSE);
        side.disconnected = true;
        side.handle(lost(reason));
        side.drain();
        let wanted = if is_orderly { CloseReason::PeerClosed } else { CloseReason::Lost { reason } };
        assert_eq!(closed(&side), Some(wanted));

        let mut side = Side::connected(Role::Initiator, Params::example());
        side.disconnected = true;
        side.handle(lost(reason));
        side.drain();
        let wanted = if is_orderly { ConnectError::PeerClosed } else { ConnectError::Lost { reason } };
        let events = &side.events;
        assert!(
            matches!(events[..], [Event::ConnectFailed(error), Event::Drained] if error == wanted),
            "{events:?}"
        );
    }
}

#[test]
fn the_words_of_an_end_name_who_ended_it_and_the_section() {
    assert_eq!(CloseReason::PeerClosed.to_string(), "closed by the peer (3.1.7.1)");
    assert_eq!(ConnectError::PeerClosed.to_string(), "closed by the peer during negotiation (3.1.7.1)");
    let reason = DisconnectReason::Unreachable;
    assert_eq!(
        CloseReason::Lost { reason }.to_string(),
        "connection lost: no answer from the peer (3.1.7.1)"
    );
    assert_eq!(
        ConnectError::Lost { reason }.to_string(),
        "connection lost during negotiation: no answer from the peer (3.1.7.1)"
    );
}

#[test]
fn a_flush_reported_before_the_news_of_the_end_does_not_hide_its_reason() {
    for (reason, wanted) in [
        (DisconnectReason::PeerClosed, CloseReason::PeerClosed),
        (DisconnectReason::PeerAborted, CloseReason::Lost { reason: DisconnectReason::PeerAborted }),
    ] {
        let mut side = Side::initiated(Params::example(), &RESPONSE);
        let (id, _) = side.posted.pop_front().unwrap();
        side.handle(flushed(id.into()));
        side.disconnected = true;
        side.handle(lost(reason));
        side.drain();
        assert_eq!(closed(&side), Some(wanted));
    }
}

#[test]
fn a_failure_before_the_peers_close_is_the_cause_and_one_after_it_is_not() {
    let error = WorkError::RetryExceeded;
    for failed_first in [true, false] {
        let mut side = Side::initiated(Params::example(), &RESPONSE);
        side.disconnected = true;
        if !failed_first {
            side.handle(PEER_CLOSED);
        }
        let (id, _) = side.posted.pop_front().unwrap();
        side.handle(Input::Failed { id: id.into(), error });
        if failed_first {
            side.handle(PEER_CLOSED);
        }
        side.drain();
        let cause = CloseReason::Transport { id: id.into(), error };
        assert_eq!(closed(&side), Some(if failed_first { cause } else { CloseReason::PeerClosed }));
    }
}

#[test]
fn a_failure_behind_a_loss_that_nobody_can_explain_is_its_cause() {
    for reason in REASONS.into_iter().filter(|reason| *reason != DisconnectReason::PeerClosed) {
        let mut side = Side::initiated(Params::example(), &RESPONSE);
        side.disconnected = true;
        side.handle(lost(reason));
        let (id, _) = side.posted.pop_front().unwrap();
        let error = WorkError::RetryExceeded;
        side.handle(Input::Failed { id: id.into(), error });
        side.drain();
        assert_eq!(closed(&side), Some(CloseReason::Transport { id: id.into(), error }));
    }
}
