//! The two upper layers of the examples: a minimal file protocol.

use std::sync::Arc;

use smbd_core::wire::{BufferDescriptors, encode_all};
use smbd_core::{Access, BufferDescriptorV1, Event, OpId, RdmaVerb, RegId};

use crate::host::{Context, Upper};
use crate::memory::{Buffer, Range};

/// Length of the requests of 4.4 and 4.5, as section 4 has it.
pub(super) const REQUEST_LEN: usize = 500;
/// Length of the answers, about which it says nothing.
pub(super) const ANSWER_LEN: usize = 80;
/// Bytes moved by RDMA.
pub(super) const BULK_LEN: u32 = 1 << 20;
/// Where the descriptor lies in a request.
const DESCRIPTOR_AT: usize = 64;

/// First byte of each message: what it is.
const WRITE_REQUEST: u8 = b'W';
const READ_REQUEST: u8 = b'R';
const ANSWER: u8 = b'A';

/// `len` bytes that are different at every place, as far as that is possible.
pub(super) fn pattern(len: usize, start: u8) -> Vec<u8> {
    (0_u32..)
        .zip(0..len)
        .map(|(n, _)| start.wrapping_add((n.wrapping_mul(2_654_435_761) >> 24) as u8))
        .collect()
}

/// The descriptors in a request, if it is one of those that carry one.
pub(super) fn descriptors_in(payload: &[u8]) -> Option<BufferDescriptors<'_>> {
    let is_request = matches!(payload.first(), Some(&(WRITE_REQUEST | READ_REQUEST)));
    let bytes = payload.get(DESCRIPTOR_AT..DESCRIPTOR_AT + BufferDescriptorV1::LEN)?;
    BufferDescriptors::new(bytes).ok().filter(|_| is_request && payload.len() == REQUEST_LEN)
}

/// The upper layer of either side.
#[derive(Debug, Default)]
pub(super) struct Actor {
    /// Length of the message sent from within `Established`, as an initiator has one ready.
    pub(super) hello: Option<usize>,
    /// Whole messages received.
    pub(super) messages: Vec<Vec<u8>>,
    pub(super) partial: Vec<u8>,
    /// The buffer given to the peer, and what to do with it.
    pub(super) borrowed: Option<(Buffer, RegId, u8)>,
    /// Bytes got from, or given to, the peer by RDMA.
    pub(super) bulk: Option<(Buffer, OpId, u8)>,
    pub(super) deregistered: u32,
    /// A command that was refused or a result that was bad.
    pub(super) trouble: Vec<String>,
}

impl Actor {
    fn tried<T, E: std::fmt::Display>(&mut self, result: Result<T, E>) -> Option<T> {
        result.map_err(|error| self.trouble.push(error.to_string())).ok()
    }

    /// 4.4 step 1, 4.5 step 1: a buffer at `address` is opened to the peer.
    pub(super) fn begin(&mut self, verb: RdmaVerb, address: u64, context: &mut Context<'_>) {
        let Some(buffer) = context.memory().alloc_at(address, BULK_LEN) else {
            return self.trouble.push(format!("no room for a buffer at 0x{address:x}"));
        };
        let (access, kind) = match verb {
            RdmaVerb::Read => {
                context.memory().bytes_mut(buffer).copy_from_slice(&pattern(BULK_LEN as usize, 4));
                (Access::Read, WRITE_REQUEST)
            }
            RdmaVerb::Write => (Access::Write, READ_REQUEST),
        };
        let range = Range { buffer, offset: 0, len: BULK_LEN };
        let registered = context.register(access, range, 1);
        if let Some(id) = self.tried(registered) {
            self.borrowed = Some((buffer, id, kind));
        }
    }

    fn send(&mut self, message: &[u8], context: &mut Context<'_>) {
        let sent = context.send_bytes(message, None);
        self.tried(sent);
    }

    fn ask(&mut self, id: RegId, context: &mut Context<'_>) {
        let Some((_, _, kind)) = self.borrowed else { return };
        let mut request = pattern(REQUEST_LEN, kind);
        request[0] = kind;
        let written = encode_all(&context.descriptors(id), &mut request[DESCRIPTOR_AT..]);
        self.tried(written);
        self.send(&request, context);
    }

    fn heard(&mut self, message: Vec<u8>, context: &mut Context<'_>) {
        if let Some(descriptors) = descriptors_in(&message) {
            self.serve(message[0], descriptors.iter().collect(), context);
        } else if message.first() == Some(&ANSWER)
            && let Some((_, id, _)) = self.borrowed
        {
            let deregistered = context.deregister(id);
            self.tried(deregistered);
        }
        self.messages.push(message);
    }

    fn serve(&mut self, kind: u8, remote: Arc<[BufferDescriptorV1]>, context: &mut Context<'_>) {
        let buffer = context.memory().alloc(BULK_LEN);
        let verb = if kind == WRITE_REQUEST { RdmaVerb::Read } else { RdmaVerb::Write };
        if verb == RdmaVerb::Write {
            context.memory().bytes_mut(buffer).copy_from_slice(&pattern(BULK_LEN as usize, 5));
        }
        let local = Range { buffer, offset: 0, len: BULK_LEN };
        let moved = context.rdma(verb, local, &remote, 0);
        let Some(op) = self.tried(moved) else { return };
        self.bulk = Some((buffer, op, kind));
        if verb == RdmaVerb::Write {
            // Queued behind the data: the device keeps the order.
            self.answer(context);
        }
    }

    fn answer(&mut self, context: &mut Context<'_>) {
        let mut answer = pattern(ANSWER_LEN, 0);
        answer[0] = ANSWER;
        self.send(&answer, context);
    }
}

impl Upper for Actor {
    fn event(&mut self, event: Event, context: &mut Context<'_>) {
        match event {
            Event::Established(_) => {
                if let Some(len) = self.hello {
                    self.send(&pattern(len, b'H'), context);
                }
            }
            Event::Data(fragment) => {
                self.partial.extend_from_slice(context.fragment(&fragment));
                let last = fragment.is_last();
                context.release(fragment);
                if last {
                    let message = std::mem::take(&mut self.partial);
                    self.heard(message, context);
                }
            }
            Event::Registered { id, result } => {
                if self.tried(result).is_some() {
                    self.ask(id, context);
                }
            }
            Event::RdmaDone { result, .. } => {
                if self.tried(result).is_some() && self.bulk.is_some_and(|(_, _, kind)| kind == WRITE_REQUEST)
                {
                    self.answer(context);
                }
            }
            Event::Deregistered { result, .. } => {
                self.deregistered += u32::from(self.tried(result).is_some());
            }
            Event::Sent { result, .. } => {
                self.tried(result);
            }
            Event::ConnectFailed(error) => self.trouble.push(error.to_string()),
            Event::Invalidated { .. }
            | Event::Probed(_)
            | Event::Writable
            | Event::Closed(_)
            | Event::Drained => {}
        }
    }
}
