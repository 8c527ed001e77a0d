//! The unused bytes of every message: reserved fields and padding.

use crate::suite::trace::hex;
use crate::suite::{Data, PATIENCE, Peer, Play, Request, Response, Seen, Stop, Whole};

/// Reserved of a negotiation message.
fn reserved(peer: &mut Peer<'_>, came: &[u8]) {
    peer.check("1.8-01 2.2-06 2.2-08", came == [0, 0], || {
        format!("Reserved should be 0, it is {}", hex(came))
    });
}

/// Negotiates as usual, and looks at the subject's part.
fn negotiated(play: &mut Play) -> Result<Peer<'_>, Stop> {
    let accepts = play.subject_accepts();
    let mut peer = play.connect()?;
    if accepts {
        peer.request(&Request::default())?;
        let (_, message) = peer.response("")?;
        reserved(&mut peer, message.bytes.get(6..8).unwrap_or_default());
        peer.post_receives(10)?;
    } else {
        let message = peer.expect("", PATIENCE)?;
        reserved(&mut peer, message.bytes.get(4..6).unwrap_or_default());
        peer.respond(&Response::default())?;
    }
    Ok(peer)
}

fn clean(peer: &mut Peer<'_>, seen: &Seen) {
    let (header, bytes) = (seen.header, &seen.message.bytes);
    let (came, flags) = (seen.reserved(), header.flags.0);
    peer.check("1.8-01 2.2-06 2.2-08 2.2.3-09 3.1.5.4-04", came == 0, || {
        format!("Reserved should be 0, it is {came}")
    });
    peer.check("1.8-01 2.2.3-05", flags & !1 == 0, || {
        format!("Flags should have no other bit than 0x0001, they are 0x{flags:04X}")
    });
    let end = if header.data_length == 0 {
        20
    } else {
        u64::from(header.data_offset) + u64::from(header.data_length)
    };
    peer.check("1.8-01 2.2-09", bytes.len() as u64 == end, || {
        format!("the message should end at byte {end}, it has {}", bytes.len())
    });
    if header.data_length > 0 {
        let padding = bytes.get(20..header.data_offset as usize).unwrap_or_default();
        peer.check("2.2-09 2.2.3-19 3.1.5.4-20", padding.iter().all(|byte| *byte == 0), || {
            format!("the padding should be 0, it is {}", hex(padding))
        });
    }
}

fn all_clean(peer: &mut Peer<'_>, whole: &Whole) {
    for seen in whole.empties.iter().chain(&whole.fragments) {
        clean(peer, seen);
    }
}

pub(super) fn nothing_reserved(play: &mut Play) -> Result<(), Stop> {
    let mut peer = negotiated(play)?;
    for round in 0..20 {
        for len in [1, 500, 5000] {
            let question = peer.message_for(round, len, len)?;
            peer.send_fragments(&question)?;
            let whole = peer.answered("", &question)?;
            all_clean(&mut peer, &whole);
        }
        peer.send(&Data::probe())?;
        let answer = peer.expect_data("3.1.5.4-04", PATIENCE)?;
        clean(&mut peer, &answer);
    }
    Ok(())
}
