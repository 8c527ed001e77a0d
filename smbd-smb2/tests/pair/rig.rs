//! Both machines, and what is between them: messages in order, RDMA transfers that somebody may look at and change.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use smbd_core::Instant;
use smbd_smb2::client::{
    Access, Arrived, BufferId, Client, Config, DataPart, Failure, Operation, OperationId, Output, Params,
    Rdma, RegistrationId, Reply, Transport, TreeHandle,
};
use smbd_smb2::security::{Credentials, Fresh, Initiator, NtHash, NtlmClient};
use smbd_smb2::server::{self, Action, Connection, Files, Memory, Server, Share};
use smbd_smb2::wire::{
    AccessMask, BufferDescriptorV1, CreateDisposition, CreateRequest, FileId, Guid, Response, SessionId,
    ShareAccess, Text, Token,
};

const NOW: u64 = 0x01dd_5b3a_0000_0000;

/// A piece of registered memory.
#[derive(Clone, Copy)]
struct Region {
    registration: RegistrationId,
    buffer: BufferId,
    offset: usize,
    /// Where in its registration.
    from: usize,
    len: usize,
    access: Access,
}

/// What an operation gave.
#[derive(Clone, Debug, PartialEq)]
pub enum Got {
    Moved(u64),
    File(FileId),
    Tree(TreeHandle),
    Session,
    Failed(Failure),
}

/// What becomes of data on their way by RDMA.
pub type OnTheWay = Box<dyn FnMut(&mut Vec<u8>)>;

pub struct Pair {
    pub client: Client,
    server: Connection,
    files: Files<Memory>,
    /// The caller's buffers, and the places that WRITEs are encrypted to.
    pub buffers: BTreeMap<BufferId, Vec<u8>>,
    pub has_own_place: bool,
    /// The longest piece of a registration.
    pub segment: usize,
    /// All data that went by RDMA, to the client and from it.
    pub to_client: Vec<Vec<u8>>,
    pub to_server: Vec<Vec<u8>>,
    pub on_the_way: Option<OnTheWay>,
    pub results: BTreeMap<OperationId, Got>,
    places: BTreeMap<RegistrationId, Vec<u8>>,
    regions: BTreeMap<u32, Region>,
    next_token: u32,
    /// Buffers of the server, by operation.
    data: BTreeMap<server::OperationId, Vec<u8>>,
    inbox: VecDeque<(Vec<u8>, Option<Token>)>,
    session: Option<smbd_smb2::client::SessionHandle>,
}

pub fn client_params() -> Params {
    let rdma = Rdma { threshold: 100, max_read_write: 1 << 20, invalidates: true };
    let transport = Transport { max_send: 1 << 20, max_receive: 1 << 20, rdma: Some(rdma) };
    Params { transport, ..Params::default() }
}

pub fn server_params() -> server::Params {
    let mut params = server::Params::new(Guid([5; 16]), "SERVER");
    params.shares.push(Share::new("data"));
    params.max_read_size = 65536;
    params.max_write_size = 65536;
    params
}

impl Pair {
    pub fn new(client: Params, server: server::Params) -> Self {
        let accounts = |user: &str, _: &str| (user == "tester").then(|| NtHash::of_password("secret"));
        let server = Arc::new(Server::new(server, accounts).unwrap());
        Self {
            client: Client::new(Config::new(client).unwrap()),
            server: Connection::new(server, server::Transport::Rdma { send_max: 1 << 20 }, NOW, [7; 32]),
            files: Files::new(vec![Memory::with_capacity("data", NOW, 64 << 20)]),
            buffers: BTreeMap::new(),
            has_own_place: false,
            segment: usize::MAX,
            to_client: Vec::new(),
            to_server: Vec::new(),
            on_the_way: None,
            results: BTreeMap::new(),
            places: BTreeMap::new(),
            regions: BTreeMap::new(),
            next_token: 1,
            data: BTreeMap::new(),
            inbox: VecDeque::new(),
            session: None,
        }
    }

    /// With a file open.
    pub fn open(client: Params, server: server::Params) -> (Self, TreeHandle, FileId) {
        let mut pair = Self::new(client, server);
        pair.run();
        let user = Credentials::User {
            user: "tester".into(),
            domain: String::new(),
            hash: NtHash::of_password("secret"),
        };
        let ntlm = NtlmClient::new(user, "CLIENT".into(), "cifs/server".into());
        let initiator = Initiator::new(vec![Box::new(ntlm)]);
        let login = pair.client.login(Instant::ORIGIN, initiator, Fresh::new(NOW, [5; 32]), SessionId::NONE);
        assert_eq!(pair.wait(login.unwrap()), Got::Session);
        let session = pair.session.unwrap();
        let connect = pair.client.connect(Instant::ORIGIN, session, r"\\server\data").unwrap();
        let Got::Tree(tree) = pair.wait(connect) else { panic!() };
        let create = CreateRequest {
            desired_access: AccessMask::MAXIMUM_ALLOWED,
            share_access: ShareAccess(7),
            create_disposition: CreateDisposition::OPEN_IF,
            name: Text::from("file"),
            ..CreateRequest::default()
        };
        let Got::File(file) = pair.act(tree, &Operation::Create(create)) else { panic!() };
        (pair, tree, file)
    }

    pub fn act(&mut self, tree: TreeHandle, operation: &Operation<'_>) -> Got {
        let id = self.client.submit(Instant::ORIGIN, tree, operation).unwrap();
        self.wait(id)
    }

    pub fn wait(&mut self, id: OperationId) -> Got {
        self.run();
        self.results.get(&id).cloned().expect("a result")
    }

    /// Until neither has anything to do.
    pub fn run(&mut self) {
        loop {
            self.tell(&mut []);
            self.serve();
            let Some((mut message, invalidate)) = self.inbox.pop_front() else { return };
            if let Some(token) = invalidate {
                self.regions.remove(&token.0).expect("a valid token");
                self.client.invalidated(token).unwrap();
            }
            self.tell(&mut message);
        }
    }

    fn part(&mut self, part: &DataPart) -> &mut [u8] {
        let start = part.offset as usize;
        &mut self.buffers.get_mut(&part.buffer).unwrap()[start..start + part.len as usize]
    }

    /// What the client says.
    fn tell(&mut self, message: &mut [u8]) {
        let now = Instant::ORIGIN;
        let mut arrived = if message.is_empty() { Arrived::nothing() } else { Arrived::new(message) };
        loop {
            match self.client.poll(now, &mut arrived) {
                Output::Idle(_) => return,
                Output::Send { message, .. } => self.server.received(NOW, &mut message.concat()),
                Output::Sign(part) => {
                    let data = self.part(&part).to_vec();
                    self.client.sign(now, part.registration, &[&data]).unwrap();
                }
                Output::Encrypt(part) if self.has_own_place => {
                    let data = self.part(&part).to_vec();
                    let mut place = vec![0; data.len()];
                    let (first, second) = data.split_at(data.len() / 2);
                    self.client.encrypt_into(now, part.registration, &[first, second], &mut place).unwrap();
                    self.places.insert(part.registration, place);
                }
                Output::Encrypt(part) => {
                    let start = part.offset as usize;
                    let data = &mut self.buffers.get_mut(&part.buffer).unwrap()[start..][..part.len as usize];
                    self.client.encrypt(now, part.registration, &mut [data]).unwrap();
                }
                Output::Check(part) => {
                    let is_registered = |region: &Region| region.registration == part.registration;
                    assert!(!self.regions.values().any(is_registered), "the server can still write");
                    let start = part.offset as usize;
                    let data = &mut self.buffers.get_mut(&part.buffer).unwrap()[start..][..part.len as usize];
                    let (first, second) = data.split_at_mut(part.len as usize / 3);
                    self.client.check(now, part.registration, &mut [first, second]).unwrap();
                }
                Output::Register { registration, buffer, offset, len, access } => {
                    let mut descriptors = Vec::new();
                    for from in (0..len as usize).step_by(self.segment.min(len as usize)) {
                        let len = self.segment.min(len as usize - from);
                        let offset = offset as usize + from;
                        let region = Region { registration, buffer, offset, from, len, access };
                        let (token, length) = (Token(self.next_token), len as u32);
                        self.regions.insert(self.next_token, region);
                        self.next_token += 1;
                        descriptors.push(BufferDescriptorV1 { offset: 0, token, length });
                    }
                    self.client.registered(registration, &descriptors).unwrap();
                }
                Output::Deregister { registration, .. } => {
                    self.regions.retain(|_, region| region.registration != registration);
                    self.client.deregistered(now, registration).unwrap();
                }
                Output::Done { operation, result, .. } => {
                    let got = match result {
                        Ok(Reply::Session(session)) => {
                            self.session = Some(session);
                            Got::Session
                        }
                        Ok(Reply::Tree(tree, _)) => Got::Tree(tree),
                        Ok(Reply::Read(count) | Reply::Written(count)) => Got::Moved(count),
                        Ok(Reply::Answer(_, Response::Create(create))) => Got::File(create.file_id),
                        Ok(other) => panic!("{other:?}"),
                        Err(failure) => Got::Failed(failure),
                    };
                    assert_eq!(self.results.insert(operation, got), None);
                }
                Output::Negotiated(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// What the server says.
    fn serve(&mut self) {
        while let Some(action) = self.server.poll() {
            match action {
                Action::Send { message, invalidate } => {
                    self.inbox.push_back((message.bytes().to_vec(), invalidate));
                }
                Action::RdmaRead { id, buffers, len } => {
                    let mut data = Vec::new();
                    for descriptor in buffers.iter() {
                        let region = self.regions[&descriptor.token.0];
                        assert_eq!(region.access, Access::RemoteRead);
                        let place = self.places.get(&region.registration);
                        let (bytes, start) = place
                            .map_or((&self.buffers[&region.buffer], region.offset), |place| {
                                (place, region.from)
                            });
                        data.extend_from_slice(&bytes[start..start + region.len]);
                    }
                    data.truncate(len as usize);
                    if let Some(change) = &mut self.on_the_way {
                        change(&mut data);
                    }
                    self.to_server.push(data.clone());
                    self.data.insert(id, data);
                    self.server.rdma_done(NOW, id, true).unwrap();
                }
                Action::RdmaWrite { id, buffers, len } => {
                    let mut data = self.data.remove(&id).unwrap();
                    data.truncate(len as usize);
                    if let Some(change) = &mut self.on_the_way {
                        change(&mut data);
                    }
                    let mut left = &data[..];
                    for descriptor in buffers.iter() {
                        let region = self.regions[&descriptor.token.0];
                        assert_eq!(region.access, Access::RemoteWrite);
                        let (piece, rest) = left.split_at(left.len().min(region.len));
                        let buffer = self.buffers.get_mut(&region.buffer).unwrap();
                        buffer[region.offset..region.offset + piece.len()].copy_from_slice(piece);
                        left = rest;
                    }
                    self.to_client.push(data);
                    self.server.rdma_done(NOW, id, true).unwrap();
                }
                Action::Transform { id, len } => {
                    let data = &mut self.data.get_mut(&id).unwrap()[..len as usize];
                    let (first, second) = data.split_at_mut(len as usize / 2);
                    self.server.transform(NOW, id, &mut [first, second]).unwrap();
                }
                Action::File { id, operation } => {
                    let buffer = self.data.entry(id).or_default();
                    let done =
                        self.files.carry_out(1, id, operation, Some(buffer), NOW).expect("nobody locks");
                    self.server.completed(NOW, id, done).unwrap();
                }
                Action::Close(reason) => panic!("{reason}"),
                other => panic!("{other:?}"),
            }
        }
    }
}
