//! Memory of the script that the subject may access, and memory of the subject that the script accesses.

use std::time::Duration;

use smbd_core::error::WorkError;
use smbd_core::{Access, BufferDescriptorV1, RdmaVerb};

use super::outcome::Stop;
use super::peer::Peer;
use super::rig::Order;
use super::trace::{By, What};
use super::words::{self, Words};

/// The device's own work is done within this time.
const DEVICE_TIME: Duration = Duration::from_secs(30);

/// What is waited for meanwhile.
const DEVICE: &str = "the script's own device";

/// A registered buffer of the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// Its buffer.
    pub buffer: usize,
    /// What the subject is told.
    pub descriptors: Vec<BufferDescriptorV1>,
}

impl Peer<'_> {
    /// A buffer that holds `bytes`.
    ///
    /// # Errors
    /// No memory.
    pub fn buffer(&mut self, bytes: &[u8]) -> Result<usize, Stop> {
        let id = self.id;
        self.play.rig.allocate(id, bytes).map_err(|full| Stop::Broken(format!("no room: {}", full.0)))
    }

    /// Registers a new buffer that holds `bytes`.
    ///
    /// # Errors
    /// The script's device does not.
    pub fn register(&mut self, bytes: &[u8], access: Access) -> Result<Registered, Stop> {
        let buffer = self.buffer(bytes)?;
        let id = self.id;
        let ticket = self.play.order(id, Order::Register(buffer, access))?;
        self.play.states[id].awaited.insert(ticket);
        let until = self.play.now().saturating_add(DEVICE_TIME);
        self.play.wait_for(DEVICE, until, |play| {
            let state = &play.states[id];
            state.registered.contains_key(&ticket) || state.ended.contains_key(&ticket)
        });
        let Some(descriptors) = self.play.states[id].registered.get(&ticket).cloned() else {
            return Err(Stop::Broken("the script's device registers no memory".into()));
        };
        let mut text = format!("registers {} bytes for {}:", bytes.len(), words::access(access));
        for BufferDescriptorV1 { offset, token, length } in &descriptors {
            text.push_str(&format!(" {token} + 0x{offset:x}, {length} bytes"));
        }
        self.play.note(id, By::Script, What::Memory { text });
        Ok(Registered { buffer, descriptors })
    }

    /// Deregisters a buffer and waits until all access has ended.
    ///
    /// # Errors
    /// The script's device does not.
    pub fn deregister(&mut self, registered: &Registered) -> Result<(), Stop> {
        let id = self.id;
        let ticket = self.play.order(id, Order::Deregister(registered.buffer))?;
        let text = format!("deregisters buffer {}", registered.buffer);
        self.play.note(id, By::Script, What::Memory { text });
        self.work_ends(ticket)?.map_err(|error| Stop::Broken(format!("deregistration: {error}")))
    }

    /// What a buffer holds now.
    pub fn contents(&mut self, buffer: usize) -> Vec<u8> {
        self.play.rig.contents(self.id, buffer)
    }

    /// Writes a buffer from its beginning.
    pub fn fill(&mut self, buffer: usize, bytes: &[u8]) {
        self.play.rig.fill(self.id, buffer, bytes);
    }

    /// One RDMA request of the script, and how it ends: between `offset` of a buffer and the subject's memory.
    ///
    /// # Errors
    /// The script's device has no room for it, or it does not end.
    pub fn rdma(
        &mut self,
        verb: RdmaVerb,
        buffer: usize,
        offset: u32,
        remote: BufferDescriptorV1,
    ) -> Result<Result<(), WorkError>, Stop> {
        let id = self.id;
        let ticket = self.play.order(id, Order::Rdma(verb, buffer, offset, remote))?;
        let BufferDescriptorV1 { offset, token, length } = remote;
        let text = format!("{} of {length} bytes at {token} + 0x{offset:x}", words::verb(verb));
        self.play.note(id, By::Script, What::Rdma { text });
        self.work_ends(ticket)
    }

    fn work_ends(&mut self, ticket: u64) -> Result<Result<(), WorkError>, Stop> {
        let id = self.id;
        self.play.states[id].awaited.insert(ticket);
        let until = self.play.now().saturating_add(DEVICE_TIME);
        self.play.wait_for(DEVICE, until, |play| play.states[id].ended.contains_key(&ticket));
        let state = &mut self.play.states[id];
        state.awaited.remove(&ticket);
        state.ended.remove(&ticket).ok_or_else(|| Stop::Broken("the script's device does not answer".into()))
    }
}

impl Peer<'_> {
    /// Where the subject's device can be looked at: its RDMA requests of one kind were for each byte of what is registered,
    /// once, and for no other. Requests before number `since` are left aside; returns how many there are.
    pub fn each_byte_once(
        &mut self,
        statements: &str,
        verb: RdmaVerb,
        registered: &Registered,
        since: usize,
    ) -> usize {
        self.accessed(statements, verb, &registered.descriptors, since)
    }

    /// The same for what is `wanted`.
    pub fn accessed(
        &mut self,
        statements: &str,
        verb: RdmaVerb,
        wanted: &[BufferDescriptorV1],
        since: usize,
    ) -> usize {
        let Some(upper) = self.upper_if_seen() else { return 0 };
        let all = upper.rdma_seen().len();
        let new = upper.rdma_seen().iter().skip(since);
        let seen: Vec<_> = new.filter(|seen| seen.verb == verb).map(|seen| seen.remote).collect();
        self.check(statements, joined(&seen) == joined(wanted), || {
            format!(
                "each byte of these should be accessed once: {}; accessed were: {}",
                wanted.words(),
                seen.words()
            )
        });
        all
    }
}

/// The same memory in order of addresses, with as few descriptors as possible.
fn joined(all: &[BufferDescriptorV1]) -> Vec<BufferDescriptorV1> {
    let mut all = all.to_vec();
    all.sort_by_key(|remote| (remote.token, remote.offset));
    let mut joined: Vec<BufferDescriptorV1> = Vec::new();
    for next in &all {
        match joined.last_mut() {
            Some(last)
                if last.token == next.token
                    && last.offset.checked_add(last.length.into()) == Some(next.offset) =>
            {
                last.length = last.length.saturating_add(next.length);
            }
            _ => joined.push(*next),
        }
    }
    joined
}
