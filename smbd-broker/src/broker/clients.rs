//! What comes from clients.

use bytes::Bytes;
use smbd_core::Instant;
use smbd_smb2::wire::Guid;

use super::action::{Action, ConnectionId};
use super::connection::{Connection, Peer, Phase, Queued, Waiting};
use super::history::History;
use super::log::Log;
use super::moves;
use super::offer::Offer;
use super::reason::Reason;
use super::state::State;
use crate::wire::{Age, Event};

/// A connection is established. `None` if there are too many.
pub(super) fn connected(state: &mut State, mut peer: Peer, now: Instant) -> Option<ConnectionId> {
    if state.connections.len() >= state.settings.quotas.connections_max {
        return None;
    }
    state.connections_so_far = state.connections_so_far.saturating_add(1);
    let id = ConnectionId(state.connections_so_far);
    // What the client says has no bound of ours.
    peer.max_send_size = peer.max_send_size.min(state.settings.limits.send_bytes_max);
    let until = now.saturating_add(state.settings.quotas.setup_within);
    state.connections.insert(id, Connection::new(peer, until));
    Some(id)
}

/// A message has come.
pub(super) fn received(state: &mut State, id: ConnectionId, message: Bytes) {
    let Some(connection) = state.connections.get_mut(&id) else { return };
    connection.counts.received(message.len());
    match &mut connection.phase {
        Phase::Waiting(_) => first(state, id, message),
        Phase::Held(_) => moves::arrived(state, id, message),
        Phase::Ending { .. } => {}
    }
}

/// NEGOTIATE was answered by the broker, or cannot be.
pub(super) fn negotiated(state: &mut State, id: ConnectionId, response: Option<Bytes>) {
    let Some(connection) = state.connections.get_mut(&id) else { return };
    let Connection { phase: Phase::Waiting(waiting), sends, .. } = connection else { return };
    if !std::mem::replace(&mut waiting.is_answering, false) {
        return;
    }
    let Some(message) = response else { return state.end(id, Reason::NoDialect, 0) };
    match waiting.history.add(Age::PastResponse, message.clone()) {
        Ok(()) => {
            let len = u32::try_from(message.len()).unwrap_or(u32::MAX);
            sends.push_back(Queued { len, is_told: false });
            state.act(Action::Send { connection: id, message, invalidate: None });
        }
        Err(reason) => state.end(id, reason, 0),
    }
}

/// A connection has ended, and its transfers before it.
pub(super) fn ended(state: &mut State, id: ConnectionId, why: String) {
    state.close(id, true);
    let Some(connection) = state.connections.get(&id) else { return };
    let transfers: Vec<_> = connection.transfers.keys().copied().collect();
    for transfer in transfers {
        super::transfers::done(state, id, transfer, false);
    }
    state.tell(id, |mailbox| mailbox.push(&Event::Lost { why: why.clone() }));
    state.flush(id);
    let Some(connection) = state.connections.remove(&id) else { return };
    if connection.has_socket() {
        state.act(Action::CloseSocket(id));
    }
    let owner = match connection.phase {
        Phase::Ending { owner, .. } => owner,
        Phase::Waiting(_) | Phase::Held(_) => None,
    };
    state.past += connection.counts;
    state.log(Log::Ended { connection: id, owner, counts: connection.counts, why });
}

/// When [`timeout`] has something to do.
pub(super) fn deadline(state: &State) -> Option<Instant> {
    let until = |connection: &Connection| match &connection.phase {
        Phase::Waiting(waiting) => Some(waiting.until),
        Phase::Held(_) | Phase::Ending { .. } => None,
    };
    state.connections.values().filter_map(until).min()
}

/// Ends those that were silent for too long.
pub(super) fn timeout(state: &mut State, now: Instant) {
    let is_late = |connection: &Connection| match &connection.phase {
        Phase::Waiting(waiting) => waiting.until <= now,
        Phase::Held(_) | Phase::Ending { .. } => false,
    };
    let late: Vec<_> = state.connections.iter().filter(|(_, connection)| is_late(connection)).collect();
    let late: Vec<_> = late.into_iter().map(|(id, _)| *id).collect();
    for id in late {
        state.end(id, Reason::Silent, 0);
    }
}

/// A message on a connection that nobody has.
fn first(state: &mut State, id: ConnectionId, message: Bytes) {
    let offer = Offer::of(&message);
    let answers = state.negotiation.is_some();
    let Some(Connection { phase: Phase::Waiting(waiting), .. }) = state.connections.get_mut(&id) else {
        return;
    };
    if waiting.is_answering {
        return state.end(id, Reason::SetupBeforeNegotiate, 0);
    }
    let is_answered = waiting.history.is_answered();
    if let Offer::Negotiate(guid) = offer
        && !is_answered
    {
        waiting.client = Some(guid).filter(|guid| *guid != Guid([0; 16]));
        if answers {
            if let Err(reason) = waiting.history.add(Age::PastRequest, message.clone()) {
                return state.end(id, reason, 0);
            }
            waiting.is_answering = true;
            return state.act(Action::Negotiate { connection: id, request: message });
        }
    }
    let Waiting { client, history, .. } = waiting;
    let (client, history) = (*client, std::mem::replace(history, History::new()));
    let by_session = match offer {
        Offer::Bind(session_id) => state.routes.of_session(session_id),
        _ => None,
    };
    let Some(to) = by_session.or_else(|| state.routes.of_client(client)) else {
        let reason = match offer {
            Offer::Bind(session_id) => Reason::UnknownSession { session_id },
            _ => Reason::NoOwner,
        };
        return state.end(id, reason, 0);
    };
    // With NEGOTIATE it is not known yet whose session it will bind.
    let is_open = matches!(offer, Offer::Negotiate(_));
    moves::give(state, id, to, history, message.clone(), is_open);
    if is_open {
        moves::remember(state, id, Age::PastRequest, message);
    }
}
