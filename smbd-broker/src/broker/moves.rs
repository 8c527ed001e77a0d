//! A connection comes to an owner, or goes from one to another.

use bytes::Bytes;

use super::action::{Action, Attachment, ConnectionId, OwnerId};
use super::connection::{Cause, Connection, Held, Moving, Phase};
use super::given::Given;
use super::history::History;
use super::log::Log;
use super::offer::Offer;
use super::reason::Reason;
use super::state::State;
use crate::wire::{Age, Newcomer, Notice, Reply, Rule};

/// A connection that nobody has is given to an owner. `open` is what was exchanged, if it is not known yet whether it stays there.
pub(super) fn give(
    state: &mut State,
    id: ConnectionId,
    to: (OwnerId, Rule),
    history: History,
    message: Bytes,
    is_open: bool,
) {
    let (owner, rule) = to;
    if !state.has_place(owner) {
        return state.end(id, Reason::OwnerIsFull(owner), 0);
    }
    let Some(connection) = state.connections.get_mut(&id) else { return };
    let past: Vec<_> = history.messages().to_vec();
    connection.phase = Phase::Held(Held::new(owner, Some(rule), is_open.then_some(history)));
    introduce(state, id, owner, rule, &past);
    deliver(state, id, message);
}

/// A connection binds a session of another owner.
pub(super) fn route(state: &mut State, id: ConnectionId, to: (OwnerId, Rule), message: Bytes) {
    let (owner, rule) = to;
    if !state.has_place(owner) {
        return state.end(id, Reason::OwnerIsFull(owner), 0);
    }
    let Some(Connection { phase: Phase::Held(held), .. }) = state.connections.get_mut(&id) else { return };
    let cause = Cause::Route(rule);
    held.moving = Some(Moving { to: owner, cause, is_drained: true, messages: vec![message] });
    go_on(state, id);
}

/// All was read that the former owner has written.
pub(super) fn drained(state: &mut State, id: ConnectionId) {
    if let Some(Connection { phase: Phase::Held(held), .. }) = state.connections.get_mut(&id)
        && let Some(moving) = &mut held.moving
    {
        moving.is_drained = true;
    }
    go_on(state, id);
}

/// Moves a connection if it can go now.
pub(super) fn go_on(state: &mut State, id: ConnectionId) {
    let Some(connection) = state.connections.get_mut(&id) else { return };
    let Connection { phase: Phase::Held(held), transfers, sends, .. } = connection else { return };
    let may_go = transfers.is_empty()
        && sends.is_empty()
        && held.moving.as_ref().is_some_and(|moving| moving.is_drained);
    let Some(Moving { to, cause, messages, .. }) = held.moving.take_if(|_| may_go) else { return };
    let from = std::mem::replace(&mut held.owner, to);
    held.begun = None;
    held.given = Given::new();
    held.rule = match cause {
        Cause::Attach { .. } => None,
        Cause::Route(rule) => Some(rule),
    };
    let history = held.open.take();
    state.flush(id);
    state.act(Action::CloseSocket(id));
    if from != to {
        state.notify(from, &Notice::Moved { connection: id.0 }, None);
    }
    state.log(Log::Moved { connection: id, from, to });
    match cause {
        Cause::Attach { tag } => {
            if let Some(Connection { phase: Phase::Held(held), .. }) = state.connections.get_mut(&id) {
                // Whoever hands it over before SESSION_SETUP does not know where it belongs either.
                held.open = history;
            }
            let reply = Reply::Attached { connection: id.0 };
            state.answer_with(to, tag, Ok(reply), Some(Attachment::Socket(id)));
        }
        Cause::Route(rule) => {
            let past = history.map(|history| history.messages().to_vec()).unwrap_or_default();
            introduce(state, id, to, rule, &past);
        }
    }
    for message in messages {
        arrived(state, id, message);
    }
}

/// A message of the client has come to a connection that an owner has.
pub(super) fn arrived(state: &mut State, id: ConnectionId, message: Bytes) {
    let Some(Connection { phase: Phase::Held(held), .. }) = state.connections.get_mut(&id) else { return };
    match held {
        Held { moving: Some(moving), .. } => moving.messages.push(message),
        Held { open: Some(_), .. } => undecided(state, id, message),
        Held { open: None, .. } => deliver(state, id, message),
    }
}

/// A message of the client goes to the owner.
fn deliver(state: &mut State, id: ConnectionId, message: Bytes) {
    let Some(Connection { phase: Phase::Held(held), .. }) = state.connections.get_mut(&id) else { return };
    held.given.add(message.len());
    state.tell(id, |mailbox| mailbox.push_message(Age::New, &message));
}

/// An owner gets the socket of a connection, and what was exchanged there.
fn introduce(state: &mut State, id: ConnectionId, owner: OwnerId, rule: Rule, past: &[(Age, Bytes)]) {
    let Some(connection) = state.connections.get(&id) else { return };
    let newcomer = Newcomer {
        connection: id.0,
        rule,
        is_negotiated: past.iter().any(|(age, _)| *age == Age::PastResponse),
        max_send_size: connection.peer.max_send_size,
        max_read_write_size: connection.peer.max_read_write_size,
        peer: connection.peer.address.clone(),
    };
    state.notify(owner, &Notice::New(newcomer), Some(Attachment::Socket(id)));
    state.log(Log::Routed { connection: id, owner, rule });
    state.tell(id, |mailbox| {
        for (age, message) in past {
            mailbox.push_message(*age, message);
        }
    });
}

/// A message on a connection of which it is not known whether it stays where it is.
fn undecided(state: &mut State, id: ConnectionId, message: Bytes) {
    let Some(Connection { phase: Phase::Held(held), .. }) = state.connections.get_mut(&id) else { return };
    let (owner, is_answered) = (held.owner, held.open.as_ref().is_some_and(History::is_answered));
    match Offer::of(&message) {
        Offer::Bind(_) | Offer::Setup if !is_answered => {
            state.end(id, Reason::SetupBeforeNegotiate, 0);
        }
        Offer::Bind(session_id) => match state.routes.of_session(session_id) {
            Some(to) if to.0 != owner => route(state, id, to, message),
            _ => settle(state, id, message),
        },
        Offer::Setup => settle(state, id, message),
        Offer::Negotiate(_) | Offer::Other => {
            deliver(state, id, message.clone());
            remember(state, id, Age::PastRequest, message);
        }
    }
}

/// It stays.
fn settle(state: &mut State, id: ConnectionId, message: Bytes) {
    if let Some(Connection { phase: Phase::Held(held), .. }) = state.connections.get_mut(&id) {
        held.open = None;
    }
    deliver(state, id, message);
}

/// Keeps a message for another owner, as long as there may be one.
pub(super) fn remember(state: &mut State, id: ConnectionId, age: Age, message: Bytes) {
    if let Some(Connection { phase: Phase::Held(held), .. }) = state.connections.get_mut(&id)
        && let Some(history) = &mut held.open
        && let Err(reason) = history.add(age, message)
    {
        state.end(id, reason, 0);
    }
}
