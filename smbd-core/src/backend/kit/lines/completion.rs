use alloc::format;
use alloc::vec::Vec;

use super::Line;
use crate::WrId;
use crate::backend::kit::bench::{Bench, Message, ensure, needs};
use crate::backend::kit::seen::Seen;
use crate::backend::kit::{Finding, Fixture, Lab, Peer};
use crate::{Access, RdmaVerb};

pub(super) fn lines<L: Lab>() -> [Line<L>; 8] {
    [
        Line {
            id: "completion.unsignalled",
            about: "sends without signal complete with the next one that has it, all in posting order",
            law: "law 1, contract: one end for each id",
            run: unsignalled,
        },
        Line {
            id: "completion.mixed",
            about: "sends and RDMA requests complete in posting order, also the sends and the Write that have no signal",
            law: "contract: one end for each id",
            run: mixed,
        },
        Line {
            id: "completion.read-in-order",
            about: "the data of a Read without signal are there when a send behind it is complete, if limits say so",
            law: "Limits, contract: one end for each id",
            run: read_in_order,
        },
        Line {
            id: "completion.own-disconnect",
            about: "everything posted ends once when this end disconnects",
            law: "laws 1 and 2",
            run: |lab| outstanding(lab, false),
        },
        Line {
            id: "completion.peer-disconnect",
            about: "the peer's disconnect is reported; then everything posted ends once",
            law: "laws 1 and 2, 3.1.7.1",
            run: |lab| outstanding(lab, true),
        },
        Line {
            id: "completion.before-the-end",
            about: "a message that came before the peer's disconnect is reported before Disconnected",
            law: "contract: causes first",
            run: before_the_end,
        },
        Line {
            id: "completion.before-deregistered",
            about: "a message that came before a deregistration is reported before Deregistered",
            law: "contract: causes first, law 9",
            run: before_deregistered,
        },
        Line {
            id: "completion.posted-after-the-end",
            about: "what is posted after the own disconnect ends as a failure, once",
            law: "law 1",
            run: after_the_end,
        },
    ]
}

fn unsignalled<L: Lab>(lab: &mut L) -> Result<(), Finding> {
    let mut bench = Bench::connected(lab)?;
    for _ in 0..8 {
        bench.post_recv(Peer::ACCEPTOR, 64);
    }
    bench.ring_doorbell(Peer::ACCEPTOR);
    let sends: Vec<_> = (1..=8)
        .map(|n| bench.send(Peer::INITIATOR, Message { signal: n == 8, ..Message::head(&[n]) }))
        .map(WrId::from)
        .collect();
    bench.ring_doorbell(Peer::INITIATOR);
    in_order(&mut bench, &sends)
}

fn mixed<L: Lab>(lab: &mut L) -> Result<(), Finding> {
    needs(lab.capabilities().rdma, "no RDMA")?;
    let mut bench = Bench::connected(lab)?;
    for _ in 0..4 {
        bench.post_recv(Peer::ACCEPTOR, 64);
    }
    let far = bench.allocate(Peer::ACCEPTOR, &[1; 32])?;
    let (_, segments) = bench.register(Peer::ACCEPTOR, &far, Access::ReadWrite)?;
    let near = bench.allocate(Peer::INITIATOR, &[2; 32])?;
    let Some(segment) = segments.first().copied() else { return Ok(()) };
    let unsignalled = |n| Message { signal: false, ..Message::head(n) };
    let work: [WrId; 5] = [
        bench.send(Peer::INITIATOR, unsignalled(&[0])).into(),
        bench.rdma_with(Peer::INITIATOR, RdmaVerb::Write, (&near, 0), segment, false).into(),
        bench.send(Peer::INITIATOR, unsignalled(&[1])).into(),
        bench.rdma(Peer::INITIATOR, RdmaVerb::Read, &near, 0, segment).into(),
        bench.send(Peer::INITIATOR, Message::head(&[2])).into(),
    ];
    bench.ring_doorbell(Peer::INITIATOR);
    in_order(&mut bench, &work)
}

fn read_in_order<L: Lab>(lab: &mut L) -> Result<(), Finding> {
    needs(lab.capabilities().rdma, "no RDMA")?;
    let mut bench = Bench::connected(lab)?;
    needs(bench.limits(Peer::INITIATOR)?.reads_in_order, "Reads are not in order")?;
    bench.post_recv(Peer::ACCEPTOR, 64);
    let far = bench.allocate(Peer::ACCEPTOR, &[1; 32])?;
    let (_, segments) = bench.register(Peer::ACCEPTOR, &far, Access::Read)?;
    let near = bench.allocate(Peer::INITIATOR, &[2; 32])?;
    let Some(segment) = segments.first().copied() else { return Ok(()) };
    let read = bench.rdma_with(Peer::INITIATOR, RdmaVerb::Read, (&near, 0), segment, false);
    let send = bench.send(Peer::INITIATOR, Message::head(b"behind"));
    bench.ring_doorbell(Peer::INITIATOR);
    bench.wait_for(Peer::INITIATOR, read)?;
    // Before anything else can happen.
    let bytes = bench.contents(Peer::INITIATOR, &near, 32)?;
    ensure(bytes == [1; 32], || format!("{read:?} is done, its data are not there: {bytes:?}"))?;
    in_order(&mut bench, &[read.into(), send.into()])
}

/// All of `work` succeeds, each once, in order.
fn in_order<F: Fixture>(bench: &mut Bench<F>, work: &[WrId]) -> Result<(), Finding> {
    for id in work {
        bench.wait_for(Peer::INITIATOR, *id)?;
    }
    bench.quiet();
    let seen: Vec<_> = bench
        .seen(Peer::INITIATOR)
        .iter()
        .filter(|seen| matches!(seen, Seen::Sent(_) | Seen::RdmaDone(_) | Seen::Failed(..)))
        .collect();
    let order: Vec<_> = seen.iter().filter_map(|seen| seen.work()).collect();
    ensure(order == work, || format!("posted {work:?}, ended {seen:?}"))?;
    let failed = bench.count(Peer::INITIATOR, |seen| matches!(seen, Seen::Failed(..)));
    ensure(failed == 0, || format!("failed: {seen:?}"))
}

fn outstanding<L: Lab>(lab: &mut L, by_peer: bool) -> Result<(), Finding> {
    let mut bench = Bench::connected(lab)?;
    for _ in 0..4 {
        bench.post_recv(Peer::INITIATOR, 64);
    }
    // One of them arrives; the others have no receive or no completion of their own.
    for n in 0..4 {
        bench.send(Peer::INITIATOR, Message { signal: n == 1, ..Message::head(&[n]) });
        if n == 0 && by_peer {
            bench.ring_doorbell(Peer::INITIATOR);
            bench.wait(Peer::ACCEPTOR, "a message", |seen| matches!(seen, Seen::Received { .. }))?;
        }
    }
    if by_peer {
        bench.disconnect(Peer::ACCEPTOR)?;
        bench.wait(Peer::INITIATOR, "Disconnected", Seen::is_disconnected)?;
    }
    bench.disconnect(Peer::INITIATOR)
}

fn after_the_end<L: Lab>(lab: &mut L) -> Result<(), Finding> {
    let mut bench = Bench::connected(lab)?;
    bench.disconnect(Peer::INITIATOR)?;
    let work: [WrId; 2] = [
        bench.post_recv(Peer::INITIATOR, 64).into(),
        bench.send(Peer::INITIATOR, Message { signal: false, ..Message::head(b"late") }).into(),
    ];
    bench.ring_doorbell(Peer::INITIATOR);
    for id in work {
        bench.wait_for(Peer::INITIATOR, id)?;
        bench.ended_once(Peer::INITIATOR, id)?;
        let ends = bench.ends(Peer::INITIATOR, id);
        ensure(ends.iter().all(|end| matches!(end, Seen::Failed(..))), || {
            format!("{id} did not fail: {ends:?}")
        })?;
    }
    Ok(())
}

/// Sends a message to an acceptor that does not look.
fn send_unseen<F: Fixture>(bench: &mut Bench<F>) -> Result<(), Finding> {
    bench.ignore(Some(Peer::ACCEPTOR));
    let sent = bench.send(Peer::INITIATOR, Message::head(b"unseen"));
    bench.ring_doorbell(Peer::INITIATOR);
    bench.wait_for(Peer::INITIATOR, sent)?;
    bench.quiet();
    Ok(())
}

fn before_the_end<L: Lab>(lab: &mut L) -> Result<(), Finding> {
    let mut bench = Bench::connected(lab)?;
    send_unseen(&mut bench)?;
    bench.disconnect(Peer::INITIATOR)?;
    bench.ignore(None);
    bench.wait(Peer::ACCEPTOR, "Disconnected", Seen::is_disconnected)?;
    bench.quiet();
    message_first(&bench, Seen::is_disconnected)
}

fn before_deregistered<L: Lab>(lab: &mut L) -> Result<(), Finding> {
    needs(lab.capabilities().rdma, "no RDMA")?;
    let mut bench = Bench::connected(lab)?;
    let buffer = bench.allocate(Peer::ACCEPTOR, &[0; 32])?;
    let (id, segments) = bench.register(Peer::ACCEPTOR, &buffer, Access::Read)?;
    send_unseen(&mut bench)?;
    bench.begin_deregistering(Peer::ACCEPTOR, id, &segments, None);
    bench.quiet();
    bench.ignore(None);
    bench.wait(Peer::ACCEPTOR, "Deregistered", |seen| *seen == Seen::Deregistered(id))?;
    bench.quiet();
    message_first(&bench, |seen| *seen == Seen::Deregistered(id))
}

fn message_first<F: Fixture>(bench: &Bench<F>, then: impl Fn(&Seen) -> bool) -> Result<(), Finding> {
    let message = bench.place(Peer::ACCEPTOR, |seen| seen.message().is_some());
    let in_order = message.is_some() && message < bench.place(Peer::ACCEPTOR, then);
    ensure(in_order, || format!("not first: {:?}", bench.seen(Peer::ACCEPTOR)))
}
