//! Deviations that only SMB2 can show: what ksmbd's transport takes is told by the answer to an SMB2 NEGOTIATE. The peer
//! is the script of the conformance suite, which can say anything.

use std::net::SocketAddr;
use std::time::Duration;

use smbd_conformance::catalogue::{Catalogue, UnderTest};
use smbd_conformance::profile::Profile;
use smbd_conformance::suite::target::verbs::{Connect, Remote};
use smbd_conformance::suite::{Data, Entry, Options, Outcome as Ended, Peer, Play, Stop, Whole, play};

use super::{port, smb2_request};
use crate::case::{Case, Context, Failure, Outcome, Target};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "ksmbd::upper::payload_inside_the_header",
        target: Target::Ksmbd,
        about: "an SMB2 NEGOTIATE at DataOffset 0, whose first 20 bytes are the header too, is answered",
        run: inside_the_header,
    },
    Case {
        name: "ksmbd::upper::fragments_that_do_not_continue",
        target: Target::Ksmbd,
        about: "an SMB2 NEGOTIATE whose last fragment has RemainingDataLength 5000 is answered",
        run: not_continuing,
    },
];

/// An answer of SMB2 comes within this time.
const ANSWER_TIME: Duration = Duration::from_secs(5);

/// Plays a script against ksmbd, in the place of a case of the suite that is about the same.
fn script(
    context: &Context,
    name: &'static str,
    play_it: fn(&mut Play) -> Result<(), Stop>,
) -> Result<(), Failure> {
    let catalogue = Catalogue::load()?;
    let case = catalogue.case(name).ok_or("no such case")?;
    let case = smbd_conformance::catalogue::Case { needs: Vec::new(), ..case.clone() };
    let usual = Profile::named("linux-6.12")?.acceptor.script;
    let at = SocketAddr::new(context.address, port());
    let mut target = Connect::to(at, Remote { usual: Some(usual), ..Remote::default() });
    let entry = Entry { name, play: play_it, settings: None };
    let played = play(&mut target, 0, (&case, &entry), UnderTest::Acceptor, Options::default());
    match played.outcome {
        Ended::Passed => Ok(()),
        outcome => {
            let findings: Vec<_> = played.findings.iter().map(|finding| finding.text.as_str()).collect();
            Err(format!("{outcome}: {}\n{}", findings.join("; "), played.trace).into())
        }
    }
}

/// The answer should be an SMB2 NEGOTIATE Response with STATUS_SUCCESS.
fn answered(peer: &mut Peer<'_>) -> Result<(), Stop> {
    let mut whole = Whole::default();
    while !whole.take(peer.expect_data("", ANSWER_TIME)?) {}
    let header = whole.payload.get(..20).unwrap_or_default();
    // ProtocolId; Status; Command; the lowest bit of Flags.
    let is_answer = header.starts_with(b"\xfeSMB") && header.get(16).is_some_and(|flags| flags & 1 == 1);
    let good = header.get(8..14) == Some(&[0; 6]);
    peer.require("", is_answer && good, || format!("no good SMB2 NEGOTIATE Response came: {header:02x?}"))
}

/// VA-3: DataOffset 0 is inside the header. ksmbd compares DataOffset and DataLength with the length of the message alone
/// (`recv_done`), so an SMB2 message may be the header: its ProtocolId grants 16973 credits, and the lowest bits of its Flags
/// have to be DataLength.
fn inside_the_header(context: &Context) -> Outcome {
    fn say(play: &mut Play) -> Result<(), Stop> {
        let mut peer = play.established()?;
        peer.send(&Data::empty().granting(10))?;
        let mut bytes = smb2_request().encode(&[0x5a; 32]).to_vec();
        // CreditRequest is part of DataOffset.
        bytes[14..16].fill(0);
        bytes.resize(256, 0);
        bytes[16..20].copy_from_slice(&256_u32.to_le_bytes());
        peer.say(&bytes)?;
        answered(&mut peer)
    }
    script(context, "fragments::data_inside_the_header_end_the_connection", say)?;
    Ok("deviation from 2.2.3: 256 bytes at DataOffset 0 are taken, and their SMB2 NEGOTIATE is answered"
        .into())
}

/// RA-3: the second fragment has to have RemainingDataLength 0. ksmbd adds up the lengths of the first one and then takes
/// bytes from wherever they come (`smb_direct_read`).
fn not_continuing(context: &Context) -> Outcome {
    fn say(play: &mut Play) -> Result<(), Stop> {
        let mut peer = play.established()?;
        peer.send(&Data::empty().granting(10))?;
        let bytes = smb2_request().encode(&[0x5a; 32]);
        let (first, rest) = bytes.split_at(100);
        peer.send(&Data::of(first).remaining(u32::try_from(rest.len()).unwrap_or(u32::MAX)))?;
        peer.send(&Data::of(rest).remaining(5000))?;
        answered(&mut peer)
    }
    script(context, "fragments::a_sequence_cannot_grow", say)?;
    Ok("deviation from 3.1.5.8: a fragment that leaves 5000 bytes where none are missing is taken, and the SMB2 NEGOTIATE answered".into())
}
