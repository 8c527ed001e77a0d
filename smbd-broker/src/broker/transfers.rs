//! Transfers end.

use super::action::{ConnectionId, TransferId};
use super::connection::Running;
use super::moves;
use super::state::State;
use crate::wire::Event;

/// The device uses neither the slots of a transfer nor the client's memory any more.
pub(super) fn done(state: &mut State, id: ConnectionId, transfer: TransferId, is_success: bool) {
    let Some(connection) = state.connections.get_mut(&id) else { return };
    let Some(Running { owner, tag, direction, areas }) = connection.transfers.remove(&transfer) else {
        return;
    };
    let len = areas.iter().map(|area| u64::from(area.len)).sum();
    connection.counts.transferred(direction, len, is_success);
    if let Some(owner) = state.owners.get_mut(&owner) {
        owner.slots.give(&areas, transfer);
    }
    state.tell(id, |mailbox| mailbox.push(&Event::RdmaDone { tag, is_success }));
    state.release(owner);
    moves::go_on(state, id);
}
