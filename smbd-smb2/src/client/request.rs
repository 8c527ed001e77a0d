//! A request: what is to be sent, how far it is, and the memory that it gives the server (3.2.1.7).

use alloc::boxed::Box;
use alloc::vec::Vec;

use bytes::Bytes;
use smbd_core::Instant;

use super::ids::BufferId;
use super::reason::Failure;
use super::session::Protection;
use super::table::Key;
use super::transfer::Piece;
use crate::security::RdmaSignature;
use crate::wire::{Command, RdmaTransformType, Token};

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

/// The part of a buffer that the server may read or write.
#[derive(Clone, Debug)]
pub(super) struct Region {
    pub(super) buffer: BufferId,
    /// In the buffer.
    pub(super) offset: u64,
    pub(super) len: u32,
    /// The tokens that name it and that the server has not invalidated.
    pub(super) tokens: Vec<Token>,
}

/// What comes of a request, once its memory is back.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    Moved(u32),
    Failed(Failure),
    /// It goes again when its session has been authenticated again.
    Again,
}

#[derive(Clone, Debug)]
pub(super) enum Memory {
    /// None, or it is back.
    None,
    /// To be given to be signed or encrypted: the data of a WRITE.
    Bare(Region),
    /// To be registered.
    Wanted(Region),
    /// The caller registers it. With an outcome it is deregistered at once.
    Asked(Region, Option<Outcome>),
    /// The server may use it.
    Valid(Region),
    /// To be deregistered, for this outcome.
    Leaving(Region, Outcome),
    /// The caller deregisters it.
    Left(Outcome),
    /// It is back, and to be given to be looked at: the data of a READ.
    Back(Region, Outcome),
}

/// How data that go by RDMA are protected (2.2.43).
#[derive(Clone, Copy, Debug)]
pub(super) struct Cover {
    pub(super) transform: RdmaTransformType,
    /// What is said of them: by this side of the data of a WRITE, by the server of those of a READ.
    pub(super) signature: Option<RdmaSignature>,
}

impl Request {
    pub(super) fn new(owner: Owner, command: Command) -> Self {
        Self {
            owner,
            command,
            session: None,
            tree: None,
            must_sign: false,
            charge: 1,
            element: Vec::new(),
            data: Bytes::new(),
            piece: None,
            memory: Memory::None,
            cover: None,
            wire: Wire::Idle,
            next: None,
            deadline: None,
        }
    }

    /// The transform of a WRITE whose data are neither signed nor encrypted yet.
    pub(super) fn bare(&self) -> Option<RdmaTransformType> {
        let cover = self.cover.as_ref()?;
        (cover.signature.is_none() && self.command == Command::WRITE).then_some(cover.transform)
    }

    pub(super) const fn sent(&self) -> Option<&Sent> {
        if let Wire::Sent(sent) = &self.wire { Some(sent) } else { None }
    }
}
