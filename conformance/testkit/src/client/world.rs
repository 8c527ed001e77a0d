//! A client and a server, and everything between them.

use std::collections::BTreeMap;
use std::time::Duration;

use smbd_core::Instant;
use smbd_smb2::client::*;
use smbd_smb2::security::{Credentials, Fresh, Initiator, NtHash, NtlmClient};
use smbd_smb2::wire::{FileId, NtStatus, Response, SessionId};

use super::memory::{Memory, Region};
use super::server::{Answer, Change, Server, Setup};
use super::tape::Tape;

/// Something that writes to memory.
pub type OfMemory = Box<dyn FnMut(&mut Memory)>;

/// A result that borrows nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum Got {
    Session(SessionHandle),
    Tree(TreeHandle),
    Read(u64),
    Written(u64),
    Answer(NtStatus, Option<FileId>, Vec<u8>),
    Message(Vec<u8>),
    Other(String),
    Failed(Failure),
}

pub struct World {
    pub client: Client,
    pub server: Server,
    pub memory: Memory,
    pub now: Instant,
    /// Results, as they are told; each operation has one.
    pub results: BTreeMap<OperationId, Got>,
    /// Data of READs without a channel.
    pub data: BTreeMap<OperationId, Vec<u8>>,
    /// Which buffer an operation uses.
    pub uses: BTreeMap<OperationId, BufferId>,
    /// Everything else that the client says, in words.
    pub said: Vec<String>,
    pub ended: Option<Reason>,
    /// Registrations are made of pieces of so many bytes.
    pub segment: u32,
    /// The order of answers, and whether registrations wait.
    pub tape: Tape,
    /// Changes an answer on its way.
    pub on_the_way: Option<Change>,
    /// Whether data of WRITEs are encrypted to another place, which is registered.
    pub has_own_place: bool,
    /// What was signed or encrypted, and what was looked at, as it came.
    pub protected: Vec<DataPart>,
    pub checked: Vec<(DataPart, Vec<u8>)>,
    /// What becomes of memory before a registration is taken back.
    pub while_registered: Option<OfMemory>,
    /// How many tokens the server was asked to invalidate.
    pub invalidations: u32,
    registering: Vec<Region>,
    leaving: Vec<RegistrationId>,
}

pub fn initiator(password: &str) -> Initiator {
    let user = Credentials::User {
        user: "tester".into(),
        domain: String::new(),
        hash: NtHash::of_password(password),
    };
    Initiator::new(vec![Box::new(NtlmClient::new(user, "CLIENT".into(), "cifs/server".into()))])
}

pub fn fresh() -> Fresh {
    Fresh::new(0x01dd_5b3a_0000_0000, [5; 32])
}

pub fn rdma() -> Transport {
    let rdma = Rdma { threshold: 4096, max_read_write: 1 << 20, invalidates: true };
    Transport { max_send: 0x10_0000, max_receive: 0x10_0000, rdma: Some(rdma) }
}

impl World {
    pub fn new(setup: Setup, params: Params) -> Self {
        Self {
            client: Client::new(Config::new(params).unwrap()),
            server: Server::new(setup, Tape::default()),
            memory: Memory::default(),
            now: Instant::ORIGIN,
            results: BTreeMap::new(),
            data: BTreeMap::new(),
            uses: BTreeMap::new(),
            said: Vec::new(),
            ended: None,
            segment: u32::MAX,
            tape: Tape::default(),
            on_the_way: None,
            has_own_place: false,
            protected: Vec::new(),
            checked: Vec::new(),
            while_registered: None,
            invalidations: 0,
            registering: Vec::new(),
            leaving: Vec::new(),
        }
    }

    /// With a user logged in and a share connected.
    pub fn connected(setup: Setup, params: Params) -> (Self, SessionHandle, TreeHandle) {
        let mut world = Self::new(setup, params);
        let session = world.login();
        let tree = world.connect(session);
        (world, session, tree)
    }

    pub fn login(&mut self) -> SessionHandle {
        self.run();
        let login = self.client.login(self.now, initiator("secret"), fresh(), SessionId::NONE).unwrap();
        match self.wait(login) {
            Got::Session(session) => session,
            other => panic!("{other:?}, {:?}", self.ended),
        }
    }

    pub fn connect(&mut self, session: SessionHandle) -> TreeHandle {
        let tree = self.client.connect(self.now, session, r"\\server\share").unwrap();
        match self.wait(tree) {
            Got::Tree(tree) => tree,
            other => panic!("{other:?}, {:?}", self.ended),
        }
    }

    /// Submits an operation and waits for its result.
    pub fn act(&mut self, tree: TreeHandle, operation: &Operation<'_>) -> Got {
        let id = self.submit(tree, operation);
        self.wait(id)
    }

    pub fn submit(&mut self, tree: TreeHandle, operation: &Operation<'_>) -> OperationId {
        self.try_submit(tree, operation).unwrap()
    }

    pub fn try_submit(
        &mut self,
        tree: TreeHandle,
        operation: &Operation<'_>,
    ) -> Result<OperationId, Refused> {
        let id = self.client.submit(self.now, tree, operation)?;
        let buffer = match operation {
            Operation::Read(read) => read.buffer,
            Operation::Write(Write {
                data: WriteData::Buffer(buffer, _) | WriteData::Bytes(_, Some(buffer)),
                ..
            }) => Some(*buffer),
            _ => None,
        };
        self.uses.extend(buffer.map(|buffer| (id, buffer)));
        Ok(id)
    }

    pub fn wait(&mut self, id: OperationId) -> Got {
        self.run();
        self.results
            .get(&id)
            .cloned()
            .unwrap_or_else(|| panic!("no result: {:?} {:?}", self.said, self.ended))
    }

    /// Runs until nothing is left to be done without time passing.
    pub fn run(&mut self) {
        for _ in 0..100_000 {
            self.drain(&mut []);
            if self.ended.is_some() {
                return;
            }
            if !self.registering.is_empty() && (self.server.out.is_empty() || self.tape.pick(2) == 0) {
                let at = self.tape.pick(self.registering.len());
                let region = self.registering.remove(at);
                let descriptors = self.memory.register(region.clone(), self.segment);
                self.client.registered(region.id, &descriptors).unwrap();
            } else if !self.leaving.is_empty() && (self.server.out.is_empty() || self.tape.pick(2) == 0) {
                let at = self.tape.pick(self.leaving.len());
                let id = self.leaving.remove(at);
                if let Some(change) = &mut self.while_registered {
                    change(&mut self.memory);
                }
                self.memory.deregister(id);
                self.client.deregistered(self.now, id).unwrap();
            } else if !self.server.out.is_empty() {
                let at = self.next_answer();
                let answer = self.server.out.remove(at);
                self.deliver(answer);
            } else {
                return;
            }
        }
        panic!("no end: {:?}", self.said);
    }

    /// Any answer may come next, but no final one before the interim one of its request.
    fn next_answer(&mut self) -> usize {
        let ids: Vec<_> = self.server.out.iter().map(|it| it.bytes.get(24..32).map(<[u8]>::to_vec)).collect();
        let at = self.tape.pick(ids.len());
        ids.iter().position(|id| *id == ids[at]).unwrap()
    }

    pub fn deliver(&mut self, answer: Answer) {
        let mut bytes = answer.bytes;
        if let Some(change) = &mut self.on_the_way {
            change(&mut bytes);
        }
        if let Some(token) = answer.invalidate
            && self.memory.valid.remove(&token).is_some()
        {
            self.client.invalidated(token).unwrap();
        }
        self.drain(&mut bytes);
    }

    /// Lets time pass, and does what is due.
    pub fn pass(&mut self, time: Duration) {
        self.now = self.now + time;
        self.run();
    }

    /// When the client wants to be called.
    pub fn deadline(&mut self) -> Option<Instant> {
        match self.client.poll(self.now, &mut Arrived::nothing()) {
            Output::Idle(deadline) => deadline,
            other => panic!("{other:?}"),
        }
    }

    fn drain(&mut self, message: &mut [u8]) {
        let mut arrived = if message.is_empty() { Arrived::nothing() } else { Arrived::new(message) };
        loop {
            match self.client.poll(self.now, &mut arrived) {
                Output::Idle(_) => break,
                Output::Send { message, invalidations } => {
                    self.invalidations += u32::from(invalidations);
                    assert!(self.ended.is_none(), "a message after the end");
                    self.server.receive(&message.concat(), &mut self.memory);
                }
                Output::Register { registration: id, buffer, offset, len, access } => {
                    self.registering.push(Region { id, buffer, offset, len, from: 0, access });
                }
                Output::Deregister { registration, is_invalidated } => {
                    let left = self.memory.valid.values().any(|region| region.id == registration);
                    assert_eq!(left, !is_invalidated);
                    self.leaving.push(registration);
                }
                Output::Sign(part) => {
                    let data = self.memory.part(&part).to_vec();
                    let (first, second) = data.split_at(data.len() / 3);
                    self.client.sign(self.now, part.registration, &[first, second]).unwrap();
                    self.protected.push(part);
                }
                Output::Encrypt(part) => {
                    self.encrypt(&part);
                    self.protected.push(part);
                }
                Output::Check(part) => {
                    assert!(!self.memory.is_registered_part(part.registration), "the server may still write");
                    self.checked.push((part, self.memory.part(&part).to_vec()));
                    let (first, second) = self.memory.part(&part).split_at_mut(part.len as usize / 3);
                    self.client.check(self.now, part.registration, &mut [first, second]).unwrap();
                }
                Output::Data { operation, offset, data } => {
                    let all = self.data.entry(operation).or_default();
                    let end = offset as usize + data.len();
                    all.resize(all.len().max(end), 0);
                    all[offset as usize..end].copy_from_slice(data);
                }
                Output::Done { operation, result, .. } => {
                    if let Some(buffer) = self.uses.get(&operation) {
                        assert!(!self.memory.is_registered(*buffer), "a result before its memory is back");
                    }
                    let before = self.results.insert(operation, got(result));
                    assert_eq!(before, None, "two results");
                }
                Output::Close(reason) => {
                    self.ended = Some(reason);
                    self.said.push("close".into());
                    self.close();
                }
                other => self.said.push(format!("{other:?}")),
            }
        }
        assert!(arrived.is_taken());
    }

    fn encrypt(&mut self, part: &DataPart) {
        let data = self.memory.part(part);
        if self.has_own_place {
            let mut into = vec![0; data.len()];
            self.client.encrypt_into(self.now, part.registration, &[data], &mut into).unwrap();
            self.memory.places.insert(part.registration, into);
            return;
        }
        let (first, second) = data.split_at_mut(part.len as usize / 3);
        self.client.encrypt(self.now, part.registration, &mut [first, second]).unwrap();
    }

    /// The transport ends.
    pub fn close(&mut self) {
        self.memory.valid.clear();
        self.registering.clear();
        self.leaving.clear();
        self.client.closed();
    }
}

fn got(result: Result<Reply<'_>, Failure>) -> Got {
    match result {
        Ok(Reply::Session(session)) => Got::Session(session),
        Ok(Reply::Tree(tree, _)) => Got::Tree(tree),
        Ok(Reply::Read(count)) => Got::Read(count),
        Ok(Reply::Written(count)) => Got::Written(count),
        Ok(Reply::Answer(status, Response::Create(create))) => {
            Got::Answer(status, Some(create.file_id), Vec::new())
        }
        Ok(Reply::Answer(status, Response::QueryInfo(query))) => {
            Got::Answer(status, None, query.output.to_vec())
        }
        Ok(Reply::Answer(status, _)) => Got::Answer(status, None, Vec::new()),
        Ok(Reply::Message(bytes)) => Got::Message(bytes.to_vec()),
        Ok(other) => Got::Other(format!("{other:?}")),
        Err(failure) => Got::Failed(failure),
    }
}
