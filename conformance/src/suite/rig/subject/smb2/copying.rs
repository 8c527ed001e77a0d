//! A client that copies a file in two ways at once: in messages, and with buffers that it offers to the server.

use std::collections::VecDeque;
use std::fmt;

use smbd_core::backend::HostMemory;
use smbd_core::{Access, Endpoint, Instant, RegId};
use smbd_smb2::wire::{
    Channel, Command, Dialect, Element, Elements, Header, NtStatus, ReadResponse, ReadResponseFlags,
};

use super::Outgoing;
use crate::smb2::client::{By, Client, Requests, Wants};

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
    /// It is the client's own again; with which rights it is registered next.
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
}

impl<M: Clone + fmt::Debug> Copying<M> {
    pub(super) fn new() -> Self {
        let client = Client::new(Wants { share: Some(SHARE.into()), ..Wants::default() });
        Self { client: Box::new(client), offset: 0, piece: Vec::new(), has_begun: false, buffered: None }
    }

    pub(super) fn registration(&self, id: RegId) -> Option<&M> {
        let buffered = self.buffered.as_ref()?;
        (buffered.doing.registration() == id).then_some(&buffered.buffer)
    }

    /// The first request.
    pub(super) fn begin(&mut self, out: &mut VecDeque<Outgoing>) {
        out.extend(self.client.next_request().ok().flatten().map(Outgoing::of));
    }

    /// Takes a message of the server.
    pub(super) fn take<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
        message: &[u8],
        out: &mut VecDeque<Outgoing>,
    ) {
        if self.client.take(message).is_err() {
            return;
        }
        if let Ok(Some(next)) = self.client.next_request() {
            return out.push_back(Outgoing::of(next));
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
        for element in Elements::new(message).flatten() {
            let id = element.header.message_id.0;
            match self.buffered.as_ref().map(|buffered| buffered.doing) {
                _ if element.header.status == NtStatus::PENDING => {}
                Some(Doing::Asked(reg, access, asked)) if asked == id => {
                    let brings = access != Access::Write || self.brings(&element);
                    self.transferred(endpoint, backend.now(), reg, (access, brings));
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
            out.push_back(Outgoing::of(requests.finish().0));
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
            out.push_back(Outgoing::of(requests.finish().0));
        }
    }

    fn offer<B: HostMemory<Buffer = M>>(&mut self, endpoint: &mut Endpoint, backend: &mut B) -> Option<()> {
        let buffer = backend.allocate(BUFFERED).ok()?;
        let id = endpoint.register(backend.now(), Access::Write, SEGMENTS).ok()?;
        self.buffered = Some(Buffered { buffer, doing: Doing::Opening(id, Access::Write), offset: 0 });
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
        let Some(Buffered { doing, offset, .. }) = &mut self.buffered else { return };
        let Doing::Opening(opening, access) = *doing else { return };
        if opening == id && is_valid {
            let descriptors: Vec<_> = endpoint.connection().live_segments(id).collect();
            let by = By { channel: Channel::RDMA_V1_INVALIDATE, descriptors: &descriptors };
            let mut requests = Requests::new(&mut self.client);
            let made = match access {
                Access::Write => requests.read_by(&by, BUFFERED, *offset),
                Access::Read | Access::ReadWrite => requests.write_by(&by, BUFFERED, *offset),
            };
            let (message, asked) = requests.finish();
            if made.is_ok() {
                *doing = Doing::Asked(id, access, asked);
                out.push_back(Outgoing::of(message));
            }
        }
        if !self.has_begun {
            self.read(out);
        }
    }

    /// Whether the answer to a READ says that data are in the buffer (3.2.5.11). Transforms are not negotiated.
    fn brings(&self, element: &Element<'_>) -> bool {
        let flags = ReadResponse::parse(element.bytes).map(|response| response.flags).unwrap_or_default();
        let is_transformed =
            self.client.dialect() == Dialect::SMB_3_1_1 && flags.contains(ReadResponseFlags::RDMA_TRANSFORM);
        element.header.status == NtStatus::SUCCESS && !is_transformed
    }

    /// The server has answered: the buffer is closed, also if the server has invalidated its token.
    fn transferred(
        &mut self,
        endpoint: &mut Endpoint,
        now: Instant,
        id: RegId,
        (access, brings): (Access, bool),
    ) {
        let Some(Buffered { doing, offset, .. }) = &mut self.buffered else { return };
        let next = if access == Access::Write && brings { Access::Read } else { Access::Write };
        if next == Access::Write {
            *offset = offset.saturating_add(BUFFERED.into());
        }
        *doing = Doing::Closing(id, next);
        // There may be no connection any more.
        let _ = endpoint.deregister(now, id);
    }

    /// The buffer is closed: it is opened for what comes next.
    pub(super) fn deregistered(&mut self, endpoint: &mut Endpoint, now: Instant, id: RegId) {
        let Some(Buffered { doing, .. }) = &mut self.buffered else { return };
        let Doing::Closing(closed, next) = *doing else { return };
        if closed == id
            && let Ok(id) = endpoint.register(now, next, SEGMENTS)
        {
            *doing = Doing::Opening(id, next);
        }
    }
}
