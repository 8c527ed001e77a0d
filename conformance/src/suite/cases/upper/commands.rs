//! Messages of the upper layer, and an upper layer that receives them slowly.

use std::time::Duration;

use bytes::Bytes;
use smbd_core::Access;
use smbd_core::wire::BufferDescriptors;

use crate::suite::rig::Told;
use crate::suite::words::{self, Words};
use crate::suite::{Data, Grant, Next, Peer, Play, Request, Stop, Terms, pattern};

/// The result of a message, told when all of it is sent.
const SENT: &str = "3.1.4.2-04 3.1.5.4-25";
/// What is taken is sent.
const POSTED: &str = "3.1.5.1-17";

/// The results of messages so far, in order.
fn results(peer: &mut Peer<'_>) -> Vec<Told> {
    let told = peer.told().into_iter().map(|(_, told)| told);
    told.filter(|told| matches!(told, Told::Sent(..))).collect()
}

pub(super) fn sent_once(play: &mut Play) -> Result<(), Stop> {
    let mut terms = Terms { receives: 0, ..Terms::default() };
    // Spent on the initiator's first message.
    terms.response.credits_granted = 1;
    let mut peer = play.established_on(&terms)?;
    peer.settle();
    peer.upper()?.by_hand();
    let lengths = [10, 5000, 1, 131_072];
    let payloads = [180, 181, 182, 183].into_iter().zip(lengths).map(|(seed, len)| pattern(seed, len));
    let payloads: Vec<_> = payloads.collect();
    let mut wanted = Vec::new();
    for payload in &payloads {
        let sent = peer.upper()?.send(payload.clone(), None);
        peer.require(POSTED, sent.is_ok(), || {
            format!("{} bytes should be taken: {}", payload.len(), words::result(&sent))
        })?;
        wanted.extend(sent.map(|msg| Told::Sent(msg, Ok(()))));
    }
    peer.settle();
    let early = results(&mut peer);
    peer.check(SENT, early.is_empty(), || {
        format!("without a credit nothing is sent, told was: {}", early.words())
    });
    // The first message and two of the five fragments of the second.
    peer.send(&Data::empty().granting(3))?;
    let first = peer.whole_message(POSTED)?;
    peer.check("3.1.5.1-08", first.payload == payloads[0], || "the first message should come first".into());
    peer.play().pass(Duration::from_secs(1));
    let so_far = results(&mut peer);
    peer.check(SENT, so_far == wanted[..1], || {
        format!("of one message all fragments were sent, told was: {}", so_far.words())
    });
    peer.send(&Data::empty().granting(100))?;
    for payload in &payloads[1..] {
        peer.echoed(POSTED, payload)?;
    }
    peer.play().pass(Duration::from_secs(1));
    let told = results(&mut peer);
    let all_good = told.iter().all(|told| matches!(told, Told::Sent(_, Ok(()))));
    let statements = if all_good { SENT } else { "3.1.5.1-20" };
    peer.check(&format!("{statements} +3.1.5.1-20"), told == wanted, || {
        format!("four messages should be told of as sent, in order, once; told was: {}", told.words())
    });
    Ok(())
}

pub(super) fn any_payload(play: &mut Play) -> Result<(), Stop> {
    const ALL: &str = "3.1.5.8-24 +1.7-04 +2.2.3.1-05";
    let mut peer = play.established()?;
    peer.needs_echo()?;
    let untouched = pattern(184, 4096);
    let registered = peer.register(&untouched, Access::ReadWrite)?;
    let mut descriptors = Vec::new();
    for descriptor in &registered.descriptors {
        descriptors.extend_from_slice(&descriptor.offset.to_le_bytes());
        descriptors.extend_from_slice(&descriptor.token.0.to_le_bytes());
        descriptors.extend_from_slice(&descriptor.length.to_le_bytes());
    }
    let real = BufferDescriptors::new(&descriptors).is_ok();
    peer.require("", real, || "what looks like descriptors should be some".into())?;
    let mut smb2 = vec![0xFE, 0x53, 0x4D, 0x42];
    smb2.extend_from_slice(&pattern(185, 60));
    for payload in [vec![0; 64], vec![0xFF; 64], smb2, Request::default().encode(), descriptors] {
        peer.send(&Data::of(&payload))?;
        peer.echoed(ALL, &payload)?;
    }
    if let Some(upper) = peer.upper_if_seen() {
        let seen = upper.rdma_seen().to_vec();
        peer.check("2.2.3.1-05", seen.is_empty(), || {
            format!("no RDMA should be seen, {} requests were", seen.len())
        });
    }
    let now = peer.contents(registered.buffer);
    peer.check("2.2.3.1-05", now == untouched, || "the buffer described should be as it was".into());
    peer.goes_on("3.1.5.8-24 +1.7-04")
}

pub(super) fn slow_upper_layer(play: &mut Play) -> Result<(), Stop> {
    // CR-3: no statement says that it should be quiet.
    const QUIET: &str = "+3.1.5.8-09";
    let mut peer = play.established()?;
    peer.settle();
    peer.upper()?.by_hand();
    peer.upper()?.hold(8);
    let short: Vec<_> = (186..194).map(|seed| pattern(seed, 10)).collect();
    for payload in &short {
        peer.send(&Data { grant: Grant::Used, ..Data::of(payload) })?;
    }
    let begin = peer.play().now();
    let until = begin.saturating_add(Duration::from_secs(3));
    let mut came = 0;
    loop {
        let left = until.saturating_since(peer.play().now());
        match peer.next(left) {
            Next::Message(message) => {
                let seen = peer.as_data(message)?;
                came += 1;
                let empty = seen.header.data_length == 0;
                peer.require(QUIET, empty && came <= 100, || {
                    format!("a few messages without data should come, number {came} is: {}", seen.words())
                })?;
                peer.send(&Data { grant: Grant::Used, ..Data::empty() })?;
            }
            Next::Down | Next::Nothing => break,
        }
    }
    peer.check(QUIET, came <= 4, || format!("4 messages at most should come within 3 s, {came} came"));
    peer.is_usable(10)?;
    peer.nothing_lost("3.1.5.9-08");
    let held = peer.upper()?.endpoint().borrowed();
    peer.check("", held == 8, || format!("8 fragments should be held, {held} are"));
    let posted = peer.upper()?.endpoint().connection().credits().posted();
    peer.check("3.1.5.9-07", posted == 10, || {
        format!("10 receives were asked for and can be posted beside what is held, {posted} are")
    });
    peer.upper()?.give_back();
    let long = pattern(195, 20_000);
    peer.send_fragments(&long)?;
    let all = peer.until_told(Duration::from_secs(5), |told| *told == Told::Message(long.clone()));
    peer.check("3.1.5.8-24", all, || "the long message should be told, whole".into());
    let received = peer.upper()?.received();
    let wanted: Vec<Bytes> = short.into_iter().chain([long]).collect();
    peer.check("3.1.5.8-24", received == wanted, || {
        format!("9 messages should be told as they were sent, {} were", received.len())
    });
    Ok(())
}
