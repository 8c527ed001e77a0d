//! The examples of section 4.

use std::time::Duration;

use smbd_core::wire::BufferDescriptors;
use smbd_core::{Access, Params, RdmaVerb};
use smbd_tools::exercise::{Answer, Request as Asked, digest};

use super::Entry;
use crate::suite::trace::hex;
use crate::suite::{Data, PATIENCE, Peer, Play, Registered, Request, Response, Stop, pattern};

/// The cases of this group.
pub(super) const CASES: &[Entry] = &[
    Entry::new("examples::establishing_a_connection", establishing).with(values_of_the_examples),
    Entry::new("examples::peer_transmits_500_bytes", small).with(values_of_the_examples),
    Entry::new("examples::peer_transmits_64_kib", long).with(values_of_the_examples),
    Entry::new("examples::peer_writes_1_mib", peer_writes).with(values_of_the_examples),
    Entry::new("examples::peer_reads_1_mib", peer_reads).with(values_of_the_examples),
];

fn values_of_the_examples(params: &mut Params) {
    *params = Params { rdma_ops: 64, ..Params::example() };
}

/// Section 4.1: what the two negotiation messages are, byte for byte.
const REQUEST: [u8; 20] = [0, 1, 0, 1, 0, 0, 10, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 0, 2, 0];
const RESPONSE: [u8; 32] =
    [0, 1, 0, 1, 0, 1, 0, 0, 10, 0, 10, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 4, 0, 0, 0, 4, 0, 0, 0, 0, 2, 0];

fn same(peer: &mut Peer<'_>, statements: &str, came: &[u8], expected: &[u8]) {
    peer.check(statements, came == expected, || {
        format!("the bytes should be {}, they are {}", hex(expected), hex(came))
    });
}

fn establishing(play: &mut Play) -> Result<(), Stop> {
    let accepts = play.subject_accepts();
    let mut peer = play.connect()?;
    if accepts {
        const ALL: &str = "2.2.2-01 2.2.2-14 2.2.2-17 2.2.2-18 2.2.2-20 2.2.2-21 3.1.5.3-11";
        peer.request(&Request::default())?;
        let (_, message) = peer.response("2.2.2-01 3.1.5.3-16")?;
        same(&mut peer, ALL, &message.bytes, &RESPONSE);
        peer.post_receives(10)?;
        return peer.send(&Data::of(&pattern(1, 100)).granting(10));
    }
    const ALL: &str = "2.2.1-01 2.2.1-02 2.2.1-04 2.2.1-08 2.2.1-11 2.2.1-12 2.2.1-13 2.2.1-14";
    let message = peer.expect("2.2.1-01 3.1.5.2-09", PATIENCE)?;
    same(&mut peer, ALL, &message.bytes, &REQUEST);
    peer.respond(&Response::default())?;
    let first = peer.expect_data("3.1.5.7-18", Duration::from_secs(5))?;
    let header = first.header;
    let (requested, granted, flags) = (header.credits_requested, header.credits_granted, header.flags.0);
    peer.check("3.1.5.7-18", (requested, granted, flags) == (10, 10, 0), || {
        format!(
            "CreditsRequested 10, CreditsGranted 10, Flags 0 should come, {requested}, {granted}, {flags} came"
        )
    });
    Ok(())
}

fn small(play: &mut Play) -> Result<(), Stop> {
    let accepts = play.subject_accepts();
    let mut peer = play.established()?;
    peer.needs_echo()?;
    let payload = pattern(42, 500);
    peer.send(&Data::of(&payload))?;
    let echo = peer.echoed("2.2.3-21", &payload)?;
    let Some(seen) = echo.fragments.first() else { return Ok(()) };
    let (bytes, granted) = (&seen.message.bytes, seen.header.credits_granted);
    let mut wanted = vec![10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 24, 0, 0, 0, 0xF4, 1, 0, 0, 0, 0, 0, 0];
    wanted[2..4].copy_from_slice(&granted.to_le_bytes());
    wanted.extend_from_slice(&payload);
    const ALL: &str = "2.2.3-02 2.2.3-04 2.2.3-08 2.2.3-11 2.2.3-13 2.2.3-16 2.2.3-18";
    same(&mut peer, ALL, bytes, &wanted);
    peer.check("2.2.3-03", granted >= 1, || "CreditsGranted should be 1 at least, it is 0".into());
    // The acceptor's response has granted what was posted then, so only what came since is new.
    let first = echo.empties.first().map_or(granted, |first| first.header.credits_granted);
    let posted = if accepts { 1 } else { 10 };
    peer.check("3.1.5.1-05", first >= posted, || {
        format!("the first message should grant {posted} at least, it grants {first}")
    });
    Ok(())
}

fn long(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.established()?;
    peer.needs_echo()?;
    let payload = pattern(43, 65_536);
    peer.send_fragments(&payload)?;
    let echo = peer.echoed("3.1.5.4-23", &payload)?;
    let count = echo.fragments.len();
    peer.check("3.1.5.4-15", count == 66, || format!("66 messages with data should come, {count} came"));
    let mut remaining = 65_536_u32;
    for seen in &echo.fragments {
        let (header, whole) = (seen.header, seen.message.bytes.len());
        let (length, requested) = (remaining.min(1000), header.credits_requested);
        remaining -= length;
        peer.check("3.1.5.4-14 3.1.5.4-19", header.data_offset == 24, || {
            format!("DataOffset should be 24, it is {}", header.data_offset)
        });
        peer.check("3.1.5.1-10", requested == 10, || {
            format!("CreditsRequested should be 10, it is {requested}")
        });
        peer.check("3.1.5.4-15 3.1.5.4-19", header.data_length == length, || {
            format!("DataLength should be {length}, it is {}", header.data_length)
        });
        peer.check("3.1.5.4-13", whole <= 1024, || {
            format!("a message has {whole} bytes, 1024 at most are taken")
        });
        let says = header.remaining_data_length;
        peer.check("2.2.3-12 3.1.5.4-17 3.1.5.4-18", says == remaining, || {
            format!("RemainingDataLength should be {remaining}, it is {says}")
        });
    }
    Ok(())
}

/// Lengths of the examples of RDMA, in bytes.
const MIB: u32 = 1 << 20;

/// The descriptors in a message as the subject has to read them: Offset, Token, Length, least significant byte first.
fn told(peer: &mut Peer<'_>, statements: &str, sent: &[u8], registered: &Registered) {
    let len = registered.descriptors.len() * 16;
    let tail = sent.len().checked_sub(len).and_then(|start| sent.get(start..)).unwrap_or_default();
    let same =
        BufferDescriptors::new(tail).is_ok_and(|all| all.iter().eq(registered.descriptors.iter().copied()));
    peer.check(statements, same, || {
        format!("the request should end with the descriptors, it ends with {}", hex(tail))
    });
}

fn peer_writes(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.established()?;
    let bytes = pattern(44, MIB as usize);
    let registered = peer.register(&bytes, Access::Read)?;
    let descriptors = registered.descriptors.clone().into();
    let asked = Asked::Read { offset: 0, length: MIB, descriptors };
    let asking = peer.begin_asking(&asked)?;
    told(&mut peer, "2.2.3.1-01", asking.message(), &registered);
    let (answer, _) = peer.answer_to("3.1.4.6-06", &asking)?;
    let right = answer == Answer::Hash(digest(&bytes));
    peer.check("2.2.3.1-02 2.2.3.1-03 2.2.3.1-04 2.2.3.1-05 3.1.4.6-05", right, || {
        format!("the subject should have read what was registered, its answer is {answer:?}")
    });
    peer.each_byte_once("3.1.4.6-05", RdmaVerb::Read, &registered, 0);
    Ok(())
}

fn peer_reads(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.established()?;
    let registered = peer.register(&vec![0; MIB as usize], Access::Write)?;
    let descriptors: std::sync::Arc<[_]> = registered.descriptors.clone().into();
    let mut posted = 0;
    for round in 0..100_u32 {
        let seed = u64::from(round) + 100;
        let asked =
            Asked::Write { seed, offset: 0, length: MIB, invalidate: None, descriptors: descriptors.clone() };
        let answer = peer.ask("3.1.4.5-06", &asked)?;
        let bytes = peer.contents(registered.buffer);
        peer.check("3.1.4.5-06", answer == Answer::Done, || format!("it should be done, {answer:?} came"));
        let wanted = peer.written_by(&asked);
        peer.check("1.5-03", bytes.last() == wanted.last(), || {
            "the last byte is not there when the answer has come".into()
        });
        peer.check("2.2.3.1-01 2.2.3.1-05 3.1.4.5-05", bytes == wanted, || {
            format!("the bytes in memory are not those of pattern {seed} when the answer has come")
        });
        posted = peer.each_byte_once("3.1.4.5-05", RdmaVerb::Write, &registered, posted);
    }
    Ok(())
}
