//! RDMAP: makes sends and RDMA operations from the DDP segments of one sender.

use std::collections::VecDeque;

use crate::capture::format::rdmap::{Placement, ReadRequest, Segment, opcode};
use crate::decode::collect::{Collector, Flow, Mark, Send};
use crate::decode::item::{Frames, ItemKind, RdmaKind, RdmaOperation};
use smbd_core::wire::Token;

/// Read requests that wait for their response.
const READS_MAX: usize = 512;

/// What a sender has begun.
#[derive(Debug, Default)]
pub(super) struct Operations {
    send: Option<Send>,
    /// Item of the write or read response, and its kind.
    tagged: Option<(usize, RdmaKind)>,
    /// Reads this side asked for.
    reads: VecDeque<ReadRequest>,
    last: Mark,
}

impl Operations {
    /// Bytes are missing: what was begun cannot be completed.
    pub(super) fn lost(&mut self) {
        self.send = None;
        self.tagged = None;
    }

    pub(super) fn last_mark(&self) -> Mark {
        self.last
    }

    pub(super) fn ulpdu(
        &mut self,
        flow: Flow,
        ulpdu: &[u8],
        frames: Frames,
        peer: &mut Self,
        collector: &mut Collector,
    ) {
        self.last = Mark { frame: frames.last, time_ns: frames.last_ns };
        let understood = Segment::parse(ulpdu).ok().and_then(|(segment, payload)| match segment.placement {
            Placement::Tagged { stag, offset } => {
                self.tagged(flow, &segment, (stag, offset), payload, frames, peer, collector)
            }
            Placement::Untagged { invalidate, offset, .. } => match segment.opcode {
                opcode::SEND..=opcode::SEND_SOLICITED_INVALIDATE => {
                    self.send(flow, &segment, (invalidate, offset), payload, frames, collector)
                }
                opcode::READ_REQUEST => self.read_request(flow, payload, frames, collector),
                opcode::TERMINATE => {
                    let control = payload.first_chunk().map(|control| u16::from_be_bytes(*control))?;
                    collector.item(flow, frames, ItemKind::Terminate { control });
                    Some(())
                }
                _ => None,
            },
        });
        if understood.is_none() {
            collector.counters.not_understood += 1;
        }
    }

    /// `None` when the segment does not continue what came before.
    fn send(
        &mut self,
        flow: Flow,
        segment: &Segment,
        (invalidate, offset): (u32, u32),
        payload: &[u8],
        frames: Frames,
        collector: &mut Collector,
    ) -> Option<()> {
        let mut send = match self.send.take() {
            Some(begun) if u64::from(offset) == begun.len => begun,
            _ if offset == 0 => Send::begin(frames),
            _ => return None,
        };
        send.add(&frames, payload, 0);
        send.solicited = matches!(segment.opcode, opcode::SEND_SOLICITED | opcode::SEND_SOLICITED_INVALIDATE);
        let invalidates =
            matches!(segment.opcode, opcode::SEND_INVALIDATE | opcode::SEND_SOLICITED_INVALIDATE);
        send.invalidate = invalidates.then_some(invalidate);
        if segment.last {
            collector.send(flow, send);
        } else {
            self.send = Some(send);
        }
        Some(())
    }

    fn read_request(
        &mut self,
        flow: Flow,
        payload: &[u8],
        frames: Frames,
        collector: &mut Collector,
    ) -> Option<()> {
        let request = ReadRequest::parse(payload).ok()?;
        if self.reads.len() >= READS_MAX {
            self.reads.pop_front();
        }
        self.reads.push_back(request);
        let operation = operation(RdmaKind::ReadRequest, &request);
        collector.rdma(flow, frames, RdmaOperation { complete: true, ..operation });
        Some(())
    }

    #[expect(clippy::too_many_arguments, reason = "a segment is its header, place, payload and frames")]
    fn tagged(
        &mut self,
        flow: Flow,
        segment: &Segment,
        (stag, offset): (u32, u64),
        payload: &[u8],
        frames: Frames,
        peer: &mut Self,
        collector: &mut Collector,
    ) -> Option<()> {
        let kind = match segment.opcode {
            opcode::WRITE => RdmaKind::Write,
            opcode::READ_RESPONSE => RdmaKind::ReadResponse,
            _ => return None,
        };
        let item = match self.tagged.take() {
            Some((item, begun)) if begun == kind => item,
            _ => {
                // A response names the requester's memory; the report names what was read.
                let operation = if kind == RdmaKind::Write {
                    RdmaOperation::begin(kind, Some(Token(stag)), offset, 0)
                } else {
                    let sink = |read: &ReadRequest| (read.sink_stag, read.sink_offset) == (stag, offset);
                    let read = peer.reads.iter().position(sink).and_then(|at| peer.reads.remove(at));
                    read.map_or(RdmaOperation::begin(kind, None, offset, 0), |read| operation(kind, &read))
                };
                collector.rdma(flow, frames.begin(), operation)
            }
        };
        let (item_frames, operation) = collector.rdma_mut(item)?;
        item_frames.add(&frames);
        operation.bytes += payload.len() as u64;
        if kind == RdmaKind::Write {
            operation.length = operation.bytes;
        }
        if segment.last {
            operation.complete = operation.bytes == operation.length;
        } else {
            self.tagged = Some((item, kind));
        }
        Some(())
    }
}

fn operation(kind: RdmaKind, of: &ReadRequest) -> RdmaOperation {
    RdmaOperation::begin(kind, Some(Token(of.source_stag)), of.source_offset, of.length.into())
}
