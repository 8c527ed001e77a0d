use alloc::format;

use super::Line;
use crate::backend::BackendOp;
use crate::backend::kit::bench::{Bench, Message, ensure, needs};
use crate::backend::kit::seen::Seen;
use crate::backend::kit::{Finding, Lab, Peer, Situation};
use crate::error::ConnectReason;

pub(super) fn lines<L: Lab>() -> [Line<L>; 9] {
    [
        Line {
            id: "connect.answered-once",
            about: "Connect and Accept are each answered once, by Connected",
            law: "contract: connecting",
            run: answered_once,
        },
        Line {
            id: "connect.receive-before-connected",
            about: "a message before Connected is reported, not lost",
            law: "rdma_cm: data may come before ESTABLISHED",
            run: receive_before_connected,
        },
        Line {
            id: "connect.receive-before-accept",
            about: "a receive chained before Accept takes what the peer sends at once",
            law: "contract: order",
            run: receive_before_accept,
        },
        Line {
            id: "connect.refused",
            about: "refused: one ConnectFailed, no Disconnected, all receives flushed",
            law: "contract: connecting, the end",
            run: |lab| {
                let can = lab.capabilities().refused;
                fails(lab, can, Situation::Refused, ConnectReason::Refused)
            },
        },
        Line {
            id: "connect.unreachable",
            about: "unreachable: one ConnectFailed, no Disconnected, all receives flushed",
            law: "contract: connecting, the end",
            run: |lab| {
                let can = lab.capabilities().unreachable;
                fails(lab, can, Situation::Unreachable, ConnectReason::Unreachable)
            },
        },
        Line {
            id: "connect.timed-out",
            about: "no answer: one ConnectFailed, no Disconnected, all receives flushed",
            law: "contract: connecting, the end",
            run: |lab| {
                let can = lab.capabilities().silent;
                fails(lab, can, Situation::Silent, ConnectReason::TimedOut)
            },
        },
        Line {
            id: "connect.given-up",
            about: "Disconnect before any answer: one end, all receives flushed",
            law: "contract: the end",
            run: given_up,
        },
        Line {
            id: "end.both-at-once",
            about: "both ends disconnect at once: each hears of the end once",
            law: "contract: the end",
            run: both_at_once,
        },
        Line {
            id: "time.never-goes-back",
            about: "the clock never goes back",
            law: "contract: Backend::now",
            run: time,
        },
    ]
}

fn answered_once<L: Lab>(lab: &mut L) -> Result<(), Finding> {
    let mut bench = Bench::connected(lab)?;
    bench.quiet();
    for end in [Peer::INITIATOR, Peer::ACCEPTOR] {
        let answers = bench.count(end, |seen| matches!(seen, Seen::Connected(_) | Seen::ConnectFailed(_)));
        ensure(answers == 1, || format!("{answers} answers at {end:?}: {:?}", bench.seen(end)))?;
        let lost = bench.count(end, Seen::is_end);
        ensure(lost == 0, || format!("an idle connection ended: {:?}", bench.seen(end)))?;
    }
    Ok(())
}

fn receive_before_connected<L: Lab>(lab: &mut L) -> Result<(), Finding> {
    needs(lab.capabilities().late_connected, "Connected cannot be made late")?;
    let mut bench = Bench::new(lab, Situation::LateConnected)?;
    for end in [Peer::ACCEPTOR, Peer::INITIATOR] {
        bench.post_recv(end, 512);
        bench.begin(end);
    }
    bench.wait(Peer::INITIATOR, "Connected", |seen| matches!(seen, Seen::Connected(_)))?;
    bench.send(Peer::INITIATOR, Message::head(b"early"));
    bench.ring_doorbell(Peer::INITIATOR);
    bench.wait(Peer::ACCEPTOR, "Connected", |seen| matches!(seen, Seen::Connected(_)))?;
    let early = |seen: &Seen| matches!(seen, Seen::Received { bytes, .. } if bytes == b"early");
    bench.wait(Peer::ACCEPTOR, "the early message", early)
}

fn receive_before_accept<L: Lab>(lab: &mut L) -> Result<(), Finding> {
    let mut bench = Bench::new(lab, Situation::Connects)?;
    bench.post_recv(Peer::INITIATOR, 512);
    bench.begin(Peer::INITIATOR);
    let receive = bench.post_recv(Peer::ACCEPTOR, 512);
    // Nobody rings: the step itself hands over what was chained.
    bench.execute(Peer::ACCEPTOR, BackendOp::Accept);
    bench.wait(Peer::INITIATOR, "Connected", |seen| matches!(seen, Seen::Connected(_)))?;
    bench.send(Peer::INITIATOR, Message::head(b"at once"));
    bench.ring_doorbell(Peer::INITIATOR);
    bench.wait_for(Peer::ACCEPTOR, receive)?;
    let ends = bench.ends(Peer::ACCEPTOR, receive);
    ensure(matches!(&ends[..], [Seen::Received { bytes, .. }] if bytes == b"at once"), || {
        format!("the receive ended as {ends:?}")
    })
}

fn fails<L: Lab>(lab: &mut L, can: bool, situation: Situation, why: ConnectReason) -> Result<(), Finding> {
    needs(can, "this failure cannot be brought about")?;
    let mut bench = Bench::new(lab, situation)?;
    bench.post_recv(Peer::INITIATOR, 512);
    bench.begin(Peer::INITIATOR);
    bench.wait(Peer::INITIATOR, "ConnectFailed", |seen| matches!(seen, Seen::ConnectFailed(_)))?;
    let reasoned = bench.count(Peer::INITIATOR, |seen| *seen == Seen::ConnectFailed(why));
    ensure(reasoned == 1, || format!("not {why:?}: {:?}", bench.seen(Peer::INITIATOR)))?;
    bench.disconnect(Peer::INITIATOR)
}

fn given_up<L: Lab>(lab: &mut L) -> Result<(), Finding> {
    let mut bench = Bench::new(lab, Situation::Connects)?;
    bench.post_recv(Peer::INITIATOR, 512);
    bench.post_recv(Peer::INITIATOR, 512);
    bench.begin(Peer::INITIATOR);
    bench.disconnect(Peer::INITIATOR)
}

fn both_at_once<L: Lab>(lab: &mut L) -> Result<(), Finding> {
    let mut bench = Bench::connected(lab)?;
    bench.execute(Peer::ACCEPTOR, BackendOp::Disconnect);
    bench.disconnect(Peer::INITIATOR)?;
    bench.wait(Peer::ACCEPTOR, "Disconnected", Seen::is_disconnected)?;
    bench.quiet();
    let ends = bench.count(Peer::ACCEPTOR, Seen::is_disconnected);
    ensure(ends == 1, || format!("the acceptor heard of the end {ends} times"))
}

fn time<L: Lab>(lab: &mut L) -> Result<(), Finding> {
    let mut bench = Bench::connected(lab)?;
    let mut last = bench.now(Peer::INITIATOR);
    for _ in 0..10 {
        bench.quiet();
        let now = bench.now(Peer::INITIATOR);
        ensure(now >= last, || format!("{now:?} after {last:?}"))?;
        last = now;
    }
    Ok(())
}
