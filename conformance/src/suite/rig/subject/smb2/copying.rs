//! A client that copies a file in two ways at once: in messages, and with buffers that it offers to the server. As a user it has
//! transforms of RDMA, too, and does with answers to READs what the text says.

use std::collections::VecDeque;
use std::fmt;

use smbd_core::backend::HostMemory;
use smbd_core::{Access, Endpoint, Instant, RegId};
use smbd_smb2::wire::{
    Channel, Cipher, Command, Dialect, Element, Elements, Header, Message, NtStatus, RdmaTransformId,
    RdmaTransformType, ReadResponse, SigningAlgorithm, WriteRequest,
};

use super::rules::{Brought, Facts, Rules};
use super::{Outgoing, PASSWORD, USER};
use crate::smb2::client::{By, Client, Protection, Requests, Secured, User, Wants};
use crate::smb2::{Crypto, Info};

/// The share that a client connects to.
const SHARE: &str = r"\\subject\share";
/// Bytes that the client copies at a time in messages.
const COPIED: u32 = 256 * 1024;
/// Bytes of its buffer.
const BUFFERED: u32 = 64 * 1024;
/// Segments of a registration at most.
const SEGMENTS: u16 = 4;

/// What is done with the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    /// It is registered, with these rights of the server.
    Opening(RegId, Access),
    /// The server has been asked, by the request with this MessageId.
    Asked(RegId, Access, u64),
    /// It is the client's own again; the rights that the server had.
    Closing(RegId, Access),
}

impl Doing {
    const fn registration(self) -> RegId {
        match self {
            Self::Opening(id, _) | Self::Asked(id, ..) | Self::Closing(id, _) => id,
        }
    }
}

/// A buffer of the client.
#[derive(Debug)]
struct Buffered<M> {
    buffer: M,
    doing: Doing,
    /// Where in the file, in bytes.
    offset: u64,
    /// What the answer to the last READ says.
    brought: Result<Brought, NtStatus>,
    /// What has become of the data of the next WRITE.
    cover: Option<Crypto>,
}

/// The client of one connection. `M` is a buffer of the backend.
#[derive(Debug)]
pub(super) struct Copying<M> {
    client: Box<Client>,
    offset: u64,
    /// What was read in messages and is not written yet.
    piece: Vec<u8>,
    has_begun: bool,
    buffered: Option<Buffered<M>>,
    rules: Rules,
    given: Option<NtStatus>,
}

impl<M: Clone + fmt::Debug> Copying<M> {
    pub(super) fn new() -> Self {
        Self::with(Wants::default(), Rules::default())
    }

    /// One that logs in as the user, and keeps these rules.
    pub(super) fn as_user(rules: Rules) -> Self {
        let secured = Secured {
            user: User { name: USER.into(), password: PASSWORD.into() },
            ciphers: vec![Cipher::AES_128_GCM, Cipher::AES_128_CCM, Cipher::AES_256_GCM, Cipher::AES_256_CCM],
            signing: vec![SigningAlgorithm::AES_GMAC, SigningAlgorithm::AES_CMAC],
            protection: Protection::AsAsked,
        };
        let transforms = vec![RdmaTransformId::ENCRYPTION, RdmaTransformId::SIGNING];
        Self::with(Wants { secured: Some(secured), transforms, ..Wants::default() }, rules)
    }

    fn with(wants: Wants, rules: Rules) -> Self {
        let client = Client::new(Wants { share: Some(SHARE.into()), ..wants });
        Self {
            client: Box::new(client),
            offset: 0,
            piece: Vec::new(),
            has_begun: false,
            buffered: None,
            rules,
            given: None,
        }
    }

    /// What the last READ by RDMA gave.
    pub(super) const fn given(&self) -> Option<NtStatus> {
        self.given
    }

    pub(super) fn registration(&self, id: RegId) -> Option<&M> {
        let buffered = self.buffered.as_ref()?;
        (buffered.doing.registration() == id).then_some(&buffered.buffer)
    }

    /// The first request.
    pub(super) fn begin(&mut self, out: &mut VecDeque<Outgoing>) {
        if let Ok(Some(next)) = self.client.next_request() {
            self.say(next, out);
        }
    }

    /// Sends a message as it goes in the session.
    fn say(&mut self, message: Vec<u8>, out: &mut VecDeque<Outgoing>) {
        out.extend(self.client.protect(message).ok().map(Outgoing::of));
    }

    /// Takes a message of the server.
    pub(super) fn take<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
        message: &[u8],
        out: &mut VecDeque<Outgoing>,
    ) {
        let is_sealed = matches!(Message::parse(message), Ok(Message::Transform(_)));
        let Ok(message) = self.client.open(message.to_vec()) else { return };
        if self.client.take(&message).is_err() {
            return;
        }
        if let Ok(Some(next)) = self.client.next_request() {
            return self.say(next, out);
        }
        if self.client.file().is_none() {
            return;
        }
        if !self.has_begun {
            // The other way begins behind it: it has come when that has.
            if self.offer(endpoint, backend).is_none() {
                self.read(out);
            }
            return;
        }
        for element in Elements::new(&message).flatten() {
            let id = element.header.message_id.0;
            match self.buffered.as_ref().map(|buffered| buffered.doing) {
                _ if element.header.status == NtStatus::PENDING => {}
                Some(Doing::Asked(reg, access, asked)) if asked == id => {
                    let brought = self.brings(&element, is_sealed);
                    self.transferred(endpoint, backend.now(), reg, (access, brought));
                }
                _ => self.answered(&element, out),
            }
        }
    }

    /// In messages: what was read is written, what was written is followed by the next READ. As Linux does, a client that got
    /// less than it asked for asks for the rest first.
    fn answered(&mut self, element: &Element<'_>, out: &mut VecDeque<Outgoing>) {
        let Header { command, status, .. } = element.header;
        if command == Command::READ && status == NtStatus::SUCCESS {
            let Ok(response) = ReadResponse::parse(element.bytes) else { return };
            self.piece.extend_from_slice(response.data);
        }
        let is_whole = self.piece.len() >= COPIED as usize;
        let is_all = command == Command::READ && status == NtStatus::END_OF_FILE && !self.piece.is_empty();
        if status != NtStatus::SUCCESS && !is_all {
            return;
        }
        if command != Command::READ || !(is_whole || is_all) {
            return self.read(out);
        }
        let mut requests = Requests::new(&mut self.client);
        if requests.write(&self.piece, self.offset).is_ok() {
            let message = requests.finish().0;
            self.say(message, out);
        }
        self.offset = self.offset.saturating_add(self.piece.len() as u64);
        self.piece.clear();
    }

    fn read(&mut self, out: &mut VecDeque<Outgoing>) {
        self.has_begun = true;
        let had = u32::try_from(self.piece.len()).unwrap_or(COPIED);
        let mut requests = Requests::new(&mut self.client);
        let begin = self.offset.saturating_add(had.into());
        if requests.read(COPIED.saturating_sub(had), begin).is_ok() {
            let message = requests.finish().0;
            self.say(message, out);
        }
    }

    fn offer<B: HostMemory<Buffer = M>>(&mut self, endpoint: &mut Endpoint, backend: &mut B) -> Option<()> {
        let buffer = backend.allocate(BUFFERED).ok()?;
        let id = endpoint.register(backend.now(), Access::Write, SEGMENTS).ok()?;
        let (doing, brought) = (Doing::Opening(id, Access::Write), Ok(Brought::default()));
        self.buffered = Some(Buffered { buffer, doing, offset: 0, brought, cover: None });
        Some(())
    }

    /// The server may use the buffer: it is asked to.
    pub(super) fn registered(
        &mut self,
        endpoint: &mut Endpoint,
        id: RegId,
        is_valid: bool,
        out: &mut VecDeque<Outgoing>,
    ) {
        let Some(Buffered { doing, offset, cover, .. }) = &mut self.buffered else { return };
        let Doing::Opening(opening, access) = *doing else { return };
        if opening == id && is_valid {
            let descriptors: Vec<_> = endpoint.connection().live_segments(id).collect();
            let by = By { channel: Channel::RDMA_V1_INVALIDATE, descriptors: &descriptors };
            let file_id = self.client.file().unwrap_or_default();
            let mut requests = Requests::new(&mut self.client);
            let made = match (access, cover.take()) {
                (Access::Write, _) => requests.read_by(&by, BUFFERED, *offset),
                (Access::Read | Access::ReadWrite, None) => requests.write_by(&by, BUFFERED, *offset),
                (Access::Read | Access::ReadWrite, Some(crypto)) => {
                    let channel_info = Info {
                        channel: by.channel,
                        count: 1,
                        transforms: vec![crypto],
                        descriptors,
                        packed: false,
                    };
                    let write = WriteRequest {
                        offset: *offset,
                        file_id,
                        channel: Channel::RDMA_TRANSFORM,
                        remaining_bytes: BUFFERED,
                        channel_info: &channel_info.bytes(),
                        ..WriteRequest::default()
                    };
                    requests.any(&write, BUFFERED.into())
                }
            };
            let (message, asked) = requests.finish();
            if made.is_ok() {
                *doing = Doing::Asked(id, access, asked);
                self.say(message, out);
            }
        }
        if !self.has_begun {
            self.read(out);
        }
    }

    /// What the answer to a READ says of the data in the buffer (3.2.5.11).
    fn brings(&mut self, element: &Element<'_>, is_sealed: bool) -> Result<Brought, NtStatus> {
        match element.header.status {
            NtStatus::SUCCESS => {}
            status if self.rules.keeps("3.2.5.11-02") => return Err(status),
            _ => return Ok(Brought::default()),
        }
        if self.client.dialect() != Dialect::SMB_3_1_1 || element.header.command != Command::READ {
            return Ok(Brought::default());
        }
        let keys = self.client.keys().and_then(|keys| keys.encryption.as_ref());
        let cipher = keys.map(|(_, opener)| opener.cipher());
        let facts = Facts { ids: &self.client.negotiated().transforms, is_sealed, cipher };
        self.rules.look(element.bytes, &facts)
    }

    /// The server has answered: the buffer is closed, also if the server has invalidated its token.
    fn transferred(
        &mut self,
        endpoint: &mut Endpoint,
        now: Instant,
        id: RegId,
        (access, brought): (Access, Result<Brought, NtStatus>),
    ) {
        let Some(buffered) = &mut self.buffered else { return };
        (buffered.doing, buffered.brought) = (Doing::Closing(id, access), brought);
        // There may be no connection any more.
        let _ = endpoint.deregister(now, id);
    }

    /// The buffer is closed: what is in it is looked at, and it is opened for what comes next.
    pub(super) fn deregistered<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
        id: RegId,
    ) {
        let Some(Buffered { doing: Doing::Closing(closed, access), .. }) = self.buffered else { return };
        if closed != id {
            return;
        }
        let next = match access {
            Access::Write => {
                let uncovered = self.uncover(backend);
                self.given = Some(uncovered.err().unwrap_or(NtStatus::SUCCESS));
                if uncovered.is_ok() { Access::Read } else { Access::Write }
            }
            Access::Read | Access::ReadWrite => Access::Write,
        };
        let Some(Buffered { doing, offset, .. }) = &mut self.buffered else { return };
        if next == Access::Write {
            *offset = offset.saturating_add(BUFFERED.into());
        }
        if let Ok(id) = endpoint.register(backend.now(), next, SEGMENTS) {
            *doing = Doing::Opening(id, next);
        }
    }

    /// Makes the data of a READ what they were, and what a WRITE of them has to be.
    fn uncover<B: HostMemory<Buffer = M>>(&mut self, backend: &mut B) -> Result<(), NtStatus> {
        let Some(Buffered { buffer, brought, cover, .. }) = &mut self.buffered else { return Ok(()) };
        let brought = brought.clone()?;
        let protection = self.client.protection();
        let ids = self.client.negotiated().transforms.clone();
        let Some(keys) = self.client.keys() else { return Ok(()) };
        let mut data = vec![0; BUFFERED as usize];
        backend.read(buffer, 0, &mut data).map_err(|_| NtStatus::INTERNAL_ERROR)?;
        self.rules.uncover(&brought, &ids, Some(keys), &mut data)?;
        *cover = match (protection, &mut keys.encryption) {
            (Some(Protection::Encrypted), Some((sealer, _))) => {
                let signature = sealer.seal_rdma(&mut [&mut data]).map_err(|_| NtStatus::INTERNAL_ERROR)?;
                Some(Crypto::of(RdmaTransformType::ENCRYPTION, &signature))
            }
            (Some(Protection::Signed), _) => {
                let signature = keys.signer.sign_rdma([&data[..]]).map_err(|_| NtStatus::INTERNAL_ERROR)?;
                Some(Crypto::of(RdmaTransformType::SIGNING, &signature))
            }
            _ => None,
        };
        backend.fill(buffer, 0, &data).map_err(|_| NtStatus::INTERNAL_ERROR)
    }
}
