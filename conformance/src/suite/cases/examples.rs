//! The examples of section 4.

use std::time::Duration;

use smbd_core::wire::BufferDescriptors;
use smbd_core::{Access, Params, RdmaVerb};
use smbd_tools::exercise::{Answer, Request as Asked, digest};

use super::Entry;
use crate::suite::basic::Duties;
use crate::suite::layout::{Place, of_data, of_request, of_response};
use crate::suite::trace::hex;
use crate::suite::words::Words;
use crate::suite::{Data, Peer, Play, Registered, Request, Response, Stop, pattern};

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

/// Section 4.1: what the two negotiation messages are, field by field.
const fn request_of_4_1(duties: Duties) -> [Place<'static>; 7] {
    [
        of_request::MIN_VERSION.holds("2.2.1-03 3.1.5.2-02", 0x0100),
        of_request::MAX_VERSION.holds("2.2.1-06 3.1.5.2-03", 0x0100),
        of_request::RESERVED.holds("2.2-06 2.2.1-09 3.1.5.2-04", 0),
        of_request::CREDITS_REQUESTED.holds(duties.credits_requested, 10),
        of_request::PREFERRED_SEND_SIZE.holds(duties.preferred_send_size, 1024),
        of_request::MAX_RECEIVE_SIZE.holds(duties.max_receive_size, 1024),
        of_request::MAX_FRAGMENTED_SIZE.holds(duties.max_fragmented_size, 131_072),
    ]
}

const fn response_of_4_1(duties: Duties) -> [Place<'static>; 11] {
    [
        of_response::MIN_VERSION.holds("2.2.2-03 3.1.5.3-02", 0x0100),
        of_response::MAX_VERSION.holds("2.2.2-06 3.1.5.3-03", 0x0100),
        of_response::NEGOTIATED_VERSION.holds("3.1.5.3-09", 0x0100),
        of_response::RESERVED.holds("2.2-06 2.2.2-11 3.1.5.3-04", 0),
        of_response::CREDITS_REQUESTED.holds(duties.credits_requested, 10),
        of_response::CREDITS_GRANTED.holds(duties.credits_granted, 10),
        of_response::STATUS.holds("2.2.2-16", 0),
        of_response::MAX_READ_WRITE_SIZE.holds("3.1.5.3-12", 1_048_576),
        of_response::PREFERRED_SEND_SIZE.holds(duties.preferred_send_size, 1024),
        of_response::MAX_RECEIVE_SIZE.holds(duties.max_receive_size, 1024),
        of_response::MAX_FRAGMENTED_SIZE.holds(duties.max_fragmented_size, 131_072),
    ]
}
/// Section 4.2: the header of 500 bytes. How much is granted depends on what was said before.
const SMALL: [Place<'_>; 6] = [
    of_data::CREDITS_REQUESTED.holds("", 10),
    of_data::FLAGS.holds("3.1.5.1-14", 0),
    of_data::RESERVED.holds("2.2-06 2.2.3-09", 0),
    of_data::REMAINING_DATA_LENGTH.holds("3.1.5.4-17", 0),
    of_data::DATA_OFFSET.holds("3.1.5.4-14", 24),
    of_data::DATA_LENGTH.holds("3.1.5.4-19", 500),
];

fn establishing(play: &mut Play) -> Result<(), Stop> {
    let accepts = play.subject_accepts();
    let mut peer = play.connect()?;
    if accepts {
        peer.request(&Request::default())?;
        let (response, message) = peer.response("3.1.5.3-16")?;
        if response.credits_granted == 0 || response.negotiated_version == 0 {
            peer.accepted("3.1.5.6-18", &response)?;
        }
        peer.check("2.2.2-01", message.bytes.len() == 32, || {
            format!("a Negotiate Response has 32 bytes, {} came", message.words())
        });
        let duties = Duties::of_response(&Request::default(), &response);
        peer.layout(&message.bytes, &response_of_4_1(duties));
        peer.post_receives(10)?;
        return peer.send(&Data::of(&pattern(1, 100)).granting(10));
    }
    let (request, message) = peer.asked("3.1.5.2-09")?;
    peer.check("2.2.1-01", message.bytes.len() == 20, || {
        format!("a Negotiate Request has 20 bytes, {} came", message.words())
    });
    peer.layout(&message.bytes, &request_of_4_1(Duties::of_request(&request)));
    peer.respond(&Response::default())?;
    let first = peer.initiators_message(Duration::from_secs(5))?;
    let header = first.header;
    let (requested, granted, flags) = (header.credits_requested, header.credits_granted, header.flags.0);
    peer.check("3.1.5.1-10", requested == 10, || format!("CreditsRequested should be 10, it is {requested}"));
    let rule = if granted > 10 { "3.1.5.7-11" } else { "3.1.5.7-18" };
    peer.check(&format!("{rule} +3.1.5.7-18"), granted == 10, || {
        format!("CreditsGranted should be 10, it is {granted}")
    });
    peer.check("3.1.5.1-14", flags == 0, || format!("Flags should be 0x0000, they are 0x{flags:04X}"));
    Ok(())
}

fn small(play: &mut Play) -> Result<(), Stop> {
    let accepts = play.subject_accepts();
    let mut peer = play.established()?;
    peer.needs_echo()?;
    let payload = pattern(42, 500);
    peer.send(&Data::of(&payload))?;
    let echo = peer.echoed("2.2-02 +2.2.3-21", &payload)?;
    let Some(seen) = echo.fragments.first() else { return Ok(()) };
    let (bytes, granted) = (&seen.message.bytes, seen.header.credits_granted);
    peer.layout(bytes, &SMALL);
    if seen.header.data_offset == 24 {
        peer.check("3.1.5.4-19 +2.2.3-18 +2.2.3-21", bytes.get(24..) == Some(&payload[..]), || {
            format!("500 bytes of payload should be behind byte 24, {} came", seen.words())
        });
    }
    // The acceptor's response has granted what was posted then, so only what came since is new.
    let first = echo.empties.first().map_or(granted, |first| first.header.credits_granted);
    let requested = seen.header.credits_requested;
    let rule = if requested == 0 { "3.1.5.8-03" } else { "3.1.5.1-10" };
    peer.check(&format!("{rule} +3.1.5.1-10"), requested == 10, || {
        format!("CreditsRequested should be 10, it is {requested}")
    });
    if !accepts {
        peer.check("3.1.5.1-05 +2.2.3-03", first >= 10, || {
            format!("the first message should grant 10 at least, it grants {first}")
        });
    }
    Ok(())
}

fn long(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.established()?;
    peer.needs_echo()?;
    let payload = pattern(43, 65_536);
    peer.send_fragments(&payload)?;
    let echo = peer.echoed("3.1.5.4-23", &payload)?;
    let mut remaining = 65_536_u32;
    for seen in &echo.fragments {
        let (header, whole) = (seen.header, seen.message.bytes.len());
        let (length, requested) = (remaining.min(1000), header.credits_requested);
        remaining = remaining.saturating_sub(header.data_length);
        peer.check("3.1.5.4-14 +3.1.5.4-19", header.data_offset == 24, || {
            format!("DataOffset should be 24, it is {}", header.data_offset)
        });
        peer.check("3.1.5.1-10", requested == 10, || {
            format!("CreditsRequested should be 10, it is {requested}")
        });
        peer.check("3.1.5.4-15 +3.1.5.4-19", header.data_length >= length, || {
            format!("DataLength should be {length}, it is {}", header.data_length)
        });
        peer.check("3.1.5.4-13", whole <= 1024, || {
            format!("a message has {whole} bytes, 1024 at most are taken")
        });
        let says = header.remaining_data_length;
        let rule = if remaining == 0 { "3.1.5.4-17 +2.2.3-12" } else { "3.1.5.4-18" };
        peer.check(rule, says == remaining, || {
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
    peer.check("3.1.4.6-05 +2.2.3.1-02 +2.2.3.1-03 +2.2.3.1-04 +2.2.3.1-05", right, || {
        format!("the subject should have read what was registered, its answer is {}", answer.words())
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
        peer.check("3.1.4.5-06", answer == Answer::Done, || {
            format!("it should be done, {} came", answer.words())
        });
        let wanted = peer.written_by(&asked);
        peer.check("1.5-03", bytes.last() == wanted.last(), || {
            "the last byte is not there when the answer has come".into()
        });
        let but_last = |bytes: &[u8]| bytes.split_last().map_or(0, |(_, rest)| digest(rest));
        peer.check("3.1.4.5-05 +2.2.3.1-01 +2.2.3.1-05", but_last(&bytes) == but_last(&wanted), || {
            format!("the bytes in memory are not those of pattern {seed} when the answer has come")
        });
        posted = peer.each_byte_once("3.1.4.5-05", RdmaVerb::Write, &registered, posted);
    }
    Ok(())
}
