//! A request: what is to be sent, how far it is, and the memory that it gives the server (3.2.1.7).

use alloc::boxed::Box;
use alloc::vec::Vec;

use bytes::Bytes;
use smbd_core::Instant;

use super::ids::BufferId;
use super::reason::Failure;
use super::session::Protection;
use super::table::Key;
use super::tokens::Tokens;
use super::transfer::{Piece, Source, Transfer};
use crate::cover::Cover;
use crate::wire::{Command, RdmaTransformType};

/// Who waits for the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Negotiate,
    /// The ECHO that asks whether the server is there.
    Echo,
    Operation(Key),
    /// Nobody any more. The answer still brings credits.
    Nobody,
}

#[derive(Debug)]
pub(super) struct Request {
    pub(super) owner: Owner,
    pub(super) command: Command,
    pub(super) session: Option<Key>,
    pub(super) tree: Option<Key>,
    /// Whether it is signed in any case.
    pub(super) must_sign: bool,
    /// Credits that it needs (3.1.5.2).
    pub(super) charge: u16,
    /// Its header and its body.
    pub(super) element: Vec<u8>,
    /// What follows them: the data of a WRITE.
    pub(super) data: Bytes,
    pub(super) piece: Option<Piece>,
    pub(super) memory: Memory,
    /// The buffer that its memory is a part of.
    pub(super) buffer: Option<BufferId>,
    /// By which the server may use its memory.
    pub(super) tokens: Tokens,
    /// Whether the server is asked to invalidate them.
    pub(super) asks_to_invalidate: bool,
    /// What comes of it, once its memory is back.
    pub(super) outcome: Option<Outcome>,
    /// What its data need, or have, if they go by RDMA signed or encrypted.
    pub(super) cover: Option<Box<Cover>>,
    pub(super) wire: Wire,
    /// The request that follows it in its message (3.2.4.1.4).
    pub(super) next: Option<Key>,
    pub(super) deadline: Option<Instant>,
}

/// How far it is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wire {
    /// It waits for memory, or for the request before it in its message.
    Idle,
    /// It waits for credits.
    Queued,
    /// It waits for a session that is to be authenticated again (3.2.5.1.6).
    Held,
    /// It waits for its answer.
    Sent(Sent),
    /// Its answer has come.
    Answered,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) message_id: u64,
    /// Request.AsyncId.
    pub(super) async_id: Option<u64>,
    /// Credits that it has asked for, and no answer has brought yet.
    pub(super) asked: u16,
    pub(super) protection: Protection,
    pub(super) is_cancelled: bool,
}

/// What comes of a request.
#[derive(Debug)]
pub(super) enum Outcome {
    Moved(u32),
    /// Boxed, because it is large and rare.
    Failed(Box<Failure>),
    /// It goes again when its session has been authenticated again.
    Again,
}

/// How far the part of a buffer is that the server may read or write: that of the request's piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Memory {
    /// None, or it is back.
    None,
    /// To be given to be signed or encrypted: the data of a WRITE.
    Bare,
    /// To be registered.
    Wanted,
    /// The caller registers it. If there is an outcome already, it is deregistered at once.
    Asked,
    /// The server may use it.
    Valid,
    /// To be deregistered, for the outcome.
    Leaving,
    /// The caller deregisters it.
    Left,
    /// It is back, and to be given to be looked at: the data of a READ.
    Back,
}

/// Bytes for one credit (3.1.5.2).
pub(super) const CREDIT_BYTES: u32 = 65536;

/// Credits of a request with so many bytes of payload (3.1.5.2).
pub(super) fn charge(payload: u32) -> u16 {
    let credits = payload.saturating_sub(1).checked_div(CREDIT_BYTES).unwrap_or(0).saturating_add(1);
    u16::try_from(credits).unwrap_or(u16::MAX)
}

impl Outcome {
    pub(super) fn failed(failure: impl Into<Failure>) -> Self {
        Self::Failed(Box::new(failure.into()))
    }
}

impl Memory {
    /// Whether the server was given it, or is about to be, and it is not back yet.
    pub(super) const fn is_given(self) -> bool {
        !matches!(self, Self::None | Self::Bare | Self::Wanted)
    }
}

impl Request {
    /// Takes a piece of a transfer. What is to be sent is not written.
    pub(super) fn carry(
        &mut self,
        transfer: &Transfer,
        piece: Piece,
        (session, tree): (Option<Key>, Option<Key>),
    ) {
        (self.session, self.tree, self.charge, self.piece) = (session, tree, charge(piece.len), Some(piece));
        match &transfer.source {
            Source::Buffer(buffer) => (self.memory, self.buffer) = (Memory::Wanted, Some(*buffer)),
            Source::Messages(data) => self.data = piece.of(data),
        }
    }

    /// The transform of a WRITE whose data are neither signed nor encrypted yet.
    pub(super) fn bare(&self) -> Option<RdmaTransformType> {
        let cover = self.cover.as_ref()?;
        (cover.signature.is_none() && self.command == Command::WRITE).then_some(cover.transform)
    }

    /// Whether its data are to be looked at when its memory is back (RT-9): those of a READ that are signed or encrypted, or should be.
    pub(super) fn is_covered_read(&self) -> bool {
        self.cover.is_some() && self.command == Command::READ && matches!(self.owner, Owner::Operation(_))
    }

    /// How many registrations' tokens the answer is asked to invalidate: 1 or 0.
    pub(super) fn invalidations(&self) -> u16 {
        u16::from(self.memory == Memory::Valid && self.asks_to_invalidate)
    }

    /// Whether the server may invalidate its tokens still.
    pub(super) fn can_be_invalidated(&self) -> bool {
        matches!(self.memory, Memory::Valid | Memory::Leaving)
    }

    pub(super) const fn sent(&self) -> Option<&Sent> {
        if let Wire::Sent(sent) = &self.wire { Some(sent) } else { None }
    }
}

impl Default for Request {
    fn default() -> Self {
        Self {
            owner: Owner::Nobody,
            command: Command::ECHO,
            session: None,
            tree: None,
            must_sign: false,
            charge: 1,
            element: Vec::new(),
            data: Bytes::new(),
            piece: None,
            memory: Memory::None,
            buffer: None,
            tokens: Tokens::default(),
            asks_to_invalidate: false,
            outcome: None,
            cover: None,
            wire: Wire::Idle,
            next: None,
            deadline: None,
        }
    }
}

/// Requests that are over, for those that come: they are changed where they are, and what they were written to is used again.
#[derive(Debug)]
#[expect(clippy::vec_box, reason = "they go from here to the table and back")]
pub(super) struct Spare(Vec<Box<Request>>);

impl Spare {
    pub(super) fn new(max: usize) -> Self {
        Self(Vec::with_capacity(max))
    }

    pub(super) fn take(&mut self, owner: Owner, command: Command) -> Box<Request> {
        let mut request = self.0.pop().unwrap_or_default();
        (request.owner, request.command) = (owner, command);
        request
    }

    /// Takes a request that is over. All but its element is as if it were new; that is written anew by whoever takes it next.
    pub(super) fn put(&mut self, mut request: Box<Request>) {
        if self.0.len() == self.0.capacity() {
            return;
        }
        if !request.data.is_empty() {
            request.data = Bytes::new();
        }
        (request.session, request.tree, request.must_sign, request.charge) = (None, None, false, 1);
        (request.piece, request.memory, request.buffer, request.wire) =
            (None, Memory::None, None, Wire::Idle);
        request.outcome = None;
        (request.next, request.deadline, request.cover) = (None, None, None);
        self.0.push(request);
    }
}
