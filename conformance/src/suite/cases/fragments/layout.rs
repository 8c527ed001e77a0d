//! The unused bytes of every message: reserved fields and padding.

use std::collections::BTreeSet;

use crate::suite::trace::hex;
use crate::suite::words;
use crate::suite::{Data, PATIENCE, Peer, Play, Request, Response, Seen, Stop, Whole};

/// Reserved of a negotiation message.
fn reserved(peer: &mut Peer<'_>, came: &[u8]) {
    peer.check("2.2-06 +1.8-01 +2.2-08", came == [0, 0], || {
        format!("Reserved should be 00 00, it is {}", hex(came))
    });
}

/// What was seen in the places where nothing may be: of some use only if it is not always the same.
#[derive(Default)]
struct Unused {
    reserved: BTreeSet<u16>,
    flags: BTreeSet<u16>,
}

/// Negotiates as usual, and looks at the subject's part.
fn negotiated(play: &mut Play) -> Result<Peer<'_>, Stop> {
    let accepts = play.subject_accepts();
    let mut peer = play.connect()?;
    if accepts {
        peer.request(&Request::default())?;
        let (response, message) = peer.response("")?;
        peer.accepted("", &response)?;
        reserved(&mut peer, message.bytes.get(6..8).unwrap_or_default());
        peer.post_receives(10)?;
    } else {
        let (_, message) = peer.asked("")?;
        reserved(&mut peer, message.bytes.get(4..6).unwrap_or_default());
        peer.respond(&Response::default())?;
    }
    Ok(peer)
}

fn clean(peer: &mut Peer<'_>, seen: &Seen, unused: &mut Unused) {
    let (header, bytes) = (seen.header, &seen.message.bytes);
    let (came, flags) = (seen.reserved(), header.flags.0);
    unused.reserved.insert(came);
    unused.flags.insert(flags & !1);
    let empty = header.data_length == 0;
    let statements = if empty { "2.2-06 2.2.3-09 3.1.5.4-04" } else { "2.2-06 2.2.3-09" };
    peer.check(statements, came == 0, || format!("Reserved should be 0x0000, it is 0x{came:04X}"));
    peer.check("2.2.3-05 2.2.3-07", flags & !1 == 0, || {
        format!("Flags should have no other bit than 0x0001, they are 0x{flags:04X}")
    });
    let end = if empty { 20 } else { u64::from(header.data_offset) + u64::from(header.data_length) };
    let behind = bytes.get(usize::try_from(end).unwrap_or(usize::MAX)..).unwrap_or_default();
    let statements = if empty { "3.1.5.4-08" } else { "2.2-09" };
    peer.check(statements, behind.is_empty() || (!empty && behind.iter().all(|byte| *byte == 0)), || {
        format!("nothing should be behind byte {end}, or zeros behind data, there is {}", hex(behind))
    });
    if header.data_length > 0 {
        let padding = bytes.get(20..header.data_offset as usize).unwrap_or_default();
        peer.check("2.2-09 2.2.3-19 3.1.5.4-20", padding.iter().all(|byte| *byte == 0), || {
            format!("the padding should be 0, it is {}", hex(padding))
        });
    }
}

fn all_clean(peer: &mut Peer<'_>, whole: &Whole, unused: &mut Unused) {
    for seen in whole.empties.iter().chain(&whole.fragments) {
        clean(peer, seen, unused);
    }
}

pub(super) fn nothing_reserved(play: &mut Play) -> Result<(), Stop> {
    let mut peer = negotiated(play)?;
    let mut unused = Unused::default();
    for round in 0..20 {
        for len in [1, 500, 5000] {
            let question = peer.message_for(round, len, len)?;
            peer.send_fragments(&question)?;
            let whole = peer.answered("3.1.5.8-24", &question)?;
            all_clean(&mut peer, &whole, &mut unused);
        }
        peer.send(&Data::probe())?;
        let answer = peer.answer("3.1.5.8-14", PATIENCE)?;
        clean(&mut peer, &answer, &mut unused);
    }
    let values = |all: &BTreeSet<u16>| words::numbers(all.iter().map(|value| format!("0x{value:04X}")));
    let (reserved, flags) = (values(&unused.reserved), values(&unused.flags));
    peer.check("2.2-08", unused.reserved.len() < 2, || {
        format!("Reserved should say nothing, it has several values: {reserved}")
    });
    peer.check("1.8-01", unused.flags.len() < 2, || {
        format!("bits of Flags without a meaning should say nothing, they have several values: {flags}")
    });
    Ok(())
}
