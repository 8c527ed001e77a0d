//! What a broker knows, and what all of its parts do with it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use smbd_core::Config;

use super::action::{Action, Attachment, ConnectionId, OwnerId};
use super::config::Settings;
use super::connection::{Cause, Connection, Held, Moving, Phase};
use super::counts::Counts;
use super::log::Log;
use super::mailbox::Mailbox;
use super::owner::{self, Owner};
use super::reason::Reason;
use super::routes::Routes;
use crate::wire::{Answer, Limits, Negotiation, Notice, Packet, Refusal, Reply};

/// How long what was ordered may still take when a connection ends for a reason of its owner's, in milliseconds.
pub(super) const DISCONNECT_WITHIN: u32 = 1000;

/// The most that an owner may ask for, in milliseconds. It may be gone meanwhile, and its slots are not free before the end.
pub(super) const DISCONNECT_WITHIN_MAX: u32 = 60_000;

#[derive(Debug)]
pub(super) struct State {
    pub(super) settings: Settings,
    /// Of this process.
    pub(super) instance: u64,
    /// For connections that come from now on.
    pub(super) config: Config,
    /// The same, if the default acceptor has said nothing.
    default_config: Config,
    /// With what NEGOTIATE is answered.
    pub(super) negotiation: Option<Negotiation>,
    pub(super) owners: BTreeMap<OwnerId, Owner>,
    pub(super) connections: BTreeMap<ConnectionId, Connection>,
    pub(super) routes: Routes,
    /// Bytes of all slots that were made, or are being made.
    pub(super) memory: u64,
    pub(super) owners_so_far: u64,
    pub(super) connections_so_far: u64,
    pub(super) transfers_so_far: u64,
    /// What has passed on connections that have ended.
    pub(super) past: Counts,
    actions: VecDeque<Action>,
    /// Connections whose mailboxes have something.
    told: BTreeSet<ConnectionId>,
}

impl State {
    pub(super) fn new(settings: Settings, config: Config, instance: u64) -> Self {
        Self {
            settings,
            instance,
            default_config: config.clone(),
            config,
            negotiation: None,
            owners: BTreeMap::new(),
            connections: BTreeMap::new(),
            routes: Routes::new(),
            memory: 0,
            owners_so_far: 0,
            connections_so_far: 0,
            transfers_so_far: 0,
            past: Counts::default(),
            actions: VecDeque::new(),
            told: BTreeSet::new(),
        }
    }

    /// The default acceptor is gone. Whoever comes next says what it wants.
    pub(super) fn forget_parameters(&mut self) {
        self.config = self.default_config.clone();
        self.negotiation = None;
    }

    pub(super) fn act(&mut self, action: Action) {
        self.actions.push_back(action);
    }

    pub(super) fn log(&mut self, log: Log) {
        self.act(Action::Log(log));
    }

    pub(super) fn poll(&mut self) -> Option<Action> {
        loop {
            if let Some(action) = self.actions.pop_front() {
                return Some(action);
            }
            let connection = self.told.pop_first()?;
            self.flush(connection);
        }
    }

    /// What is to be told on the socket of a connection becomes actions, before what follows.
    pub(super) fn flush(&mut self, id: ConnectionId) {
        self.told.remove(&id);
        let Some(connection) = self.connections.get_mut(&id) else { return };
        while let Some(packet) = connection.mailbox.pop() {
            self.actions.push_back(Action::ToSocket { connection: id, packet });
        }
    }

    /// Tells something on the socket of a connection, if it has one.
    pub(super) fn tell(&mut self, id: ConnectionId, what: impl FnOnce(&mut Mailbox)) {
        if let Some(mailbox) = self.mailbox(id) {
            what(mailbox);
            self.told.insert(id);
        }
    }

    /// Tells that the transport has taken a message. That goes with the next event, and so wakes nobody by itself: there is room for more as
    /// long as less than half of what may wait was not told.
    pub(super) fn tell_sent(&mut self, id: ConnectionId, len: u32) {
        let Limits { sends_max, send_bytes_max, .. } = self.settings.limits;
        let Some((count, bytes)) = self.mailbox(id).map(|mailbox| mailbox.push_sent(len)) else { return };
        if count >= u32::from(sends_max / 2) || bytes >= u64::from(send_bytes_max / 2) {
            self.told.insert(id);
        }
    }

    /// What waits for the socket of a connection, if it has one.
    fn mailbox(&mut self, id: ConnectionId) -> Option<&mut Mailbox> {
        let connection = self.connections.get_mut(&id).filter(|connection| connection.has_socket());
        connection.map(|connection| &mut connection.mailbox)
    }

    pub(super) fn answer(&mut self, owner: OwnerId, tag: u64, result: Result<Reply, Refusal>) {
        self.answer_with(owner, tag, result, None);
    }

    pub(super) fn answer_with(
        &mut self,
        owner: OwnerId,
        tag: u64,
        result: Result<Reply, Refusal>,
        attachment: Option<Attachment>,
    ) {
        let mut packet = Packet::new();
        Answer { tag, result }.write(&mut packet);
        self.tell_owner(owner, packet, attachment);
    }

    pub(super) fn notify(&mut self, owner: OwnerId, notice: &Notice, attachment: Option<Attachment>) {
        let mut packet = Packet::new();
        notice.write(&mut packet);
        self.tell_owner(owner, packet, attachment);
    }

    fn tell_owner(&mut self, owner: OwnerId, packet: Packet, attachment: Option<Attachment>) {
        // What was wrong is the last that an owner is told.
        let is_there = |owner: &Owner| matches!(owner.phase, owner::Phase::Silent | owner::Phase::Present);
        if self.owners.get(&owner).is_some_and(is_there) {
            self.act(Action::ToOwner { owner, packet, attachment });
        }
    }

    /// Whether an owner may have another connection.
    pub(super) fn has_place(&self, owner: OwnerId) -> bool {
        let has = self.connections.values().filter(|connection| connection.belongs_to(owner)).count();
        has < self.settings.quotas.connections_of_owner_max
    }

    /// Ends a connection. What was ordered is finished in `within` milliseconds.
    pub(super) fn end(&mut self, id: ConnectionId, reason: Reason, within: u32) {
        let has_socket = reason != Reason::SocketClosed;
        if self.close(id, has_socket) {
            self.log(Log::Ends { connection: id, reason });
            self.act(Action::Disconnect { connection: id, within });
        }
    }

    /// From now on a connection is ending. Returns whether it was not before.
    pub(super) fn close(&mut self, id: ConnectionId, has_socket: bool) -> bool {
        let Some(connection) = self.connections.get_mut(&id) else { return false };
        let (owner, moving) = match &mut connection.phase {
            Phase::Waiting(_) => (None, None),
            Phase::Held(Held { owner, moving, .. }) => (Some(*owner), moving.take()),
            Phase::Ending { .. } => return false,
        };
        connection.phase = Phase::Ending { owner, has_socket: has_socket && owner.is_some() };
        if !has_socket && owner.is_some() {
            connection.mailbox.clear();
            self.act(Action::CloseSocket(id));
        }
        if let Some(Moving { to, cause: Cause::Attach { tag }, .. }) = moving {
            self.answer(to, tag, Err(Refusal::Ended));
        }
        true
    }

    /// Gives back the memory of owners that are gone, when no device uses it.
    pub(super) fn release(&mut self, id: OwnerId) {
        let Some(owner) = self.owners.get(&id) else { return };
        let is_over = matches!(owner.phase, owner::Phase::Gone) && owner.slots.are_all_back();
        // Memory that is being made comes first.
        if is_over && owner.making.is_none() {
            let bytes = u64::from(owner.slots.len()).saturating_mul(self.settings.limits.slot_len.into());
            self.memory = self.memory.saturating_sub(bytes);
            self.owners.remove(&id);
            self.act(Action::FreeMemory(id));
        }
    }
}
