//! Communication management datagrams (CM MADs) that set up and end RoCE connections.
//!
//! A datagram is 256 bytes: a 24-byte common header and 232 bytes of message.

use super::{Short, be16, be24, be32, be64, put};

/// Bytes of a management datagram.
pub const MAD_LEN: usize = 256;
mod field {
    use std::ops::Range;
    // Common MAD header.
    pub const BASE_VERSION: usize = 0;
    pub const CLASS: usize = 1;
    pub const CLASS_VERSION: usize = 2;
    pub const METHOD: usize = 3;
    pub const TRANSACTION: Range<usize> = 8..16;
    pub const ATTRIBUTE: Range<usize> = 16..18;
    // Every message.
    pub const LOCAL_ID: Range<usize> = 24..28;
    pub const REMOTE_ID: Range<usize> = 28..32;
    // Request.
    pub const REQ_SERVICE_ID: Range<usize> = 32..40;
    pub const REQ_GUID: Range<usize> = 40..48;
    pub const REQ_QPN: Range<usize> = 56..59;
    pub const REQ_RESPONDER_RESOURCES: usize = 59;
    pub const REQ_INITIATOR_DEPTH: usize = 63;
    pub const REQ_TIMEOUT_AND_SERVICE: usize = 67;
    pub const REQ_STARTING_PSN: Range<usize> = 68..71;
    pub const REQ_TIMEOUT_AND_RETRIES: usize = 71;
    pub const REQ_PKEY: Range<usize> = 72..74;
    pub const REQ_MTU: usize = 74;
    pub const REQ_CM_RETRIES: usize = 75;
    pub const REQ_LIDS: Range<usize> = 76..80;
    pub const REQ_LOCAL_GID: Range<usize> = 80..96;
    pub const REQ_REMOTE_GID: Range<usize> = 96..112;
    pub const REQ_HOP_LIMIT: usize = 117;
    pub const REQ_ACK_TIMEOUT: usize = 119;
    pub const REQ_IP_VERSIONS: Range<usize> = 164..166;
    pub const REQ_IP_SOURCE_PORT: Range<usize> = 166..168;
    pub const REQ_IP_SOURCE: Range<usize> = 168..184;
    pub const REQ_IP_DEST: Range<usize> = 184..200;
    pub const REQ_PRIVATE: Range<usize> = 200..256;
    // Reply.
    pub const REP_QPN: Range<usize> = 36..39;
    pub const REP_STARTING_PSN: Range<usize> = 44..47;
    pub const REP_RESPONDER_RESOURCES: usize = 48;
    pub const REP_INITIATOR_DEPTH: usize = 49;
    pub const REP_ACK_DELAY: usize = 50;
    pub const REP_GUID: Range<usize> = 52..60;
    pub const REP_PRIVATE: Range<usize> = 60..256;
    // Reject.
    pub const REJ_REASON: Range<usize> = 34..36;
    pub const REJ_PRIVATE: Range<usize> = 108..256;
    // Others.
    pub const RTU_PRIVATE: Range<usize> = 32..256;
    pub const DREQ_QPN: Range<usize> = 32..35;
    pub const DREQ_PRIVATE: Range<usize> = 36..256;
    pub const DREP_PRIVATE: Range<usize> = 32..256;
}

const CLASS_CM: u8 = 7;
const CLASS_VERSION: u8 = 2;
const METHOD_SEND: u8 = 3;
/// Service ids of the TCP port space of rdma_cm begin with this, the port follows in the low 16 bits.
const TCP_SERVICE: u64 = 0x0000_0000_0106_0000;

mod attribute {
    pub const REQ: u16 = 0x10;
    pub const REJ: u16 = 0x12;
    pub const REP: u16 = 0x13;
    pub const RTU: u16 = 0x14;
    pub const DREQ: u16 = 0x15;
    pub const DREP: u16 = 0x16;
}

/// What a connection request says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Service asked for.
    pub service_id: u64,
    /// Queue pair of the initiator.
    pub qpn: u32,
    /// Packet sequence number of the acceptor's first packet.
    pub starting_psn: u32,
    /// RDMA Reads the initiator answers at a time (its IRD).
    pub responder_resources: u8,
    /// RDMA Reads the initiator issues at a time (its ORD).
    pub initiator_depth: u8,
    /// Payload bytes of a packet.
    pub path_mtu: u32,
    /// Source port in the IP header of the private data.
    pub source_port: u16,
}

impl Request {
    /// The TCP port of the service, when it is of rdma_cm's TCP port space.
    #[must_use]
    pub fn port(&self) -> Option<u16> {
        (self.service_id & !0xffff == TCP_SERVICE).then_some((self.service_id & 0xffff) as u16)
    }

    /// The service id of a TCP port.
    #[must_use]
    pub fn service_of_port(port: u16) -> u64 {
        TCP_SERVICE | u64::from(port)
    }
}

/// What the answer to a connection request says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// Queue pair of the acceptor.
    pub qpn: u32,
    /// Packet sequence number of the initiator's first packet.
    pub starting_psn: u32,
    /// RDMA Reads the acceptor answers at a time.
    pub responder_resources: u8,
    /// RDMA Reads the acceptor issues at a time.
    pub initiator_depth: u8,
}

/// Kind of a CM message with what only that kind has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CmKind {
    /// REQ
    Request(Request),
    /// REP
    Reply(Reply),
    /// RTU
    ReadyToUse,
    /// REJ
    Reject {
        /// Reason code, 8 is "invalid service id", 28 "consumer defined".
        reason: u16,
    },
    /// DREQ
    DisconnectRequest {
        /// Queue pair of the side that is asked to end.
        qpn: u32,
    },
    /// DREP
    DisconnectReply,
    /// Any other attribute.
    Other {
        /// Attribute id.
        attribute: u16,
    },
}

/// A connection management message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CmMessage {
    /// Communication id of the sender; 0 in an early reject.
    pub local_id: u32,
    /// Communication id of the receiver; 0 in a request.
    pub remote_id: u32,
    /// Transaction id of the datagram.
    pub transaction: u64,
    /// What it is.
    pub kind: CmKind,
    /// Private data as transported, padded with zeros to the size the message has room for.
    pub private_data: Vec<u8>,
}

fn mtu_of(code: u8) -> u32 {
    256 << u32::from(code.clamp(1, 5) - 1)
}

fn mtu_code(mtu: u32) -> u8 {
    (1..=5).rev().find(|code| mtu_of(*code) <= mtu).unwrap_or(1)
}

impl CmMessage {
    /// Reads a management datagram; `Ok(None)` when it is of another class.
    ///
    /// # Errors
    /// [`Short`] below 256 bytes.
    pub fn parse(mad: &[u8]) -> Result<Option<Self>, Short> {
        let b = Short::check("management datagram", mad, MAD_LEN)?;
        if b[field::CLASS] != CLASS_CM {
            return Ok(None);
        }
        let (kind, private) = match be16(b, &field::ATTRIBUTE) {
            attribute::REQ => (CmKind::Request(parse_request(b)), field::REQ_PRIVATE),
            attribute::REP => (CmKind::Reply(parse_reply(b)), field::REP_PRIVATE),
            attribute::RTU => (CmKind::ReadyToUse, field::RTU_PRIVATE),
            attribute::REJ => (CmKind::Reject { reason: be16(b, &field::REJ_REASON) }, field::REJ_PRIVATE),
            attribute::DREQ => {
                (CmKind::DisconnectRequest { qpn: be24(b, &field::DREQ_QPN) }, field::DREQ_PRIVATE)
            }
            attribute::DREP => (CmKind::DisconnectReply, field::DREP_PRIVATE),
            other => (CmKind::Other { attribute: other }, MAD_LEN..MAD_LEN),
        };
        let remote_id = match kind {
            CmKind::Request(_) => 0,
            CmKind::Reply(_)
            | CmKind::ReadyToUse
            | CmKind::Reject { .. }
            | CmKind::DisconnectRequest { .. }
            | CmKind::DisconnectReply
            | CmKind::Other { .. } => be32(b, &field::REMOTE_ID),
        };
        Ok(Some(Self {
            local_id: be32(b, &field::LOCAL_ID),
            remote_id,
            transaction: be64(b, &field::TRANSACTION),
            kind,
            private_data: b[private].to_vec(),
        }))
    }

    /// The datagram. `source` and `dest` are the GIDs of sender and receiver; private data that does not fit is cut.
    #[must_use]
    pub fn encode(&self, source: &[u8; 16], dest: &[u8; 16]) -> Vec<u8> {
        let mut b = vec![0; MAD_LEN];
        b[field::BASE_VERSION] = 1;
        b[field::CLASS] = CLASS_CM;
        b[field::CLASS_VERSION] = CLASS_VERSION;
        b[field::METHOD] = METHOD_SEND;
        put(&mut b, &field::TRANSACTION, self.transaction);
        put(&mut b, &field::LOCAL_ID, self.local_id.into());
        put(&mut b, &field::REMOTE_ID, self.remote_id.into());
        let (attribute, private) = match &self.kind {
            CmKind::Request(request) => {
                put_request(&mut b, request, source, dest);
                (attribute::REQ, field::REQ_PRIVATE)
            }
            CmKind::Reply(reply) => {
                put_reply(&mut b, reply, source);
                (attribute::REP, field::REP_PRIVATE)
            }
            CmKind::ReadyToUse => (attribute::RTU, field::RTU_PRIVATE),
            CmKind::Reject { reason } => {
                put(&mut b, &field::REJ_REASON, (*reason).into());
                (attribute::REJ, field::REJ_PRIVATE)
            }
            CmKind::DisconnectRequest { qpn } => {
                put(&mut b, &field::DREQ_QPN, (*qpn).into());
                (attribute::DREQ, field::DREQ_PRIVATE)
            }
            CmKind::DisconnectReply => (attribute::DREP, field::DREP_PRIVATE),
            CmKind::Other { attribute } => (*attribute, MAD_LEN..MAD_LEN),
        };
        put(&mut b, &field::ATTRIBUTE, attribute.into());
        for (to, from) in b[private].iter_mut().zip(&self.private_data) {
            *to = *from;
        }
        b
    }
}

fn parse_request(b: &[u8]) -> Request {
    Request {
        service_id: be64(b, &field::REQ_SERVICE_ID),
        qpn: be24(b, &field::REQ_QPN),
        starting_psn: be24(b, &field::REQ_STARTING_PSN),
        responder_resources: b[field::REQ_RESPONDER_RESOURCES],
        initiator_depth: b[field::REQ_INITIATOR_DEPTH],
        path_mtu: mtu_of(b[field::REQ_MTU] >> 4),
        source_port: be16(b, &field::REQ_IP_SOURCE_PORT),
    }
}

fn parse_reply(b: &[u8]) -> Reply {
    Reply {
        qpn: be24(b, &field::REP_QPN),
        starting_psn: be24(b, &field::REP_STARTING_PSN),
        responder_resources: b[field::REP_RESPONDER_RESOURCES],
        initiator_depth: b[field::REP_INITIATOR_DEPTH],
    }
}

fn guid_of(gid: &[u8; 16]) -> u64 {
    be64(gid, &(8..16))
}

fn put_request(b: &mut [u8], request: &Request, source: &[u8; 16], dest: &[u8; 16]) {
    put(b, &field::REMOTE_ID, 0);
    put(b, &field::REQ_SERVICE_ID, request.service_id);
    put(b, &field::REQ_GUID, guid_of(source));
    put(b, &field::REQ_QPN, request.qpn.into());
    b[field::REQ_RESPONDER_RESOURCES] = request.responder_resources;
    b[field::REQ_INITIATOR_DEPTH] = request.initiator_depth;
    // Response timeouts of 4.3 s, reliable connected, no end-to-end flow control.
    b[field::REQ_TIMEOUT_AND_SERVICE] = 0x14 << 3;
    put(b, &field::REQ_STARTING_PSN, request.starting_psn.into());
    // Retry count 6; RNR retry count 0, as Linux asks for on both sides.
    b[field::REQ_TIMEOUT_AND_RETRIES] = 0x14 << 3 | 6;
    put(b, &field::REQ_PKEY, super::bth::DEFAULT_PKEY.into());
    b[field::REQ_MTU] = mtu_code(request.path_mtu) << 4;
    b[field::REQ_CM_RETRIES] = 0xf0;
    put(b, &field::REQ_LIDS, 0xffff_ffff);
    b[field::REQ_LOCAL_GID].copy_from_slice(source);
    b[field::REQ_REMOTE_GID].copy_from_slice(dest);
    b[field::REQ_HOP_LIMIT] = 64;
    b[field::REQ_ACK_TIMEOUT] = 0x11 << 3;
    let is_ipv4 = source[..12] == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
    put(b, &field::REQ_IP_VERSIONS, if is_ipv4 { 0x40 } else { 0x60 });
    put(b, &field::REQ_IP_SOURCE_PORT, request.source_port.into());
    for (at, gid) in [(field::REQ_IP_SOURCE, source), (field::REQ_IP_DEST, dest)] {
        b[at].copy_from_slice(gid);
    }
    if is_ipv4 {
        // The IP header of rdma_cm holds a plain IPv4 address in its last four bytes.
        b[field::REQ_IP_SOURCE.start..field::REQ_IP_SOURCE.start + 12].fill(0);
        b[field::REQ_IP_DEST.start..field::REQ_IP_DEST.start + 12].fill(0);
    }
}

fn put_reply(b: &mut [u8], reply: &Reply, source: &[u8; 16]) {
    put(b, &field::REP_QPN, reply.qpn.into());
    put(b, &field::REP_STARTING_PSN, reply.starting_psn.into());
    b[field::REP_RESPONDER_RESOURCES] = reply.responder_resources;
    b[field::REP_INITIATOR_DEPTH] = reply.initiator_depth;
    b[field::REP_ACK_DELAY] = 0x0f << 3;
    put(b, &field::REP_GUID, guid_of(source));
}
