use smbd_core::error::WorkError;
use smbd_core::{BufferDescriptorV1, Head, Token};

use crate::memory::Range;

/// Bytes under way.
#[derive(Debug)]
pub enum Payload {
    /// None.
    Nothing,
    /// Still in the requester's memory: read when the packet arrives, so that reuse before completion is seen. Becomes a copy when the
    /// requester's queue pair goes down.
    Borrowed(Range),
    /// A copy, made when the work was handed over or when it was flushed.
    Copied(Vec<u8>),
}

/// A request on its way from requester to responder.
#[derive(Debug)]
pub enum Packet {
    /// A message.
    Send {
        /// Number of the work request.
        seq: u64,
        /// The first bytes.
        head: Head,
        /// Bytes behind them.
        body_len: u32,
        /// Those bytes.
        body: Payload,
        /// A token of the responder to invalidate.
        invalidate: Option<Token>,
    },
    /// An RDMA Write request.
    Write {
        /// Number of the work request.
        seq: u64,
        /// Where to write, and how much.
        remote: BufferDescriptorV1,
        /// The bytes.
        payload: Payload,
    },
    /// An RDMA Read request.
    Read {
        /// Number of the work request.
        seq: u64,
        /// Where to read, and how much.
        remote: BufferDescriptorV1,
        /// Where the answer goes: a token of the requester, on iWARP only.
        sink: Option<BufferDescriptorV1>,
    },
}

impl Packet {
    /// Number of the work request that sent it.
    #[must_use]
    pub const fn seq(&self) -> u64 {
        match self {
            Self::Send { seq, .. } | Self::Write { seq, .. } | Self::Read { seq, .. } => *seq,
        }
    }
}

/// What a responder sends back.
#[derive(Debug)]
pub enum Reply {
    /// All sends and writes numbered below `upto` are acknowledged.
    Ack {
        /// First number not acknowledged.
        upto: u64,
    },
    /// The request failed at the responder.
    Nak {
        /// Its number.
        seq: u64,
        /// How it completes at the requester.
        error: WorkError,
    },
    /// Data of an RDMA Read.
    ReadData {
        /// Number of the request.
        seq: u64,
        /// The bytes; none without content.
        bytes: Vec<u8>,
    },
    /// The stream was ended by the responder (iWARP).
    Terminate {
        /// What it was that broke a rule.
        error: WorkError,
        /// The RDMA Read that did, if it was one.
        read: Option<u64>,
    },
}

/// What came of a packet.
#[derive(Debug)]
pub enum Response {
    /// Something goes back.
    Reply(Reply),
    /// Nothing goes back, and on this kind of network nothing has to.
    Quiet,
    /// Nobody was there to answer.
    Lost,
    /// The responder ended the stream: its own queue pair is flushed, and this goes back.
    Terminated(Reply),
}
