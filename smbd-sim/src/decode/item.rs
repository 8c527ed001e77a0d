//! Connections, and the items on them: messages, RDMA operations, connection management.

use std::net::IpAddr;

use smbd_core::wire::{DataTransfer, NegotiateRequest, NegotiateResponse, Token, WireError};

use crate::capture::format::mpa::MpaFrame;
use crate::named::named;

named! {
    /// The RDMA transport of a connection.
    pub enum Transport {
        /// RoCE version 2, over UDP.
        RoceV2 = "rocev2",
        /// iWARP, over TCP.
        Iwarp = "iwarp",
    }
}

/// One end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Endpoint {
    /// Address.
    pub address: IpAddr,
    /// TCP port, or the port of the service in RoCE connection management.
    pub port: Option<u16>,
    /// RoCE queue pair.
    pub qpn: Option<u32>,
}

named! {
    /// How it is known which end began the connection.
    pub enum Roles {
        /// The connection's set-up is in the capture.
        Seen = "seen",
        /// Messages that only one side sends (negotiation, SMB2 responses, RDMA requests) tell.
        FromContent = "from_content",
        /// Nothing tells: the sender of the first packet is called the initiator.
        Assumed = "assumed",
    }
}

/// One RDMA connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// Number from 1.
    pub number: usize,
    /// RoCE or iWARP.
    pub transport: Transport,
    /// The side that asked for the connection.
    pub initiator: Endpoint,
    /// The side that answered.
    pub acceptor: Endpoint,
    /// How the two are told apart.
    pub roles: Roles,
    /// The first messages of the connection are in the capture.
    pub from_start: bool,
    /// The messages are SMB Direct; `false` when they are of another protocol or there are none.
    pub smb_direct: bool,
    /// When a side first said that it ends (CM disconnect request, TCP FIN or RST), nanoseconds since 1970.
    pub ended_ns: Option<u64>,
}

named! {
    /// Who sent an item.
    pub enum Direction {
        /// Initiator to acceptor.
        ToAcceptor = "to_acceptor",
        /// Acceptor to initiator.
        ToInitiator = "to_initiator",
    }
}

impl Direction {
    pub(super) const fn reversed(self) -> Self {
        match self {
            Self::ToAcceptor => Self::ToInitiator,
            Self::ToInitiator => Self::ToAcceptor,
        }
    }
}

/// The frames an item came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frames {
    /// Number of the frame with the first byte.
    pub first: u64,
    /// Number of the frame with the last byte.
    pub last: u64,
    /// Packets (RoCE) or FPDUs (iWARP).
    pub packets: u64,
    /// Time of the first frame, nanoseconds since 1970.
    pub first_ns: u64,
    /// Time of the last frame, nanoseconds since 1970.
    pub last_ns: u64,
}

impl Frames {
    /// The same place, with none of the packets that [`add`](Self::add) counts.
    pub(super) const fn begin(self) -> Self {
        Self { packets: 0, ..self }
    }

    /// More packets of the same.
    pub(super) fn add(&mut self, more: &Self) {
        self.last = self.last.max(more.last);
        self.last_ns = self.last_ns.max(more.last_ns);
        self.packets += more.packets;
    }
}

/// One line of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Number from 1 in the order of completion.
    pub number: u64,
    /// Where in the file.
    pub frames: Frames,
    /// Number of the connection.
    pub connection: usize,
    /// Who sent it.
    pub direction: Direction,
    /// What it is.
    pub kind: ItemKind,
}

/// Kinds of items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemKind {
    /// An SMB Direct message.
    Message(Message),
    /// A one-sided operation.
    Rdma(RdmaOperation),
    /// RoCE connection management.
    Cm(CmEvent),
    /// An MPA request or reply.
    Mpa(MpaFrame),
    /// An iWARP Terminate.
    Terminate {
        /// Layer, error type and error code as transported.
        control: u16,
    },
    /// Packets or bytes that are not in the capture.
    Lost {
        /// How many.
        count: u64,
        /// "packets" or "bytes".
        unit: &'static str,
    },
}

/// How the type of a message is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identified {
    /// By its place: first of the initiator, first of the acceptor, any other.
    ByPlace,
    /// By its length and values, the beginning of the connection being unknown.
    ByShape,
}

/// An SMB Direct message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its type and fields.
    pub body: Body,
    /// How the type is known.
    pub identified: Identified,
    /// Number of this direction's message on this connection, from 1, as far as captured.
    pub ordinal: u64,
    /// The token the send asks the receiver's NIC to invalidate.
    pub invalidate: Option<Token>,
    /// Sent with a solicited event.
    pub solicited: bool,
    /// Bytes of the message on the wire.
    pub len: u64,
    /// Bytes of the message that are in the capture, when kept.
    pub bytes: Vec<u8>,
    /// FNV-1a (64 bits) of those bytes, also when they are not kept.
    pub digest: u64,
    /// Place in a fragmented upper-layer message.
    pub fragment: Option<Fragment>,
    /// The upper-layer message that begins here.
    pub upper: Option<String>,
    /// What contradicts the specification or is missing.
    pub remarks: Vec<String>,
}

/// Type and fields of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// 2.2.1
    NegotiateRequest(NegotiateRequest),
    /// 2.2.2
    NegotiateResponse(NegotiateResponse),
    /// 2.2.3
    DataTransfer(DataTransfer),
    /// Too short for what it should be.
    Malformed(WireError),
}

impl Body {
    /// Stable lower-case name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::NegotiateRequest(_) => "negotiate_request",
            Self::NegotiateResponse(_) => "negotiate_response",
            Self::DataTransfer(_) => "data_transfer",
            Self::Malformed(_) => "malformed",
        }
    }
}

/// Place of a data message in the sequence that carries one upper-layer message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fragment {
    /// Number in the sequence, from 1; 0 when its beginning is unknown.
    pub index: u32,
    /// Offset of the payload in the upper-layer message; from the first byte seen when the beginning is unknown.
    pub offset: u64,
    /// Bytes of the upper-layer message, as far as known.
    pub total: u64,
    /// Nothing follows.
    pub last: bool,
}

named! {
    /// Kinds of one-sided operations.
    pub enum RdmaKind {
        /// RDMA Read request.
        ReadRequest = "read_request",
        /// RDMA Read response.
        ReadResponse = "read_response",
        /// RDMA Write.
        Write = "write",
    }
}

/// A one-sided operation, all its packets together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RdmaOperation {
    /// Read or write.
    pub kind: RdmaKind,
    /// Key of the memory that is read or written; a response repeats that of its request, when known.
    pub token: Option<Token>,
    /// Address or tagged offset in that memory.
    pub address: u64,
    /// Bytes asked for.
    pub length: u64,
    /// Payload bytes seen; 0 in a request.
    pub bytes: u64,
    /// All of it was seen.
    pub complete: bool,
}

impl RdmaOperation {
    /// One of which nothing was seen but what it names.
    pub(super) const fn begin(kind: RdmaKind, token: Option<Token>, address: u64, length: u64) -> Self {
        Self { kind, token, address, length, bytes: 0, complete: false }
    }
}

/// A connection management message, shortly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CmEvent {
    /// "REQ", "REP", "RTU", "REJ", "DREQ", "DREP", "MRA" or another attribute.
    pub name: &'static str,
    /// Queue pair of the sender (REQ, REP) or of the receiver (DREQ).
    pub qpn: Option<u32>,
    /// Service port (REQ).
    pub port: Option<u16>,
    /// Reason (REJ).
    pub reason: Option<u16>,
    /// Reads answered at a time and reads issued at a time (REQ, REP).
    pub read_depths: Option<(u8, u8)>,
    /// Room for private data; CM messages have a fixed size.
    pub private_len: usize,
    /// Private data up to the last byte that is not zero.
    pub private_data: Vec<u8>,
}
