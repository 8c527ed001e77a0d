//! Memory for RDMA.

use smbd_link::transport::Memory;
use smbd_smb2::relay::{BufferId, Way};

use super::ending::Ending;

/// The buffers of a connection. Each is allocated when it is first used, which is never before a session is established, and kept
/// until the end, so that a device registers it once.
#[derive(Debug)]
pub(super) struct Buffers<M> {
    to_server: Vec<Option<M>>,
    to_client: Vec<Option<M>>,
    /// Bytes of each.
    len: u32,
    is_allowed: bool,
}

impl<M: Memory + Clone> Buffers<M> {
    /// `count` buffers of `len` bytes for each way.
    pub(super) fn new(count: u16, len: u32) -> Self {
        let none = vec![None; usize::from(count)];
        Self { to_server: none.clone(), to_client: none, len, is_allowed: false }
    }

    /// A session is established.
    pub(super) const fn allow(&mut self) {
        self.is_allowed = true;
    }

    /// Bytes that are allocated.
    pub(super) fn bytes(&self) -> u64 {
        let used = self.to_server.iter().chain(&self.to_client).flatten().count();
        (used as u64).saturating_mul(self.len.into())
    }

    /// The buffer of this name.
    pub(super) fn get(&mut self, id: BufferId) -> Result<&M, Ending> {
        if !self.is_allowed {
            return Err(Ending::RdmaWithoutSession);
        }
        let buffers = match id.way {
            Way::ToServer => &mut self.to_server,
            Way::ToClient => &mut self.to_client,
        };
        let unknown = smbd_smb2::relay::Misuse { event: "use", buffer: id };
        let place = buffers.get_mut(usize::from(id.index)).ok_or(unknown)?;
        match place {
            Some(memory) => Ok(memory),
            None => Ok(place.insert(M::allocate(self.len)?)),
        }
    }
}
