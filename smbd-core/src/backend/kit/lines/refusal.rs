use alloc::format;
use alloc::vec::Vec;

use super::Line;
use crate::WrId;
use crate::backend::kit::bench::{Bench, Message, ensure, needs};
use crate::backend::kit::seen::Seen;
use crate::backend::kit::{Finding, Fixture, Lab, Peer, Situation};
use crate::error::WorkError;

const CHAIN: usize = 5;

pub(super) fn lines<L: Lab>() -> [Line<L>; 3] {
    [
        Line {
            id: "refusal.of-a-send",
            about: "a send refused at any place of a chain: those behind it and all later posts are flushed",
            law: "contract: a refused post",
            run: |lab| each_place(lab, send),
        },
        Line {
            id: "refusal.of-a-receive",
            about: "a receive refused at any place of a chain: those behind it and all later posts are flushed",
            law: "contract: a refused post",
            run: |lab| each_place(lab, receive),
        },
        Line {
            id: "refusal.of-the-first-receive",
            about: "no receive, no connection: ConnectFailed, also for the peer that asks, and no message to it",
            law: "contract: connecting",
            run: first_receives,
        },
    ]
}

fn send<F: Fixture>(bench: &mut Bench<F>, n: usize) -> WrId {
    bench.send(Peer::INITIATOR, Message { signal: n.is_multiple_of(2), ..Message::head(b"refusal") }).into()
}

fn receive<F: Fixture>(bench: &mut Bench<F>, _: usize) -> WrId {
    bench.post_recv(Peer::INITIATOR, 64).into()
}

type Post<F> = fn(&mut Bench<F>, usize) -> WrId;

fn each_place<L: Lab>(lab: &mut L, post: Post<L::Fixture>) -> Result<(), Finding> {
    needs(lab.capabilities().refusal, "posts cannot be made to be refused")?;
    (0..CHAIN).try_for_each(|place| one_place(lab, post, place))
}

fn one_place<L: Lab>(lab: &mut L, post: Post<L::Fixture>, place: usize) -> Result<(), Finding> {
    let mut bench = Bench::connected(lab)?;
    for _ in 0..CHAIN {
        bench.post_recv(Peer::ACCEPTOR, 64);
    }
    bench.ring_doorbell(Peer::ACCEPTOR);
    bench.refuse_after(Peer::INITIATOR, place);
    let chain: Vec<_> = (0..CHAIN).map(|n| post(&mut bench, n)).collect();
    bench.ring_doorbell(Peer::INITIATOR);
    let later: [WrId; 2] = [
        bench.post_recv(Peer::INITIATOR, 64).into(),
        bench.send(Peer::INITIATOR, Message::head(b"later")).into(),
    ];
    bench.ring_doorbell(Peer::INITIATOR);
    let (accepted, unposted) = chain.split_at_checked(place).unwrap_or_default();
    for id in unposted.iter().chain(&later) {
        bench.wait_for(Peer::INITIATOR, *id)?;
    }
    bench.disconnect(Peer::INITIATOR)?;
    let failure = |id: &WrId| match bench.ends(Peer::INITIATOR, *id).first() {
        Some(Seen::Failed(_, error)) => Some(*error),
        _ => None,
    };
    let at = |id: &WrId| format!("place {place}: {id} ended as {:?}", bench.ends(Peer::INITIATOR, *id));
    for id in accepted {
        ensure(!matches!(failure(id), Some(WorkError::PostFailed { .. })), || at(id))?;
    }
    let (refused, behind) = (unposted.first(), unposted.iter().skip(1));
    if let Some(id) = refused {
        ensure(matches!(failure(id), Some(WorkError::PostFailed { .. })), || at(id))?;
    }
    for id in behind.chain(&later) {
        ensure(failure(id) == Some(WorkError::Flushed), || at(id))?;
    }
    Ok(())
}

fn first_receives<L: Lab>(lab: &mut L) -> Result<(), Finding> {
    needs(lab.capabilities().refusal, "posts cannot be made to be refused")?;
    first_receive(lab, Peer::INITIATOR, Peer::ACCEPTOR)?;
    let mut bench = first_receive(lab, Peer::ACCEPTOR, Peer::INITIATOR)?;
    // Refused, and not left to its timer.
    bench.wait(Peer::INITIATOR, "ConnectFailed", |seen| matches!(seen, Seen::ConnectFailed(_)))
}

/// Both want to connect, and the device of `end` takes no receive.
fn first_receive<L: Lab>(lab: &mut L, end: Peer, peer: Peer) -> Result<Bench<L::Fixture>, Finding> {
    let mut bench = Bench::new(lab, Situation::Connects)?;
    bench.refuse_after(end, 0);
    bench.post_recv(peer, 512);
    bench.begin(peer);
    let receive = bench.post_recv(end, 512);
    bench.begin(end);
    bench.wait(end, "ConnectFailed", |seen| matches!(seen, Seen::ConnectFailed(_)))?;
    bench.send(end, Message::head(b"never sent"));
    bench.ring_doorbell(end);
    bench.quiet();
    bench.disconnect(end)?;
    let ends = bench.ends(end, receive);
    ensure(matches!(ends[..], [Seen::Failed(_, WorkError::PostFailed { .. })]), || {
        format!("the receive refused at {end:?} ended as {ends:?}")
    })?;
    let heard = bench.count(peer, |seen| matches!(seen, Seen::Connected(_) | Seen::Received { .. }));
    ensure(heard == 0, || format!("{peer:?} saw {:?}", bench.seen(peer)))?;
    Ok(bench)
}
