//! The server machine of `smbd-smb2` with all connections that it has: what it asks for is done in its order, files are in memory.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use smbd_core::{BufferDescriptorV1, Instant, RdmaVerb, Token};
use smbd_smb2::security::{NtHash, RdmaTransforms};
use smbd_smb2::server::{
    Action, Client, ConnectionId, Files, LinkId, Memory, Operation, OperationId, Params, Server, Share,
    Transport, client_guid,
};
use smbd_smb2::wire::{Guid, InterfaceCapabilities, NetworkInterface};

/// When the play begins, as a FILETIME.
const BEGIN: u64 = 0x01dc_5000_0000_0000;
/// Bits per second of each of its interfaces.
const SPEED: u64 = 10_000_000_000;
/// The most connections of a session.
const CHANNELS: usize = 8;

/// The user that the server knows.
pub(in crate::suite::rig) const USER: &str = "tester";
/// Its password.
pub(in crate::suite::rig) const PASSWORD: &str = "correct horse";
/// Where it is reached over TCP alone, and over TCP and SMB Direct.
pub(in crate::suite::rig) const ADDRESSES: [IpAddr; 2] =
    [IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)), IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2))];

/// A server, for all of its connections.
#[derive(Clone)]
pub(in crate::suite::rig) struct Shared(Rc<RefCell<Store>>);

struct Store {
    server: Arc<Server>,
    files: Files<Memory>,
    groups: BTreeMap<ConnectionId, Group>,
    last: ConnectionId,
}

/// A client of the server, and all of its connections.
struct Group {
    guid: Option<Guid>,
    client: Client,
    /// What is to be done on each of these.
    work: BTreeMap<LinkId, VecDeque<Work>>,
    /// The buffers that belong to operations.
    data: BTreeMap<OperationId, Vec<u8>>,
}

/// What the machine has asked for on a connection, to be done in this order.
#[derive(Debug)]
pub(in crate::suite::rig) enum Work {
    Send { bytes: bytes::Bytes, invalidate: Option<Token> },
    Rdma { id: OperationId, verb: RdmaVerb, buffers: Arc<[BufferDescriptorV1]>, len: u32 },
    End,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

fn filetime(now: Instant) -> u64 {
    BEGIN + now.as_nanos() / 100
}

impl Shared {
    /// A server with one share, for guests and [`USER`], that has all transforms.
    pub(in crate::suite::rig) fn new() -> Result<Self, String> {
        let mut params = Params::new(Guid(*b"smbd-smb2 server"), "SUBJECT");
        params.guests = true;
        params.rdma_transforms = RdmaTransforms::ALL;
        params.shares.push(Share { guests: true, ..Share::new("share") });
        params.channels_max = CHANNELS;
        let [plain, rdma] = ADDRESSES;
        let interface = |index, address, capabilities| NetworkInterface {
            index,
            capabilities,
            link_speed: SPEED,
            address: Some(address),
        };
        params.interfaces = vec![
            interface(1, plain, InterfaceCapabilities::default()),
            interface(2, rdma, InterfaceCapabilities::RDMA_CAPABLE),
        ];
        let accounts = |user: &str, _: &str| (user == USER).then(|| NtHash::of_password(PASSWORD));
        let server = Server::new(params, accounts).map_err(|error| error.to_string())?;
        let files = Files::new(vec![Memory::new("share", BEGIN)]);
        let (server, groups) = (Arc::new(server), BTreeMap::new());
        Ok(Self(Rc::new(RefCell::new(Store { server, files, groups, last: 0 }))))
    }
}

/// A connection of the server.
#[derive(Debug)]
pub(in crate::suite::rig) struct Door {
    shared: Shared,
    transport: Transport,
    /// Its client and its number there, when its first message has come.
    at: Option<(ConnectionId, LinkId)>,
}

impl Door {
    pub(in crate::suite::rig) fn new(shared: &Shared, transport: Transport) -> Self {
        Self { shared: shared.clone(), transport, at: None }
    }

    pub(in crate::suite::rig) fn take(&mut self, now: Instant, message: &[u8]) {
        let now = filetime(now);
        let mut store = self.shared.0.borrow_mut();
        let (number, link) = match self.at {
            Some(at) => at,
            None => *self.at.insert(store.enter(self.transport, now, message)),
        };
        store.with(number, now, |client| client.received(now, link, &mut message.to_vec()));
    }

    /// What is to be done next.
    pub(in crate::suite::rig) fn next(&mut self) -> Option<Work> {
        let (number, link) = self.at?;
        self.shared.0.borrow_mut().groups.get_mut(&number)?.work.get_mut(&link)?.pop_front()
    }

    /// Puts back what cannot be done yet.
    pub(super) fn later(&mut self, work: Work) {
        let Some((number, link)) = self.at else { return };
        if let Some(group) = self.shared.0.borrow_mut().groups.get_mut(&number) {
            group.work.entry(link).or_default().push_front(work);
        }
    }

    /// The first bytes of the data of an operation.
    pub(super) fn data(&self, id: OperationId, len: u32) -> Vec<u8> {
        let store = self.shared.0.borrow();
        let data = self.at.and_then(|(number, _)| store.groups.get(&number)?.data.get(&id));
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        data.and_then(|data| data.get(..len)).unwrap_or_default().to_vec()
    }

    /// A transfer has ended, with these data if it was one that brings them.
    pub(super) fn rdma_done(&mut self, now: Instant, id: OperationId, brought: Option<Vec<u8>>, good: bool) {
        let (now, Some((number, _))) = (filetime(now), self.at) else { return };
        let mut store = self.shared.0.borrow_mut();
        let Some(group) = store.groups.get_mut(&number) else { return };
        match brought {
            Some(data) => drop(group.data.insert(id, data)),
            None => drop(group.data.remove(&id)),
        }
        store.with(number, now, |client| {
            let taken = client.rdma_done(now, id, good);
            debug_assert_eq!(taken, Ok(()), "it was asked for");
        });
    }

    /// The connection is over.
    pub(in crate::suite::rig) fn closed(&mut self, now: Instant) {
        let (now, Some((number, link))) = (filetime(now), self.at.take()) else { return };
        self.shared.0.borrow_mut().with(number, now, |client| client.closed(link));
    }
}

impl Store {
    /// A connection has come, with this message.
    fn enter(&mut self, transport: Transport, now: u64, message: &[u8]) -> (ConnectionId, LinkId) {
        let guid = client_guid(message);
        let same = self.groups.iter_mut().filter(|(_, group)| guid.is_some() && group.guid == guid);
        for (number, group) in same {
            if let Some(link) = group.client.join(transport, now) {
                return (*number, link);
            }
        }
        self.last += 1;
        let mut seed = [7; 32];
        for (to, from) in seed.iter_mut().zip(self.last.to_le_bytes()) {
            *to = from;
        }
        let client = Client::new(Arc::clone(&self.server), transport, now, seed);
        let group = Group { guid, client, work: BTreeMap::new(), data: BTreeMap::new() };
        self.groups.insert(self.last, group);
        (self.last, LinkId::FIRST)
    }

    /// Tells a client something, and takes what it asks for then; what needs no connection is done at once.
    fn with(&mut self, number: ConnectionId, now: u64, tell: impl FnOnce(&mut Client)) {
        let Some(group) = self.groups.get_mut(&number) else { return };
        tell(&mut group.client);
        while let Some((on, action)) = group.client.poll() {
            match on.filter(|_| !matches!(action, Action::File { .. })) {
                None => group.at_once(&mut self.files, (number, now), action),
                Some(on) => group.on_connection(on, action),
            }
        }
        if group.client.has_ended() {
            self.files.end(number, now);
        }
    }
}

impl Group {
    /// What needs no connection.
    fn at_once(&mut self, files: &mut Files<Memory>, (number, now): (ConnectionId, u64), action: Action) {
        let (id, done) = match action {
            Action::File { id, operation } => {
                let is_kept = matches!(operation, Operation::ReadChannel { .. });
                let buffer = self.data.entry(id).or_default();
                let done = files.carry_out(number, id, operation, Some(buffer), now);
                if !is_kept {
                    self.data.remove(&id);
                }
                (id, done)
            }
            Action::Cancel(id) => (id, files.cancel(number, id)),
            Action::Transform { id, len } => {
                let data = self.data.entry(id).or_default();
                let len = usize::try_from(len).unwrap_or(usize::MAX).min(data.len());
                let (data, _) = data.split_at_mut(len);
                let taken = self.client.transform(now, id, &mut [data]);
                return debug_assert_eq!(taken, Ok(()), "it was asked for");
            }
            // No client of the suite says that it has lost a session.
            _ => return,
        };
        let taken = done.map_or(Ok(()), |done| self.client.completed(now, id, done));
        debug_assert_eq!(taken, Ok(()), "it was asked for");
    }

    fn on_connection(&mut self, on: LinkId, action: Action) {
        let work = match action {
            Action::Send { message, invalidate } => Work::Send { bytes: message.into_bytes(), invalidate },
            Action::RdmaRead { id, buffers, len } => Work::Rdma { id, verb: RdmaVerb::Read, buffers, len },
            Action::RdmaWrite { id, buffers, len } => Work::Rdma { id, verb: RdmaVerb::Write, buffers, len },
            Action::Close(_) => Work::End,
            _ => return,
        };
        self.work.entry(on).or_default().push_back(work);
    }
}
