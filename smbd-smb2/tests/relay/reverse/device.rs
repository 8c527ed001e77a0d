//! Registered memory of the gateway, and what the server does with it. It is as late as a device may be.

use std::collections::BTreeMap;

use smbd_core::Access;
use smbd_smb2::relay::{BufferId, Way};
use smbd_smb2::wire::{BufferDescriptorV1, Token};
use smbd_testkit::relay::reverse;
use smbd_testkit::{Breach, Chance, law};

/// What a buffer is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Registering(Access),
    Open(u32),
    Ending(u32),
}

/// What the server has access to.
#[derive(Clone, Copy, Debug)]
struct Region {
    buffer: BufferId,
    access: Access,
    address: u64,
}

pub struct Device {
    buffers: [Vec<Vec<u8>>; 2],
    states: [Vec<State>; 2],
    /// Bytes that go to the client from here, and have not gone.
    unsent: [Vec<u32>; 2],
    regions: BTreeMap<u32, Region>,
    /// Of tokens whose access has ended: what was in the buffer then.
    closed: BTreeMap<u32, Vec<u8>>,
    next_token: u32,
}

impl Device {
    pub fn new(count: u16, len: u32) -> Self {
        let count = usize::from(count);
        // What was there before belongs to somebody else.
        let buffers = vec![vec![0xEE; len as usize]; count];
        Self {
            buffers: [buffers.clone(), buffers],
            states: [vec![State::Idle; count], vec![State::Idle; count]],
            unsent: [vec![0; count], vec![0; count]],
            regions: BTreeMap::new(),
            closed: BTreeMap::new(),
            next_token: 100,
        }
    }

    fn state(&mut self, buffer: BufferId) -> Result<&mut State, Breach> {
        let states = &mut self.states[buffer.way as usize];
        states.get_mut(usize::from(buffer.index)).ok_or_else(|| format!("buffers: {buffer:?}"))
    }

    /// The bytes of a buffer that nobody else may touch now.
    pub fn own(&mut self, buffer: BufferId, offset: u32, len: usize) -> Result<&mut [u8], Breach> {
        let state = *self.state(buffer)?;
        law!("buffers", state == State::Idle, "{buffer:?} is {state:?}");
        let (way, index) = (buffer.way as usize, usize::from(buffer.index));
        law!("buffers", self.unsent[way][index] == 0, "{buffer:?} goes to the client");
        let bytes = self.buffers[way][index].get_mut(offset as usize..);
        let bytes = bytes.and_then(|bytes| bytes.get_mut(..len));
        bytes.ok_or_else(|| format!("buffers: {len} bytes at {offset} of {buffer:?}"))
    }

    pub fn register(&mut self, buffer: BufferId, access: Access) -> Result<(), Breach> {
        let is_right = access == if buffer.way == Way::ToServer { Access::Read } else { Access::Write };
        law!("access", is_right, "{buffer:?} {access:?}");
        let len = self.buffers[0][0].len();
        let is_zero = self.own(buffer, 0, len)?.iter().all(|byte| *byte == 0);
        law!("zeros", is_zero || access == Access::Read, "{buffer:?} is registered with bytes in it");
        *self.state(buffer)? = State::Registering(access);
        Ok(())
    }

    pub fn deregister(&mut self, buffer: BufferId) -> Result<(), Breach> {
        let state = self.state(buffer)?;
        match *state {
            State::Open(token) => *state = State::Ending(token),
            other => law!("buffers", false, "{buffer:?} is {other:?}"),
        }
        Ok(())
    }

    /// Bytes of a buffer leave for the client.
    pub fn leave(&mut self, buffer: BufferId, offset: u32, len: u32) -> Result<(), Breach> {
        let state = *self.state(buffer)?;
        law!("end of access", state == State::Idle, "{buffer:?} leaves and is {state:?}");
        let is_inside = (offset + len) as usize <= self.buffers[0][0].len();
        law!("buffers", is_inside, "{len} bytes at {offset} of {buffer:?}");
        self.unsent[buffer.way as usize][usize::from(buffer.index)] += len;
        Ok(())
    }

    /// They have gone.
    pub fn left(&mut self, buffer: BufferId, offset: u32, len: u32) -> Vec<u8> {
        let (way, index) = (buffer.way as usize, usize::from(buffer.index));
        self.unsent[way][index] -= len;
        self.buffers[way][index][offset as usize..(offset + len) as usize].to_vec()
    }

    fn pick(&self, wanted: impl Fn(&State) -> bool, chance: &mut Chance) -> Option<BufferId> {
        let all = [Way::ToServer, Way::ToClient].into_iter().flat_map(|way| {
            let count = self.states[way as usize].len() as u16;
            (0..count).map(move |index| BufferId { way, index })
        });
        let found: Vec<_> =
            all.filter(|id| wanted(&self.states[id.way as usize][usize::from(id.index)])).collect();
        if found.is_empty() { None } else { Some(chance.pick(&found)) }
    }

    /// Ends a registration's order, if there is one.
    pub fn finish_register(&mut self, chance: &mut Chance) -> Option<(BufferId, BufferDescriptorV1)> {
        let buffer = self.pick(|state| matches!(state, State::Registering(_)), chance)?;
        let (way, index) = (buffer.way as usize, usize::from(buffer.index));
        let State::Registering(access) = self.states[way][index] else { return None };
        let (token, address) = (self.next_token, 0x1000 + (chance.bits() & 0xFFFF_FFFF_FFFF));
        self.next_token += 1;
        self.states[way][index] = State::Open(token);
        self.regions.insert(token, Region { buffer, access, address });
        let length = self.buffers[way][index].len() as u32;
        Some((buffer, BufferDescriptorV1 { offset: address, token: Token(token), length }))
    }

    /// One whose registration or its end was ordered: it fails.
    pub fn fail(&mut self, chance: &mut Chance) -> Option<BufferId> {
        self.pick(|state| matches!(state, State::Registering(_) | State::Ending(_)), chance)
    }

    /// Ends access, if that was ordered.
    pub fn finish_deregister(&mut self, chance: &mut Chance) -> Option<BufferId> {
        let buffer = self.pick(|state| matches!(state, State::Ending(_)), chance)?;
        let state = &mut self.states[buffer.way as usize][usize::from(buffer.index)];
        let State::Ending(token) = std::mem::replace(state, State::Idle) else { return None };
        self.close(token);
        Some(buffer)
    }

    fn close(&mut self, token: u32) {
        if let Some(region) = self.regions.remove(&token) {
            let BufferId { way, index } = region.buffer;
            self.closed.insert(token, self.buffers[way as usize][usize::from(index)].clone());
        }
    }

    /// The server's message invalidates a token.
    pub fn invalidate(&mut self, token: u32) -> Result<(), Breach> {
        law!("invalidation", self.regions.contains_key(&token), "{token} is not registered");
        self.close(token);
        Ok(())
    }

    /// Whether no buffer is used.
    pub fn is_quiet(&self) -> bool {
        let is_idle = self.states.iter().flatten().all(|state| *state == State::Idle);
        is_idle && self.regions.is_empty() && self.unsent.iter().flatten().all(|len| *len == 0)
    }

    /// Whether something ordered has not ended.
    pub fn has_work(&self) -> bool {
        let mut states = self.states.iter().flatten();
        states.any(|state| matches!(state, State::Registering(_) | State::Ending(_)))
    }
}

impl reverse::Device for Device {
    fn is_open(&self, token: u32) -> bool {
        self.regions.contains_key(&token)
    }

    fn closed(&self, token: u32) -> &[u8] {
        &self.closed[&token]
    }

    /// A whole buffer is registered.
    fn access(&mut self, descriptor: &BufferDescriptorV1, access: Access) -> Option<&mut Vec<u8>> {
        let region = self.regions.get(&descriptor.token.0)?;
        if region.access != access || region.address != descriptor.offset {
            return None;
        }
        Some(&mut self.buffers[region.buffer.way as usize][usize::from(region.buffer.index)])
    }
}
