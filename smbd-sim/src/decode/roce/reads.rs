//! RDMA Read responses, which use the packet numbers of the request they answer.

use std::collections::{BTreeSet, VecDeque};

use super::Packet;
use crate::capture::format::bth::{Aeth, Reth, opcode};
use crate::decode::collect::{Collector, Flow};
use crate::decode::item::{RdmaKind, RdmaOperation};
use smbd_core::wire::Token;

/// Requests that are remembered; a queue pair has at most 255 outstanding.
const REMEMBERED_MAX: usize = 512;
/// Packets of a response that may come late.
const SKIPPED_MAX: usize = 4096;

#[derive(Debug)]
struct Read {
    psn: u32,
    /// Packet numbers it may take.
    packets: u64,
    /// Position behind the last response packet seen.
    next: u64,
    /// Positions before that which have not been seen.
    skipped: BTreeSet<u64>,
    reth: Reth,
    item: Option<usize>,
}

impl Read {
    /// Notes a response packet; `false` when it was there before.
    fn see(&mut self, position: u64) -> bool {
        if position < self.next {
            return self.skipped.remove(&position);
        }
        let room = SKIPPED_MAX.saturating_sub(self.skipped.len());
        self.skipped.extend((self.next..position).take(room));
        self.next = position + 1;
        true
    }
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
        self.recent.push_back(Read {
            psn,
            packets,
            next: 0,
            skipped: BTreeSet::new(),
            reth: *reth,
            item: None,
        });
    }

    /// Takes a response packet of `flow`.
    pub(super) fn response(&mut self, flow: Flow, mut packet: Packet, collector: &mut Collector) {
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
        if !read.see(position) {
            collector.counters.retransmissions += 1;
            return;
        }
        let reth = read.reth;
        let item = *read.item.get_or_insert_with(|| {
            let operation = RdmaOperation::begin(
                RdmaKind::ReadResponse,
                Some(Token(reth.rkey)),
                reth.address,
                reth.length.into(),
            );
            collector.rdma(flow, packet.mark.frames().begin(), operation)
        });
        if let Some((frames, operation)) = collector.rdma_mut(item) {
            frames.add(&packet.mark.frames());
            operation.bytes += len;
            operation.complete = operation.bytes == operation.length;
        }
    }

    fn orphan(&mut self, flow: Flow, packet: &Packet, last: bool, len: u64, collector: &mut Collector) {
        let begins = matches!(packet.bth.opcode, opcode::READ_RESPONSE_FIRST | opcode::READ_RESPONSE_ONLY);
        let begun = self.orphan.take().filter(|_| !begins);
        let item = begun.unwrap_or_else(|| {
            let operation = RdmaOperation::begin(RdmaKind::ReadResponse, None, 0, 0);
            collector.rdma(flow, packet.mark.frames().begin(), operation)
        });
        if let Some((frames, operation)) = collector.rdma_mut(item) {
            frames.add(&packet.mark.frames());
            operation.bytes += len;
        }
        if !last {
            self.orphan = Some(item);
        }
    }
}
