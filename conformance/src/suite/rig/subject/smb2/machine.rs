//! The server machine of `smbd-smb2`: what it asks for is done in its order, files are in memory.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use smbd_core::backend::HostMemory;
use smbd_core::endpoint::NotSent;
use smbd_core::error::{CommandError, RdmaError, SendError};
use smbd_core::{BufferDescriptorV1, Close, Endpoint, Instant, OpId, RdmaVerb, Token};
use smbd_smb2::security::{NtHash, RdmaTransforms};
use smbd_smb2::server::{
    Action, Connection, ConnectionId, Files, Memory, Operation, OperationId, Params, Server, Share, Transport,
};
use smbd_smb2::wire::Guid;

/// When the play begins, as a FILETIME.
const BEGIN: u64 = 0x01dc_5000_0000_0000;

/// The user that the server knows.
pub(in crate::suite::rig) const USER: &str = "tester";
/// Its password.
pub(in crate::suite::rig) const PASSWORD: &str = "correct horse";

/// What connections of a server share.
#[derive(Clone)]
pub(in crate::suite::rig) struct Shared(Rc<RefCell<Store>>);

struct Store {
    server: Arc<Server>,
    files: Files<Memory>,
    connections: ConnectionId,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl Shared {
    /// A server with one share, for guests and [`USER`], that has all transforms.
    pub(in crate::suite::rig) fn new() -> Result<Self, String> {
        let mut params = Params::new(Guid(*b"smbd-smb2 server"), "SUBJECT");
        params.guests = true;
        params.rdma_transforms = RdmaTransforms::ALL;
        params.shares.push(Share { guests: true, ..Share::new("share") });
        let accounts = |user: &str, _: &str| (user == USER).then(|| NtHash::of_password(PASSWORD));
        let server = Server::new(params, accounts).map_err(|error| error.to_string())?;
        let files = Files::new(vec![Memory::new("share", BEGIN)]);
        Ok(Self(Rc::new(RefCell::new(Store { server: Arc::new(server), files, connections: 0 }))))
    }
}

/// What the machine has asked for, to be done in this order.
#[derive(Debug)]
enum Work {
    Send { bytes: bytes::Bytes, invalidate: Option<Token> },
    Rdma { id: OperationId, verb: RdmaVerb, buffers: Arc<[BufferDescriptorV1]>, len: u32 },
}

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
    number: ConnectionId,
    connection: Option<Connection>,
    work: VecDeque<Work>,
    /// The buffers that belong to operations.
    data: BTreeMap<OperationId, Vec<u8>>,
    operations: BTreeMap<OpId, Begun<M>>,
    /// The machine has ended the connection.
    ended: bool,
}

fn filetime(now: Instant) -> u64 {
    BEGIN + now.as_nanos() / 100
}

impl<M: Clone + fmt::Debug> Machine<M> {
    pub(super) fn new(shared: &Shared) -> Self {
        let number = {
            let mut store = shared.0.borrow_mut();
            store.connections += 1;
            store.connections
        };
        Self {
            shared: shared.clone(),
            number,
            connection: None,
            work: VecDeque::new(),
            data: BTreeMap::new(),
            operations: BTreeMap::new(),
            ended: false,
        }
    }

    pub(super) fn operation(&self, op: OpId) -> Option<&M> {
        self.operations.get(&op).map(|begun| &begun.buffer)
    }

    /// SMB Direct has negotiated.
    pub(super) fn begin(&mut self, endpoint: &Endpoint, now: Instant) {
        let Some(negotiated) = endpoint.connection().negotiated() else { return };
        let transport = Transport::Rdma { send_max: negotiated.max_fragmented_send_size };
        let server = Arc::clone(&self.shared.0.borrow().server);
        let mut seed = [7; 32];
        for (to, from) in seed.iter_mut().zip(self.number.to_le_bytes()) {
            *to = from;
        }
        self.connection = Some(Connection::new(server, transport, filetime(now), seed));
    }

    pub(super) fn take(&mut self, now: Instant, message: &[u8]) {
        if let Some(connection) = &mut self.connection {
            connection.received(filetime(now), &mut message.to_vec());
        }
        self.obey(now);
    }

    /// Takes what the machine asks for; what needs no connection is done at once.
    fn obey(&mut self, now: Instant) {
        let now = filetime(now);
        let Some(connection) = &mut self.connection else { return };
        let mut store = self.shared.0.borrow_mut();
        while let Some(action) = connection.poll() {
            match action {
                Action::Send { message, invalidate } => {
                    let (bytes, start) = message.into_parts();
                    let bytes = bytes::Bytes::from(bytes).slice(start..);
                    self.work.push_back(Work::Send { bytes, invalidate });
                }
                Action::RdmaRead { id, buffers, len } => {
                    let (verb, buffers) = (RdmaVerb::Read, buffers.into());
                    self.work.push_back(Work::Rdma { id, verb, buffers, len });
                }
                Action::RdmaWrite { id, buffers, len } => {
                    let (verb, buffers) = (RdmaVerb::Write, buffers.into());
                    self.work.push_back(Work::Rdma { id, verb, buffers, len });
                }
                Action::File { id, operation } => {
                    let is_kept = matches!(operation, Operation::ReadChannel { .. });
                    let buffer = self.data.entry(id).or_default();
                    let done = store.files.carry_out(self.number, id, operation, Some(buffer), now);
                    if !is_kept {
                        self.data.remove(&id);
                    }
                    let taken = done.map_or(Ok(()), |done| connection.completed(now, id, done));
                    debug_assert_eq!(taken, Ok(()), "it was asked for");
                }
                Action::Transform { id, len } => {
                    let data = self.data.entry(id).or_default();
                    let len = usize::try_from(len).unwrap_or(usize::MAX).min(data.len());
                    let (data, _) = data.split_at_mut(len);
                    let taken = connection.transform(now, id, &mut [data]);
                    debug_assert_eq!(taken, Ok(()), "it was asked for");
                }
                Action::Cancel(id) => {
                    if let Some(done) = store.files.cancel(self.number, id) {
                        let taken = connection.completed(now, id, done);
                        debug_assert_eq!(taken, Ok(()), "it was asked for");
                    }
                }
                Action::Close(_) => {
                    store.files.end(self.number, now);
                    self.ended = true;
                }
                // No client of the suite says that it has lost a session.
                _ => {}
            }
        }
    }

    /// An RDMA operation ended.
    pub(super) fn rdma_done<B: HostMemory<Buffer = M>>(&mut self, backend: &B, op: OpId, is_success: bool) {
        let Some(Begun { id, verb, buffer, len }) = self.operations.remove(&op) else { return };
        let mut read = true;
        if is_success && verb == RdmaVerb::Read {
            let data = self.data.entry(id).or_default();
            data.resize(usize::try_from(len).unwrap_or_default(), 0);
            read = backend.read(&buffer, 0, data).is_ok();
        } else {
            self.data.remove(&id);
        }
        self.end_of(backend.now(), id, is_success && read);
    }

    fn end_of(&mut self, now: Instant, id: OperationId, is_success: bool) {
        if let Some(connection) = &mut self.connection {
            let taken = connection.rdma_done(filetime(now), id, is_success);
            debug_assert_eq!(taken, Ok(()), "it was asked for");
        }
        self.obey(now);
    }

    /// Does what is to be done, as far as there is room.
    pub(super) fn go_on<B: HostMemory<Buffer = M>>(&mut self, endpoint: &mut Endpoint, backend: &mut B) {
        while let Some(work) = self.work.pop_front() {
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
            };
            if let Some(later) = later {
                return self.work.push_front(later);
            }
        }
        if self.ended {
            endpoint.close(backend.now(), Close::Abort);
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
        let now = backend.now();
        let begun = backend.allocate(len.max(1)).ok().and_then(|buffer| {
            let data = self.data.get(&id).map_or(&[][..], Vec::as_slice);
            let data = data.get(..usize::try_from(len).unwrap_or(usize::MAX)).unwrap_or_default();
            let filled = verb == RdmaVerb::Read || backend.fill(&buffer, 0, data).is_ok();
            filled.then_some(buffer)
        });
        let Some(buffer) = begun else {
            self.end_of(now, id, false);
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
                self.end_of(now, id, false);
                None
            }
        }
    }
}
