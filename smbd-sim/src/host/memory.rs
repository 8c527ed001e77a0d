//! The memory of messages, operations and registrations.

use std::collections::VecDeque;

use smbd_core::backend::{BufferLookup, BufferSlice, Payload};
use smbd_core::{Body, MsgId, OpId, RegId};

use crate::memory::{Buffer, Range};

#[derive(Clone, Copy, Debug)]
struct Message {
    range: Range,
    /// The host frees the buffer when it is sent.
    owned: bool,
}

/// Which memory stands behind messages, operations and registrations.
#[derive(Debug, Default)]
pub(super) struct Names {
    messages: VecDeque<Option<Message>>,
    first: u32,
    ops: Vec<Option<(OpId, Range)>>,
    registrations: Vec<Option<(RegId, Range)>>,
    /// To be freed when nothing is posted any more.
    pub(super) deferred: Vec<Buffer>,
}

impl Names {
    pub(super) fn put_message(&mut self, msg: MsgId, range: Range, owned: bool) {
        if self.messages.is_empty() {
            self.first = msg.sequence();
        }
        self.messages.push_back(Some(Message { range, owned }));
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
        put(&mut self.ops, op.slot(), (op, range));
    }

    pub(super) fn put_registration(&mut self, id: RegId, range: Range) {
        put(&mut self.registrations, id.slot(), (id, range));
    }
}

impl BufferLookup<Range> for Names {
    fn body(&self, body: Body) -> Option<Payload<'_, Range>> {
        let at = body.msg.sequence().wrapping_sub(self.first);
        let message = self.messages.get(at as usize)?.as_ref()?;
        message.range.part(body.offset, body.len)?;
        Some(Payload::InPlace(BufferSlice { buffer: &message.range, offset: body.offset, len: body.len }))
    }

    fn operation(&self, op: OpId) -> Option<&Range> {
        let (known, range) = self.ops.get(usize::from(op.slot()))?.as_ref()?;
        (*known == op).then_some(range)
    }

    fn registration(&self, id: RegId) -> Option<&Range> {
        let (known, range) = self.registrations.get(usize::from(id.slot()))?.as_ref()?;
        (*known == id).then_some(range)
    }
}

fn put<T>(table: &mut Vec<Option<T>>, slot: u16, item: T) {
    let at = usize::from(slot);
    if table.len() <= at {
        table.resize_with(at + 1, || None);
    }
    table[at] = Some(item);
}
