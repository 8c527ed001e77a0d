//! The server machine of `smbd-smb2` on one connection over SMB Direct.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use smbd_core::backend::HostMemory;
use smbd_core::endpoint::NotSent;
use smbd_core::error::{CommandError, RdmaError, SendError};
use smbd_core::{BufferDescriptorV1, Close, Endpoint, Instant, OpId, RdmaVerb};
use smbd_smb2::server::{OperationId, Transport};

use super::host::{Door, Shared, Work};

/// An RDMA operation that has begun.
#[derive(Debug)]
struct Begun<M> {
    id: OperationId,
    verb: RdmaVerb,
    buffer: M,
    len: u32,
}

/// The server of one connection. `M` is a buffer of the backend.
#[derive(Debug)]
pub(super) struct Machine<M> {
    shared: Shared,
    /// Since SMB Direct has negotiated.
    door: Option<Door>,
    operations: BTreeMap<OpId, Begun<M>>,
}

impl<M: Clone + fmt::Debug> Machine<M> {
    pub(super) fn new(shared: &Shared) -> Self {
        Self { shared: shared.clone(), door: None, operations: BTreeMap::new() }
    }

    pub(super) fn operation(&self, op: OpId) -> Option<&M> {
        self.operations.get(&op).map(|begun| &begun.buffer)
    }

    /// SMB Direct has negotiated.
    pub(super) fn begin(&mut self, endpoint: &Endpoint) {
        let Some(negotiated) = endpoint.connection().negotiated() else { return };
        let transport = Transport::Rdma { send_max: negotiated.max_fragmented_send_size };
        self.door = Some(Door::new(&self.shared, transport));
    }

    pub(super) fn take(&mut self, now: Instant, message: &[u8]) {
        if let Some(door) = &mut self.door {
            door.take(now, message);
        }
    }

    /// SMB Direct is over.
    pub(super) fn closed(&mut self, now: Instant) {
        if let Some(mut door) = self.door.take() {
            door.closed(now);
        }
    }

    /// An RDMA operation ended.
    pub(super) fn rdma_done<B: HostMemory<Buffer = M>>(&mut self, backend: &B, op: OpId, is_success: bool) {
        let Some(Begun { id, verb, buffer, len }) = self.operations.remove(&op) else { return };
        let mut brought = None;
        if is_success && verb == RdmaVerb::Read {
            let mut data = vec![0; usize::try_from(len).unwrap_or_default()];
            brought = backend.read(&buffer, 0, &mut data).is_ok().then_some(data);
        }
        let is_whole = verb == RdmaVerb::Write || brought.is_some();
        if let Some(door) = &mut self.door {
            door.rdma_done(backend.now(), id, brought, is_success && is_whole);
        }
    }

    /// Does what is to be done, as far as there is room.
    pub(super) fn go_on<B: HostMemory<Buffer = M>>(&mut self, endpoint: &mut Endpoint, backend: &mut B) {
        while let Some(work) = self.door.as_mut().and_then(Door::next) {
            let later = match work {
                Work::Send { bytes, invalidate } => match endpoint.send(backend.now(), bytes, invalidate) {
                    Err(NotSent {
                        payload: bytes,
                        error: SendError::Command(CommandError::NoRoom { .. }),
                    }) => Some(Work::Send { bytes, invalidate }),
                    Ok(_) | Err(_) => None,
                },
                Work::Rdma { id, verb, buffers, len } => {
                    self.begin_rdma(endpoint, backend, (id, verb, len), buffers)
                }
                Work::End => {
                    endpoint.close(backend.now(), Close::Abort);
                    None
                }
            };
            if let Some(later) = later {
                if let Some(door) = &mut self.door {
                    door.later(later);
                }
                return;
            }
        }
    }

    /// The work, if there is no room for it now.
    fn begin_rdma<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
        (id, verb, len): (OperationId, RdmaVerb, u32),
        buffers: Arc<[BufferDescriptorV1]>,
    ) -> Option<Work> {
        let (now, door) = (backend.now(), self.door.as_mut()?);
        let begun = backend.allocate(len.max(1)).ok().and_then(|buffer| {
            let filled = verb == RdmaVerb::Read || backend.fill(&buffer, 0, &door.data(id, len)).is_ok();
            filled.then_some(buffer)
        });
        let Some(buffer) = begun else {
            door.rdma_done(now, id, None, false);
            return None;
        };
        match endpoint.rdma(now, verb, len, Arc::clone(&buffers), 0) {
            Ok(op) => {
                self.operations.insert(op, Begun { id, verb, buffer, len });
                None
            }
            Err(RdmaError::Command(CommandError::NoRoom { .. })) => {
                Some(Work::Rdma { id, verb, buffers, len })
            }
            Err(_) => {
                door.rdma_done(now, id, None, false);
                None
            }
        }
    }
}
