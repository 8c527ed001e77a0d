use alloc::format;
use alloc::vec::Vec;

use super::Line;
use crate::backend::kit::bench::{Bench, Message, broken, ensure, needs};
use crate::backend::kit::seen::Seen;
use crate::backend::kit::{Finding, Fixture, Lab, Peer};
use crate::error::WorkError;
use crate::{Access, BufferDescriptorV1, RdmaVerb, WrId};

pub(super) fn lines<L: Lab>() -> [Line<L>; 5] {
    [
        Line {
            id: "limits.sane",
            about: "limits leave room for a connection: two sends, RDMA requests of a byte",
            law: "Limits",
            run: sane,
        },
        Line {
            id: "limits.send-queue",
            about: "as many requests as reported can be posted at once",
            law: "Limits, law 1",
            run: send_queue,
        },
        Line {
            id: "limits.send-queue-overflow",
            about: "a request beyond the send queue is refused, or carried out by a device with more room; not lost",
            law: "contract: a refused post",
            run: overflow,
        },
        Line {
            id: "limits.read-depth",
            about: "as many RDMA Reads as reported can be outstanding",
            law: "Limits, 6.2",
            run: |lab| reads(lab, 0),
        },
        Line {
            id: "limits.read-depth-overflow",
            about: "RDMA Reads beyond the depth end, each once",
            law: "law 1",
            run: |lab| reads(lab, 1),
        },
    ]
}

fn sane<L: Lab>(lab: &mut L) -> Result<(), Finding> {
    let bench = Bench::connected(lab)?;
    for end in [Peer::INITIATOR, Peer::ACCEPTOR] {
        let limits = bench.limits(end)?;
        let sane = limits.send_queue >= 2 && limits.rdma_len_max >= 1;
        ensure(sane, || format!("{limits:?} at {end:?}"))?;
    }
    Ok(())
}

/// Memory on both sides: a local buffer, and what the peer lets in.
type Memory<L> = (<<L as Lab>::Fixture as Fixture>::Buffer, BufferDescriptorV1);

/// Posts `count` requests in one go and returns their ids: sends, as many as have slots, and RDMA Writes to `remote`.
fn burst<L: Lab>(bench: &mut Bench<L::Fixture>, count: u32, remote: Option<&Memory<L>>) -> Vec<WrId> {
    let slots = bench.budget.send_slots;
    let post = |n: u32| match remote {
        Some((near, remote)) if n > slots => {
            bench.rdma(Peer::INITIATOR, RdmaVerb::Write, near, 0, *remote).into()
        }
        _ => bench.send(Peer::INITIATOR, Message { signal: n == count, ..Message::head(b"burst") }).into(),
    };
    let ids = (1..=count).map(post).collect();
    bench.ring_doorbell(Peer::INITIATOR);
    ids
}

/// Memory on both sides for RDMA Writes, if the backend has them.
fn memory<L: Lab>(lab: &L, bench: &mut Bench<L::Fixture>) -> Result<Option<Memory<L>>, Finding> {
    if !lab.capabilities().rdma {
        return Ok(None);
    }
    let far = bench.allocate(Peer::ACCEPTOR, &[0; 8])?;
    let (_, segments) = bench.register(Peer::ACCEPTOR, &far, Access::Write)?;
    let Some(segment) = segments.first() else { return broken("no segment") };
    Ok(Some((bench.allocate(Peer::INITIATOR, &[1; 8])?, *segment)))
}

fn send_queue<L: Lab>(lab: &mut L) -> Result<(), Finding> {
    let mut bench = Bench::connected(lab)?;
    let reported = u32::from(bench.limits(Peer::INITIATOR)?.send_queue);
    let memory = memory(lab, &mut bench)?;
    // More than was reserved is legal to report. What can be tried has a slot each, and each send a receive.
    let rdma_slots = if memory.is_some() { bench.budget.rdma_slots } else { 0 };
    let slots = bench.budget.send_slots.saturating_add(rdma_slots);
    let depth = reported.min(bench.budget.recv_queue).min(slots);
    for _ in 1..depth {
        bench.post_recv(Peer::ACCEPTOR, 64);
    }
    bench.ring_doorbell(Peer::ACCEPTOR);
    for id in burst::<L>(&mut bench, depth, memory.as_ref()) {
        bench.wait_for(Peer::INITIATOR, id)?;
        let ends = bench.ends(Peer::INITIATOR, id);
        ensure(ends.iter().all(|end| matches!(end, Seen::Sent(_) | Seen::RdmaDone(_))), || {
            format!("with {depth} of {reported} requests posted: {ends:?}")
        })?;
    }
    Ok(())
}

/// More sends than there are slots, so that ids of the same slot meet: no connection does it, and a backend may refuse
/// the first such one already.
fn overflow<L: Lab>(lab: &mut L) -> Result<(), Finding> {
    let mut bench = Bench::connected(lab)?;
    let depth = u32::from(bench.limits(Peer::INITIATOR)?.send_queue).min(bench.budget.send_queue);
    for _ in 0..depth {
        bench.post_recv(Peer::ACCEPTOR, 64);
    }
    bench.ring_doorbell(Peer::ACCEPTOR);
    let ids = burst::<L>(&mut bench, depth.saturating_add(1), None);
    let Some(last) = ids.last() else { return Ok(()) };
    bench.wait_for(Peer::INITIATOR, *last)?;
    bench.disconnect(Peer::INITIATOR)?;
    // That each ended once is known; those before a refused one may have been flushed by the disconnect.
    let is_refused = |id: &WrId| {
        matches!(bench.ends(Peer::INITIATOR, *id)[..], [Seen::Failed(_, WorkError::PostFailed { .. })])
    };
    let ends = bench.ends(Peer::INITIATOR, *last);
    let ended = matches!(ends[..], [Seen::Sent(_)]) || ids.iter().any(is_refused);
    ensure(ended, || format!("nothing was refused, and request {} of {depth}: {ends:?}", ids.len()))
}

fn reads<L: Lab>(lab: &mut L, beyond: u16) -> Result<(), Finding> {
    needs(lab.capabilities().rdma, "no RDMA")?;
    let mut bench = Bench::connected(lab)?;
    let depth = bench.limits(Peer::INITIATOR)?.read_depth;
    if depth == 0 {
        return Err(Finding::NotApplicable("no RDMA Read"));
    }
    let far = bench.allocate(Peer::ACCEPTOR, &[5; 64])?;
    let (_, segments) = bench.register(Peer::ACCEPTOR, &far, Access::Read)?;
    let Some(segment) = segments.first().copied() else { return broken("no segment") };
    let near = bench.allocate(Peer::INITIATOR, &[0; 256])?;
    let slots = bench.budget.rdma_slots;
    let count = u32::from(depth).saturating_add(beyond.into()).min(slots);
    let remote = BufferDescriptorV1 { length: segment.length.min(8), ..segment };
    let ids: Vec<_> = (0..count)
        .map(|n| bench.rdma(Peer::INITIATOR, RdmaVerb::Read, &near, n.saturating_mul(8), remote))
        .collect();
    bench.ring_doorbell(Peer::INITIATOR);
    for id in &ids {
        bench.wait_for(Peer::INITIATOR, *id)?;
        let ends = bench.ends(Peer::INITIATOR, *id);
        ensure(beyond > 0 || ends == [Seen::RdmaDone(*id)], || {
            format!("{count} reads, depth {depth}: {ends:?}")
        })?;
    }
    bench.disconnect(Peer::INITIATOR)
}
