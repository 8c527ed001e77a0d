//! Owners come, ask and go.

use smbd_core::{Config, Keepalive, Params};

use super::action::{Action, Attachment, ConnectionId, OwnerId};
use super::connection::{Cause, Connection, Held, Moving, Phase};
use super::log::Log;
use super::moves;
use super::owner::{self, Making, Owner};
use super::reason::Reason;
use super::state::{DISCONNECT_WITHIN, State};
use crate::wire::{
    Call, Memory, Messages, Notice, Parameters, Refusal, Reply, Request, VERSION, Welcome, WireError,
};

/// A process has connected. `None` if there are too many.
pub(super) fn joined(state: &mut State) -> Option<OwnerId> {
    if state.owners.len() >= state.settings.quotas.owners_max {
        return None;
    }
    state.owners_so_far = state.owners_so_far.saturating_add(1);
    let id = OwnerId(state.owners_so_far);
    state.owners.insert(id, Owner::default());
    Some(id)
}

/// A packet of an owner. `sockets` are the connections whose sockets came with it, nothing for other file descriptors.
pub(super) fn packet(state: &mut State, id: OwnerId, packet: &[u8], sockets: &[Option<ConnectionId>]) {
    let mut sockets = sockets.iter().copied();
    for message in Messages::of(packet) {
        let request = message.and_then(|message| Request::parse(&message));
        let Some(owner) = state.owners.get(&id) else { return };
        if matches!(owner.phase, owner::Phase::Closing(_) | owner::Phase::Gone) {
            return;
        }
        match request {
            Ok(Request { tag, call }) => {
                let socket = if call == Call::Attach { sockets.next().flatten() } else { None };
                if let Some(result) = on(state, id, tag, call, socket) {
                    state.answer(id, tag, result);
                }
            }
            Err(error) => return fault(state, id, error),
        }
    }
}

/// It is gone.
pub(super) fn left(state: &mut State, id: OwnerId) {
    let Some(owner) = state.owners.get_mut(&id) else { return };
    let fault = match std::mem::replace(&mut owner.phase, owner::Phase::Gone) {
        owner::Phase::Closing(why) => Some(why),
        owner::Phase::Gone => return,
        owner::Phase::Silent | owner::Phase::Present => None,
    };
    state.log(Log::OwnerLeft { owner: id, fault });
    expel(state, id);
    state.release(id);
}

/// Nothing comes to an owner any more, and what it has ends.
fn expel(state: &mut State, id: OwnerId) {
    if state.routes.acceptor == Some(id) {
        state.forget_parameters();
    }
    state.routes.forget_owner(id);
    let its: Vec<ConnectionId> = state
        .connections
        .iter()
        .filter(|(_, connection)| connection.belongs_to(id))
        .map(|(id, _)| *id)
        .collect();
    for connection in its {
        state.end(connection, Reason::OwnerLeft, 0);
    }
}

/// Memory was made, or could not be.
pub(super) fn memory_made(state: &mut State, id: OwnerId, is_made: bool) {
    let slot_len = u64::from(state.settings.limits.slot_len);
    let Some(owner) = state.owners.get_mut(&id) else { return };
    let Some(Making { tag, first, count }) = owner.making.take() else { return };
    if is_made {
        owner.slots.add(count);
        let total = owner.slots.len();
        let memory = Reply::Memory(Memory { first, count, total });
        state.answer_with(id, tag, Ok(memory), Some(Attachment::Memory { owner: id, first }));
    } else {
        state.memory = state.memory.saturating_sub(u64::from(count).saturating_mul(slot_len));
        state.answer(id, tag, Err(Refusal::Memory));
    }
    state.release(id);
}

fn fault(state: &mut State, id: OwnerId, error: WireError) {
    let why = error.to_string();
    state.notify(id, &Notice::Fault { why: why.clone() }, None);
    if let Some(owner) = state.owners.get_mut(&id) {
        owner.phase = owner::Phase::Closing(why);
    }
    state.act(Action::CloseOwner(id));
    expel(state, id);
}

/// Carries out a call. Nothing is returned if it is answered later.
fn on(
    state: &mut State,
    id: OwnerId,
    tag: u64,
    call: Call,
    socket: Option<ConnectionId>,
) -> Option<Result<Reply, Refusal>> {
    let is_present = state.owners.get(&id).is_some_and(Owner::is_present);
    if is_present == matches!(call, Call::Hello { .. }) {
        return Some(Err(Refusal::Order));
    }
    let max = state.settings.quotas.rules_of_owner_max;
    let done = |result: Result<(), Refusal>| Some(result.map(|()| Reply::Done));
    match call {
        Call::Hello { version, name } => Some(hello(state, id, version, name)),
        Call::SetParameters(parameters) => done(set_parameters(state, id, *parameters)),
        Call::SetSessionId { session_id, is_held: true } => {
            done(state.routes.hold_session(session_id, id, max))
        }
        Call::SetSessionId { session_id, is_held: false } => {
            done(state.routes.forget_session(session_id, id))
        }
        Call::SetClientGuid { client_guid, is_held: true } => {
            done(state.routes.hold_client(client_guid, id, max))
        }
        Call::SetClientGuid { client_guid, is_held: false } => {
            done(state.routes.forget_client(client_guid, id))
        }
        Call::GetMemParams { slots } => get_mem_params(state, id, tag, slots),
        Call::Listen { is_on } => done(listen(state, id, is_on)),
        Call::Attach => attach(state, id, tag, socket).err().map(Err),
    }
}

fn hello(state: &mut State, id: OwnerId, version: u32, name: String) -> Result<Reply, Refusal> {
    if version != VERSION {
        return Err(Refusal::Version);
    }
    if let Some(owner) = state.owners.get_mut(&id) {
        owner.phase = owner::Phase::Present;
        owner.name.clone_from(&name);
    }
    state.log(Log::OwnerJoined { owner: id, name });
    let (instance, limits) = (state.instance, state.settings.limits);
    Ok(Reply::Welcome(Welcome { version: VERSION, instance, limits }))
}

fn set_parameters(state: &mut State, id: OwnerId, wanted: Parameters) -> Result<(), Refusal> {
    if state.routes.acceptor != Some(id) {
        return Err(Refusal::NotAcceptor);
    }
    let most = &state.settings.params;
    let is_allowed = wanted.receive_credit_max <= most.receive_credit_max
        && wanted.send_credit_target <= most.send_credit_target
        && wanted.max_send_size <= most.max_send_size
        && wanted.max_receive_size <= most.max_receive_size
        && wanted.max_fragmented_size <= most.max_fragmented_recv_size
        && wanted.max_read_write_size <= most.max_read_write_size;
    if !is_allowed {
        return Err(Refusal::Parameters);
    }
    let keepalive = most.keepalive.map(|keepalive| Keepalive {
        interval: std::time::Duration::from_millis(wanted.keepalive_interval.into()),
        ..keepalive
    });
    let params = Params {
        receive_credit_max: wanted.receive_credit_max,
        send_credit_target: wanted.send_credit_target,
        max_send_size: wanted.max_send_size,
        max_receive_size: wanted.max_receive_size,
        max_fragmented_recv_size: wanted.max_fragmented_size,
        max_read_write_size: wanted.max_read_write_size,
        keepalive,
        ..most.clone()
    };
    state.config = Config::try_from(params).map_err(|_| Refusal::Parameters)?;
    state.negotiation = wanted.negotiation;
    Ok(())
}

fn get_mem_params(state: &mut State, id: OwnerId, tag: u64, wanted: u16) -> Option<Result<Reply, Refusal>> {
    let slots_max = state.settings.limits.slots_max;
    let slot_len = u64::from(state.settings.limits.slot_len);
    let owner = state.owners.get_mut(&id)?;
    let first = owner.slots.len();
    if wanted > slots_max || owner.making.is_some() {
        return Some(Err(Refusal::Quota));
    }
    let count = wanted.saturating_sub(first);
    if count == 0 {
        return Some(Ok(Reply::Memory(Memory { first, count, total: first })));
    }
    let bytes = u64::from(count).saturating_mul(slot_len);
    let memory = state.memory.saturating_add(bytes);
    if memory > state.settings.quotas.memory_max {
        return Some(Err(Refusal::Quota));
    }
    state.memory = memory;
    owner.making = Some(Making { tag, first, count });
    state.act(Action::MakeMemory { owner: id, first, count });
    None
}

fn listen(state: &mut State, id: OwnerId, is_on: bool) -> Result<(), Refusal> {
    if is_on {
        state.routes.listen(id)?;
    } else {
        state.routes.stop_listening(id)?;
        state.forget_parameters();
    }
    state.log(Log::Listens { owner: id, is_on });
    Ok(())
}

fn attach(state: &mut State, id: OwnerId, tag: u64, socket: Option<ConnectionId>) -> Result<(), Refusal> {
    let connection_id = socket.ok_or(Refusal::NotASocket)?;
    let is_its = state.connections.get(&connection_id).is_some_and(|connection| connection.belongs_to(id));
    if !is_its && !state.has_place(id) {
        return Err(Refusal::Quota);
    }
    let connection = state.connections.get_mut(&connection_id).ok_or(Refusal::Ended)?;
    let Phase::Held(Held { moving, .. }) = &mut connection.phase else { return Err(Refusal::Ended) };
    if moving.is_some() {
        return Err(Refusal::Held);
    }
    let cause = Cause::Attach { tag };
    *moving = Some(Moving { to: id, cause, is_drained: false, messages: Vec::new() });
    state.act(Action::DrainSocket(connection_id));
    moves::go_on(state, connection_id);
    Ok(())
}

/// The socket of a connection is closed. Whoever hands a connection over may close it.
pub(super) fn socket_closed(state: &mut State, id: ConnectionId) {
    let is_moving = state.connections.get(&id).is_some_and(Connection::is_moving);
    if is_moving {
        moves::drained(state, id);
    } else {
        state.end(id, Reason::SocketClosed, DISCONNECT_WITHIN);
    }
}
