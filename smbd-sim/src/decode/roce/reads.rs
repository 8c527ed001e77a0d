//! RDMA Read responses, which use the packet numbers of the request they answer.

use std::collections::VecDeque;

use super::Packet;
use crate::capture::format::bth::{Aeth, Reth, opcode};
use crate::decode::collect::{Collector, Flow};
use crate::decode::report::{RdmaKind, RdmaOperation};
use smbd_core::wire::Token;

/// Requests that are remembered; a queue pair has at most 255 outstanding.
const REMEMBERED_MAX: usize = 512;

#[derive(Debug)]
struct Read {
    psn: u32,
    /// Packet numbers it may take.
    packets: u64,
    /// Response packets seen in order.
    seen: u64,
    reth: Reth,
    item: Option<usize>,
    done: bool,
}

/// Reads of one requester.
#[derive(Debug, Default)]
pub(super) struct Reads {
    recent: VecDeque<Read>,
    /// Item of a response whose request was not seen.
    orphan: Option<usize>,
}

impl Reads {
    pub(super) fn request(&mut self, psn: u32, packets: u64, reth: &Reth) {
        if self.recent.len() >= REMEMBERED_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back(Read { psn, packets, seen: 0, reth: *reth, item: None, done: false });
    }

    /// Takes a response packet of `flow`.
    pub(super) fn response(
        &mut self,
        flow: Flow,
        mut packet: Packet,
        mtu: Option<u32>,
        collector: &mut Collector,
    ) {
        let middle = packet.bth.opcode == opcode::READ_RESPONSE_MIDDLE;
        let last = matches!(packet.bth.opcode, opcode::READ_RESPONSE_LAST | opcode::READ_RESPONSE_ONLY);
        if !middle {
            packet.strip(Aeth::LEN);
        }
        let len = (packet.body.len() + packet.missing) as u64;
        let position = |read: &Read| u64::from(packet.bth.psn.wrapping_sub(read.psn) & 0xff_ffff);
        // From the newest: with an unknown path MTU ranges overlap, and the younger request is the better guess.
        let known = self.recent.iter_mut().rev().find(|read| position(read) < read.packets);
        let Some(read) = known else { return self.orphan(flow, &packet, last, len, collector) };
        let position = position(read);
        if read.done || position < read.seen {
            collector.counters.retransmissions += 1;
            return;
        }
        read.seen = position + 1;
        let reth = read.reth;
        let item = *read.item.get_or_insert_with(|| {
            let operation = RdmaOperation {
                kind: RdmaKind::ReadResponse,
                token: Some(Token(reth.rkey)),
                address: reth.address,
                length: reth.length.into(),
                bytes: 0,
                complete: false,
            };
            let mut frames = packet.mark.frames();
            frames.packets = 0;
            collector.rdma(flow, frames, operation)
        });
        read.done = last || mtu.is_some() && read.seen == read.packets;
        if let Some((frames, operation)) = collector.rdma_mut(item) {
            packet.mark.extend(frames);
            operation.bytes += len;
            operation.complete = operation.bytes == operation.length;
        }
    }

    fn orphan(&mut self, flow: Flow, packet: &Packet, last: bool, len: u64, collector: &mut Collector) {
        let begins = matches!(packet.bth.opcode, opcode::READ_RESPONSE_FIRST | opcode::READ_RESPONSE_ONLY);
        let begun = self.orphan.take().filter(|_| !begins);
        let item = begun.unwrap_or_else(|| {
            let kind = RdmaKind::ReadResponse;
            let operation =
                RdmaOperation { kind, token: None, address: 0, length: 0, bytes: 0, complete: false };
            let mut frames = packet.mark.frames();
            frames.packets = 0;
            collector.rdma(flow, frames, operation)
        });
        if let Some((frames, operation)) = collector.rdma_mut(item) {
            packet.mark.extend(frames);
            operation.bytes += len;
        }
        if !last {
            self.orphan = Some(item);
        }
    }
}
