//! A small server with records of its own: it negotiates, logs a user in, and has one file.

use std::collections::BTreeMap;

use smbd_smb2::security::{Acceptor, AcceptorConfig, Fresh, NtHash, NtlmAcceptor, PreauthHash, SessionKeys};
use smbd_smb2::wire::*;

mod login;
mod transfers;

use super::memory::Memory;
use super::tape::Tape;
use super::words::describe;

pub const SESSION: SessionId = SessionId(0x5000_0001);
pub const TREE: TreeId = TreeId(7);
pub const FILE: FileId = FileId { persistent: 11, volatile: 12 };

/// How the server behaves.
#[derive(Clone, Debug)]
pub struct Setup {
    pub dialect: Dialect,
    pub cipher: Option<Cipher>,
    pub signing: SigningAlgorithm,
    /// RDMA transforms that it has; `None`: it answers nothing to the context.
    pub transforms: Option<Vec<RdmaTransformId>>,
    pub require_signing: bool,
    pub encrypt_session: bool,
    pub encrypt_share: bool,
    pub session_flags: SessionFlags,
    pub multi_credit: bool,
    pub multi_channel: bool,
    pub server_guid: Guid,
    pub max_size: u32,
    /// What it tells of negotiation when asked to confirm it.
    pub validated_capabilities: Option<Capabilities>,
    /// Credits for each answer that none is chosen for; `None`: as asked.
    pub credits: Option<u16>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            dialect: Dialect::SMB_3_1_1,
            cipher: Some(Cipher::AES_128_GCM),
            signing: SigningAlgorithm::AES_GMAC,
            transforms: None,
            require_signing: false,
            encrypt_session: false,
            encrypt_share: false,
            session_flags: SessionFlags::NONE,
            multi_credit: true,
            multi_channel: false,
            server_guid: Guid([9; 16]),
            max_size: 1 << 17,
            validated_capabilities: None,
            credits: None,
        }
    }
}

/// Answers a SESSION_SETUP, of which all bytes are there too.
pub type OnBinding = Box<dyn FnMut(&mut Server, Header, &SessionSetupRequest<'_>, &[u8]) -> Answer>;

/// Changes a message.
pub type Change = Box<dyn FnMut(&mut Vec<u8>)>;

/// A message to the client, and the token that it invalidates.
#[derive(Clone, Debug)]
pub struct Answer {
    pub bytes: Vec<u8>,
    pub invalidate: Option<Token>,
}

pub struct Server {
    pub setup: Setup,
    pub tape: Tape,
    pub file: Vec<u8>,
    pub out: Vec<Answer>,
    /// Every request, in words.
    pub log: Vec<String>,
    /// The headers of all requests.
    pub headers: Vec<Header>,
    /// Every message of the client, as it came.
    pub bytes: Vec<String>,
    /// Statuses that the next requests of these commands are answered with.
    pub fail: BTreeMap<Command, Vec<NtStatus>>,
    /// Requests of these commands are not answered at all.
    pub deaf: Vec<Command>,
    /// What becomes of an answer before it is signed.
    pub before_signing: Option<Change>,
    /// What becomes of protected data before they go by RDMA.
    pub before_rdma: Option<Change>,
    /// Nonces of data that came by RDMA.
    pub nonces: Vec<Vec<u8>>,
    /// Whether it takes what it gets: a client that was told nonsense does it.
    pub is_lenient: bool,
    pub keys: Option<SessionKeys>,
    /// Answers SESSION_SETUP, if it binds a session of another connection.
    pub on_binding: Option<OnBinding>,
    /// Requests with an interim answer, which CANCEL ends.
    pub waiting: BTreeMap<MessageId, (Header, bool)>,
    pub acceptor: Acceptor,
    pub preauth: PreauthHash,
    /// The first MessageId that has not been used, and the first one that may not be.
    pub next_id: u64,
    pub end_id: u64,
    pub charges: u64,
}

pub fn fresh(seed: u8) -> Fresh {
    Fresh::new(0x01dd_5b3a_0000_0000, [seed; 32])
}

pub fn acceptor() -> Acceptor {
    let accounts = |user: &str, _: &str| (user == "tester").then(|| NtHash::of_password("secret"));
    let config = AcceptorConfig { anonymous: true, ..AcceptorConfig::new("SERVER") };
    Acceptor::new(vec![Box::new(NtlmAcceptor::new(config, accounts))])
}

impl Server {
    pub fn new(setup: Setup, tape: Tape) -> Self {
        Self {
            setup,
            tape,
            file: Vec::new(),
            out: Vec::new(),
            log: Vec::new(),
            headers: Vec::new(),
            bytes: Vec::new(),
            fail: BTreeMap::new(),
            deaf: Vec::new(),
            before_signing: None,
            before_rdma: None,
            nonces: Vec::new(),
            is_lenient: false,
            keys: None,
            on_binding: None,
            waiting: BTreeMap::new(),
            acceptor: acceptor(),
            preauth: PreauthHash::new(),
            next_id: 0,
            end_id: 1,
            charges: 0,
        }
    }

    /// Takes a message of the client.
    pub fn receive(&mut self, message: &[u8], memory: &mut Memory) {
        let mut message = message.to_vec();
        let mut sealed = false;
        if message.len() < 600 {
            self.bytes.push(message.iter().map(|byte| format!("{byte:02x}")).collect());
        }
        if message.starts_with(&transform::PROTOCOL_ID) {
            let (header, body) = message.split_at_mut(transform::LEN);
            let opener = &self.keys.as_ref().unwrap().encryption.as_ref().unwrap().1;
            if opener.open_message(header, &mut [&mut *body]).is_err() {
                assert!(self.is_lenient, "not what was encrypted");
                return;
            }
            message.drain(..transform::LEN);
            sealed = true;
        }
        let elements: Vec<_> = Elements::new(&message).map(|element| element.unwrap()).collect();
        let mut answers = Vec::new();
        for element in &elements {
            self.check(&element.header, element.bytes, sealed);
            if element.header.command == Command::CANCEL {
                self.on_cancel(&element.header);
                continue;
            }
            let request = Request::parse(element.bytes).expect("a request");
            self.log.push(describe(&element.header, &request, sealed));
            self.headers.push(element.header);
            if self.deaf.contains(&element.header.command) {
                continue;
            }
            answers.extend(self.answer(&element.header, &request, element.bytes, sealed, memory));
        }
        self.give(answers, elements.len() > 1);
    }

    /// What every request has to be.
    fn check(&mut self, header: &Header, bytes: &[u8], sealed: bool) {
        assert!(!header.is_response());
        if self.is_lenient {
            return;
        }
        let is_signed = header.flags.contains(Flags::SIGNED);
        assert!(!(is_signed && sealed), "signed and encrypted");
        let is_binding = self.on_binding.is_some() && header.command == Command::SESSION_SETUP;
        if is_signed && !is_binding {
            self.keys.as_ref().unwrap().verifier.verify([bytes]).expect("a good signature");
        } else if !is_signed {
            assert_eq!(header.signature, [0; 16]);
        }
        if let Some(keys) = &self.keys
            && header.session_id == SESSION
            && header.command != Command::CANCEL
        {
            let encrypts = self.setup.encrypt_session
                || (self.setup.encrypt_share && header.tree_id() == Some(TREE) && keys.encryption.is_some());
            assert_eq!(sealed, encrypts, "{}", header.command);
            assert!(sealed || is_signed || !self.setup.require_signing, "{} is not signed", header.command);
        }
        if header.command == Command::CANCEL {
            return;
        }
        let charge = u64::from(header.credit_charge.max(1));
        assert_eq!(header.message_id.0, self.next_id, "a hole");
        self.next_id += charge;
        self.charges += charge;
        assert!(self.next_id <= self.end_id, "more credits than granted");
    }

    fn on_cancel(&mut self, header: &Header) {
        self.log.push(format!("CANCEL {}", header.async_id().is_some()));
        if let Some((request, sealed)) = self.waiting.remove(&header.message_id) {
            let answer = self.error(&request, NtStatus::CANCELLED, true, sealed);
            self.out.push(answer);
        }
    }

    /// How many credits an answer brings.
    fn grant(&mut self, asked: u16) -> u16 {
        let left = self.end_id.saturating_sub(self.next_id);
        let granted = match self.tape.pick(5) {
            0 | 1 => self.setup.credits.unwrap_or(asked),
            2 => asked / 2,
            3 => 0,
            _ => asked + 3,
        };
        let granted = if left == 0 { granted.max(1) } else { granted };
        self.end_id += u64::from(granted);
        granted
    }

    pub fn finish(&mut self, header: Header, body: &impl Body, is_signed: bool, sealed: bool) -> Answer {
        let mut bytes = Vec::new();
        write_element(&mut bytes, &header, body).unwrap();
        if let Some(change) = &mut self.before_signing {
            change(&mut bytes);
        }
        if sealed {
            let sealer = &mut self.keys.as_mut().unwrap().encryption.as_mut().unwrap().0;
            // Of what was cut off there may be nothing to encrypt, or to sign.
            if let Ok(head) = sealer.seal_message(SESSION, &mut [&mut bytes]) {
                bytes.splice(0..0, head);
            }
        } else if is_signed && let Some(keys) = &self.keys {
            let signed = keys.signer.sign_in_place(&mut bytes);
            assert!(signed.is_ok() || self.is_lenient, "{signed:?}");
        }
        Answer { bytes, invalidate: None }
    }

    fn error(&mut self, request: &Header, status: NtStatus, is_async: bool, sealed: bool) -> Answer {
        let mut header = request.response(status);
        header.credits = self.grant(request.credits);
        if is_async {
            header.target = Target::Async { async_id: request.message_id.0 + 1000 };
        }
        let is_signed = request.flags.contains(Flags::SIGNED);
        self.finish(header, &ErrorResponse::default(), is_signed, sealed)
    }

    /// An interim answer.
    fn interim(&mut self, request: &Header, sealed: bool) -> Answer {
        let mut header = request.response(NtStatus::PENDING);
        header.credits = self.grant(request.credits);
        header.target = Target::Async { async_id: request.message_id.0 + 1000 };
        self.finish(header, &ErrorResponse::default(), false, sealed)
    }

    fn answer(
        &mut self,
        request: &Header,
        body: &Request<'_>,
        bytes: &[u8],
        sealed: bool,
        memory: &mut Memory,
    ) -> Vec<Answer> {
        let mut answers = Vec::new();
        let mut header = *request;
        let session_free = [Command::NEGOTIATE, Command::SESSION_SETUP, Command::LOGOFF];
        let waits = matches!(body, Request::ChangeNotify(_));
        if waits || (!session_free.contains(&request.command) && self.tape.pick(4) == 3) {
            answers.push(self.interim(request, sealed));
            // What was asked for has come with it.
            header.credits = 0;
        }
        if waits {
            self.waiting.insert(request.message_id, (header, sealed));
            return answers;
        }
        let is_async = !answers.is_empty();
        let invalidate = token(body);
        let mut answer = match self.fail.get_mut(&request.command).filter(|list| !list.is_empty()) {
            Some(list) => {
                let status = list.remove(0);
                self.error(&header, status, is_async, sealed)
            }
            None => self.perform(&header, body, bytes, (is_async, sealed), memory),
        };
        answer.invalidate = invalidate.filter(|_| self.tape.pick(7) != 6);
        answers.push(answer);
        answers
    }

    fn perform(
        &mut self,
        request: &Header,
        body: &Request<'_>,
        bytes: &[u8],
        (is_async, sealed): (bool, bool),
        memory: &mut Memory,
    ) -> Answer {
        let is_signed = request.flags.contains(Flags::SIGNED);
        let mut header = request.response(NtStatus::SUCCESS);
        header.credits = self.grant(request.credits);
        if is_async {
            header.target = Target::Async { async_id: request.message_id.0 + 1000 };
        }
        match body {
            Request::Negotiate(_) => self.negotiate(header, bytes),
            Request::SessionSetup(setup) => match self.on_binding.take() {
                Some(mut on_binding) => {
                    let answer = on_binding(self, header, setup, bytes);
                    self.on_binding = Some(on_binding);
                    answer
                }
                None => self.session_setup(header, setup, bytes, is_signed, sealed),
            },
            Request::TreeConnect(_) => {
                header.target = Target::Sync { process_id: 0, tree_id: TREE };
                let share_flags = ShareFlags::NONE.with(ShareFlags::ENCRYPT_DATA, self.setup.encrypt_share);
                let body =
                    TreeConnectResponse { share_type: ShareType::DISK, share_flags, ..Default::default() };
                self.finish(header, &body, is_signed, sealed)
            }
            Request::Create(_) => {
                let body = CreateResponse {
                    file_id: FILE,
                    end_of_file: self.file.len() as u64,
                    ..Default::default()
                };
                self.finish(header, &body, is_signed, sealed)
            }
            Request::Read(read) => self.read(header, read, is_signed, sealed, memory),
            Request::Write(write) => {
                let data = if write.channel == Channel::NONE {
                    write.data.to_vec()
                } else {
                    assert_eq!(write.data, b"");
                    let data = self.transfer(write, is_signed, sealed, memory);
                    assert_eq!(data.len(), write.remaining_bytes as usize);
                    data
                };
                self.check_charge(request, data.len());
                let end = write.offset as usize + data.len();
                self.file.resize(self.file.len().max(end), 0);
                self.file[write.offset as usize..end].copy_from_slice(&data);
                let body = WriteResponse { count: data.len() as u32 };
                self.finish(header, &body, is_signed, sealed)
            }
            Request::Ioctl(ioctl) if ioctl.control_code == ControlCode::VALIDATE_NEGOTIATE_INFO => {
                assert!(is_signed || sealed, "VALIDATE_NEGOTIATE_INFO is not protected");
                let mut output = pack(&[self.setup.validated_capabilities.unwrap_or(self.capabilities())]);
                output.extend_from_slice(&[9; 16]);
                output.extend_from_slice(&pack(&[self.mode()]));
                output.extend_from_slice(&pack(&[self.setup.dialect]));
                let body = IoctlResponse { output: &output, file_id: ioctl.file_id, ..Default::default() };
                self.finish(header, &body, is_signed, sealed)
            }
            Request::QueryInfo(query) => {
                self.check_charge(request, query.output_buffer_length as usize);
                let output = (self.file.len() as u64).to_le_bytes();
                self.finish(header, &QueryInfoResponse { output: &output }, is_signed, sealed)
            }
            other => {
                let body = plain(other);
                self.finish(header, &body, is_signed, sealed)
            }
        }
    }

    fn check_charge(&self, request: &Header, payload: usize) {
        if self.is_lenient {
            return;
        }
        let charge = if self.setup.multi_credit { payload.max(1).div_ceil(65536) } else { 0 };
        assert_eq!(usize::from(request.credit_charge), charge, "CreditCharge for {payload} bytes");
    }

    /// Puts answers into the queue, together or each on its own.
    fn give(&mut self, answers: Vec<Answer>, was_compound: bool) {
        let can_join = was_compound && answers.iter().all(|it| it.bytes.starts_with(&header::PROTOCOL_ID));
        let is_signed = |it: &Answer| {
            header::field::FLAGS.get(&it.bytes).is_ok_and(|flags| flags.contains(Flags::SIGNED))
        };
        if !can_join || answers.iter().any(is_signed) || self.tape.pick(2) == 1 {
            return self.out.extend(answers);
        }
        let mut bytes: Vec<u8> = Vec::new();
        let count = answers.len();
        for (index, mut answer) in answers.into_iter().enumerate() {
            if index + 1 < count {
                answer.bytes.resize(answer.bytes.len().next_multiple_of(8), 0);
                let len = answer.bytes.len() as u32;
                header::field::NEXT_COMMAND.set(&mut answer.bytes, len).unwrap();
            }
            bytes.append(&mut answer.bytes);
        }
        self.out.push(Answer { bytes, invalidate: None });
    }
}

/// The token that the answer to a request invalidates.
fn token(request: &Request<'_>) -> Option<Token> {
    let (channel, descriptors) = match request {
        Request::Read(read) => (read.channel, read.descriptors().unwrap()),
        Request::Write(write) if write.channel == Channel::RDMA_TRANSFORM => {
            let structure = RdmaTransform::parse(write.channel_info).unwrap();
            (structure.channel, structure.descriptors().unwrap())
        }
        Request::Write(write) => (write.channel, write.descriptors().unwrap()),
        _ => return None,
    };
    (channel == Channel::RDMA_V1_INVALIDATE).then(|| descriptors.get(0).unwrap().token)
}

/// Answers without anything in them.
fn plain(request: &Request<'_>) -> Response<'static> {
    match request {
        Request::Logoff(_) => Response::Logoff(LogoffResponse::default()),
        Request::TreeDisconnect(_) => Response::TreeDisconnect(TreeDisconnectResponse::default()),
        Request::Close(_) => Response::Close(CloseResponse::default()),
        Request::Flush(_) => Response::Flush(FlushResponse::default()),
        Request::Lock(_) => Response::Lock(LockResponse::default()),
        Request::Ioctl(_) => Response::Ioctl(IoctlResponse::default()),
        Request::Echo(_) => Response::Echo(EchoResponse::default()),
        Request::QueryDirectory(_) => Response::QueryDirectory(QueryDirectoryResponse::default()),
        Request::SetInfo(_) => Response::SetInfo(SetInfoResponse::default()),
        Request::OplockBreak(_) => Response::OplockBreak(OplockBreak::default()),
        Request::LeaseBreak(_) => Response::LeaseBreak(LeaseBreakResponse::default()),
        other => panic!("{}", other.command()),
    }
}
