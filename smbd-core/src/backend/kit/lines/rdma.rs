use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use super::Line;
use crate::backend::kit::bench::{Bench, Message, broken, ensure, needs};
use crate::backend::kit::seen::Seen;
use crate::backend::kit::{Finding, Fixture, Lab, Peer, Situation};
use crate::{Access, BufferDescriptorV1, RdmaVerb, RegId};

pub(super) fn lines<L: Lab>() -> [Line<L>; 9] {
    let contract = "contract: whose memory it is";
    [
        Line {
            id: "rdma.write",
            about: "an RDMA Write changes exactly its range",
            law: "3.1.4.5",
            run: |lab| moves(lab, RdmaVerb::Write),
        },
        Line {
            id: "rdma.read",
            about: "an RDMA Read fetches exactly its range",
            law: "3.1.4.6",
            run: |lab| moves(lab, RdmaVerb::Read),
        },
        Line {
            id: "rdma.bounds",
            about: "access beyond a segment, by one byte at either side, ends the connection and changes nothing",
            law: contract,
            run: bounds,
        },
        Line {
            id: "rdma.rights",
            about: "what may be read cannot be written, and the other way round",
            law: "3.1.4.3",
            run: rights,
        },
        Line {
            id: "rdma.dead-token",
            about: "a token is dead once Deregistered was reported",
            law: "3.1.4.4, law 9",
            run: dead_token,
        },
        Line {
            id: "rdma.foreign-token",
            about: "a token does not work on another connection",
            law: "3.1.4.3",
            run: foreign_token,
        },
        Line {
            id: "rdma.handles",
            about: "the backend keeps memory alive that the device may touch",
            law: "contract: whose memory it is",
            run: handles,
        },
        Line {
            id: "invalidation.reported",
            about: "an invalidation by the peer is reported with its message, and the token is dead",
            law: "3.1.5.1, 3.1.5.8, law 9",
            run: |lab| invalidation(lab, true),
        },
        Line {
            id: "invalidation.deregistered",
            about: "what the peer invalidated is deregistered without being invalidated again",
            law: "law 9",
            run: |lab| invalidation(lab, false),
        },
    ]
}

const LEN: usize = 64;

/// A connected bench, and registered memory of the acceptor that is all 1.
struct Far<F: Fixture> {
    bench: Bench<F>,
    buffer: F::Buffer,
    id: RegId,
    segments: Vec<BufferDescriptorV1>,
    /// The first of them.
    segment: BufferDescriptorV1,
    near: F::Buffer,
}

impl<F: Fixture> Far<F> {
    fn new<L: Lab<Fixture = F>>(lab: &mut L, access: Access) -> Result<Self, Finding> {
        needs(lab.capabilities().rdma, "no RDMA")?;
        let mut bench = Bench::connected(lab)?;
        let buffer = bench.allocate(Peer::ACCEPTOR, &[1; LEN])?;
        let (id, segments) = bench.register(Peer::ACCEPTOR, &buffer, access)?;
        let near = bench.allocate(Peer::INITIATOR, &[2; LEN])?;
        let Some(segment) = segments.first().copied() else { return broken("no segment") };
        Ok(Self { bench, buffer, id, segments, segment, near })
    }

    /// An access that must fail: the connection ends, and nothing has changed on either side.
    fn refused(mut self, verb: RdmaVerb, remote: BufferDescriptorV1, what: &str) -> Result<(), Finding> {
        let id = self.bench.rdma(Peer::INITIATOR, verb, &self.near, 0, remote);
        self.bench.ring_doorbell(Peer::INITIATOR);
        self.bench.wait(Peer::INITIATOR, &format!("the end after {what}"), Seen::is_end)?;
        self.bench.quiet();
        let read =
            self.bench.ends(Peer::INITIATOR, id).contains(&Seen::RdmaDone(id)) && verb == RdmaVerb::Read;
        ensure(!read, || format!("{what}: the read succeeded"))?;
        let far = self.bench.contents(Peer::ACCEPTOR, &self.buffer, LEN)?;
        ensure(far == [1; LEN], || format!("{what}: the peer's memory is now {far:?}"))?;
        let near = self.bench.contents(Peer::INITIATOR, &self.near, LEN)?;
        ensure(near == [2; LEN], || format!("{what}: the local memory is now {near:?}"))
    }
}

fn moves<L: Lab>(lab: &mut L, verb: RdmaVerb) -> Result<(), Finding> {
    let mut far = Far::new(lab, if verb == RdmaVerb::Read { Access::Read } else { Access::Write })?;
    let BufferDescriptorV1 { offset, token, length } = far.segment;
    let len = length.min(40).saturating_sub(8);
    let remote = BufferDescriptorV1 { offset: offset.wrapping_add(5), token, length: len };
    let id = far.bench.rdma(Peer::INITIATOR, verb, &far.near, 3, remote);
    far.bench.ring_doorbell(Peer::INITIATOR);
    far.bench.wait_for(Peer::INITIATOR, id)?;
    let ends = far.bench.ends(Peer::INITIATOR, id);
    ensure(ends == [Seen::RdmaDone(id)], || format!("{verb:?} ended as {ends:?}"))?;
    // On a byte stream a write is complete when it is handed over.
    far.bench.quiet();
    let (end, buffer, at, from, to) = match verb {
        RdmaVerb::Write => (Peer::ACCEPTOR, &far.buffer, 5, 1, 2),
        RdmaVerb::Read => (Peer::INITIATOR, &far.near, 3, 2, 1),
    };
    let now = far.bench.contents(end, buffer, LEN)?;
    let mut expected = vec![from; LEN];
    let len = usize::try_from(len).unwrap_or(0);
    expected.iter_mut().skip(at).take(len).for_each(|byte| *byte = to);
    ensure(now == expected, || format!("{verb:?} left {now:?}, expected {expected:?}"))
}

fn bounds<L: Lab>(lab: &mut L) -> Result<(), Finding> {
    for (verb, access) in [(RdmaVerb::Read, Access::Read), (RdmaVerb::Write, Access::Write)] {
        for (what, shift) in [("a byte too far", 1), ("a byte too early", u64::MAX), ("far away", 1 << 40)] {
            let far = Far::new(lab, access)?;
            let offset = far.segment.offset.wrapping_add(shift);
            let remote = BufferDescriptorV1 { offset, ..far.segment };
            far.refused(verb, remote, &format!("{verb:?} {what}"))?;
        }
    }
    Ok(())
}

fn rights<L: Lab>(lab: &mut L) -> Result<(), Finding> {
    let checked = lab.capabilities().read_rights;
    let read = checked.then_some((RdmaVerb::Read, Access::Write));
    for (verb, access) in [(RdmaVerb::Write, Access::Read)].into_iter().chain(read) {
        let far = Far::new(lab, access)?;
        let remote = far.segment;
        far.refused(verb, remote, &format!("{verb:?} with the right {access:?}"))?;
    }
    Ok(())
}

fn dead_token<L: Lab>(lab: &mut L) -> Result<(), Finding> {
    for verb in [RdmaVerb::Read, RdmaVerb::Write] {
        let mut far = Far::new(lab, Access::ReadWrite)?;
        let segment = far.segment;
        far.bench.deregister(Peer::ACCEPTOR, far.id, &far.segments, None)?;
        far.refused(verb, segment, &format!("{verb:?} after Deregistered"))?;
    }
    Ok(())
}

fn foreign_token<L: Lab>(lab: &mut L) -> Result<(), Finding> {
    let capabilities = lab.capabilities();
    needs(capabilities.rdma && capabilities.two_connections, "no second connection")?;
    for verb in [RdmaVerb::Read, RdmaVerb::Write] {
        let mut bench = Bench::new(lab, Situation::TwoConnections)?;
        bench.connect(0)?;
        bench.connect(1)?;
        let buffer = bench.allocate(Peer::SECOND_ACCEPTOR, &[1; LEN])?;
        let (id, segments) = bench.register(Peer::SECOND_ACCEPTOR, &buffer, Access::ReadWrite)?;
        let Some(segment) = segments.first().copied() else { return broken("no segment") };
        let near = bench.allocate(Peer::INITIATOR, &[2; LEN])?;
        let far = Far { bench, buffer, id, segments, segment, near };
        far.refused(verb, segment, &format!("{verb:?} on another connection"))?;
    }
    Ok(())
}

fn handles<L: Lab>(lab: &mut L) -> Result<(), Finding> {
    let mut far = Far::new(lab, Access::Write)?;
    let remote = BufferDescriptorV1 { length: far.segment.length.min(16), ..far.segment };
    let source = far.bench.allocate(Peer::INITIATOR, &[9; LEN])?;
    let id = far.bench.rdma(Peer::INITIATOR, RdmaVerb::Write, &source, 0, remote);
    // The upper layer lets go while the device still has it to do.
    drop(source);
    far.bench.ring_doorbell(Peer::INITIATOR);
    far.bench.wait_for(Peer::INITIATOR, id)?;
    far.bench.quiet();
    let ends = far.bench.ends(Peer::INITIATOR, id);
    ensure(ends == [Seen::RdmaDone(id)], || format!("a write from memory let go ended as {ends:?}"))?;
    let len = usize::try_from(remote.length).unwrap_or(0);
    let written = far.bench.contents(Peer::ACCEPTOR, &far.buffer, len)?;
    ensure(written.iter().all(|byte| *byte == 9), || format!("it wrote {written:?}"))
}

fn invalidation<L: Lab>(lab: &mut L, access_after: bool) -> Result<(), Finding> {
    let mut far = Far::new(lab, Access::ReadWrite)?;
    if !far.bench.limits(Peer::INITIATOR)?.send_with_invalidate {
        return Err(Finding::NotApplicable("sends cannot invalidate, and the limits say so"));
    }
    needs(lab.capabilities().invalidation_told, "invalidations are not told")?;
    let segment = far.segment;
    let message = Message { invalidate: Some(segment.token), ..Message::head(b"invalidate") };
    far.bench.send(Peer::INITIATOR, message);
    far.bench.ring_doorbell(Peer::INITIATOR);
    far.bench.wait(Peer::ACCEPTOR, "the message", |seen| matches!(seen, Seen::Received { .. }))?;
    let token = Some(segment.token);
    let reported = far.bench.count(
        Peer::ACCEPTOR,
        |seen| matches!(seen, Seen::Received { invalidated, .. } if *invalidated == token),
    );
    ensure(reported == 1, || {
        format!("{:?} does not tell of {}", far.bench.seen(Peer::ACCEPTOR), segment.token)
    })?;
    if access_after {
        return far.refused(RdmaVerb::Write, segment, "a write after the invalidation");
    }
    far.bench.deregister(Peer::ACCEPTOR, far.id, &far.segments, token)?;
    far.bench.quiet();
    let ended = far.bench.count(Peer::ACCEPTOR, Seen::is_end);
    ensure(ended == 0, || format!("deregistering ended the connection: {:?}", far.bench.seen(Peer::ACCEPTOR)))
}
