//! First messages that are no Negotiate Request, or a wrong one.

use smbd_conformance::suite::{Data, Request, pattern};

use super::attack::{Attack, play};
use super::raw::Raw;
use super::siege::Siege;
use crate::case::{Context, Outcome};

pub(super) fn malformed(context: &Context) -> Outcome {
    let siege = Siege::begin(context, "negotiation")?;
    let mut raw = Raw::to(siege.echo.at)?;
    let attacks = attacks();
    for attack in &attacks {
        let mark = siege.echo.mark();
        let id = raw.connect()?;
        play(&siege, &mut raw, id, (mark, &["did not come up"]), attack)?;
    }
    drop(raw);
    siege.end(format!("{} kinds, each named in the log", attacks.len()))
}

fn attacks() -> Vec<Attack> {
    let good = Request::default();
    let one = |name, message: Vec<u8>, said| Attack { name, messages: vec![message], said };
    let changed = |name, request: Request, said| one(name, request.encode(), said);
    let mut short = good.encode();
    short.pop();
    vec![
        one("nothing", Vec::new(), &["message of 0 bytes, at least 20 needed"]),
        one("a byte too short", short, &["message of 19 bytes, at least 20 needed (3.1.5.6)"]),
        changed(
            "a version to come",
            Request { min_version: 0x0200, max_version: 0x0300, ..good },
            &["versions 0x0200 to 0x0300 do not include 0x0100 (3.1.5.6)"],
        ),
        changed(
            "versions the wrong way round",
            Request { min_version: 0x0101, max_version: 0x0100, ..good },
            &["versions 0x0101 to 0x0100 do not include 0x0100 (3.1.5.6)"],
        ),
        changed(
            "no credits asked for",
            Request { credits_requested: 0, ..good },
            &["CreditsRequested is 0 (3.1.5.6)"],
        ),
        changed(
            "MaxReceiveSize",
            Request { max_receive_size: 127, ..good },
            &["MaxReceiveSize 127 is below 128 (3.1.5.6)"],
        ),
        changed(
            "MaxFragmentedSize",
            Request { max_fragmented_size: 131_071, ..good },
            &["MaxFragmentedSize 131071 is below 131072 (3.1.5.6)"],
        ),
        one(
            "data before the negotiation",
            Data::of(&pattern(1, 100)).encode(10, 1),
            &["versions 0x000a to 0x0001 do not include 0x0100 (3.1.5.6)"],
        ),
        one(
            "an SMB2 header",
            [&b"\xfeSMB"[..], &[0x40, 0, 1, 0], &[0; 56][..]].concat(),
            &["versions 0x53fe to 0x424d do not include 0x0100 (3.1.5.6)"],
        ),
        one("512 bytes of noise", pattern(2, 512).to_vec(), &["peer broke the protocol", "refused with"]),
        // The device refuses it, each in its own way.
        one(
            "longer than the receive",
            pattern(3, 9000).to_vec(),
            &["failed: ", "connection lost", "closed by the peer"],
        ),
    ]
}
