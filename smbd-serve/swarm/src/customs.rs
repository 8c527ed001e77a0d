//! Who looks at data that go by RDMA when they leave the server and when they come, and may change them.

use smbd_core::RdmaVerb;
use smbd_link::transport::Memory;

use crate::crossing::tampered;
use crate::memory::OfServer;
use crate::scene::scene;
use crate::shared::Shared;
use smbd_testkit::Chance;

/// Looks at data of a connection of the server.
pub struct Customs<M, N> {
    shared: Shared,
    chance: Chance,
    /// RDMA Reads that are under way: their memory and how many bytes.
    reads: Vec<(N, M, u32)>,
}

impl<M: Memory + Clone, N: Copy + PartialEq> Customs<M, N> {
    pub const fn new(shared: Shared, chance: Chance) -> Self {
        Self { shared, chance, reads: Vec::new() }
    }

    /// An RDMA operation begins.
    pub fn begins(&mut self, name: N, verb: RdmaVerb, memory: &M, len: u32) {
        if verb == RdmaVerb::Read {
            self.reads.push((name, memory.clone(), len));
            return;
        }
        self.look(memory, len, |shared, buffer, bytes| {
            if let Some(scene) = scene() {
                scene.crossing.borrow_mut().leaves(shared, buffer, bytes);
            }
        });
        self.tamper(memory, len);
    }

    /// An RDMA operation is over.
    pub fn is_over(&mut self, name: N, is_success: bool) {
        let Some(at) = self.reads.iter().position(|(read, ..)| *read == name) else { return };
        let (_, memory, len) = self.reads.swap_remove(at);
        if !is_success {
            return;
        }
        self.tamper(&memory, len);
        self.look(&memory, len, |_, buffer, bytes| {
            if let Some(scene) = scene() {
                scene.crossing.borrow_mut().comes(buffer, bytes.to_vec());
            }
        });
    }

    fn look(&self, memory: &M, len: u32, look: impl FnOnce(&Shared, smbd_sim::memory::Buffer, &[u8])) {
        let mut bytes = Vec::new();
        if memory.append_to(0, len, &mut bytes).is_ok()
            && let Some(buffer) = OfServer::used_last()
        {
            look(&self.shared, buffer, &bytes);
        }
    }

    fn tamper(&mut self, memory: &M, len: u32) {
        let mut bytes = Vec::new();
        let is_there = memory.append_to(0, len, &mut bytes).is_ok();
        if is_there && tampered(&self.shared, &mut self.chance, &mut bytes) {
            // They were there.
            let _ = memory.fill(0, &bytes);
        }
    }
}
