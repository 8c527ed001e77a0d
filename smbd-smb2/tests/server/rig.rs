//! A client, a driver that carries out everything at once unless it is told to wait, and the memory of the client.

use std::collections::BTreeMap;
use std::sync::Arc;

use smbd_smb2::security::{
    BindingSigner, Credentials, Fresh, Initiator, KeySchedule, NtHash, NtlmClient, PreauthHash, SessionKeys,
    Side, Step, capital,
};
use smbd_smb2::server::{
    Action, Completion, Files, Memory, Operation, OperationId, Params, Reason, Refused, Server, Share,
    Transport,
};
use smbd_smb2::wire::{
    AccessMask, Body, BufferDescriptorV1, Capabilities, Cipher, CommandBody, CreateDisposition,
    CreateOptions, CreateRequest, CreateResponse, Dialect, Elements, FileId, Flags, Guid, HashAlgorithm,
    Header, List, MessageId, NegotiateContext, NegotiateRequest, NegotiateResponse, NtStatus,
    RdmaTransformId, Records, SecurityMode, SessionFlags, SessionId, SessionSetupRequest,
    SessionSetupResponse, ShareAccess, SigningAlgorithm, Target, Text, Token, TreeConnectRequest, TreeId,
    transform, write_element,
};

use super::port::{Port, Shelf};

/// A FILETIME of 2026.
pub const NOW: u64 = 0x01dc_5000_0000_0000;
pub const TCP: Transport = Transport::Tcp;
pub const RDMA: Transport = Transport::Rdma { send_max: 1 << 20 };

/// A server with the shares `data`, `secret` (encrypted) and `read` (read only), and the user `tester`.
pub fn params() -> Params {
    let mut params = Params::new(Guid([0x51; 16]), "SERVER");
    let secret = Share { is_encrypted: true, ..Share::new("secret") };
    let read = Share { is_read_only: true, guests: true, ..Share::new("read") };
    params.shares = vec![Share::new("data"), secret, read];
    params
}

/// An answer: its header, and its bytes from there on.
#[derive(Clone, Debug)]
pub struct Answer {
    pub header: Header,
    pub bytes: Vec<u8>,
    /// What its message invalidated.
    pub invalidate: Option<Token>,
    /// In which message it came.
    pub message: usize,
    pub is_encrypted: bool,
}

impl Answer {
    pub fn status(&self) -> NtStatus {
        self.header.status
    }
}

/// What protects the client's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protect {
    Nothing,
    Sign,
    Seal,
}

pub struct Rig {
    pub connection: Port,
    pub files: Shelf,
    pub now: u64,
    pub dialect: Dialect,
    pub next_id: u64,
    pub session_id: SessionId,
    pub tree_id: TreeId,
    pub keys: Option<SessionKeys>,
    pub protect: Protect,
    /// The client's memory, by token.
    pub memory: BTreeMap<u32, Vec<u8>>,
    /// Messages as they were sent, with what they invalidate.
    pub sent: Vec<(Vec<u8>, Option<Token>)>,
    /// Operations are kept instead of carried out.
    pub holds: bool,
    pub held: Vec<(OperationId, Operation)>,
    /// What the client offers to transform data that go by RDMA, and what the server has answered.
    pub offer: Option<Vec<RdmaTransformId>>,
    pub chosen: Option<Vec<RdmaTransformId>>,
    /// Signing algorithms that the client offers.
    pub signings: Vec<SigningAlgorithm>,
    pub client_guid: Guid,
    /// What signs the messages by which a session is bound to this connection, if they have MessageIds of their own.
    pub binding: Option<BindingSigner>,
    /// The client offers SMB2_GLOBAL_CAP_MULTI_CHANNEL.
    pub knows_channels: bool,
    /// Data are kept instead of transformed.
    pub holds_data: bool,
    pub untransformed: Vec<(OperationId, u32)>,
    /// Transfers are kept instead of completed.
    pub holds_rdma: bool,
    pub transfers: Vec<OperationId>,
    pub cancelled: Vec<OperationId>,
    pub replaced: Vec<(u64, String)>,
    pub refused: Vec<Refused>,
    pub closed: Option<Reason>,
    buffers: BTreeMap<OperationId, Vec<u8>>,
    /// The last NEGOTIATE that was sent.
    pub offered: Vec<u8>,
    pub(super) preauth: PreauthHash,
    /// What `sign` and `seal` were negotiated.
    pub(super) signing: SigningAlgorithm,
    pub(super) cipher: Option<Cipher>,
    /// How many of `sent` were looked at.
    seen: usize,
    credits: u64,
}

impl Rig {
    pub fn new(params: Params, transport: Transport) -> Self {
        Self::seeded(params, transport, 0x77)
    }

    /// With another entropy than others have.
    pub fn seeded(params: Params, transport: Transport, seed: u8) -> Self {
        let accounts = |user: &str, _: &str| match capital(user).as_str() {
            "TESTER" => Some(NtHash::of_password("correct horse")),
            "COLLEAGUE" => Some(NtHash::of_password("another horse")),
            _ => None,
        };
        let (shares, knows_channels) = (params.shares.len(), params.channels_max > 1);
        let server = Arc::new(Server::new(params, accounts).unwrap());
        let memory = (0..shares).map(|_| Memory::with_capacity("data", NOW, 64 << 20)).collect();
        let port = Port::new(server, transport, NOW, [seed; 32]);
        Self { knows_channels, ..Self::of(port, Shelf::new(Files::new(memory))) }
    }

    /// Another connection of the same client. Nothing has been sent on it.
    pub fn another(&self, transport: Transport) -> Self {
        let port = self.connection.join(transport, self.now).unwrap();
        Self { knows_channels: self.knows_channels, ..Self::of(port, self.files.clone()) }
    }

    /// This connection, which has negotiated with another process, as one of the client of `first`. `answer` is what that process has
    /// said; nothing is said here.
    pub fn moved_to(self, first: &Rig, transport: Transport, answer: &[u8]) -> Self {
        let connection = first.connection.join(transport, self.now).unwrap();
        connection.past_request(self.now, &self.offered);
        connection.past_response(self.now, answer);
        Self { connection, files: first.files.clone(), sent: Vec::new(), seen: 0, ..self }
    }

    fn of(connection: Port, files: Shelf) -> Self {
        Self {
            connection,
            files,
            now: NOW,
            dialect: Dialect::default(),
            next_id: 0,
            session_id: SessionId::NONE,
            tree_id: TreeId::NONE,
            keys: None,
            protect: Protect::Nothing,
            memory: BTreeMap::new(),
            sent: Vec::new(),
            holds: false,
            held: Vec::new(),
            offer: None,
            chosen: None,
            signings: Vec::new(),
            client_guid: Guid([0xc1; 16]),
            binding: None,
            knows_channels: false,
            holds_data: false,
            untransformed: Vec::new(),
            holds_rdma: false,
            transfers: Vec::new(),
            cancelled: Vec::new(),
            offered: Vec::new(),
            replaced: Vec::new(),
            refused: Vec::new(),
            closed: None,
            buffers: BTreeMap::new(),
            preauth: PreauthHash::new(),
            signing: SigningAlgorithm::AES_CMAC,
            cipher: None,
            seen: 0,
            credits: 1,
        }
    }

    /// A client that is logged in and connected to `data`.
    pub fn ready(params: Params, transport: Transport) -> Self {
        let mut rig = Self::new(params, transport);
        rig.begin();
        rig
    }

    /// Logs in, and connects to `data`.
    pub fn begin(&mut self) {
        self.negotiate(&[Dialect::SMB_3_1_1], &[Cipher::AES_128_GCM]);
        self.log_in("tester", "correct horse");
        self.connect("data");
    }

    /// The header of the next request, which charges for `len` bytes and asks for 64 credits.
    pub fn header<M: CommandBody>(&mut self, len: u64) -> Header {
        let charge = u16::try_from(len.div_ceil(65536).max(1)).unwrap();
        let message_id = self.next_id;
        self.next_id += u64::from(charge);
        Header {
            credit_charge: charge,
            credits: 64,
            session_id: self.session_id,
            target: Target::Sync { process_id: 0, tree_id: self.tree_id },
            ..Header::request::<M>(message_id)
        }
    }

    /// Gives the server bytes as they are.
    pub fn give(&mut self, message: &mut [u8]) {
        self.connection.received(self.now, message);
        self.drive();
    }

    /// Protects a message, and gives it to the server.
    pub fn send(&mut self, mut message: Vec<u8>) {
        let message = match (self.protect, &mut self.keys) {
            (Protect::Sign, Some(keys)) => {
                let ranges: Vec<_> =
                    Elements::new(&message).map(|element| element.unwrap().range()).collect();
                for range in ranges {
                    keys.signer.sign_in_place(&mut message[range]).unwrap();
                }
                message
            }
            (Protect::Seal, Some(keys)) => {
                let (sealer, _) = keys.encryption.as_mut().unwrap();
                let header = sealer.seal_message(self.session_id, &mut [&mut message]).unwrap();
                [&header[..], &message].concat()
            }
            _ => message,
        };
        self.give(&mut message.clone());
    }

    /// Answers that were not looked at. Signatures are verified, and what is encrypted is opened.
    pub fn answers(&mut self) -> Vec<Answer> {
        let mut answers = Vec::new();
        for (at, (mut message, invalidate)) in self.sent.clone().into_iter().enumerate().skip(self.seen) {
            let is_encrypted = message.starts_with(&transform::PROTOCOL_ID);
            if is_encrypted {
                let (front, sealed) = message.split_at_mut(transform::LEN);
                let (_, opener) = self.keys.as_ref().unwrap().encryption.as_ref().unwrap();
                opener.open_message(front, &mut [sealed]).unwrap();
                message = sealed.to_vec();
            }
            for (index, element) in Elements::new(&message).enumerate() {
                let element = element.unwrap();
                assert!(element.header.is_response());
                assert_eq!(element.header.is_related(), index > 0, "flag of related ones");
                if let (true, Some(keys)) = (element.header.flags.contains(Flags::SIGNED), &self.keys) {
                    keys.verifier.verify([element.bytes]).unwrap();
                }
                self.credits += u64::from(element.header.credits);
                let bytes = element.bytes.to_vec();
                answers.push(Answer { header: element.header, bytes, invalidate, message: at, is_encrypted });
            }
        }
        self.seen = self.sent.len();
        answers
    }

    /// Looks at no answer that has come by now.
    pub fn skip(&mut self) {
        self.seen = self.sent.len();
    }

    /// Sends a request, and takes its only answer.
    pub fn ask<M: CommandBody>(&mut self, header: &Header, body: &M) -> Answer {
        let answers = self.ask_all(header, body);
        assert_eq!(answers.len(), 1, "{answers:?} {:?}", self.closed);
        answers.into_iter().next().unwrap()
    }

    pub fn ask_all<M: CommandBody>(&mut self, header: &Header, body: &M) -> Vec<Answer> {
        let mut message = Vec::new();
        write_element(&mut message, header, body).unwrap();
        self.send(message);
        self.answers()
    }

    /// Sends a request with the next header.
    pub fn request<M: CommandBody>(&mut self, body: &M) -> Answer {
        let header = self.header::<M>(0);
        self.ask(&header, body)
    }

    /// The status of a request.
    pub fn status<M: CommandBody>(&mut self, body: &M) -> NtStatus {
        self.request(body).status()
    }

    pub fn negotiate(&mut self, dialects: &[Dialect], ciphers: &[Cipher]) -> Answer {
        let mut contexts = vec![NegotiateContext::PreauthIntegrity {
            hash_algorithms: List::from(&[HashAlgorithm::SHA_512]),
            salt: &[0x5a; 32],
        }];
        let (signings, offer) = (self.signings.clone(), self.offer.clone());
        if !ciphers.is_empty() {
            contexts.push(NegotiateContext::Encryption(List::from(ciphers)));
        }
        if !signings.is_empty() {
            contexts.push(NegotiateContext::Signing(List::from(&signings[..])));
        }
        contexts.extend(offer.as_ref().map(|ids| NegotiateContext::RdmaTransform(List::from(&ids[..]))));
        let request = NegotiateRequest {
            security_mode: SecurityMode::SIGNING_ENABLED,
            capabilities: Capabilities::LARGE_MTU
                .with(Capabilities::ENCRYPTION, !ciphers.is_empty())
                .with(Capabilities::MULTI_CHANNEL, self.knows_channels),
            client_guid: self.client_guid,
            dialects: List::from(dialects),
            contexts: Records::from(&contexts[..]),
        };
        let header = self.header::<NegotiateRequest<'_>>(0);
        let mut message = Vec::new();
        write_element(&mut message, &header, &request).unwrap();
        self.preauth.update([&message[..]]);
        self.offered.clone_from(&message);
        self.give(&mut message);
        let answers = self.answers();
        let answer = answers.into_iter().next().expect("an answer to NEGOTIATE");
        if answer.status() == NtStatus::SUCCESS {
            self.preauth.update([&answer.bytes[..]]);
            let response = NegotiateResponse::parse(&answer.bytes).unwrap();
            self.dialect = response.dialect;
            for context in response.contexts.iter() {
                match context.unwrap() {
                    NegotiateContext::Encryption(ciphers) => {
                        self.cipher = ciphers.get(0).filter(|cipher| *cipher != Cipher::NONE);
                    }
                    NegotiateContext::Signing(algorithms) => self.signing = algorithms.get(0).unwrap(),
                    NegotiateContext::RdmaTransform(ids) => self.chosen = Some(ids.iter().collect()),
                    _ => {}
                }
            }
            if response.capabilities.contains(Capabilities::ENCRYPTION) {
                self.cipher = Some(Cipher::AES_128_CCM);
            }
        }
        answer
    }

    pub(super) fn initiator(user: &str, password: &str) -> Initiator {
        let credentials = if user.is_empty() {
            Credentials::Anonymous
        } else {
            let hash = NtHash::of_password(password);
            Credentials::User { user: user.into(), domain: String::new(), hash }
        };
        Initiator::new(vec![Box::new(NtlmClient::new(credentials, "CLIENT".into(), "cifs/server".into()))])
    }

    /// SESSION_SETUP until there is no more to say. Returns the last answer.
    pub fn log_in(&mut self, user: &str, password: &str) -> Answer {
        self.log_in_with(user, password, &SessionSetupRequest::default())
    }

    pub fn log_in_with(&mut self, user: &str, password: &str, template: &SessionSetupRequest<'_>) -> Answer {
        let is_again = self.keys.is_some();
        let mut initiator = Self::initiator(user, password);
        let (mut token, mut preauth, mut entropy) = (Vec::new(), self.preauth, 0x30);
        loop {
            let fresh = Fresh::new(self.now, [entropy; 32]);
            entropy += 1;
            let Step::Continue(own) = initiator.step(&token, &fresh).unwrap() else {
                panic!("done too early")
            };
            let request = SessionSetupRequest { security_buffer: &own, ..*template };
            let header = Header { target: Target::default(), ..self.header::<SessionSetupRequest<'_>>(0) };
            let mut message = Vec::new();
            write_element(&mut message, &header, &request).unwrap();
            preauth.update([&message[..]]);
            self.send(message);
            let mut keys = None;
            let last = self.sent.last().expect("an answer to SESSION_SETUP").0.clone();
            let is_plain = !last.starts_with(&transform::PROTOCOL_ID);
            if is_plain && Header::parse(&last).unwrap().status == NtStatus::SUCCESS && !is_again {
                let response = SessionSetupResponse::parse(&last).unwrap();
                initiator.step(response.security_buffer, &fresh).unwrap();
                let nobody = SessionFlags::IS_GUEST | SessionFlags::IS_NULL;
                let is_user = response.flags.0 & nobody.0 == 0;
                let key = initiator.established().unwrap().session_key.filter(|_| is_user);
                let schedule = if self.dialect == Dialect::SMB_3_1_1 {
                    KeySchedule::Smb311 { signing: self.signing, cipher: self.cipher, preauth: &preauth }
                } else {
                    KeySchedule::Smb30 { can_encrypt: self.cipher.is_some() }
                };
                keys = key.map(|key| schedule.session(Side::Client, &key).unwrap());
            }
            if keys.is_some() {
                // The signature of the answer is verified with them.
                self.keys = keys;
            }
            let answer = self.answers().pop().unwrap();
            if answer.status() != NtStatus::MORE_PROCESSING_REQUIRED {
                if answer.status() == NtStatus::SUCCESS {
                    self.session_id = answer.header.session_id;
                } else {
                    self.session_id = SessionId::NONE;
                }
                return answer;
            }
            preauth.update([&answer.bytes[..]]);
            self.session_id = answer.header.session_id;
            token = SessionSetupResponse::parse(&answer.bytes).unwrap().security_buffer.to_vec();
        }
    }

    /// TREE_CONNECT, signed as 3.1.1 wants it.
    pub fn connect(&mut self, share: &str) -> Answer {
        let path = format!("\\\\server\\{share}");
        let request = TreeConnectRequest { path: Text::from(path.as_str()), ..TreeConnectRequest::default() };
        let before = self.protect;
        if self.keys.is_some() && before == Protect::Nothing {
            self.protect = Protect::Sign;
        }
        let answer = self.request(&request);
        self.protect = before;
        if answer.status() == NtStatus::SUCCESS {
            self.tree_id = answer.header.tree_id().unwrap();
        }
        answer
    }

    /// Opens or makes a file, for everything, and shares it with all.
    pub fn create(&mut self, name: &str, disposition: CreateDisposition, options: CreateOptions) -> Answer {
        self.request(&create(name, disposition, options))
    }

    /// A new file.
    pub fn file(&mut self, name: &str) -> FileId {
        let answer = self.create(name, CreateDisposition::CREATE, CreateOptions::NON_DIRECTORY_FILE);
        opened(&answer)
    }

    /// A new directory.
    pub fn directory(&mut self, name: &str) -> FileId {
        opened(&self.create(name, CreateDisposition::CREATE, CreateOptions::DIRECTORY_FILE))
    }

    /// A buffer of the client's memory.
    pub fn register(&mut self, token: u32, data: Vec<u8>) -> BufferDescriptorV1 {
        let length = u32::try_from(data.len()).unwrap();
        self.memory.insert(token, data);
        BufferDescriptorV1 { offset: 0, token: Token(token), length }
    }

    /// Credits that the client has: granted, and not used.
    pub fn credits(&self) -> u64 {
        self.credits - self.next_id
    }

    /// Does all that the server asks for.
    pub fn drive(&mut self) {
        while let Some(action) = self.connection.poll() {
            match action {
                Action::Send { message, invalidate } => {
                    self.sent.push((message.bytes().to_vec(), invalidate))
                }
                Action::RdmaRead { id, buffers, len } => {
                    let mut data = Vec::new();
                    for buffer in buffers.iter().copied() {
                        let from = usize::try_from(buffer.offset).unwrap();
                        let memory = &self.memory[&buffer.token.0];
                        data.extend_from_slice(&memory[from..from + buffer.length as usize]);
                    }
                    data.truncate(len as usize);
                    assert_eq!(data.len(), len as usize);
                    self.buffers.insert(id, data);
                    self.transfer(id);
                }
                Action::RdmaWrite { id, buffers, len } => {
                    let data = self.buffers.remove(&id).unwrap();
                    let mut left = &data[..len as usize];
                    for buffer in buffers.iter().copied() {
                        let (now, later) = left.split_at(left.len().min(buffer.length as usize));
                        let to = usize::try_from(buffer.offset).unwrap();
                        self.memory.get_mut(&buffer.token.0).unwrap()[to..to + now.len()]
                            .copy_from_slice(now);
                        left = later;
                    }
                    assert!(left.is_empty());
                    self.transfer(id);
                }
                Action::Transform { id, len } if self.holds_data => self.untransformed.push((id, len)),
                Action::Transform { id, len } => self.transform(id, len),
                Action::File { id, operation } if self.holds => self.held.push((id, operation)),
                Action::File { id, operation } => self.carry_out(id, operation),
                Action::Cancel(id) => {
                    self.cancelled.push(id);
                    if let Some(completion) = self.files.cancel(id) {
                        self.complete(id, completion);
                    }
                }
                Action::SessionReplaced { session_id, user } => {
                    self.replaced.push((session_id, user.to_string()))
                }
                Action::Refused(refused) => self.refused.push(refused),
                Action::Close(reason) => {
                    if self.connection.has_ended() {
                        self.files.end(self.now);
                    }
                    self.closed = Some(reason);
                }
            }
        }
    }

    /// Gives data to the server, in two pieces.
    pub fn transform(&mut self, id: OperationId, len: u32) {
        let data = &mut self.buffers.get_mut(&id).unwrap()[..len as usize];
        let (first, second) = data.split_at_mut(len as usize / 3);
        self.connection.transform(self.now, id, &mut [first, second]).unwrap();
    }

    fn transfer(&mut self, id: OperationId) {
        if self.holds_rdma {
            self.transfers.push(id);
        } else {
            self.connection.rdma_done(self.now, id, true).unwrap();
        }
    }

    pub fn carry_out(&mut self, id: OperationId, operation: Operation) {
        if matches!(operation, Operation::ReadChannel { .. }) {
            self.buffers.insert(id, Vec::new());
        }
        let completion = self.files.carry_out(id, operation, self.buffers.get_mut(&id), self.now);
        match completion {
            Some(completion) => self.complete(id, completion),
            None => self.connection.prolong(self.now, id).unwrap(),
        }
        for (id, completion) in self.files.retry() {
            self.complete(id, completion);
        }
    }

    pub fn complete(&mut self, id: OperationId, completion: Completion) {
        self.connection.completed(self.now, id, completion).unwrap();
    }

    /// Carries out the operation that was kept first.
    pub fn release(&mut self) {
        let (id, operation) = self.held.remove(0);
        self.carry_out(id, operation);
        self.drive();
    }

    /// A request without any answer.
    pub fn silent<M: CommandBody>(&mut self, header: &Header, body: &M) {
        let answers = self.ask_all(header, body);
        assert!(answers.is_empty(), "{answers:?}");
    }

    /// The header of a CANCEL for a request.
    pub fn cancel_of(&self, header: &Header, async_id: Option<u64>) -> Header {
        let target = match async_id {
            Some(async_id) => Target::Async { async_id },
            None => header.target,
        };
        Header {
            credit_charge: 0,
            message_id: if async_id.is_some() { MessageId(0) } else { header.message_id },
            target,
            session_id: self.session_id,
            ..Header::request::<smbd_smb2::wire::CancelRequest>(0)
        }
    }
}

pub fn create(name: &str, disposition: CreateDisposition, options: CreateOptions) -> CreateRequest<'_> {
    CreateRequest {
        desired_access: AccessMask::MAXIMUM_ALLOWED,
        share_access: ShareAccess(7),
        create_disposition: disposition,
        create_options: options,
        name: Text::from(name),
        ..CreateRequest::default()
    }
}

/// The file of a CREATE that succeeded.
pub fn opened(answer: &Answer) -> FileId {
    assert_eq!(answer.status(), NtStatus::SUCCESS);
    CreateResponse::parse(&answer.bytes).unwrap().file_id
}

/// A message of one request.
pub fn message(header: &Header, body: &impl Body) -> Vec<u8> {
    let mut message = Vec::new();
    write_element(&mut message, header, body).unwrap();
    message
}
