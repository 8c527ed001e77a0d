//! The memory of a client, registered for one request each.

use std::collections::{BTreeMap, VecDeque};

use smbd_core::{Access, BufferDescriptorV1, Instant, RegId};
use smbd_link::Messages;
use smbd_sim::Side;
use smbd_sim::loops::{Block, Stage};

use crate::large;
use crate::words::{Kind, Request, key, pattern};
use smbd_testkit::Chance;
use smbd_testkit::{Breach, law};

/// Descriptors that name one buffer, at most.
const PIECES: usize = 24;

#[derive(Debug, Default)]
pub struct Buffers {
    pub blocks: BTreeMap<RegId, Block>,
    /// Requests whose memory is being registered.
    wanted: BTreeMap<RegId, Request>,
    /// The memory of requests that were sent.
    used: BTreeMap<u32, (RegId, Vec<u8>)>,
    leaving: VecDeque<RegId>,
}

impl Buffers {
    /// Registers memory for a request. It comes back if there is no room now.
    pub fn register(
        &mut self,
        (machine, now): (&mut impl Messages, Instant),
        (stage, connection): (&Stage, usize),
        request: Request,
        chance: &mut Chance,
    ) -> Option<Request> {
        let access = match request.kind {
            Kind::Write => Access::Write,
            _ => Access::Read,
        };
        let len = request.offset + request.len + chance.below(40) as u32;
        let Ok(id) = machine.register(now, access, 4) else { return Some(request) };
        let block = stage.alloc(Side::Initiator, len);
        let _ = stage.fill(&block, 0, &own(connection, &request, len));
        self.blocks.insert(id, block);
        self.wanted.insert(id, request);
        None
    }

    /// Memory is registered, or could not be: the request that can be sent now. A large buffer is named by so many descriptors.
    pub fn registered(
        &mut self,
        machine: &impl Messages,
        (stage, connection): (&Stage, usize),
        (id, is_success): (RegId, bool),
        descriptors: Option<usize>,
        chance: &mut Chance,
    ) -> Option<Request> {
        let mut request = self.wanted.remove(&id)?;
        if !is_success {
            self.blocks.remove(&id);
            // Asked for without memory.
            return Some(Request { kind: Kind::Echo, remote: Vec::new(), ..request });
        }
        let block = self.blocks.get(&id)?;
        let len = stage_len(machine, id);
        let mut bytes = vec![0; len as usize];
        let _ = stage.read(block, 0, &mut bytes);
        let segments = machine.endpoint().connection().live_segments(id);
        request.remote = match descriptors.filter(|_| request.len == large::LEN) {
            None => segments.flat_map(|segment| cut(segment, chance)).collect(),
            Some(count) => large::cut(segments.collect(), count, chance),
        };
        debug_assert_eq!(bytes, own(connection, &request, len), "nobody has changed it");
        self.used.insert(request.number, (id, bytes));
        Some(request)
    }

    /// A request is answered, with so many bytes moved: nobody has changed anything else, and these are the owner's.
    pub fn answered(
        &mut self,
        (stage, connection): (&Stage, usize),
        request: &Request,
        moved: Option<u32>,
    ) -> Result<(), Breach> {
        let Some((id, mut expected)) = self.used.remove(&request.number) else { return Ok(()) };
        self.leaving.push_back(id);
        let Some(block) = self.blocks.get(&id) else { return Ok(()) };
        let mut bytes = vec![0; expected.len()];
        let _ = stage.read(block, 0, &mut bytes);
        let at = request.offset as usize;
        if request.kind == Kind::Write {
            let len = moved.unwrap_or(request.len) as usize;
            let to = expected.get_mut(at..at + len);
            law!("isolation", to.is_some(), "{len} bytes were moved, {} were asked for", request.len);
            let written = pattern(key(connection, request.number, b'W'), len);
            match (to, moved) {
                (Some(to), Some(_)) => to.copy_from_slice(&written),
                // It is not known how much of it came.
                (Some(to), None) => to.copy_from_slice(&bytes[at..at + len]),
                (None, _) => {}
            }
        }
        law!(
            "isolation",
            bytes == expected,
            "request {}: the client's memory has other bytes",
            request.number
        );
        Ok(())
    }

    /// Gives up what is to go.
    pub fn give_up(&mut self, machine: &mut impl Messages, now: Instant) {
        while let Some(id) = self.leaving.pop_front() {
            if machine.deregister(now, id).is_err() {
                self.leaving.push_front(id);
                break;
            }
        }
    }

    pub fn gone(&mut self, id: RegId) {
        self.blocks.remove(&id);
    }

    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }
}

/// What is in memory that the owner reads, or before it writes.
fn own(connection: usize, request: &Request, len: u32) -> Vec<u8> {
    let purpose = if request.kind == Kind::Write { b'C' } else { b'R' };
    pattern(key(connection, request.number, purpose), len as usize)
}

fn stage_len(machine: &impl Messages, id: RegId) -> u32 {
    machine.endpoint().connection().live_segments(id).map(|segment| segment.length).sum()
}

/// Names a segment by several descriptors.
fn cut(segment: BufferDescriptorV1, chance: &mut Chance) -> Vec<BufferDescriptorV1> {
    let mut pieces = Vec::new();
    let mut rest = segment;
    let one_in = chance.pick(&[1, 1, 2, 30]);
    while rest.length > 1 && pieces.len() < PIECES && !chance.one_in(one_in) {
        let length = chance.size(1, rest.length as usize - 1) as u32;
        pieces.push(BufferDescriptorV1 { length, ..rest });
        rest.offset += u64::from(length);
        rest.length -= length;
    }
    pieces.push(rest);
    pieces
}
