//! Wrong messages after a right negotiation.

use smbd_conformance::suite::{Data, Request, pattern};

use super::attack::{Attack, play};
use super::raw::{Raw, Terms};
use super::siege::{ENDS, Siege};
use crate::case::{Context, Outcome};

pub(super) fn malformed(context: &Context) -> Outcome {
    let siege = Siege::begin(context, "data")?;
    let mut raw = Raw::to(siege.echo.at)?;
    let mut kinds = 0;
    loop {
        let mark = siege.echo.mark();
        let (id, terms) = raw.established()?;
        let attacks = attacks(&terms);
        let Some(attack) = attacks.get(kinds) else {
            raw.leave(id)?;
            break;
        };
        play(&siege, &mut raw, id, (mark, &ENDS), attack)?;
        kinds += 1;
    }
    drop(raw);
    siege.end(format!("{kinds} kinds, each named in the log"))
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn attacks(terms: &Terms) -> Vec<Attack> {
    let payload = pattern(1, 100);
    let good = Data::of(&payload);
    let one = |name, data: Data, said| Attack { name, messages: vec![data.encode(255, 10)], said };
    let many = |name, messages: Vec<Vec<u8>>, said| Attack { name, messages, said };
    let mut short = Data::empty().encode(255, 10);
    short.pop();
    let longest = terms.max_fragmented_size;
    let fragment = |remaining| good.clone().remaining(remaining).encode(255, 10);
    vec![
        many("a byte too short", vec![short], &["message of 19 bytes, at least 20 needed"]),
        many("nothing", vec![Vec::new()], &["message of 0 bytes, at least 20 needed"]),
        many("no credits asked for", vec![good.encode(0, 10)], &["CreditsRequested is 0 (3.1.5.8)"]),
        one(
            "misaligned",
            Data { offset: 25, ..good.clone() },
            &["DataOffset 25 is not 8-byte aligned (3.1.5.8)"],
        ),
        one("inside the header", Data { offset: 8, ..good.clone() }, &["lies inside the header (2.2.3)"]),
        one(
            "beyond the message",
            Data { length: 1000, ..good.clone() },
            &["exceed the message of 124 bytes (3.1.5.8)"],
        ),
        one(
            "an offset far away",
            Data { offset: 0xffff_fff8, ..good.clone() },
            &["exceed the message of 124 bytes (3.1.5.8)"],
        ),
        one(
            "longer than MaxFragmentedSize",
            good.clone().remaining(longest - 99),
            &["exceed MaxFragmentedRecvSize"],
        ),
        one("of 4 GiB", good.clone().remaining(u32::MAX), &["exceed MaxFragmentedRecvSize"]),
        many(
            "growing fragments",
            vec![fragment(1000), fragment(5000)],
            &["bytes of the message are missing (3.1.5.8)"],
        ),
        many(
            "fragments that never end",
            vec![fragment(1000), fragment(1000)],
            &["bytes of the message are missing (3.1.5.8)"],
        ),
        many(
            "a message inside another",
            vec![fragment(1000), fragment(0)],
            &["bytes of the message are missing (3.1.5.8)"],
        ),
        many(
            "credits beyond all queues",
            vec![good.encode(255, 65_535), good.encode(255, 65_535)],
            &["add up to more than 65535 (3.1.5.8)"],
        ),
        many(
            "a second negotiation",
            vec![Request::default().encode()],
            &["exceed the message of 20 bytes (3.1.5.8)"],
        ),
        many(
            "an SMB2 header",
            vec![[&b"\xfeSMB"[..], &[0x40; 60][..]].concat()],
            &["peer broke the protocol"],
        ),
        many("500 bytes of noise", vec![pattern(7, 500).to_vec()], &["peer broke the protocol"]),
        // The device refuses it, each in its own way.
        many(
            "longer than the receive",
            vec![good.clone().filled_to(terms.max_receive_size as usize + 8).encode(255, 10)],
            &["failed: ", "by the client", "was lost"],
        ),
    ]
}
