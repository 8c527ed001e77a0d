//! Transport headers of RoCEv2 packets: base (BTH), RDMA (RETH), acknowledge (AETH), invalidate (IETH), datagram (DETH).

use super::{Short, be16, be24, be32, be64, put};

/// UDP destination port of RoCEv2.
pub const UDP_PORT: u16 = 4791;
/// Bytes of the invariant CRC at the end of a packet.
pub const ICRC_LEN: usize = 4;
/// Partition key of the default partition.
pub const DEFAULT_PKEY: u16 = 0xffff;
/// Q_Key of the general services queue pair, QP1.
pub const GSI_QKEY: u32 = 0x8001_0000;

/// Opcodes of the reliable connected service that SMB Direct uses, and that of datagrams.
pub mod opcode {
    /// First packet of a longer Send.
    pub const SEND_FIRST: u8 = 0x00;
    /// Packet inside a Send.
    pub const SEND_MIDDLE: u8 = 0x01;
    /// Last packet of a Send.
    pub const SEND_LAST: u8 = 0x02;
    /// Last packet of a Send with immediate data.
    pub const SEND_LAST_IMMEDIATE: u8 = 0x03;
    /// Send of one packet.
    pub const SEND_ONLY: u8 = 0x04;
    /// Send of one packet with immediate data.
    pub const SEND_ONLY_IMMEDIATE: u8 = 0x05;
    /// First packet of a longer RDMA Write.
    pub const WRITE_FIRST: u8 = 0x06;
    /// Packet inside an RDMA Write.
    pub const WRITE_MIDDLE: u8 = 0x07;
    /// Last packet of an RDMA Write.
    pub const WRITE_LAST: u8 = 0x08;
    /// Last packet of an RDMA Write with immediate data.
    pub const WRITE_LAST_IMMEDIATE: u8 = 0x09;
    /// RDMA Write of one packet.
    pub const WRITE_ONLY: u8 = 0x0a;
    /// RDMA Write of one packet with immediate data.
    pub const WRITE_ONLY_IMMEDIATE: u8 = 0x0b;
    /// RDMA Read request.
    pub const READ_REQUEST: u8 = 0x0c;
    /// First packet of a longer RDMA Read response.
    pub const READ_RESPONSE_FIRST: u8 = 0x0d;
    /// Packet inside an RDMA Read response.
    pub const READ_RESPONSE_MIDDLE: u8 = 0x0e;
    /// Last packet of an RDMA Read response.
    pub const READ_RESPONSE_LAST: u8 = 0x0f;
    /// RDMA Read response of one packet.
    pub const READ_RESPONSE_ONLY: u8 = 0x10;
    /// Acknowledgement, positive or negative.
    pub const ACKNOWLEDGE: u8 = 0x11;
    /// Last packet of a Send that invalidates a token.
    pub const SEND_LAST_INVALIDATE: u8 = 0x16;
    /// Send of one packet that invalidates a token.
    pub const SEND_ONLY_INVALIDATE: u8 = 0x17;
    /// Datagram of one packet; carries management datagrams.
    pub const UD_SEND_ONLY: u8 = 0x64;
}

/// Base transport header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bth {
    /// Service and operation, see [`opcode`].
    pub opcode: u8,
    /// The receiver's completion is to raise a solicited event.
    pub solicited: bool,
    /// Migration state.
    pub migrated: bool,
    /// Zero bytes added to the payload, 0 to 3.
    pub pad: u8,
    /// Header version, 0.
    pub version: u8,
    /// Partition key.
    pub pkey: u16,
    /// Destination queue pair, 24 bits.
    pub dest_qpn: u32,
    /// The receiver is asked for an acknowledgement.
    pub ack_request: bool,
    /// Packet sequence number, 24 bits.
    pub psn: u32,
}

impl Bth {
    /// Bytes of the header.
    pub const LEN: usize = 12;

    /// Reads the header at the start of `bytes`.
    ///
    /// # Errors
    /// [`Short`] below 12 bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, Short> {
        let b = Short::check("BTH", bytes, Self::LEN)?;
        Ok(Self {
            opcode: b[0],
            solicited: b[1] & 0x80 != 0,
            migrated: b[1] & 0x40 != 0,
            pad: b[1] >> 4 & 3,
            version: b[1] & 0xf,
            pkey: be16(b, &(2..4)),
            dest_qpn: be24(b, &(5..8)),
            ack_request: b[8] & 0x80 != 0,
            psn: be24(b, &(9..12)),
        })
    }

    /// Appends the header.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut b = [0; Self::LEN];
        b[0] = self.opcode;
        b[1] = u8::from(self.solicited) << 7
            | u8::from(self.migrated) << 6
            | (self.pad & 3) << 4
            | self.version & 0xf;
        put(&mut b, &(2..4), self.pkey.into());
        put(&mut b, &(5..8), self.dest_qpn.into());
        b[8] = u8::from(self.ack_request) << 7;
        put(&mut b, &(9..12), self.psn.into());
        out.extend_from_slice(&b);
    }
}

/// RDMA extended transport header: what an RDMA operation names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reth {
    /// Address in the remote memory.
    pub address: u64,
    /// Remote key.
    pub rkey: u32,
    /// Bytes of the whole operation.
    pub length: u32,
}

impl Reth {
    /// Bytes of the header.
    pub const LEN: usize = 16;

    /// Reads the header at the start of `bytes`.
    ///
    /// # Errors
    /// [`Short`] below 16 bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, Short> {
        let b = Short::check("RETH", bytes, Self::LEN)?;
        Ok(Self { address: be64(b, &(0..8)), rkey: be32(b, &(8..12)), length: be32(b, &(12..16)) })
    }

    /// Appends the header.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.address.to_be_bytes());
        out.extend_from_slice(&self.rkey.to_be_bytes());
        out.extend_from_slice(&self.length.to_be_bytes());
    }
}

/// Acknowledge extended transport header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Aeth {
    /// Kind of acknowledgement and its value.
    pub syndrome: u8,
    /// Message sequence number, 24 bits.
    pub msn: u32,
}

impl Aeth {
    /// Bytes of the header.
    pub const LEN: usize = 4;
    /// Syndrome of an acknowledgement without end-to-end credits.
    pub const ACK: u8 = 0x1f;

    /// Reads the header at the start of `bytes`.
    ///
    /// # Errors
    /// [`Short`] below 4 bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, Short> {
        let b = Short::check("AETH", bytes, Self::LEN)?;
        Ok(Self { syndrome: b[0], msn: be24(b, &(1..4)) })
    }

    /// Appends the header.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(u32::from(self.syndrome) << 24 | self.msn & 0xff_ffff).to_be_bytes());
    }

    /// Neither an acknowledgement nor a request to wait: the receiver refuses a packet.
    #[must_use]
    pub fn is_nak(&self) -> bool {
        self.syndrome >> 5 & 3 == 3
    }

    /// The receiver had no receive posted.
    #[must_use]
    pub fn is_receiver_not_ready(&self) -> bool {
        self.syndrome >> 5 & 3 == 1
    }
}

/// Bytes of the invalidate extended transport header, which is one key.
pub const IETH_LEN: usize = 4;

/// Datagram extended transport header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deth {
    /// Queue key.
    pub qkey: u32,
    /// Source queue pair, 24 bits.
    pub source_qpn: u32,
}

impl Deth {
    /// Bytes of the header.
    pub const LEN: usize = 8;

    /// Reads the header at the start of `bytes`.
    ///
    /// # Errors
    /// [`Short`] below 8 bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, Short> {
        let b = Short::check("DETH", bytes, Self::LEN)?;
        Ok(Self { qkey: be32(b, &(0..4)), source_qpn: be24(b, &(5..8)) })
    }

    /// Appends the header.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.qkey.to_be_bytes());
        out.extend_from_slice(&(self.source_qpn & 0xff_ffff).to_be_bytes());
    }
}

/// Reads the key of an invalidate header.
///
/// # Errors
/// [`Short`] below 4 bytes.
pub fn parse_ieth(bytes: &[u8]) -> Result<u32, Short> {
    Ok(be32(Short::check("IETH", bytes, IETH_LEN)?, &(0..4)))
}
