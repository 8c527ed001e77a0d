use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use super::Line;
use crate::backend::kit::bench::{Bench, Message, ensure, needs};
use crate::backend::kit::seen::Seen;
use crate::backend::kit::{Finding, Lab, Peer};
use crate::{Access, RdmaVerb, WrId};

pub(super) fn lines<L: Lab>() -> [Line<L>; 3] {
    [
        Line {
            id: "order.messages",
            about: "messages arrive in the order posted, in receives in the order posted",
            law: "law 5",
            run: messages,
        },
        Line {
            id: "order.write-before-send",
            about: "what was written before a send is there when the message is",
            law: "law 5, 3.1.4.5",
            run: write_before_send,
        },
        Line {
            id: "order.receive-before-grant",
            about: "a receive posted before a send can take the answer to it",
            law: "law 5",
            run: receive_before_grant,
        },
    ]
}

fn messages<L: Lab>(lab: &mut L) -> Result<(), Finding> {
    let mut bench = Bench::connected(lab)?;
    let first = bench.ends(Peer::ACCEPTOR, bench.posted(Peer::ACCEPTOR, 0)?);
    ensure(first.is_empty(), || format!("a receive that took nothing ended: {first:?}"))?;
    let mut receives = vec![bench.posted(Peer::ACCEPTOR, 0)?];
    receives.extend((0..5).map(|_| WrId::from(bench.post_recv(Peer::ACCEPTOR, 64))));
    bench.ring_doorbell(Peer::ACCEPTOR);
    for number in 0..6 {
        bench.send(Peer::INITIATOR, Message { signal: number == 5, ..Message::head(&[number; 8]) });
    }
    bench.ring_doorbell(Peer::INITIATOR);
    bench.wait_until(
        |bench| bench.count(Peer::ACCEPTOR, |seen| matches!(seen, Seen::Received { .. })) >= 6,
        || "6 messages".into(),
    )?;
    let arrived: Vec<_> = bench
        .seen(Peer::ACCEPTOR)
        .iter()
        .filter_map(Seen::message)
        .map(|(id, bytes)| (WrId::from(id), bytes.to_vec()))
        .collect();
    let expected: Vec<_> = receives.into_iter().zip((0..).map(|number| vec![number; 8])).collect();
    ensure(arrived == expected, || format!("arrived {arrived:?}, expected {expected:?}"))
}

fn write_before_send<L: Lab>(lab: &mut L) -> Result<(), Finding> {
    needs(lab.capabilities().rdma, "no RDMA")?;
    let mut bench = Bench::connected(lab)?;
    let target = bench.allocate(Peer::ACCEPTOR, &[0; 64])?;
    let (_, segments) = bench.register(Peer::ACCEPTOR, &target, Access::Write)?;
    let source = bench.allocate(Peer::INITIATOR, &[7; 64])?;
    for segment in segments {
        bench.rdma(Peer::INITIATOR, RdmaVerb::Write, &source, 0, segment);
    }
    bench.send(Peer::INITIATOR, Message::head(b"written"));
    bench.ring_doorbell(Peer::INITIATOR);
    bench.wait(Peer::ACCEPTOR, "the message", |seen| matches!(seen, Seen::Received { .. }))?;
    let written = bench.contents(Peer::ACCEPTOR, &target, 64)?;
    ensure(written == [7; 64], || format!("the message was there before the bytes: {written:?}"))
}

fn receive_before_grant<L: Lab>(lab: &mut L) -> Result<(), Finding> {
    let mut bench = Bench::connected(lab)?;
    let message = |seen: &Seen| seen.message().is_some();
    // This takes the receive that connecting left; from now on each answer needs the one posted before its question.
    bench.send(Peer::ACCEPTOR, Message::head(b"first"));
    bench.ring_doorbell(Peer::ACCEPTOR);
    bench.wait(Peer::INITIATOR, "the first message", message)?;
    for round in 0..8_u8 {
        for (end, peer) in [(Peer::INITIATOR, Peer::ACCEPTOR), (Peer::ACCEPTOR, Peer::INITIATOR)] {
            let before = bench.count(peer, message);
            bench.post_recv(end, 64);
            bench.send(end, Message::head(&[round; 4]));
            bench.ring_doorbell(end);
            let over = |bench: &Bench<_>| bench.count(end, Seen::is_end) > 0;
            bench.wait_until(
                |bench| bench.count(peer, message) > before || over(bench),
                || format!("message {round} at {peer:?}"),
            )?;
            let ended = bench.count(end, Seen::is_end);
            ensure(ended == 0, || format!("round {round} ended the connection: {:?}", bench.seen(end)))?;
        }
    }
    Ok(())
}
