use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use super::Line;
use crate::backend::Payload;
use crate::backend::kit::bench::{Bench, Message, broken, ensure};
use crate::backend::kit::seen::Seen;
use crate::backend::kit::{Finding, Lab, Peer};
use crate::{Head, RecvId};

pub(super) fn lines<L: Lab>() -> [Line<L>; 5] {
    [
        Line {
            id: "receive.length",
            about: "head, length and bytes are those of the message, whatever the size of the receive",
            law: "contract: whose memory it is",
            run: length,
        },
        Line {
            id: "receive.gather",
            about: "head and body arrive as one message, the body copied or read in place",
            law: "2.2.3, contract: whose memory it is",
            run: gather,
        },
        Line {
            id: "receive.too-long",
            about: "a message longer than its receive is not received and ends the connection",
            law: "contract: whose memory it is",
            run: too_long,
        },
        Line {
            id: "receive.own-buffer",
            about: "a received message stays as it was while others arrive",
            law: "contract: whose memory it is",
            run: own_buffer,
        },
        Line {
            id: "receive.after-the-end",
            about: "received messages can be read after Disconnected",
            law: "law 2",
            run: after_the_end,
        },
    ]
}

fn pattern(len: usize) -> Vec<u8> {
    (0_u8..=250).cycle().take(len).collect()
}

/// Sends `bytes` and returns what arrived in a new receive of `room` bytes.
fn pass<F: crate::backend::kit::Fixture>(
    bench: &mut Bench<F>,
    bytes: &[u8],
    room: u32,
) -> Result<Option<RecvId>, Finding> {
    let before = bench.count(Peer::ACCEPTOR, |seen| matches!(seen, Seen::Received { .. }));
    bench.post_recv(Peer::ACCEPTOR, room);
    bench.ring_doorbell(Peer::ACCEPTOR);
    let (head, body) = bytes.split_at_checked(20).unwrap_or((bytes, &[]));
    let body = (!body.is_empty()).then_some(Payload::Copy(body));
    bench.send(Peer::INITIATOR, Message { body, ..Message::head(head) });
    bench.ring_doorbell(Peer::INITIATOR);
    let over = |bench: &Bench<F>| bench.count(Peer::ACCEPTOR, Seen::is_end) > 0;
    bench.wait_until(
        |bench| {
            bench.count(Peer::ACCEPTOR, |seen| matches!(seen, Seen::Received { .. })) > before || over(bench)
        },
        || format!("a message of {} bytes", bytes.len()),
    )?;
    Ok(bench.seen(Peer::ACCEPTOR).iter().rev().find_map(Seen::message).map(|(id, _)| id))
}

/// Uses up the receive that connecting left.
fn warm_up<F: crate::backend::kit::Fixture>(bench: &mut Bench<F>) -> Result<(), Finding> {
    bench.send(Peer::INITIATOR, Message::head(b"first"));
    bench.ring_doorbell(Peer::INITIATOR);
    bench.wait(Peer::ACCEPTOR, "the first message", |seen| matches!(seen, Seen::Received { .. }))
}

fn length<L: Lab>(lab: &mut L) -> Result<(), Finding> {
    let mut bench = Bench::connected(lab)?;
    warm_up(&mut bench)?;
    for (len, room) in
        [(1, 512), (20, 20), (31, 64), (32, 64), (33, 64), (512, 512), (1000, 1024), (1024, 1024)]
    {
        let bytes = pattern(len);
        let id = pass(&mut bench, &bytes, room)?;
        let last = bench.seen(Peer::ACCEPTOR).iter().rev().find(|seen| matches!(seen, Seen::Received { .. }));
        let Some(Seen::Received { head, len: reported, bytes: got, .. }) = last else {
            return broken(format!("a message of {len} bytes did not arrive"));
        };
        let right = usize::try_from(*reported) == Ok(len) && *head == Head::of(&bytes) && *got == bytes;
        ensure(right, || {
            format!(
                "{len} bytes into {room}: reported {reported}, {} bytes in the buffer of {id:?}",
                got.len()
            )
        })?;
    }
    Ok(())
}

fn gather<L: Lab>(lab: &mut L) -> Result<(), Finding> {
    let mut bench = Bench::connected(lab)?;
    bench.post_recv(Peer::ACCEPTOR, 1024);
    bench.ring_doorbell(Peer::ACCEPTOR);
    let bytes = pattern(600);
    let buffer = bench.allocate(Peer::INITIATOR, &bytes)?;
    let in_place = Payload::InPlace(crate::backend::BufferSlice { buffer: &buffer, offset: 100, len: 400 });
    bench.send(Peer::INITIATOR, Message { body: Some(in_place), ..Message::head(&[9; 24]) });
    bench.ring_doorbell(Peer::INITIATOR);
    let copied = bytes.get(..300).unwrap_or_default();
    bench.send(Peer::INITIATOR, Message { body: Some(Payload::Copy(copied)), ..Message::head(&[8; 24]) });
    bench.ring_doorbell(Peer::INITIATOR);
    bench.wait_until(
        |bench| bench.count(Peer::ACCEPTOR, |seen| matches!(seen, Seen::Received { .. })) >= 2,
        || "2 messages".into(),
    )?;
    let expected =
        [[&[9; 24][..], bytes.get(100..500).unwrap_or_default()].concat(), [&[8; 24][..], copied].concat()];
    let arrived: Vec<_> = bench
        .seen(Peer::ACCEPTOR)
        .iter()
        .filter_map(|seen| seen.message().map(|(_, bytes)| bytes.to_vec()))
        .collect();
    ensure(arrived == expected, || format!("{arrived:?} instead of {expected:?}"))
}

fn too_long<L: Lab>(lab: &mut L) -> Result<(), Finding> {
    let mut bench = Bench::connected(lab)?;
    warm_up(&mut bench)?;
    let before = bench.count(Peer::ACCEPTOR, |seen| matches!(seen, Seen::Received { .. }));
    pass(&mut bench, &pattern(65), 64)?;
    bench.quiet();
    let after = bench.count(Peer::ACCEPTOR, |seen| matches!(seen, Seen::Received { .. }));
    ensure(after == before, || format!("65 bytes into 64: {:?}", bench.seen(Peer::ACCEPTOR)))?;
    bench.disconnect(Peer::ACCEPTOR)?;
    // Its own faults end the sender's connection too, if only by the disconnect.
    bench.wait(Peer::INITIATOR, "the end", Seen::is_end)
}

fn own_buffer<L: Lab>(lab: &mut L) -> Result<(), Finding> {
    let mut bench = Bench::connected(lab)?;
    warm_up(&mut bench)?;
    let mut held = Vec::new();
    for n in 1..=8_u8 {
        let bytes = vec![n; usize::from(n).saturating_mul(40)];
        let Some(id) = pass(&mut bench, &bytes, 512)? else { return broken("a message did not arrive") };
        held.push((id, bytes));
        for (id, bytes) in &held {
            let now = bench.received(Peer::ACCEPTOR, *id);
            ensure(now == *bytes, || format!("after message {n}, the buffer of {id:?} has changed"))?;
        }
    }
    Ok(())
}

fn after_the_end<L: Lab>(lab: &mut L) -> Result<(), Finding> {
    let mut bench = Bench::connected(lab)?;
    warm_up(&mut bench)?;
    let bytes = pattern(300);
    let Some(id) = pass(&mut bench, &bytes, 512)? else { return broken("a message did not arrive") };
    bench.disconnect(Peer::INITIATOR)?;
    bench.disconnect(Peer::ACCEPTOR)?;
    let now = bench.received(Peer::ACCEPTOR, id);
    ensure(now == bytes, || format!("the buffer of {id:?} has {} of 300 bytes", now.len()))
}
