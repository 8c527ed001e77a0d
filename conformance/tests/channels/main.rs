//! The cases of READ and WRITE by RDMA channels, against the server and the client of `smbd-smb2`, in the simulator.

mod covered;
mod keys;
mod lax;
mod red;
mod two_channels;
mod wrong;

use std::collections::BTreeSet;

use smbd_conformance::catalogue::{Case, Catalogue, Need, UnderTest};
use smbd_conformance::suite::rig::Target;
use smbd_conformance::suite::rig::sim::{SimClient, SimLate, SimLax, SimServer, SimSmb2};
use smbd_conformance::suite::{Choice, Options, Outcome, Played, Upper, Uppers, cases, detect, play};

/// What is found out about the subject before the first case.
fn options(role: UnderTest) -> Options {
    let choice = Choice {
        echo: false,
        smb2: true,
        share: Some(SimServer::SHARE.into()),
        user: Some(SimServer::user()),
    };
    let upper = match role {
        UnderTest::Initiator => detect(&mut SimClient, role, &choice),
        UnderTest::Acceptor | UnderTest::Both => detect(&mut SimServer, role, &choice),
    };
    assert!(matches!(upper, Upper::Server(_) | Upper::Client(_)), "{upper}");
    Options { uppers: Uppers::default().with(role, upper), ..Options::default() }
}

fn cases_of(role: UnderTest, catalogue: &Catalogue) -> impl Iterator<Item = &Case> {
    let is_one = move |case: &&Case| case.needs.contains(&Need::Smb2) && case.role == role;
    catalogue.cases.iter().filter(is_one)
}

fn told(played: &Played) -> String {
    let findings = played.findings.iter().map(|finding| format!("\n  {}", finding.text));
    format!(
        "{} {}: {}{}\n{}",
        played.case,
        played.variant,
        played.outcome,
        findings.collect::<String>(),
        played.trace
    )
}

/// Plays all cases in all variants: how many passed, and why others are not applicable.
fn passes(target: &mut dyn Target, role: UnderTest) -> (usize, BTreeSet<String>) {
    let (catalogue, options) = (Catalogue::load().unwrap(), options(role));
    let (mut wrong, mut passed, mut not) = (Vec::new(), 0, BTreeSet::new());
    for case in cases_of(role, &catalogue) {
        let entry = cases::find(&case.name).unwrap();
        let listed: BTreeSet<_> = case.statements.iter().map(ToString::to_string).collect();
        for variant in 0..target.variants().len() {
            let result = play(target, variant, (case, entry), role, &options);
            let asserted: BTreeSet<_> = result.asserted.keys().cloned().collect();
            match &result.outcome {
                Outcome::Passed if asserted == listed => passed += 1,
                Outcome::Passed => wrong.push(format!("{}: asserted {asserted:?}", case.name)),
                Outcome::NotApplicable(why) => {
                    not.insert(why.clone());
                }
                _ => wrong.push(told(&result)),
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong, {passed} right\n{}", wrong.len(), wrong.join("\n"));
    (passed, not)
}

#[test]
fn the_server_passes_every_case_and_each_asserts_what_the_catalogue_lists() {
    let (passed, not) = passes(&mut SimServer, UnderTest::Acceptor);
    assert_eq!(not, BTreeSet::new());
    // 15 cases of Microsoft about channels, 33 about transforms, 2 about several connections, and 10 of ours, in four variants each.
    assert_eq!(passed, 60 * 4);
}

/// Why a case of several connections is not applicable to a server.
fn why_not(target: &mut dyn Target, change: impl FnOnce(&mut Options)) -> String {
    let mut options = options(UnderTest::Acceptor);
    change(&mut options);
    let catalogue = Catalogue::load().unwrap();
    let case = (catalogue.case(two_channels::OTHER).unwrap(), cases::find(two_channels::OTHER).unwrap());
    let played = play(target, 0, case, UnderTest::Acceptor, &options);
    let Outcome::NotApplicable(why) = &played.outcome else { panic!("{}", told(&played)) };
    why.clone()
}

#[test]
fn cases_of_several_connections_say_why_a_server_cannot_be_asked() {
    let why = why_not(&mut SimSmb2, |_| {});
    assert_eq!(why, "the peer is reached over SMB Direct alone, and the case begins over TCP (--tcp)");
    let why = why_not(&mut SimServer, |options| {
        let Upper::Server(facts) = &mut options.uppers.acceptor else { panic!("it is a server") };
        facts.user = None;
    });
    assert_eq!(
        why,
        "no user of the server with a password is known, and sessions of guests have one connection"
    );
}

#[test]
fn of_a_server_without_transforms_their_cases_say_nothing() {
    let share = Some(SimServer::SHARE.into());
    let choice = Choice { smb2: true, share, user: Some(SimServer::user()), ..Choice::default() };
    let upper = detect(&mut SimSmb2, UnderTest::Acceptor, &choice);
    let options =
        Options { uppers: Uppers::default().with(UnderTest::Acceptor, upper), ..Options::default() };
    let catalogue = Catalogue::load().unwrap();
    let mut reasons = BTreeSet::new();
    for case in cases_of(UnderTest::Acceptor, &catalogue) {
        // What is refused where nothing was negotiated needs no transforms.
        if !case.group.contains("Transform") || case.name.ends_with("_NoTransformIds_Fails") {
            continue;
        }
        let case = (case, cases::find(&case.name).unwrap());
        let played = play(&mut SimSmb2, 0, case, UnderTest::Acceptor, &options);
        let Outcome::NotApplicable(why) = &played.outcome else { panic!("{}", told(&played)) };
        reasons.insert(why.clone());
    }
    assert_eq!(reasons.iter().collect::<Vec<_>>(), ["the peer negotiates no transforms of RDMA"]);
}

#[test]
fn without_a_user_the_cases_of_transforms_say_so() {
    let mut options = options(UnderTest::Acceptor);
    let Upper::Server(facts) = &mut options.uppers.acceptor else { panic!("it is a server") };
    facts.user = None;
    let name = "Smb2OverRdmaChannelTransform_Signing_ReadLargeFile_AES_CMAC";
    let catalogue = Catalogue::load().unwrap();
    let case = (catalogue.case(name).unwrap(), cases::find(name).unwrap());
    let played = play(&mut SimServer, 0, case, UnderTest::Acceptor, &options);
    let Outcome::NotApplicable(why) = &played.outcome else { panic!("{}", told(&played)) };
    assert_eq!(why, "no user of the server with a password is known, and guests have no keys");
    let mut options = self::options(UnderTest::Initiator);
    let Upper::Client(facts) = &mut options.uppers.initiator else { panic!("it is a client") };
    facts.user = None;
    let name = "smb2::signed_data_are_verified";
    let case = (catalogue.case(name).unwrap(), cases::find(name).unwrap());
    let played = play(&mut SimClient, 0, case, UnderTest::Initiator, &options);
    let Outcome::NotApplicable(why) = &played.outcome else { panic!("{}", told(&played)) };
    assert_eq!(why, "no user of the client with a password is known, and guests have no keys");
}

#[test]
fn the_client_passes_every_case_and_each_asserts_what_the_catalogue_lists() {
    let (passed, not) = passes(&mut SimClient, UnderTest::Initiator);
    assert_eq!(not, BTreeSet::new());
    // Three that need no transforms, and seven that are about them, in four variants each.
    assert_eq!(passed, 10 * 4);
}

#[test]
fn a_client_that_does_what_the_text_says_and_no_more_passes_every_case() {
    let (passed, not) = passes(&mut SimLax::default(), UnderTest::Initiator);
    assert_eq!(not, BTreeSet::new());
    assert_eq!(passed, 10 * 4);
}

#[test]
fn a_client_that_copies_passes_every_case_that_needs_no_transforms() {
    let (passed, not) = passes(&mut SimSmb2, UnderTest::Initiator);
    let lacks =
        ["encryption", "signing"].map(|id| format!("the peer does not offer the transform of RDMA {id}"));
    assert_eq!(not.into_iter().collect::<Vec<_>>(), lacks);
    assert_eq!(passed, 3 * 4);
}

#[test]
fn an_answer_that_comes_behind_the_next_one_is_not_taken_for_a_message_without_data() {
    let mut late = wrong::Wrong { late: true, ..wrong::Wrong::default() };
    let choice = Choice { smb2: true, share: Some(SimServer::SHARE.into()), ..Choice::default() };
    let upper = detect(&mut SimLate, UnderTest::Acceptor, &choice);
    let options =
        Options { uppers: Uppers::default().with(UnderTest::Acceptor, upper), ..Options::default() };
    let name = "BVT_SmbdDataTransfer_Basic_SendModerateBytesData";
    let catalogue = Catalogue::load().unwrap();
    let case = (catalogue.case(name).unwrap(), cases::find(name).unwrap());
    let played = play(&mut late, 0, case, UnderTest::Acceptor, &options);
    assert_eq!(played.outcome, Outcome::Passed, "{}", told(&played));
    assert!(played.trace.to_string().contains("Flags 0x0001"), "a probe is sent");
}
