use std::collections::VecDeque;

use smbd_core::error::{ConnectReason, WorkError};
use smbd_core::{BufferDescriptorV1, MsgId, OpId, RegId};

use crate::memory::{Buffer, Range};

/// Something that comes to a host's notice without a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Local {
    Connected,
    ConnectFailed(ConnectReason),
    /// The connection was taken, but the initiator never came.
    NeverUp,
    Disconnected,
    Registered(RegId),
    RegistrationFailed(RegId, WorkError),
    Deregistered(RegId),
}

#[derive(Clone, Copy, Debug)]
struct Message {
    range: Range,
    /// The host frees the buffer when it is sent.
    owned: bool,
}

/// Work requests of a registration under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Idle,
    Binding,
    Invalidating,
    /// Its binds failed before it was told of.
    Failed,
}

#[derive(Clone, Debug)]
pub(super) struct Registration {
    pub(super) id: RegId,
    /// The connection was told that it is in force.
    pub(super) told: bool,
    pub(super) range: Range,
    pub(super) segments: Vec<BufferDescriptorV1>,
    pub(super) stage: Stage,
    /// Work requests posted and not completed.
    pub(super) requests: u32,
    pub(super) error: Option<WorkError>,
}

/// Which memory stands behind messages, operations and registrations.
#[derive(Debug, Default)]
pub(super) struct LocalMemory {
    messages: VecDeque<Option<Message>>,
    first: u32,
    ops: Vec<Option<Range>>,
    registrations: Vec<Option<Registration>>,
    /// To be freed when nothing is posted any more.
    pub(super) deferred: Vec<Buffer>,
}

impl LocalMemory {
    pub(super) fn put_message(&mut self, msg: MsgId, range: Range, owned: bool) {
        if self.messages.is_empty() {
            self.first = msg.sequence();
        }
        self.messages.push_back(Some(Message { range, owned }));
    }

    pub(super) fn message(&self, msg: MsgId) -> Option<Range> {
        let at = msg.sequence().wrapping_sub(self.first);
        Some(self.messages.get(at as usize)?.as_ref()?.range)
    }

    /// The message is done with. Its buffer, if the host has to free it.
    pub(super) fn take_message(&mut self, msg: MsgId) -> Option<Buffer> {
        let at = msg.sequence().wrapping_sub(self.first);
        let message = self.messages.get_mut(at as usize)?.take();
        while let Some(None) = self.messages.front() {
            self.messages.pop_front();
            self.first = self.first.wrapping_add(1);
        }
        message.filter(|m| m.owned).map(|m| m.range.buffer)
    }

    pub(super) fn put_op(&mut self, op: OpId, range: Range) {
        put(&mut self.ops, op.slot(), range);
    }

    pub(super) fn op(&self, op: OpId) -> Option<Range> {
        self.ops.get(usize::from(op.slot())).copied().flatten()
    }

    pub(super) fn put_registration(&mut self, id: RegId, range: Range) {
        let registration = Registration {
            id,
            told: false,
            range,
            segments: Vec::new(),
            stage: Stage::Idle,
            requests: 0,
            error: None,
        };
        put(&mut self.registrations, id.slot(), registration);
    }

    pub(super) fn registration(&mut self, id: RegId) -> Option<&mut Registration> {
        self.registrations.get_mut(usize::from(id.slot()))?.as_mut().filter(|r| r.id == id)
    }

    pub(super) fn range_of(&self, id: RegId) -> Option<Range> {
        Some(self.registrations.get(usize::from(id.slot()))?.as_ref()?.range)
    }
}

fn put<T>(table: &mut Vec<Option<T>>, slot: u16, item: T) {
    let at = usize::from(slot);
    if table.len() <= at {
        table.resize_with(at + 1, || None);
    }
    table[at] = Some(item);
}
