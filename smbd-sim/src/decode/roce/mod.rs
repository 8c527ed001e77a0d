//! RoCEv2: packets of reliable connections to sends and RDMA operations, connection management.

mod connect;
mod order;
mod reads;
mod requests;

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use super::collect::{Collector, Flow, Mark};
use super::item::{Endpoint, Transport};
use super::link::Udp;
use super::session::Side;
use crate::capture::format::bth::{Aeth, Bth, Deth, ICRC_LEN, opcode};
use crate::capture::format::{Short, cm::CmMessage, icrc};
use order::{Offered, Order};
use reads::Reads;

/// Opcodes above are of other services than the reliable connected one.
const RELIABLE_CONNECTED_MAX: u8 = 0x1f;
/// Packet numbers around the last one within which an acknowledgement belongs to a sender.
const PAIRING_WINDOW: i64 = 16384;
/// Senders between two hosts that wait for the other direction to be seen; older ones stay alone.
const UNPAIRED_MAX: usize = 64;
/// Senders that are followed; packets of further ones are not understood.
const SENDERS_MAX: usize = 65_536;

/// A packet without its padding and ICRC.
#[derive(Debug)]
struct Packet {
    mark: Mark,
    bth: Bth,
    /// What follows the base header, as far as captured.
    body: Vec<u8>,
    /// Bytes of it that the capture cut off.
    missing: usize,
}

impl Packet {
    fn parse(mark: Mark, datagram: &Udp<'_>) -> Result<Self, Short> {
        let payload = datagram.payload;
        let bth = Bth::parse(payload)?;
        let on_wire = payload.len() + datagram.missing;
        let needed = Bth::LEN + usize::from(bth.pad) + ICRC_LEN;
        let short = Short { layer: "RoCEv2 packet", needed, got: on_wire };
        let end = on_wire.checked_sub(needed).ok_or(short)? + Bth::LEN;
        let captured = payload.get(Bth::LEN..end.min(payload.len())).unwrap_or_default();
        let missing = end - Bth::LEN - captured.len();
        Ok(Self { mark, bth, body: captured.to_vec(), missing })
    }

    /// Removes a header of `len` bytes from the body.
    fn strip(&mut self, len: usize) {
        self.body.drain(..len.min(self.body.len()));
    }
}

/// One sender of a connection.
#[derive(Debug)]
struct Sender {
    flow: Flow,
    order: Order<Packet>,
    requests: requests::Requests,
    reads: Reads,
}

impl Sender {
    fn new(flow: Flow, first_psn: Option<u32>) -> Self {
        Self {
            flow,
            order: Order::new(first_psn),
            requests: requests::Requests::default(),
            reads: Reads::default(),
        }
    }
}

/// Source, destination and destination queue pair: all that a packet says of its connection.
type Key = (IpAddr, IpAddr, u32);

#[derive(Debug, Default)]
pub(super) struct Roce {
    by_key: BTreeMap<Key, usize>,
    senders: Vec<Sender>,
    /// Senders of each connection by side.
    of_connection: BTreeMap<usize, [Option<usize>; 2]>,
    /// Senders from one host to another of which the other direction has not been seen.
    unpaired: BTreeMap<(IpAddr, IpAddr), VecDeque<usize>>,
    /// Path MTU of a connection, from its set-up or from its first full packet.
    mtu: BTreeMap<usize, u32>,
    connecting: connect::Connecting,
}

impl Roce {
    pub(super) fn datagram(&mut self, mark: Mark, datagram: &Udp<'_>, collector: &mut Collector) {
        if datagram.missing == 0 && icrc::check(datagram.ip_packet) == Some(false) {
            collector.counters.bad_checksums += 1;
        }
        let Ok(packet) = Packet::parse(mark, datagram) else {
            collector.counters.broken_frames += 1;
            return;
        };
        let ends = (datagram.source.ip(), datagram.dest.ip());
        match packet.bth.opcode {
            opcode::UD_SEND_ONLY => self.management(ends, &packet, collector),
            0..=RELIABLE_CONNECTED_MAX => self.reliable(ends, packet, collector),
            _ => collector.counters.foreign_frames += 1,
        }
    }

    fn management(&mut self, ends: (IpAddr, IpAddr), packet: &Packet, collector: &mut Collector) {
        let mad = packet.body.get(Deth::LEN..).unwrap_or_default();
        match CmMessage::parse(mad) {
            Ok(Some(message)) => self.connection_management(ends, packet.mark, &message, collector),
            Ok(None) => collector.counters.foreign_frames += 1,
            Err(_) => collector.counters.not_understood += 1,
        }
    }

    fn reliable(&mut self, ends: (IpAddr, IpAddr), packet: Packet, collector: &mut Collector) {
        let key = (ends.0, ends.1, packet.bth.dest_qpn);
        let Some(index) = self.sender_of(key, &packet.bth, collector) else {
            collector.counters.not_understood += 1;
            return;
        };
        match packet.bth.opcode {
            opcode::READ_RESPONSE_FIRST..=opcode::READ_RESPONSE_ONLY => {
                self.read_response(index, packet, collector);
            }
            opcode::ACKNOWLEDGE => acknowledge(&packet, collector),
            _ => {
                let (psn, len) = (packet.bth.psn, packet.body.len());
                match self.senders[index].order.offer(psn, len, packet) {
                    Offered::Repeated => collector.counters.retransmissions += 1,
                    Offered::Queued => self.drain(index, false, collector),
                }
            }
        }
    }

    fn read_response(&mut self, index: usize, packet: Packet, collector: &mut Collector) {
        let flow = self.senders[index].flow;
        let requester = self.of_connection.get(&flow.connection).and_then(|s| s[flow.side.other().index()]);
        // Responses without a visible requester are kept with their own sender.
        self.senders[requester.unwrap_or(index)].reads.response(flow, packet, collector);
    }

    /// The sender of a packet; an unknown one is paired with the other direction where that is clear.
    /// `None` when there are too many.
    fn sender_of(&mut self, key: Key, bth: &Bth, collector: &mut Collector) -> Option<usize> {
        if let Some(index) = self.by_key.get(&key) {
            return Some(*index);
        }
        if self.senders.len() >= SENDERS_MAX {
            return None;
        }
        let flow = match self.take_unpaired(key, bth) {
            Some(flow) => flow,
            None => {
                let end = |address, qpn| Endpoint { address, port: None, qpn };
                let ends = [end(key.0, None), end(key.1, Some(key.2))];
                let connection = collector.open(Transport::RoceV2, ends);
                let waiting = self.unpaired.entry((key.0, key.1)).or_default();
                if waiting.len() >= UNPAIRED_MAX {
                    waiting.pop_front();
                }
                waiting.push_back(self.senders.len());
                Flow { connection, side: Side::A }
            }
        };
        collector.connections[flow.connection].ends[flow.side.other().index()].qpn = Some(key.2);
        Some(self.add_sender(key, flow, None))
    }

    /// The direction of a connection that has only been seen the other way and fits `key`, if there is just one.
    fn take_unpaired(&mut self, key: Key, bth: &Bth) -> Option<Flow> {
        let is_response = (opcode::READ_RESPONSE_FIRST..=opcode::ACKNOWLEDGE).contains(&bth.opcode);
        let waiting = self.unpaired.get_mut(&(key.1, key.0))?;
        let fits = |sender: &Sender| {
            let distance = sender.order.distance(bth.psn);
            !is_response || distance.is_none_or(|distance| distance.abs() < PAIRING_WINDOW)
        };
        let mut candidates = (0..waiting.len()).filter(|at| fits(&self.senders[waiting[*at]]));
        let (Some(only), None) = (candidates.next(), candidates.next()) else { return None };
        let sender = waiting.remove(only)?;
        Some(self.senders[sender].flow.reversed())
    }

    fn add_sender(&mut self, key: Key, flow: Flow, first_psn: Option<u32>) -> usize {
        let index = self.senders.len();
        self.senders.push(Sender::new(flow, first_psn));
        self.by_key.insert(key, index);
        self.of_connection.entry(flow.connection).or_default()[flow.side.index()] = Some(index);
        index
    }

    fn drain(&mut self, index: usize, flush: bool, collector: &mut Collector) {
        let sender = &mut self.senders[index];
        let mut last = None;
        while let Some(popped) = sender.order.pop(flush) {
            match popped {
                order::Popped::Packet(packet) => {
                    last = Some(packet.mark);
                    requests::request(sender, packet, &mut self.mtu, collector);
                }
                order::Popped::Lost(count) => {
                    let mark = last.unwrap_or_else(|| sender.requests.last_mark());
                    sender.requests.lost();
                    collector.lost(sender.flow, mark, count, "packets");
                }
            }
        }
    }

    pub(super) fn finish(&mut self, collector: &mut Collector) {
        for index in 0..self.senders.len() {
            self.drain(index, true, collector);
        }
    }
}

fn acknowledge(packet: &Packet, collector: &mut Collector) {
    let counters = &mut collector.counters;
    match Aeth::parse(&packet.body) {
        Ok(aeth) if aeth.is_receiver_not_ready() => counters.receiver_not_ready += 1,
        Ok(aeth) if aeth.is_nak() => counters.negative_acknowledgements += 1,
        Ok(_) => counters.acknowledgements += 1,
        Err(_) => counters.not_understood += 1,
    }
}
