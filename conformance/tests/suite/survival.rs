//! A server that dies of one thing: the case that is there for it finds that it is gone, and has the bytes it died of.

use std::time::Duration;

use smbd_conformance::catalogue::{Catalogue, UnderTest};
use smbd_conformance::suite::rig::sim::{Mortal, Reaction};
use smbd_conformance::suite::{Entry, Finding, Options, Outcome, Play, Stop, cases, play};
use smbd_core::wire::{DataTransfer, NegotiateRequest, NegotiateResponse};

use Reaction::{Dies, Swallows, Takes};

/// What a server does about a message: its connection, its header if it has one, and its bytes.
type Ill = Box<dyn FnMut(usize, &DataTransfer, &[u8]) -> Reaction>;

/// What comes of a case against such a server.
fn findings(case: &str, mut ill: Ill) -> Vec<Finding> {
    let catalogue = Catalogue::load().unwrap();
    let (planned, entry) = (catalogue.case(case).unwrap(), cases::find(case).unwrap());
    let mut last = usize::MAX;
    let constitution = move |connection, bytes: &[u8]| {
        // With which each connection begins.
        let negotiates = last != connection;
        last = connection;
        match DataTransfer::parse(bytes) {
            Ok(header) if !negotiates => ill(connection, &header, bytes),
            _ => Takes,
        }
    };
    let mut target = Mortal::with(constitution, None);
    let played = play(&mut target, 0, (planned, entry), UnderTest::Acceptor, &Options::default());
    assert_eq!(played.outcome, Outcome::Failed, "{case}\n{}", played.trace);
    played.findings
}

fn is_request(bytes: &[u8]) -> bool {
    bytes.len() == NegotiateRequest::LEN && bytes.starts_with(&[0, 1, 0, 1])
}

/// The death is found, in these words, and with the message it is about.
fn gone(case: &str, ill: Ill, words: &str, is_lethal: impl Fn(&DataTransfer, &[u8]) -> bool) {
    let findings = findings(case, ill);
    let last = findings.last().unwrap();
    assert_eq!(
        last.text,
        format!("the peer serves no new connections any more after {words}: no new connection: refused")
    );
    assert!(last.statements.is_empty(), "{:?}", last.statements);
    let packet = last.sent.as_ref().unwrap();
    // Of a long message the first bytes are kept.
    let mut sent = packet.bytes.clone();
    sent.resize(packet.len, 0);
    assert!(is_lethal(&DataTransfer::parse(&sent).unwrap(), &sent), "{case}: {sent:02x?}");
}

fn dies_if(is_lethal: impl Fn(&DataTransfer, &[u8]) -> bool + 'static) -> Ill {
    Box::new(move |_, header, bytes| if is_lethal(header, bytes) { Dies } else { Takes })
}

#[test]
fn a_server_that_follows_any_offset_is_found_gone() {
    let case = "survival::a_payload_far_outside_its_message";
    let lethal = |header: &DataTransfer, bytes: &[u8]| {
        header.data_offset == 0xFFFF_FFF8 && header.data_length > 50 && bytes.len() > 80
    };
    let words = "DataOffset 0xFFFFFFF8 and DataLength 0x3C as the first message";
    gone(case, dies_if(lethal), words, lethal);
    // In the second fragment alone.
    let lethal = |header: &DataTransfer, _: &[u8]| header.data_offset == 0x8000_0000;
    let mut before = 0;
    let ill: Ill = Box::new(move |_, header, bytes| {
        let continues = before > 0;
        before = header.remaining_data_length;
        if continues && lethal(header, bytes) { Dies } else { Takes }
    });
    gone(case, ill, "DataOffset 0x80000000 and DataLength 0x1E in the second fragment", lethal);
}

#[test]
fn a_server_that_adds_in_32_bits_is_found_gone() {
    let lethal = |header: &DataTransfer, bytes: &[u8]| {
        let (offset, length) = (header.data_offset, header.data_length);
        length as usize > bytes.len() && offset.wrapping_add(length) as usize <= bytes.len()
    };
    let words = "DataOffset 0x18 and DataLength 0xFFFFFFFF as the first message";
    gone("survival::a_payload_of_gigabytes", dies_if(lethal), words, lethal);
    // Where the sum is the length of the message and nothing less.
    let lethal = |header: &DataTransfer, bytes: &[u8]| {
        let (offset, length) = (header.data_offset, header.data_length);
        length as usize > bytes.len() && offset.wrapping_add(length) as usize == bytes.len()
    };
    let words = "DataOffset 0xFFFFFFF8 and DataLength 0x5C as the first message";
    gone("survival::a_payload_of_gigabytes", dies_if(lethal), words, lethal);
}

/// A server that looks at each fragment alone, takes all that fit, and dies of a sequence of more bytes, if so many credits are
/// asked for in it.
fn collects(most: u64, asked: u16) -> Ill {
    let mut sum = 0;
    Box::new(move |_, header, _| {
        if header.remaining_data_length == 0 {
            sum = 0;
            return Takes;
        }
        sum += u64::from(header.data_length);
        if sum > most && header.credits_requested == asked { Dies } else { Swallows }
    })
}

#[test]
fn a_server_that_collects_without_end_is_found_gone() {
    let case = "survival::a_sequence_without_end";
    for asked in [u16::MAX, 255] {
        // More than MaxFragmentedSize of the server.
        let found = findings(case, collects(3 << 20, asked));
        let last = found.last().unwrap();
        assert!(last.text.starts_with("the peer serves no new connections any more after "), "{}", last.text);
        let words = "fragments of 1000 bytes with RemainingDataLength 1000 in every fragment";
        assert!(last.text.contains(&format!("{words} ({asked} credits asked for)")), "{}", last.text);
        let sent = DataTransfer::parse(&last.sent.as_ref().unwrap().bytes).unwrap();
        assert_eq!((sent.remaining_data_length, sent.credits_requested), (1000, asked));
    }
}

#[test]
fn a_server_that_collects_without_end_and_does_not_die_breaks_the_statement() {
    let found = findings("survival::a_sequence_without_end", collects(u64::MAX, 0));
    assert!(found.iter().all(|finding| finding.statements == ["3.1.5.8-19"]), "{found:?}");
    assert!(found[0].text.contains("the connection should end"), "{}", found[0].text);
}

#[test]
fn a_server_that_believes_any_announcement_is_found_gone() {
    let case = "survival::a_sequence_that_announces_gigabytes";
    let lethal = |header: &DataTransfer, _: &[u8]| header.remaining_data_length == u32::MAX;
    let mut before = 0;
    let ill: Ill = Box::new(move |_, header, bytes| {
        let continues = before == 1000;
        before = header.remaining_data_length;
        if continues && lethal(header, bytes) { Dies } else { Takes }
    });
    let found = findings(case, ill);
    let last = found.last().unwrap();
    assert!(
        last.text.contains("fragments, 1 with RemainingDataLength 1000, then 0xFFFFFFFF (65535 credits"),
        "{}",
        last.text
    );
    assert!(lethal(&DataTransfer::parse(&last.sent.as_ref().unwrap().bytes).unwrap(), &[]));
    // It takes them all, and dies of what they would make.
    let mut announced = 0_u64;
    let ill: Ill = Box::new(move |_, header, _| {
        announced += u64::from(header.remaining_data_length);
        match header.remaining_data_length {
            0 => Takes,
            _ if announced > 500 * u64::from(u32::MAX) => Dies,
            _ => Swallows,
        }
    });
    let found = findings(case, ill);
    assert_eq!(found[0].statements, ["3.1.5.8-06", "3.1.5.8-07"]);
    let last = found.last().unwrap();
    // The script notices it some fragments later.
    assert!(last.text.contains(" with RemainingDataLength 1000, then 0xFFFFFFFF"), "{}", last.text);
    assert!(last.text.ends_with("no new connection: refused"), "{}", last.text);
}

/// A server that dies of so many fragments of a byte in a row, if so many credits are asked for.
fn counts(most: u32, asked: u16) -> Ill {
    let mut count = 0;
    Box::new(move |_, header, _| {
        count = if header.data_length == 1 && header.credits_requested == asked { count + 1 } else { 0 };
        if count > most { Dies } else { Takes }
    })
}

#[test]
fn a_server_that_dies_of_very_many_fragments_is_found_gone() {
    let is_piece = |header: &DataTransfer, _: &[u8]| header.data_length == 1;
    for (case, asked) in [
        ("survival::a_message_in_very_many_fragments", 255),
        ("survival::very_many_fragments_and_no_last_one", u16::MAX),
    ] {
        let found = findings(case, counts(14_000, asked));
        let last = found.last().unwrap();
        assert!(last.text.contains("000 fragments of 1 byte: "), "{}", last.text);
        assert!(last.text.ends_with("no new connection: refused"), "{}", last.text);
        assert!(is_piece(&DataTransfer::parse(&last.sent.as_ref().unwrap().bytes).unwrap(), &[]));
    }
}

#[test]
fn a_server_whose_credits_overflow_is_found_gone() {
    let mut asked = 0_u32;
    let ill: Ill = Box::new(move |_, header, _| {
        asked = asked.wrapping_add(header.credits_requested.into());
        if asked > 250 * 65_535 { Dies } else { Takes }
    });
    let words = "any more after CreditsRequested 65535 in 2";
    let found = findings("survival::all_credits_asked_for_in_every_message", ill);
    let sent = &found.last().unwrap().sent;
    assert_eq!(DataTransfer::parse(&sent.as_ref().unwrap().bytes).unwrap().credits_requested, u16::MAX);
    assert!(found.last().unwrap().text.contains(words), "{found:?}");

    let mut before = 0;
    let ill: Ill = Box::new(move |_, header, _| {
        let twice = before == u16::MAX && header.credits_granted == u16::MAX;
        before = header.credits_granted;
        if twice { Dies } else { Takes }
    });
    let found = findings("survival::all_credits_granted_in_every_message", ill);
    let last = found.last().unwrap();
    assert!(last.text.contains("CreditsGranted 65535 in each of "), "{}", last.text);
    let sent = DataTransfer::parse(&last.sent.as_ref().unwrap().bytes).unwrap();
    assert_eq!(sent.credits_granted, u16::MAX);
}

#[test]
fn a_server_that_negotiates_again_is_found_gone() {
    let case = "survival::a_negotiation_in_the_middle";
    let request = |_: &DataTransfer, bytes: &[u8]| is_request(bytes);
    gone(case, dies_if(request), "a Negotiate Request once between two messages", request);
    let response = |_: &DataTransfer, bytes: &[u8]| {
        bytes.len() == NegotiateResponse::LEN && bytes.starts_with(&[0, 1, 0, 1, 0, 1])
    };
    gone(case, dies_if(response), "a Negotiate Response once between two messages", response);
}

#[test]
fn a_server_that_takes_connections_and_answers_nothing_any_more_is_found_gone() {
    let mut hangs = false;
    let ill: Ill = Box::new(move |_, header, _| {
        if hangs && header.data_length > 0 {
            return Swallows;
        }
        hangs |= header.data_offset == 0xFFFF_FFF0;
        Takes
    });
    let found = findings("survival::a_payload_far_outside_its_message", ill);
    let last = found.last().unwrap();
    assert!(last.text.contains("after DataOffset 0xFFFFFFF0 and "), "{}", last.text);
    assert!(last.text.contains(": a new connection, and no answer on it: no message came"), "{}", last.text);
}

#[test]
fn a_look_in_a_case_takes_12_s_at_most_and_leaves_the_case_its_time() {
    let script: fn(&mut Play) -> Result<(), Stop> = |play| {
        let id = play.established()?.id();
        let began = play.now();
        assert_eq!(play.lives_after(id, "nothing"), Err(Stop::Failed));
        let took = play.now().saturating_since(began);
        assert!((12..14).contains(&took.as_secs()), "{took:?}");
        play.check("1.5-01", false, || "found behind".into());
        Ok(())
    };
    let constitution = |_, bytes: &[u8]| if bytes.len() > 20 { Swallows } else { Takes };
    let catalogue = Catalogue::load().unwrap();
    let name = "BVT_SmbdNegotiate_Basic";
    let entry = Entry { name, play: script, settings: None };
    let options = Options { limit: Some(Duration::from_secs(30)), ..Options::default() };
    let case = (catalogue.case(name).unwrap(), &entry);
    let played = play(&mut Mortal::with(constitution, None), 0, case, UnderTest::Acceptor, &options);
    let texts: Vec<_> = played.findings.iter().map(|finding| finding.text.as_str()).collect();
    let [lives, "found behind"] = texts[..] else { panic!("{texts:?}") };
    assert!(lives.ends_with("a new connection, and no answer on it: no message came within 12 s"), "{lives}");
}
