//! iWARP: TCP streams to FPDUs, sends and RDMA operations. Any port: a stream is recognised by its content.

mod framing;
mod operations;
mod stream;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use super::collect::{Collector, Flow, Mark};
use super::item::{Endpoint, ItemKind, Transport};
use super::link::Tcp;
use super::session::Side;
use crate::capture::format::mpa::MpaFrame;
use framing::{Found, Framing};
use operations::Operations;
use stream::{Offered, Stream};

/// TCP connections that are looked at at a time; when there are more, those that are not iWARP are forgotten.
const CONNECTIONS_MAX: usize = 65_536;

/// One direction.
#[derive(Debug, Default)]
struct Half {
    stream: Stream,
    framing: Framing,
    operations: Operations,
}

/// A TCP connection; side A is the lower of the two addresses until a connection is recognised.
#[derive(Debug, Default)]
struct Tcb {
    halves: [Half; 2],
    /// The flow of the lower address, once recognised.
    lower: Option<Flow>,
    crc: bool,
    markers: bool,
}

#[derive(Debug, Default)]
pub(super) struct Iwarp {
    tcbs: BTreeMap<(SocketAddr, SocketAddr), Tcb>,
    /// Segments since connections were last forgotten.
    since_sweep: usize,
}

impl Iwarp {
    pub(super) fn segment(&mut self, mark: Mark, segment: &Tcp<'_>, collector: &mut Collector) {
        let from_lower = segment.source <= segment.dest;
        let key = if from_lower { (segment.source, segment.dest) } else { (segment.dest, segment.source) };
        let side = usize::from(!from_lower);
        self.since_sweep += 1;
        if segment.syn {
            self.synchronize(key, side, segment, collector);
        }
        if !self.tcbs.contains_key(&key) && !self.has_room() {
            collector.counters.foreign_frames += 1;
            return;
        }
        let tcb = self.tcbs.entry(key).or_default();
        let half = &mut tcb.halves[side];
        if matches!(half.framing, Framing::Foreign) {
            collector.counters.foreign_frames += 1;
            return;
        }
        if !segment.payload.is_empty() {
            let mut payload = segment.payload.to_vec();
            // What the capture cut off reads as zero: the headers behind it stay where they are.
            payload.resize(payload.len() + segment.missing, 0);
            if half.stream.offer(mark, segment.sequence.wrapping_add(u32::from(segment.syn)), &payload)
                == Offered::Repeated
            {
                // Keepalive probes repeat one byte; they are repetitions all the same.
                collector.counters.retransmissions += 1;
            }
            tcb.advance(key, side, Some(mark), collector);
        }
        if (segment.fin || segment.rst)
            && let Some(flow) = tcb.lower
        {
            collector.ended(flow.connection, mark);
        }
    }

    /// Whether a further connection may be looked at. Forgetting costs a pass over all, so it is done rarely.
    fn has_room(&mut self) -> bool {
        if self.tcbs.len() >= CONNECTIONS_MAX && self.since_sweep >= CONNECTIONS_MAX {
            self.since_sweep = 0;
            self.tcbs.retain(|_, tcb| tcb.lower.is_some());
        }
        self.tcbs.len() < CONNECTIONS_MAX
    }

    /// A new connection: what was known of this pair of ports is over.
    fn synchronize(
        &mut self,
        key: (SocketAddr, SocketAddr),
        side: usize,
        segment: &Tcp<'_>,
        collector: &mut Collector,
    ) {
        let first = segment.sequence.wrapping_add(1);
        if let Some(tcb) = self.tcbs.get_mut(&key) {
            if tcb.halves[side].framing.has_begun() {
                tcb.flush(key, collector);
                *tcb = Tcb::default();
            }
            tcb.halves[side] = Half::starting_at(first);
        } else if self.has_room() {
            let mut tcb = Tcb::default();
            tcb.halves[side] = Half::starting_at(first);
            self.tcbs.insert(key, tcb);
        }
    }

    pub(super) fn finish(&mut self, collector: &mut Collector) {
        for (key, tcb) in &mut self.tcbs {
            tcb.flush(*key, collector);
        }
    }
}

impl Half {
    fn starting_at(sequence: u32) -> Self {
        Self { stream: Stream::starting_at(sequence), framing: Framing::Start, ..Self::default() }
    }
}

impl Tcb {
    /// Nothing follows.
    fn flush(&mut self, key: (SocketAddr, SocketAddr), collector: &mut Collector) {
        for side in 0..2 {
            self.advance(key, side, None, collector);
        }
    }

    /// Takes all that is in order on one side with the frame at hand, or after the last one.
    fn advance(
        &mut self,
        key: (SocketAddr, SocketAddr),
        side: usize,
        mark: Option<Mark>,
        collector: &mut Collector,
    ) {
        loop {
            self.take_ready(key, side, collector);
            let half = &mut self.halves[side];
            let Some(missing) = half.stream.skip(mark.is_none()) else { break };
            if half.framing.lost()
                && let Some(lower) = self.lower
            {
                let flow = if side == 0 { lower } else { lower.reversed() };
                self.halves[side].operations.lost();
                let mark = mark.unwrap_or_else(|| self.halves[side].operations.last_mark());
                collector.lost(flow, mark, missing, "bytes");
            }
        }
    }

    fn take_ready(&mut self, key: (SocketAddr, SocketAddr), side: usize, collector: &mut Collector) {
        loop {
            let half = &mut self.halves[side];
            match half.framing.next(&mut half.stream, self.crc) {
                Found::Nothing => return,
                Found::Empty => {}
                Found::Frame(frame, frames) => {
                    self.crc |= frame.crc;
                    self.markers |= frame.markers;
                    if self.markers {
                        // Markers cut FPDUs at places that only the receiver's reply settles; not read.
                        collector.counters.not_understood += 1;
                    }
                    let flow = self.opened(key, side, Some(&frame), collector);
                    if self.markers {
                        self.halves.iter_mut().for_each(|half| half.framing = Framing::Foreign);
                    }
                    collector.item(flow, frames, ItemKind::Mpa(frame));
                }
                Found::Fpdu { ulpdu, frames, bad_crc } => {
                    collector.counters.bad_checksums += u64::from(bad_crc);
                    let flow = self.opened(key, side, None, collector);
                    let [lower, upper] = &mut self.halves;
                    let (own, peer) = if side == 0 { (lower, upper) } else { (upper, lower) };
                    own.operations.ulpdu(flow, &ulpdu, frames, &mut peer.operations, collector);
                }
                Found::Garbage => collector.counters.not_understood += 1,
            }
        }
    }

    /// The flow of this side, of a new connection if there is none.
    fn opened(
        &mut self,
        key: (SocketAddr, SocketAddr),
        side: usize,
        frame: Option<&MpaFrame>,
        collector: &mut Collector,
    ) -> Flow {
        let lower = *self.lower.get_or_insert_with(|| {
            let [own, peer] = if side == 0 { [key.0, key.1] } else { [key.1, key.0] };
            let end = |address: SocketAddr| Endpoint {
                address: address.ip(),
                port: Some(address.port()),
                qpn: None,
            };
            let own_flow = match frame {
                Some(MpaFrame { reply: false, .. }) => {
                    let connection = collector.open_from_start(Transport::Iwarp, [own, peer].map(end));
                    Flow { connection, side: Side::A }
                }
                // The initiator's frame is missing, but not what follows the frames.
                Some(MpaFrame { reply: true, .. }) => {
                    let connection = collector.open_from_start(Transport::Iwarp, [peer, own].map(end));
                    Flow { connection, side: Side::B }
                }
                None => {
                    let connection = collector.open(Transport::Iwarp, [own, peer].map(end));
                    Flow { connection, side: Side::A }
                }
            };
            if side == 0 { own_flow } else { own_flow.reversed() }
        });
        if side == 0 { lower } else { lower.reversed() }
    }
}
