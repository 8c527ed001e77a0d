//! The client's memory: registered at its device before requests need it, and given up when they have used it.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use smbd_core::{Access, BufferDescriptorV1, Instant, RegId};
use smbd_link::Messages;
use smbd_link::transport::Memory as _;
use smbd_sim::Side;
use smbd_testkit::Chance;
use smbd_testkit::relay::Client;
use smbd_testkit::swarm::Memory;

/// Lengths of registrations in bytes. Devices take as much in one segment.
const LENGTHS: [u32; 3] = [500, 1500, 2000];
/// How long it waits after a registration has failed, and how much longer after each other one. A device that is down fails all.
const PATIENCE: Duration = Duration::from_micros(200);

/// All registrations of a client.
#[derive(Debug, Default)]
pub struct Registered {
    pub blocks: BTreeMap<RegId, Memory>,
    known: BTreeMap<u32, Known>,
    leaving: VecDeque<RegId>,
    /// Bytes of registrations that are there or will be.
    bytes: usize,
    /// Registrations that have failed since one was successful.
    failed: u32,
    /// It asks for none before that.
    pub asks_at: Option<Instant>,
}

#[derive(Debug)]
struct Known {
    id: RegId,
    whole: BufferDescriptorV1,
    is_used: bool,
    is_dead: bool,
}

impl Registered {
    /// Asks for more while there is less than `wanted` bytes, and gives up what is to go.
    pub fn ask(&mut self, machine: &mut impl Messages, now: Instant, wanted: usize, chance: &mut Chance) {
        while let Some(id) = self.leaving.pop_front() {
            if machine.deregister(now, id).is_err() {
                self.leaving.push_front(id);
                break;
            }
        }
        self.asks_at = self.asks_at.filter(|at| *at > now);
        while self.bytes < wanted && self.asks_at.is_none() {
            let len = chance.pick(&LENGTHS);
            let Some(memory) = Memory::of(Side::Initiator, len) else { return };
            // Asked again when there is room.
            let Ok(id) = machine.register(now, Access::ReadWrite, 1) else {
                self.asks_at = Some(now.saturating_add(PATIENCE));
                return;
            };
            self.blocks.insert(id, memory);
            self.bytes += len as usize;
        }
    }

    /// A registration has come to be, or has not.
    pub fn on_registered(
        &mut self,
        (machine, now): (&impl Messages, Instant),
        id: RegId,
        is_success: bool,
        model: &mut Client,
    ) {
        let whole = machine.endpoint().connection().live_segments(id).next();
        let Some(whole) = whole.filter(|_| is_success) else {
            self.failed += 1;
            self.asks_at = Some(now.saturating_add(PATIENCE.saturating_mul(self.failed)));
            return self.on_gone(id);
        };
        self.failed = 0;
        self.known.insert(whole.token.0, Known { id, whole, is_used: false, is_dead: false });
        if let Some(pool) = &mut model.pool {
            pool.add(whole);
        }
    }

    /// A registration has ended.
    pub fn on_gone(&mut self, id: RegId) {
        if let Some(memory) = self.blocks.remove(&id) {
            self.bytes -= smbd_sim::device::Placed::range(&memory).len as usize;
        }
    }

    /// The peer has invalidated a token.
    pub fn on_invalidated(&mut self, token: u32) {
        if let Some(known) = self.known.get_mut(&token) {
            known.is_dead = true;
        }
    }

    /// Puts what new requests have to have in their memory there.
    pub fn store(&mut self, model: &Client) {
        for (token, region) in &model.regions {
            let Some(known) = self.known.get_mut(token).filter(|known| !known.is_used) else { continue };
            known.is_used = true;
            let at = (region.address - known.whole.offset) as u32;
            if let Some(memory) = self.blocks.get(&known.id) {
                let _ = memory.fill(at, &region.bytes);
            }
        }
    }

    /// Tells the model what is in its memory.
    pub fn load(&self, model: &mut Client) {
        for (token, region) in &mut model.regions {
            let Some(known) = self.known.get(token) else { continue };
            let at = (region.address - known.whole.offset) as u32;
            if let Some(memory) = self.blocks.get(&known.id) {
                let _ = memory.read(at, &mut region.bytes);
            }
        }
    }

    /// Memory that no request uses any more is used again, or given up.
    pub fn recycle(&mut self, model: &mut Client, chance: &mut Chance) {
        let used: Vec<_> = model.open.values().flat_map(|op| op.tokens.iter().copied()).collect();
        let is_over = |(token, known): &(&u32, &Known)| known.is_used && !used.contains(*token);
        let over: Vec<u32> = self.known.iter().filter(is_over).map(|(token, _)| *token).collect();
        for token in over {
            model.regions.remove(&token);
            let Some(mut known) = self.known.remove(&token) else { continue };
            if known.is_dead || chance.one_in(2) {
                self.leaving.push_back(known.id);
                continue;
            }
            known.is_used = false;
            if let Some(pool) = &mut model.pool {
                pool.add(known.whole);
            }
            self.known.insert(token, known);
        }
    }
}
