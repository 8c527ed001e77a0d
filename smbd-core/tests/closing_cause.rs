//! Which cause a closed connection names: real devices report consequences before causes.

mod pair;

use pair::{ACCEPTOR, INITIATOR, Pair, flushed};
use smbd_core::error::{CloseReason, ConnectError, WorkError};
use smbd_core::{Event, Input, Params};

fn closed(pair: &Pair, index: usize) -> Option<CloseReason> {
    pair.sides[index].events.iter().find_map(|event| match event {
        Event::Closed(reason) => Some(*reason),
        _ => None,
    })
}

#[test]
fn a_flush_as_first_news_is_a_lost_connection() {
    let mut pair = Pair::established(Params::example(), Params::example());
    let now = pair.now;
    let (id, _) = pair.side(INITIATOR).posted.pop_front().unwrap();
    pair.side(INITIATOR).handle(now, flushed(id.into()));
    pair.drain(INITIATOR);
    assert_eq!(closed(&pair, INITIATOR), Some(CloseReason::Lost));
}

#[test]
fn a_cause_reported_behind_its_consequence_is_the_cause() {
    let mut pair = Pair::established(Params::example(), Params::example());
    let now = pair.now;
    let (first, _) = pair.side(INITIATOR).posted.pop_front().unwrap();
    let (second, _) = pair.side(INITIATOR).posted.pop_front().unwrap();
    pair.side(INITIATOR).handle(now, flushed(first.into()));
    let error = WorkError::LocalLength;
    pair.side(INITIATOR).handle(now, Input::Failed { id: second.into(), error });
    pair.drain(INITIATOR);
    assert_eq!(closed(&pair, INITIATOR), Some(CloseReason::Transport { id: second.into(), error }));
}

#[test]
fn what_was_told_is_not_taken_back() {
    let mut pair = Pair::established(Params::example(), Params::example());
    let now = pair.now;
    let (id, _) = pair.side(INITIATOR).posted.pop_front().unwrap();
    pair.side(INITIATOR).handle(now, Input::Disconnected);
    pair.side(INITIATOR).disconnected = true;
    let told = pair.side(INITIATOR).connection.poll_action();
    assert!(matches!(told, smbd_core::Action::Notify(Event::Closed(CloseReason::Lost))), "{told:?}");
    pair.side(INITIATOR).handle(now, Input::Failed { id: id.into(), error: WorkError::LocalLength });
    pair.drain(INITIATOR);
    assert_eq!(closed(&pair, INITIATOR), None);
}

#[test]
fn a_connection_lost_before_the_response_left_was_never_there() {
    let mut pair = Pair::new(Params::example(), Params::example());
    pair.connect();
    pair.drain(INITIATOR);
    pair.deliver(INITIATOR);
    let now = pair.now;
    pair.side(ACCEPTOR).handle(now, Input::Disconnected);
    pair.side(ACCEPTOR).disconnected = true;
    pair.drain(ACCEPTOR);
    let events = &pair.side(ACCEPTOR).events;
    assert!(matches!(events[..], [Event::ConnectFailed(ConnectError::Lost), Event::Drained]), "{events:?}");
}
