//! An iWARP connection as frames: TCP handshake, MPA request and reply with CRC, one FPDU for each segment.

use std::collections::VecDeque;

use pnet::packet::tcp::TcpFlags;

use super::format::mpa::{MpaFrame, encode_fpdu, ulpdu_max};
use super::format::net::{TcpHeader, tcp_frame};
use super::format::rdmap::{
    Placement, QUEUE_READ_REQUEST, QUEUE_SEND, QUEUE_TERMINATE, ReadRequest, Segment, opcode,
};
use super::link::{Fault, Frames, Link, Remote, SendOptions, Side, Transport};

const SOURCE_PORT: u16 = 0xc000;
/// Tags of the memory reads go to; its owner counts up for each read.
const SINK_STAG: u32 = 0x5d00_0000;
/// Terminate control: layer, error type, error code.
const DDP_NO_BUFFER: u16 = 0x1202;
const DDP_TOO_LONG: u16 = 0x1205;
const RDMAP_ACCESS: u16 = 0x0102;

/// One side's sender.
#[derive(Debug, Clone, Default)]
struct Host {
    /// Next TCP sequence number.
    sequence: u32,
    /// Next message number of the queues of sends and read requests.
    sends: u32,
    read_requests: u32,
    /// Reads that wait for their response.
    reads: VecDeque<ReadRequest>,
}

/// Frames of one iWARP connection.
#[derive(Debug, Clone)]
pub struct Iwarp {
    link: Link,
    ends: [Host; 2],
}

impl Iwarp {
    /// A connection that has not begun.
    #[must_use]
    pub fn new(link: Link) -> Self {
        let instance = u32::from(link.instance);
        let end = |side: u32| Host {
            sequence: 0x1000_0000 + instance * 0x10_0000 + side * 0x1000_0000,
            sends: 1,
            read_requests: 1,
            ..Host::default()
        };
        Self { link, ends: [end(0), end(1)] }
    }

    /// A segment of `from`; SYN and FIN take a sequence number each.
    fn segment(&mut self, from: Side, flags: u8, payload: &[u8]) -> Option<Vec<u8>> {
        let client = SOURCE_PORT | self.link.instance & 0x3fff;
        let (source, dest) = match from {
            Side::Initiator => (client, self.link.port),
            Side::Acceptor => (self.link.port, client),
        };
        let acknowledgement =
            if flags & TcpFlags::ACK == 0 { 0 } else { self.ends[from.peer().index()].sequence };
        let header =
            TcpHeader { source, dest, sequence: self.ends[from.index()].sequence, acknowledgement, flags };
        let taken = payload.len() as u32 + u32::from(flags & (TcpFlags::SYN | TcpFlags::FIN) != 0);
        let end = &mut self.ends[from.index()];
        end.sequence = end.sequence.wrapping_add(taken);
        let (from, to) = self.link.ends(from);
        tcp_frame(from, to, &header, payload)
    }

    fn push(&mut self, from: Side, payload: &[u8]) -> Option<Vec<u8>> {
        self.segment(from, TcpFlags::ACK | TcpFlags::PSH, payload)
    }

    fn mpa(&mut self, from: Side, rejected: bool, private_data: &[u8]) -> Option<Vec<u8>> {
        let frame = MpaFrame {
            reply: from == Side::Acceptor,
            markers: false,
            crc: true,
            rejected,
            enhanced: false,
            revision: 1,
            private_data: private_data.to_vec(),
        };
        self.push(from, &frame.encode())
    }

    /// A DDP message of `from`: `header` tells the header of the segment at an offset.
    fn message(&mut self, from: Side, data: &[u8], header: impl Fn(u64) -> (u8, Placement)) -> Frames {
        let room = ulpdu_max(self.link.mtu.clamp(128, 65_000) as usize).saturating_sub(Segment::UNTAGGED_LEN);
        let mut frames = Frames::new();
        let mut sent = 0;
        loop {
            let payload = &data[sent..data.len().min(sent + room)];
            let (opcode, placement) = header(sent as u64);
            sent += payload.len();
            let segment = Segment { last: sent == data.len(), opcode, placement };
            frames.extend(self.push(from, &encode_fpdu(&segment.encode(payload), true)));
            if segment.last {
                return frames;
            }
        }
    }

    fn fin(&mut self, from: Side) -> Frames {
        let fin = TcpFlags::FIN | TcpFlags::ACK;
        let segments = [(from, fin), (from.peer(), fin), (from, TcpFlags::ACK)];
        segments.into_iter().filter_map(|(from, flags)| self.segment(from, flags, &[])).collect()
    }
}

impl Transport for Iwarp {
    fn renew(&mut self) {
        *self = Self::new(Link { instance: self.link.instance.wrapping_add(1), ..self.link });
    }

    fn connect(&mut self, private_data: &[u8]) -> Frames {
        let handshake = [
            self.segment(Side::Initiator, TcpFlags::SYN, &[]),
            self.segment(Side::Acceptor, TcpFlags::SYN | TcpFlags::ACK, &[]),
            self.segment(Side::Initiator, TcpFlags::ACK, &[]),
        ];
        let request = self.mpa(Side::Initiator, false, private_data);
        handshake.into_iter().flatten().chain(request).collect()
    }

    fn accept(&mut self, private_data: &[u8]) -> Frames {
        self.mpa(Side::Acceptor, false, private_data).into_iter().collect()
    }

    fn reject(&mut self, private_data: &[u8]) -> Frames {
        let reply = self.mpa(Side::Acceptor, true, private_data);
        reply.into_iter().chain(self.fin(Side::Acceptor)).collect()
    }

    fn send(&mut self, from: Side, message: &[u8], options: SendOptions) -> Frames {
        let end = &mut self.ends[from.index()];
        let number = end.sends;
        end.sends = number.wrapping_add(1);
        let opcode = match (options.invalidate, options.solicited) {
            (None, false) => opcode::SEND,
            (Some(_), false) => opcode::SEND_INVALIDATE,
            (None, true) => opcode::SEND_SOLICITED,
            (Some(_), true) => opcode::SEND_SOLICITED_INVALIDATE,
        };
        let invalidate = options.invalidate.map_or(0, |token| token.0);
        self.message(from, message, |offset| {
            let offset = offset as u32;
            (opcode, Placement::Untagged { invalidate, queue: QUEUE_SEND, message: number, offset })
        })
    }

    fn write(&mut self, from: Side, remote: Remote, data: &[u8]) -> Frames {
        self.message(from, data, |offset| {
            let offset = remote.address.wrapping_add(offset);
            (opcode::WRITE, Placement::Tagged { stag: remote.token.0, offset })
        })
    }

    fn read_request(&mut self, from: Side, remote: Remote, length: u32) -> Frames {
        let end = &mut self.ends[from.index()];
        let number = end.read_requests;
        end.read_requests = number.wrapping_add(1);
        let request = ReadRequest {
            sink_stag: SINK_STAG.wrapping_add(number << 8),
            sink_offset: 0,
            length,
            source_stag: remote.token.0,
            source_offset: remote.address,
        };
        end.reads.push_back(request);
        self.message(from, &request.encode(), |offset| {
            let place = Placement::Untagged {
                invalidate: 0,
                queue: QUEUE_READ_REQUEST,
                message: number,
                offset: offset as u32,
            };
            (opcode::READ_REQUEST, place)
        })
    }

    fn read_response(&mut self, from: Side, data: &[u8]) -> Frames {
        let Some(read) = self.ends[from.peer().index()].reads.pop_front() else { return Frames::new() };
        let data = &data[..data.len().min(read.length as usize)];
        self.message(from, data, |offset| {
            let offset = read.sink_offset.wrapping_add(offset);
            (opcode::READ_RESPONSE, Placement::Tagged { stag: read.sink_stag, offset })
        })
    }

    fn acknowledge(&mut self, from: Side) -> Frames {
        self.segment(from, TcpFlags::ACK, &[]).into_iter().collect()
    }

    fn fault(&mut self, from: Side, fault: Fault) -> Frames {
        let control = match fault {
            Fault::NoReceive => DDP_NO_BUFFER,
            Fault::TooLong => DDP_TOO_LONG,
            Fault::Access => RDMAP_ACCESS,
        };
        // Neither the DDP nor the RDMAP header of the refused segment follows.
        let payload = (u32::from(control) << 16).to_be_bytes();
        let place = Placement::Untagged { invalidate: 0, queue: QUEUE_TERMINATE, message: 1, offset: 0 };
        self.message(from, &payload, |_| (opcode::TERMINATE, place))
    }

    fn disconnect(&mut self, from: Side) -> Frames {
        self.fin(from)
    }
}
