//! The common part of both transports: ends, events, and frames.

use std::net::{IpAddr, Ipv4Addr};

use smbd_core::wire::Token;

use super::format::net::Host;
pub use crate::Side;

/// Frames of an event, in the order of the wire.
pub type Frames = Vec<Vec<u8>>;

/// The imagined link and connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Link {
    /// The host that asks for the connection.
    pub initiator: Host,
    /// The host that answers.
    pub acceptor: Host,
    /// Port of the service.
    pub port: u16,
    /// Payload bytes of a packet: the path MTU of RoCE (256 to 4096, a power of two), the segment size of TCP.
    pub mtu: u32,
    /// RDMA Reads each side answers at a time, and issues at a time.
    pub read_depth: u8,
    /// Tells connections apart that have the same hosts: it is part of ports, queue pairs and first sequence numbers.
    pub instance: u16,
}

impl Link {
    const fn new(port: u16, mtu: u32) -> Self {
        // Addresses for documentation (RFC 5737), locally administered MAC addresses.
        Self {
            initiator: Host { mac: [2, 0, 0, 0, 0, 1], address: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)) },
            acceptor: Host { mac: [2, 0, 0, 0, 0, 2], address: IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)) },
            port,
            mtu,
            read_depth: 8,
            instance: 0,
        }
    }

    /// RoCEv2 on port 445 with a path MTU of 4096. With a smaller one Wireshark shows the last packet of every
    /// message that spans several as malformed; so does it for real traffic.
    #[must_use]
    pub const fn roce() -> Self {
        Self::new(445, 4096)
    }

    /// iWARP on port 5445 with a segment size of 1460.
    #[must_use]
    pub const fn iwarp() -> Self {
        Self::new(5445, 1460)
    }

    /// Source and destination host of what `from` sends.
    pub(super) const fn ends(&self, from: Side) -> (&Host, &Host) {
        match from {
            Side::Initiator => (&self.initiator, &self.acceptor),
            Side::Acceptor => (&self.acceptor, &self.initiator),
        }
    }
}

/// What a send asks of the receiver's NIC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SendOptions {
    /// Token to invalidate.
    pub invalidate: Option<Token>,
    /// Raise a solicited event.
    pub solicited: bool,
}

/// Memory of the peer that an RDMA operation names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remote {
    /// Remote key or steering tag.
    pub token: Token,
    /// Address or tagged offset.
    pub address: u64,
}

/// Why a side ends the connection on its own: a negative acknowledgement (RoCE) or a Terminate (iWARP).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A send came and no receive was posted.
    NoReceive,
    /// A send was longer than the receive.
    TooLong,
    /// An RDMA operation named memory it may not touch.
    Access,
}

/// Frames of one connection. All events are in the order in which they reach the wire.
/// An empty result means that the event cannot be shown: hosts of different IP versions, or no such operation.
pub trait Transport {
    /// Another connection between the same hosts: the next [`instance`](Link::instance), nothing sent yet.
    fn renew(&mut self);
    /// The initiator asks for the connection. Private data beyond what the transport carries is cut.
    fn connect(&mut self, private_data: &[u8]) -> Frames;
    /// The acceptor answers, the connection is there.
    fn accept(&mut self, private_data: &[u8]) -> Frames;
    /// The acceptor refuses.
    fn reject(&mut self, private_data: &[u8]) -> Frames;
    /// A send of `from`: all bytes of one SMB Direct message.
    fn send(&mut self, from: Side, message: &[u8], options: SendOptions) -> Frames;
    /// `from` writes `data` to the memory of the other side.
    fn write(&mut self, from: Side, remote: Remote, data: &[u8]) -> Frames;
    /// `from` asks for `length` bytes of the memory of the other side.
    fn read_request(&mut self, from: Side, remote: Remote, length: u32) -> Frames;
    /// `from` answers the oldest read request of the other side; data beyond the length asked for is cut.
    fn read_response(&mut self, from: Side, data: &[u8]) -> Frames;
    /// `from` acknowledges all it has got.
    fn acknowledge(&mut self, from: Side) -> Frames;
    /// `from` refuses what it got last.
    fn fault(&mut self, from: Side, fault: Fault) -> Frames;
    /// `from` ends the connection, the other side agrees.
    fn disconnect(&mut self, from: Side) -> Frames;
}
