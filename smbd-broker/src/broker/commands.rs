//! What an owner orders on a connection.

use std::sync::Arc;

use bytes::Bytes;

use super::action::{Action, ConnectionId, TransferId};
use super::connection::{Begun, Connection, Held, Phase, Queued, Running};
use super::moves;
use super::reason::Reason;
use super::state::{DISCONNECT_WITHIN_MAX, State};
use crate::wire::{Age, Command, Invalidate, Messages, Transfer};

/// A packet of the socket of a connection.
pub(super) fn packet(state: &mut State, id: ConnectionId, packet: &[u8]) {
    for message in Messages::of(packet) {
        if !is_listened_to(state, id) {
            return;
        }
        let done = match message.and_then(|message| Command::parse(&message)) {
            Ok(command) => on(state, id, command),
            Err(error) => Err(error.into()),
        };
        if let Err(reason) = done {
            return state.end(id, reason, 0);
        }
    }
}

/// Whether an owner still has a say. It has none behind what was read before its connection moves: otherwise it could hold up the move for
/// ever.
fn is_listened_to(state: &State, id: ConnectionId) -> bool {
    match state.connections.get(&id).map(|connection| &connection.phase) {
        Some(Phase::Held(held)) => !held.moving.as_ref().is_some_and(|moving| moving.is_drained),
        // It has ended, or is ending: that is told.
        Some(Phase::Waiting(_) | Phase::Ending { .. }) | None => false,
    }
}

/// The transport has taken the message that was ordered first.
pub(super) fn sent(state: &mut State, id: ConnectionId) {
    let Some(connection) = state.connections.get_mut(&id) else { return };
    let queued = connection.sends.pop_front();
    if let Some(queued) = queued {
        connection.counts.sent(queued.len);
    }
    if let Some(Queued { len, is_told: true }) = queued {
        state.tell_sent(id, len);
    }
    moves::go_on(state, id);
}

fn on(state: &mut State, id: ConnectionId, command: Command<'_>) -> Result<(), Reason> {
    let Some(Connection { phase: Phase::Held(held), .. }) = state.connections.get_mut(&id) else {
        return Ok(());
    };
    match command {
        Command::Send { remaining, invalidate, bytes } => send(state, id, remaining, invalidate, bytes),
        Command::Taken { count } => held.given.take(count),
        _ if held.begun.is_some() => Err(Reason::Between),
        Command::Rdma { tag, transfer } => start(state, id, tag, transfer),
        Command::Disconnect { within } => {
            state.end(id, Reason::Disconnected, within.min(DISCONNECT_WITHIN_MAX));
            Ok(())
        }
    }
}

fn send(
    state: &mut State,
    id: ConnectionId,
    remaining: u32,
    invalidate: Invalidate,
    bytes: &[u8],
) -> Result<(), Reason> {
    let limits = state.settings.limits;
    let Some(connection) = state.connections.get_mut(&id) else { return Ok(()) };
    let Connection { peer, phase: Phase::Held(held), sends, .. } = connection else { return Ok(()) };
    let max = peer.max_send_size;
    let Some(message) = piece(held, max, remaining, bytes)? else { return Ok(()) };
    // What the broker sent itself is no business of the owner's.
    let own = sends.iter().filter(|queued| queued.is_told);
    let (count, waiting) = own.fold((0_usize, 0_u64), |(count, len), queued| {
        (count.saturating_add(1), len.saturating_add(queued.len.into()))
    });
    // What waits is less than the limit before the last of it.
    let is_too_much = waiting >= u64::from(limits.send_bytes_max);
    if count >= usize::from(limits.sends_max) || is_too_much {
        return Err(Reason::Sends { messages: limits.sends_max, bytes: limits.send_bytes_max });
    }
    let len = u32::try_from(message.len()).unwrap_or(u32::MAX);
    sends.push_back(Queued { len, is_told: true });
    let message = Bytes::from(message);
    state.act(Action::Send { connection: id, message: message.clone(), invalidate });
    // This may end the connection: nothing is sent behind that.
    moves::remember(state, id, Age::PastResponse, message);
    Ok(())
}

/// Puts a piece behind the others. Returns the message when it is whole.
fn piece(held: &mut Held, max: u32, remaining: u32, bytes: &[u8]) -> Result<Option<Vec<u8>>, Reason> {
    let rest = u64::from(remaining).saturating_add(bytes.len() as u64);
    let begun = match held.begun.take() {
        Some(begun) if u64::from(begun.remaining) != rest => {
            return Err(Reason::Pieces { remaining, expected: begun.remaining });
        }
        Some(begun) => begun,
        None if rest > u64::from(max) => return Err(Reason::MessageTooLong { len: rest, max }),
        None => Begun { bytes: Vec::new(), remaining: 0 },
    };
    let mut message = begun.bytes;
    message.extend_from_slice(bytes);
    if remaining == 0 {
        return Ok(Some(message));
    }
    held.begun = Some(Begun { bytes: message, remaining });
    Ok(None)
}

fn start(state: &mut State, id: ConnectionId, tag: u64, transfer: Transfer) -> Result<(), Reason> {
    let limits = state.settings.limits;
    let Some(connection) = state.connections.get_mut(&id) else { return Ok(()) };
    let Phase::Held(Held { owner: owner_id, .. }) = &connection.phase else { return Ok(()) };
    let owner_id = *owner_id;
    let (len, max) = (transfer.len(), connection.peer.max_read_write_size);
    if len > u64::from(max) {
        return Err(Reason::TransferTooLong { len, max });
    }
    if connection.transfers.len() >= usize::from(limits.transfers_max) {
        return Err(Reason::Transfers { max: limits.transfers_max });
    }
    state.transfers_so_far = state.transfers_so_far.saturating_add(1);
    let transfer_id = TransferId(state.transfers_so_far);
    let Some(owner) = state.owners.get_mut(&owner_id) else { return Ok(()) };
    owner.slots.take(&transfer.areas, limits.slot_len, transfer_id)?;
    let Transfer { direction, offset, remote, areas } = transfer;
    connection
        .transfers
        .insert(transfer_id, Running { owner: owner_id, tag, direction, areas: areas.clone() });
    state.act(Action::Transfer {
        connection: id,
        id: transfer_id,
        owner: owner_id,
        direction,
        areas,
        remote: Arc::from(remote),
        offset,
    });
    Ok(())
}
