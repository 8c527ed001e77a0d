//! A RoCEv2 connection as frames: connection management on QP1, then packets of a reliable connection.

use std::collections::VecDeque;

use super::format::bth::{Aeth, Bth, DEFAULT_PKEY, Deth, GSI_QKEY, Reth, opcode};
use super::format::cm::{CmKind, CmMessage, Reply, Request};
use super::format::net::roce_frame;
use super::link::{Fault, Frames, Link, Remote, SendOptions, Side, Transport};

const GSI_QPN: u32 = 1;
const QPN_BASE: u32 = 0x11;
const UDP_SOURCE_PORT: u16 = 0xc000;
const REJECT_CONSUMER: u16 = 28;
const NAK_INVALID_REQUEST: u8 = 0x61;
const NAK_REMOTE_ACCESS: u8 = 0x62;
/// Receiver not ready, with the code of the longest wait below a second.
const RNR_NAK: u8 = 0x20;
const PSN_MASK: u32 = 0xff_ffff;

/// A read that waits for its response.
#[derive(Debug, Clone, Copy)]
struct Read {
    psn: u32,
    length: u32,
}

/// One side's sender.
#[derive(Debug, Clone, Default)]
struct Host {
    qpn: u32,
    next_psn: u32,
    /// Messages sent, as the receiver counts them.
    messages: u32,
    reads: VecDeque<Read>,
}

/// Frames of one RoCEv2 connection.
#[derive(Debug, Clone)]
pub struct Roce {
    link: Link,
    ends: [Host; 2],
    management_psn: u32,
}

/// The opcodes of an operation by the place of a packet.
struct Opcodes {
    first: u8,
    middle: u8,
    last: u8,
    only: u8,
}

impl Opcodes {
    const fn at(&self, index: usize, count: usize) -> u8 {
        match (index == 0, index + 1 == count) {
            (true, true) => self.only,
            (true, false) => self.first,
            (false, false) => self.middle,
            (false, true) => self.last,
        }
    }
}

/// The headers of an operation by the place of a packet.
#[derive(Clone, Copy)]
enum Headers<'a> {
    None,
    OnFirst(&'a [u8]),
    OnLast(&'a [u8]),
    OnBoth(&'a [u8]),
}

impl<'a> Headers<'a> {
    const fn at(self, index: usize, count: usize) -> &'a [u8] {
        let (first, last) = (index == 0, index + 1 == count);
        match self {
            Self::OnFirst(header) if first => header,
            Self::OnLast(header) if last => header,
            Self::OnBoth(header) if first || last => header,
            Self::None | Self::OnFirst(_) | Self::OnLast(_) | Self::OnBoth(_) => &[],
        }
    }
}

const SEND: Opcodes = Opcodes {
    first: opcode::SEND_FIRST,
    middle: opcode::SEND_MIDDLE,
    last: opcode::SEND_LAST,
    only: opcode::SEND_ONLY,
};
const SEND_INVALIDATE: Opcodes =
    Opcodes { last: opcode::SEND_LAST_INVALIDATE, only: opcode::SEND_ONLY_INVALIDATE, ..SEND };
const WRITE: Opcodes = Opcodes {
    first: opcode::WRITE_FIRST,
    middle: opcode::WRITE_MIDDLE,
    last: opcode::WRITE_LAST,
    only: opcode::WRITE_ONLY,
};
const READ_RESPONSE: Opcodes = Opcodes {
    first: opcode::READ_RESPONSE_FIRST,
    middle: opcode::READ_RESPONSE_MIDDLE,
    last: opcode::READ_RESPONSE_LAST,
    only: opcode::READ_RESPONSE_ONLY,
};

impl Roce {
    /// A connection that has not begun.
    #[must_use]
    pub fn new(link: Link) -> Self {
        let instance = u32::from(link.instance);
        let end = |side: u32| Host {
            qpn: QPN_BASE + instance * 2 + side,
            next_psn: (0x1000 + instance * 0x10_000 + side * 0x8000) & PSN_MASK,
            ..Host::default()
        };
        Self { link, ends: [end(0), end(1)], management_psn: 0 }
    }

    fn mtu(&self) -> usize {
        self.link.mtu.clamp(256, 4096) as usize
    }

    fn frame(&self, from: Side, transport: &[u8]) -> Option<Vec<u8>> {
        let (source, dest) = self.link.ends(from);
        roce_frame(source, dest, UDP_SOURCE_PORT | self.link.instance & 0x3fff, transport)
    }

    fn communication_id(&self, side: Side) -> u32 {
        0x5d00_0000 | u32::from(self.link.instance) << 4 | side.index() as u32
    }

    fn management(&mut self, from: Side, kind: CmKind, private_data: &[u8]) -> Option<Vec<u8>> {
        let bth = Bth {
            opcode: opcode::UD_SEND_ONLY,
            solicited: false,
            migrated: false,
            pad: 0,
            version: 0,
            pkey: DEFAULT_PKEY,
            dest_qpn: GSI_QPN,
            ack_request: false,
            psn: self.management_psn & PSN_MASK,
        };
        self.management_psn += 1;
        let disconnect = matches!(kind, CmKind::DisconnectRequest { .. } | CmKind::DisconnectReply);
        let message = CmMessage {
            local_id: self.communication_id(from),
            remote_id: self.communication_id(from.peer()),
            // The datagrams of one exchange share a transaction.
            transaction: u64::from(self.communication_id(Side::Initiator)) << 8 | u64::from(disconnect),
            kind,
            private_data: private_data.to_vec(),
        };
        let (source, dest) = self.link.ends(from);
        let mut transport = Vec::new();
        bth.encode(&mut transport);
        Deth { qkey: GSI_QKEY, source_qpn: GSI_QPN }.encode(&mut transport);
        transport.extend_from_slice(&message.encode(&source.gid(), &dest.gid()));
        self.frame(from, &transport)
    }

    /// A packet of `from`; `headers` follow the base header.
    fn packet(&self, from: Side, mut bth: Bth, headers: &[u8], payload: &[u8]) -> Option<Vec<u8>> {
        bth.pad = (payload.len().next_multiple_of(4) - payload.len()) as u8;
        let mut transport = Vec::with_capacity(Bth::LEN + headers.len() + payload.len() + 3);
        bth.encode(&mut transport);
        transport.extend_from_slice(headers);
        transport.extend_from_slice(payload);
        transport.resize(transport.len() + usize::from(bth.pad), 0);
        self.frame(from, &transport)
    }

    fn bth(&self, from: Side, opcode: u8, psn: u32) -> Bth {
        Bth {
            opcode,
            solicited: false,
            migrated: true,
            pad: 0,
            version: 0,
            pkey: DEFAULT_PKEY,
            dest_qpn: self.ends[from.peer().index()].qpn,
            ack_request: false,
            psn: psn & PSN_MASK,
        }
    }

    /// The packets of an operation beginning at `psn`.
    fn packets(
        &self,
        from: Side,
        opcodes: &Opcodes,
        psn: u32,
        headers: Headers<'_>,
        data: &[u8],
        solicited: bool,
    ) -> Frames {
        let count = packet_count(data.len(), self.mtu());
        let mut rest = data;
        let packet = |index| {
            let (payload, behind) = rest.split_at(rest.len().min(self.mtu()));
            rest = behind;
            let mut bth = self.bth(from, opcodes.at(index, count), psn.wrapping_add(index as u32));
            let is_last = index + 1 == count;
            let is_response = opcodes.only == opcode::READ_RESPONSE_ONLY;
            bth.solicited = solicited && is_last;
            bth.ack_request = is_last && !is_response;
            self.packet(from, bth, headers.at(index, count), payload)
        };
        (0..count).filter_map(packet).collect()
    }

    /// Advances the numbers of `from` by an operation of `packets` packets; returns the first.
    fn take(&mut self, from: Side, packets: usize) -> u32 {
        let end = &mut self.ends[from.index()];
        let psn = end.next_psn;
        end.next_psn = psn.wrapping_add(packets as u32) & PSN_MASK;
        end.messages = end.messages.wrapping_add(1);
        psn
    }

    /// An acknowledgement of `from` for all the other side has sent.
    fn answer(&self, from: Side, syndrome: u8) -> Frames {
        let sender = &self.ends[from.peer().index()];
        let bth = self.bth(from, opcode::ACKNOWLEDGE, sender.next_psn.wrapping_sub(1));
        let mut headers = Vec::new();
        Aeth { syndrome, msn: sender.messages }.encode(&mut headers);
        self.packet(from, bth, &headers, &[]).into_iter().collect()
    }
}

fn packet_count(len: usize, mtu: usize) -> usize {
    len.div_ceil(mtu).max(1)
}

impl Transport for Roce {
    fn renew(&mut self) {
        *self = Self::new(Link { instance: self.link.instance.wrapping_add(1), ..self.link });
    }

    fn connect(&mut self, private_data: &[u8]) -> Frames {
        let request = Request {
            service_id: Request::service_of_port(self.link.port),
            qpn: self.ends[0].qpn,
            starting_psn: self.ends[1].next_psn,
            responder_resources: self.link.read_depth,
            initiator_depth: self.link.read_depth,
            path_mtu: self.link.mtu,
            source_port: UDP_SOURCE_PORT | self.link.instance & 0x3fff,
        };
        self.management(Side::Initiator, CmKind::Request(request), private_data).into_iter().collect()
    }

    fn accept(&mut self, private_data: &[u8]) -> Frames {
        let reply = Reply {
            qpn: self.ends[1].qpn,
            starting_psn: self.ends[0].next_psn,
            responder_resources: self.link.read_depth,
            initiator_depth: self.link.read_depth,
        };
        let reply = self.management(Side::Acceptor, CmKind::Reply(reply), private_data);
        let ready = self.management(Side::Initiator, CmKind::ReadyToUse, &[]);
        reply.into_iter().chain(ready).collect()
    }

    fn reject(&mut self, private_data: &[u8]) -> Frames {
        let kind = CmKind::Reject { reason: REJECT_CONSUMER };
        self.management(Side::Acceptor, kind, private_data).into_iter().collect()
    }

    fn send(&mut self, from: Side, message: &[u8], options: SendOptions) -> Frames {
        let psn = self.take(from, packet_count(message.len(), self.mtu()));
        let token = options.invalidate.map(|token| token.0.to_be_bytes());
        let (opcodes, headers) = match &token {
            Some(token) => (&SEND_INVALIDATE, Headers::OnLast(token)),
            None => (&SEND, Headers::None),
        };
        self.packets(from, opcodes, psn, headers, message, options.solicited)
    }

    fn write(&mut self, from: Side, remote: Remote, data: &[u8]) -> Frames {
        let Ok(length) = u32::try_from(data.len()) else { return Frames::new() };
        let psn = self.take(from, packet_count(data.len(), self.mtu()));
        let mut reth = Vec::new();
        Reth { address: remote.address, rkey: remote.token.0, length }.encode(&mut reth);
        self.packets(from, &WRITE, psn, Headers::OnFirst(&reth), data, false)
    }

    fn read_request(&mut self, from: Side, remote: Remote, length: u32) -> Frames {
        let psn = self.take(from, packet_count(length as usize, self.mtu()));
        self.ends[from.index()].reads.push_back(Read { psn, length });
        let mut reth = Vec::new();
        Reth { address: remote.address, rkey: remote.token.0, length }.encode(&mut reth);
        let mut bth = self.bth(from, opcode::READ_REQUEST, psn);
        bth.ack_request = true;
        self.packet(from, bth, &reth, &[]).into_iter().collect()
    }

    fn read_response(&mut self, from: Side, data: &[u8]) -> Frames {
        let requester = &mut self.ends[from.peer().index()];
        let Some(read) = requester.reads.pop_front() else { return Frames::new() };
        let mut aeth = Vec::new();
        Aeth { syndrome: Aeth::ACK, msn: requester.messages }.encode(&mut aeth);
        let data = &data[..data.len().min(read.length as usize)];
        self.packets(from, &READ_RESPONSE, read.psn, Headers::OnBoth(&aeth), data, false)
    }

    fn acknowledge(&mut self, from: Side) -> Frames {
        self.answer(from, Aeth::ACK)
    }

    fn fault(&mut self, from: Side, fault: Fault) -> Frames {
        self.answer(
            from,
            match fault {
                Fault::NoReceive => RNR_NAK,
                Fault::TooLong => NAK_INVALID_REQUEST,
                Fault::Access => NAK_REMOTE_ACCESS,
            },
        )
    }

    fn disconnect(&mut self, from: Side) -> Frames {
        let qpn = self.ends[from.peer().index()].qpn;
        let request = self.management(from, CmKind::DisconnectRequest { qpn }, &[]);
        let reply = self.management(from.peer(), CmKind::DisconnectReply, &[]);
        request.into_iter().chain(reply).collect()
    }
}
