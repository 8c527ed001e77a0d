//! Requests in order: reassembles sends and writes, and records reads for their responses.

use std::collections::BTreeMap;

use super::{Packet, Sender};
use crate::capture::format::bth::{IETH_LEN, Reth, opcode, parse_ieth};
use crate::decode::collect::{Collector, Mark, Send};
use crate::decode::item::{RdmaKind, RdmaOperation};
use smbd_core::wire::Token;

/// Smallest path MTU, for connections whose own is not known.
const MTU_MIN: u32 = 256;

/// What is not complete.
#[derive(Debug, Default)]
pub(super) struct Requests {
    send: Option<Send>,
    /// Item of the write.
    write: Option<usize>,
    last: Mark,
}

impl Requests {
    /// Packets are missing: what was begun cannot be completed.
    pub(super) fn lost(&mut self) {
        self.send = None;
        self.write = None;
    }

    pub(super) fn last_mark(&self) -> Mark {
        self.last
    }
}

/// Takes the next request of `sender`.
pub(super) fn request(
    sender: &mut Sender,
    packet: Packet,
    mtu: &mut BTreeMap<usize, u32>,
    collector: &mut Collector,
) {
    sender.requests.last = packet.mark;
    let full = matches!(packet.bth.opcode, opcode::SEND_FIRST | opcode::SEND_MIDDLE | opcode::WRITE_MIDDLE);
    if full {
        // All packets but the last are as long as the path allows.
        let len = u32::try_from(packet.body.len() + packet.missing).unwrap_or(u32::MAX);
        mtu.entry(sender.flow.connection).or_insert(len.max(MTU_MIN));
    }
    let understood = match packet.bth.opcode {
        opcode::SEND_FIRST..=opcode::SEND_ONLY_IMMEDIATE
        | opcode::SEND_LAST_INVALIDATE
        | opcode::SEND_ONLY_INVALIDATE => send(sender, packet, collector),
        opcode::WRITE_FIRST..=opcode::WRITE_ONLY_IMMEDIATE => write(sender, packet, collector),
        opcode::READ_REQUEST => read(sender, &packet, mtu.get(&sender.flow.connection).copied(), collector),
        _ => None,
    };
    if understood.is_none() {
        collector.counters.not_understood += 1;
    }
}

/// `None` when the packet does not fit what came before or is cut.
fn send(sender: &mut Sender, mut packet: Packet, collector: &mut Collector) -> Option<()> {
    let (begins, ends) = match packet.bth.opcode {
        opcode::SEND_FIRST => (true, false),
        opcode::SEND_MIDDLE => (false, false),
        opcode::SEND_ONLY | opcode::SEND_ONLY_IMMEDIATE | opcode::SEND_ONLY_INVALIDATE => (true, true),
        _ => (false, true),
    };
    let mut invalidate = None;
    match packet.bth.opcode {
        opcode::SEND_LAST_INVALIDATE | opcode::SEND_ONLY_INVALIDATE => {
            invalidate = Some(parse_ieth(&packet.body).ok()?);
            packet.strip(IETH_LEN);
        }
        // Immediate data is as long as a key; SMB Direct has none.
        opcode::SEND_LAST_IMMEDIATE | opcode::SEND_ONLY_IMMEDIATE => packet.strip(IETH_LEN),
        _ => {}
    }
    let begun = sender.requests.send.take();
    if begins && begun.is_some() {
        collector.counters.not_understood += 1;
    }
    let frames = packet.mark.frames();
    let mut message = if begins { Send::begin(frames) } else { begun? };
    message.add(&frames, &packet.body, packet.missing);
    message.solicited |= packet.bth.solicited;
    if ends {
        collector.send(sender.flow, Send { invalidate, ..message });
    } else {
        sender.requests.send = Some(message);
    }
    Some(())
}

fn write(sender: &mut Sender, mut packet: Packet, collector: &mut Collector) -> Option<()> {
    let (begins, ends, immediate) = match packet.bth.opcode {
        opcode::WRITE_FIRST => (true, false, false),
        opcode::WRITE_MIDDLE => (false, false, false),
        opcode::WRITE_LAST => (false, true, false),
        opcode::WRITE_LAST_IMMEDIATE => (false, true, true),
        opcode::WRITE_ONLY => (true, true, false),
        _ => (true, true, true),
    };
    let begun = sender.requests.write.take();
    let item = if begins {
        let reth = Reth::parse(&packet.body).ok()?;
        packet.strip(Reth::LEN);
        collector.rdma(sender.flow, packet.mark.frames().begin(), operation(RdmaKind::Write, &reth))
    } else {
        begun?
    };
    if immediate {
        packet.strip(IETH_LEN);
    }
    let (frames, operation) = collector.rdma_mut(item)?;
    frames.add(&packet.mark.frames());
    operation.bytes += (packet.body.len() + packet.missing) as u64;
    operation.complete = ends && operation.bytes == operation.length;
    if !ends {
        sender.requests.write = Some(item);
    }
    Some(())
}

fn read(sender: &mut Sender, packet: &Packet, mtu: Option<u32>, collector: &mut Collector) -> Option<()> {
    let reth = Reth::parse(&packet.body).ok()?;
    let request = RdmaOperation { complete: true, ..operation(RdmaKind::ReadRequest, &reth) };
    collector.rdma(sender.flow, packet.mark.frames(), request);
    let packets = |mtu: u32| u64::from(reth.length.div_ceil(mtu).max(1));
    match mtu {
        Some(mtu) => sender.order.took(packets(mtu) - 1, 0),
        None => sender.order.took(0, packets(MTU_MIN) - 1),
    }
    sender.reads.request(packet.bth.psn, packets(mtu.unwrap_or(MTU_MIN)), &reth);
    Some(())
}

fn operation(kind: RdmaKind, reth: &Reth) -> RdmaOperation {
    RdmaOperation::begin(kind, Some(Token(reth.rkey)), reth.address, reth.length.into())
}
