//! The catalogue against an implementation with SMB2 as its upper layer: the same cases, and nothing to find.

use std::collections::BTreeMap;

use smbd_conformance::catalogue::{Catalogue, UnderTest};
use smbd_conformance::suite::rig::Target;
use smbd_conformance::suite::rig::sim::{Mortal, Reaction, SimLate, SimSmb2};
use smbd_conformance::suite::{Choice, Options, Outcome, Played, SIDES, Upper, Uppers, cases, detect, play};
use smbd_core::wire::{DataTransfer, NegotiateRequest};

#[test]
fn the_core_passes_every_case_with_smb2_on_top() {
    let catalogue = Catalogue::load().unwrap();
    let choice =
        Choice { echo: true, smb2: true, share: Some(r"\\subject\share".into()), ..Choice::default() };
    let (mut failed, mut played, mut not) = (Vec::new(), 0, Vec::new());
    for role in SIDES {
        let upper = detect(&mut SimSmb2, role, &choice);
        println!("{role}: {upper}");
        assert!(matches!(upper, Upper::Server(_) | Upper::Client(_)), "{upper}");
        let options = Options { uppers: Uppers::default().with(role, upper), ..Options::default() };
        for case in catalogue.cases.iter().filter(|case| case.role.includes(role)) {
            let entry = cases::find(&case.name).unwrap();
            for variant in 0..2.min(SimSmb2.variants().len()) {
                let result = play(&mut SimSmb2, variant, (case, entry), role, &options);
                match result.outcome {
                    Outcome::Passed => played += 1,
                    Outcome::NotApplicable(why) => not.push(format!("{} {role}: {why}", case.name)),
                    other => failed.push(format!(
                        "{} {role} {variant}: {other} {:?}",
                        case.name,
                        result.findings.iter().map(|f| f.text.clone()).take(2).collect::<Vec<_>>()
                    )),
                }
            }
        }
    }
    println!("{played} played\n{}", not.join("\n"));
    assert!(failed.is_empty(), "{} failed\n{}", failed.len(), failed.join("\n"));
}

/// What comes of each case, of an implementation that accepts; with the findings of those that fail.
fn outcomes(target: &mut dyn Target) -> BTreeMap<String, String> {
    let catalogue = Catalogue::load().unwrap();
    let role = UnderTest::Acceptor;
    let choice = Choice { smb2: true, share: Some(r"\\subject\share".into()), ..Choice::default() };
    let upper = detect(target, role, &choice);
    assert!(matches!(upper, Upper::Server(_)), "{upper}");
    let options = Options { uppers: Uppers::default().with(role, upper), ..Options::default() };
    let cases = catalogue.cases.iter().filter(|case| case.role.includes(role));
    let all = cases.map(|case| {
        let entry = cases::find(&case.name).unwrap();
        let result = play(target, 0, (case, entry), role, &options);
        let found = result.findings.iter().map(|found| format!("; {}", found.text));
        (case.name.clone(), format!("{}{}", result.outcome, found.collect::<String>()))
    });
    all.collect()
}

#[test]
fn interim_answers_of_a_server_change_no_verdict() {
    let (at_once, late) = (outcomes(&mut SimSmb2), outcomes(&mut SimLate));
    let others = late.iter().filter(|(case, outcome)| at_once.get(*case) != Some(outcome));
    let others: Vec<_> = others.map(|(case, outcome)| format!("{case}: {outcome}")).collect();
    assert!(others.is_empty(), "{} others:\n{}", others.len(), others.join("\n"));
    assert!(late.values().filter(|outcome| *outcome == "passed").count() > 100);
}

/// What comes of a case against an SMB2 server that dies of such a message; it gets the bytes behind the 4 of padding, too.
fn against_one_that_dies(case: &str, is_lethal: fn(&DataTransfer, &[u8]) -> bool) -> Played {
    let catalogue = Catalogue::load().unwrap();
    let negotiates = |bytes: &[u8]| bytes.len() == NegotiateRequest::LEN && bytes.starts_with(&[0, 1, 0, 1]);
    let constitution = move |_, bytes: &[u8]| match (DataTransfer::parse(bytes), bytes.get(24..)) {
        (Ok(header), Some(payload)) if !negotiates(bytes) && is_lethal(&header, payload) => Reaction::Dies,
        _ => Reaction::Takes,
    };
    let mut target = Mortal::with(constitution, None).speaking_smb2();
    let upper = detect(&mut target, UnderTest::Acceptor, &Choice { smb2: true, ..Choice::default() });
    assert!(matches!(upper, Upper::Server(_)), "it lives so far: {upper}");
    let options =
        Options { uppers: Uppers::default().with(UnderTest::Acceptor, upper), ..Options::default() };
    let case = (catalogue.case(case).unwrap(), cases::find(case).unwrap());
    play(&mut target, 0, case, UnderTest::Acceptor, &options)
}

fn dies_after(played: &Played, words: &str) {
    assert_eq!(played.outcome, Outcome::Failed, "{}", played.trace);
    let last = played.findings.last().unwrap();
    let gone = "the peer serves no new connections any more after";
    assert_eq!(last.text, format!("{gone} {words}: no new connection: refused"));
    // SMB2 is in the message that is shown.
    assert_eq!(&last.sent.as_ref().unwrap().bytes[24..28], b"\xfeSMB");
}

#[test]
fn a_server_that_dies_of_smb2_behind_a_far_offset_is_found_gone() {
    let case = "survival::a_payload_far_outside_its_message";
    let lethal: fn(&DataTransfer, &[u8]) -> bool =
        |header, payload| header.data_offset == 0xFFFF_FFF8 && payload.starts_with(b"\xfeSMB");
    let played = against_one_that_dies(case, lethal);
    let first = played.findings.last().unwrap().text.contains("as the first message");
    assert!(first, "{:?}", played.findings);
    // Only of an ECHO.
    let lethal: fn(&DataTransfer, &[u8]) -> bool =
        |header, payload| header.data_offset == 0xFFFF_FFF8 && payload.get(12..14) == Some(&[13, 0]);
    let played = against_one_that_dies(case, lethal);
    dies_after(&played, "DataOffset 0xFFFFFFF8 and DataLength 0x44 behind others");
}

#[test]
fn a_server_that_dies_of_a_second_smb2_negotiate_is_found_gone() {
    // MessageId and command.
    let lethal: fn(&DataTransfer, &[u8]) -> bool = |_, payload| {
        payload.get(12..14) == Some(&[0, 0]) && payload.get(24..32).is_some_and(|id| id != [0; 8])
    };
    let played = against_one_that_dies("survival::an_smb2_negotiate_in_the_middle", lethal);
    dies_after(&played, "a second SMB2 NEGOTIATE with the next MessageId");
}
