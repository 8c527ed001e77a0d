//! What a subject does wrong is reported with its statement, what was sent and what came; and what is known of it as that.

use smbd_conformance::catalogue::Catalogue;
use smbd_conformance::catalogue::UnderTest::Acceptor;
use smbd_conformance::profile::Profile;
use smbd_conformance::suite::report::{ProfileReport, Report, Verdict, html, json, junit, text::Text};
use smbd_conformance::suite::rig::Target;
use smbd_conformance::suite::{Finding, Options, Outcome, Tally, cases, play};

use super::tampered::{Says, Stays, Tampered, Wrong, flip, put};

/// The first message alone is changed.
macro_rules! first {
    ($at:expr, $with:expr) => {
        || {
            Box::new(Says(|index, bytes| {
                if index == 0 {
                    put(bytes, $at, $with);
                }
            }))
        }
    };
}

const BASIC: &str = "BVT_SmbdNegotiate_Basic";
const SMALL: &str = "BVT_SmbdDataTransfer_Basic_SendSmallBytesOfData";

#[test]
fn a_finding_is_reported_with_its_requirement_what_was_sent_and_what_came() {
    let catalogue = Catalogue::load().unwrap();
    let wrong: [(&str, Wrong); 2] =
        [(BASIC, first!(10, [11, 0])), (SMALL, || Box::new(Says(|index, bytes| flip(index, bytes, 24))))];
    let played = wrong.map(|(name, wrong)| {
        let (case, entry) = (catalogue.case(name).unwrap(), cases::find(name).unwrap());
        play(&mut Tampered(wrong), 0, (case, entry), Acceptor, &Options::default())
    });
    let report = Report::new(
        "tampered".into(),
        Tampered::<Wrong>(|| Box::new(Stays)).variants(),
        &catalogue,
        played.into(),
    );
    assert!(!report.passed());
    let text = Text { report: &report }.to_string();
    let (findings, matrix) = text.split_once("\nMS-SMBD ").unwrap();
    insta::assert_snapshot!("findings", findings);
    assert!(matrix.contains("cases: 0 passed, 2 failed\n"), "{matrix}");
    let section = matrix.lines().find(|line| line.starts_with("3.1.5.6 ")).unwrap();
    assert!(
        section.ends_with(" 1  Receiving a Negotiate Request Message"),
        "CreditsGranted alone is broken: {section}"
    );

    let mut xml = Vec::new();
    junit::write(&report, &mut xml).unwrap();
    insta::assert_snapshot!("findings.junit", String::from_utf8(xml).unwrap());
}

#[test]
fn a_text_begins_with_findings_and_the_matrix_and_has_one_line_for_what_is_not_applicable() {
    let catalogue = Catalogue::load().unwrap();
    let wrong: Wrong = first!(10, [11, 0]);
    let mut played: Vec<_> =
        [BASIC, SMALL, "SmbdNegotiate_Redundancy", "negotiate::sizes_hold_until_the_end"]
            .map(|name| {
                let (case, entry) = (catalogue.case(name).unwrap(), cases::find(name).unwrap());
                play(&mut Tampered(wrong), 0, (case, entry), Acceptor, &Options::default())
            })
            .into();
    for play in &mut played[1..] {
        (play.findings, play.outcome) = (Vec::new(), Outcome::NotApplicable("no such device".into()));
    }
    played[3].outcome = Outcome::LeftOut("not wanted".into());
    let report = Report::new("tampered".into(), vec!["one".into()], &catalogue, played);
    let text = Text { report: &report }.to_string();
    let places = [
        "\nFAILED ",
        "\nMS-SMBD ",
        "\nMS-SMB2 ",
        "\nall ",
        "\nleft out:\n",
        "\nnot applicable: 2;",
        "\nplays: ",
    ];
    let places = places.map(|part| text.find(part).unwrap_or_else(|| panic!("{part}: {text}")));
    assert!(places.is_sorted(), "{places:?} {text}");
    assert!(!text.contains("no such device"), "{text}");
    let (_, rest) = text.split_once("\nMS-SMBD ").unwrap();
    insta::assert_snapshot!("matrix", format!("MS-SMBD {rest}"));
}

/// What a fake product is known to do: it grants more than was asked for.
const GRANTS_MORE: &str = "
name = 'Generous'
acceptor.name = 'generousd'
initiator.name = 'generous'
[[known]]
role = 'acceptor'
issue = 'NE-9'
statements = ['3.1.5.6-13']
does = 'It grants 11 credits whatever was asked for.'
evidence = 'It says so itself.'
[known.finds]
BVT_SmbdNegotiate_Basic = ['CreditsGranted should be 10 at most, which was asked for, it is 11', 'never']
";

/// A run of one case against a subject that is wrong like this, of which so much is known.
fn run_knowing(wrong: Wrong) -> Report {
    let profile = Profile::parse(GRANTS_MORE).unwrap();
    let catalogue = Catalogue::load().unwrap();
    assert_eq!(profile.check(&catalogue), Ok(()));
    let (case, entry) = (catalogue.case(BASIC).unwrap(), cases::find(BASIC).unwrap());
    let mut target = Tampered(wrong);
    let variants = 0..target.variants().len();
    let mut played: Vec<_> = variants
        .map(|variant| play(&mut target, variant, (case, entry), Acceptor, &Options::default()))
        .collect();
    for play in &mut played {
        profile.judge(play);
    }
    let no_longer_found = profile.lost(&played);
    let about = ProfileReport { name: profile.name, no_longer_found };
    Report::new(target.name(), target.variants(), &catalogue, played).against(Some(about))
}

fn in_all_forms(report: &Report) -> [String; 4] {
    let (mut xml, mut page, mut object) = (Vec::new(), Vec::new(), Vec::new());
    junit::write(report, &mut xml).unwrap();
    html::write(report, &mut page).unwrap();
    json::write(report, &mut object).unwrap();
    let [xml, page, object] = [xml, page, object].map(|bytes| String::from_utf8(bytes).unwrap());
    [Text { report }.to_string(), xml, page, object]
}

#[test]
fn a_known_deviation_is_reported_as_known_and_the_run_passes() {
    let report = run_knowing(first!(10, [11, 0]));
    assert!(report.passed());
    let counts = report.totals.cases;
    assert_eq!((counts.passed, counts.failed, counts.known), (0, 0, 1));
    let verdict = |id: &str| report.statements.iter().find(|known| known.id == id).unwrap().verdict;
    assert_eq!(verdict("3.1.5.6-13"), Verdict::Known);
    assert_eq!(verdict("2.2.2-13"), Verdict::Held);
    let [text, xml, page, object] = in_all_forms(&report);
    let does = "It grants 11 credits whatever was asked for.";
    assert!(text.contains("\nknown BVT_SmbdNegotiate_Basic\n") && !text.contains("FAILED"), "{text}");
    assert!(text.contains(&format!("known (NE-9): {does}\n")), "{text}");
    assert!(text.contains("evidence: It says so itself.\n"), "{text}");
    assert!(text.contains("no longer found, though known of Generous:\n"), "{text}");
    assert!(text.contains("\n  BVT_SmbdNegotiate_Basic, acceptor: never\n"), "{text}");
    assert!(text.contains("cases: 0 passed, 0 failed, 1 known\n"), "{text}");
    assert!(xml.contains(&format!("<skipped message=\"known: {does}\"")), "{xml}");
    assert!(page.contains("Known and no longer found") && page.contains(does));
    assert!(page.contains("Of 1 cases played 1 failed, each as known"));
    assert!(object.contains("\"result\": \"known\"") && object.contains("\"outcome\": \"known\""));
    assert!(object.contains("\"no_longer_found\": ["));
}

#[test]
fn anything_else_of_a_product_with_a_profile_fails() {
    let report = run_knowing(first!(10, [12, 0]));
    assert!(!report.passed());
    let [text, xml, ..] = in_all_forms(&report);
    assert!(text.contains("\nFAILED BVT_SmbdNegotiate_Basic\n"), "{text}");
    assert!(
        text.contains("3.1.5.6-13 (MUST)") && text.contains("came: Negotiate Response, 32 bytes"),
        "{text}"
    );
    assert!(xml.contains("<failure message="), "{xml}");

    // The known one beside another: both are told, and which of them is known.
    let report = run_knowing(|| {
        Box::new(Says(|index, bytes| {
            if index == 0 {
                put(bytes, 8, [0, 0, 11, 0]);
            }
        }))
    });
    assert!(!report.passed());
    let verdict = |id: &str| report.statements.iter().find(|known| known.id == id).unwrap().verdict;
    assert_eq!((verdict("3.1.5.6-13"), verdict("3.1.5.7-06")), (Verdict::Known, Verdict::Broken));
    let [text, ..] = in_all_forms(&report);
    assert!(text.contains("CreditsRequested should be 1 at least, it is 0"), "{text}");
    assert!(text.contains("known (NE-9)"), "{text}");
}

/// A response of 31 bytes: one case is about that, and others cannot go on.
#[test]
fn a_case_that_could_not_be_judged_names_the_one_that_is_about_it_in_all_forms() {
    let wrong: Wrong = || Box::new(Says(|index, bytes| bytes.truncate(if index == 0 { 31 } else { 20 })));
    let catalogue = Catalogue::load().unwrap();
    let played = [BASIC, "SmbdNegotiate_Redundancy"].map(|name| {
        let (case, entry) = (catalogue.case(name).unwrap(), cases::find(name).unwrap());
        play(&mut Tampered(wrong), 0, (case, entry), Acceptor, &Options::default())
    });
    let [basic, other] = played.clone();
    assert_eq!(basic.findings[0].statements, ["2.2.2-01"]);
    assert!(other.findings.is_empty(), "{:?}", other.findings);
    let report = Report::new("tampered".into(), vec!["one".into()], &catalogue, played.into());
    let counts = report.totals.cases;
    assert_eq!((counts.passed, counts.failed, counts.not_judged), (0, 1, 1));
    assert!(!report.passed() && !report.judged());
    let [text, xml, page, object] = in_all_forms(&report);
    let because = "a Negotiate Response has 32 bytes, a message of 31 bytes: ";
    assert!(text.contains("\nnot judged:\n  SmbdNegotiate_Redundancy: "), "{text}");
    assert!(text.contains(because) && text.contains(&format!("; {BASIC} is about that\n")), "{text}");
    assert!(text.contains("cases: 0 passed, 1 failed, 1 not judged\n"), "{text}");
    assert!(xml.contains("<skipped message=\"not judged: a Negotiate Response"), "{xml}");
    assert!(page.contains("1 of 1 cases played failed, 1 not judged"));
    assert!(page.contains("Not judged: ") && page.contains(&format!("href=\"#case-{BASIC}\"")));
    assert!(
        object.contains("\"outcome\": \"not-judged\"") && object.contains(&format!("\"case\": \"{BASIC}\""))
    );

    let report = Report::new("tampered".into(), vec!["one".into()], &catalogue, vec![other]);
    assert!(report.passed() && !report.judged(), "it did not fail, and did not pass, either");
}

#[test]
fn what_may_be_done_and_is_not_is_told_as_that_and_the_run_passes() {
    let catalogue = Catalogue::load().unwrap();
    let name = "upper::the_payload_may_be_anything";
    let (case, entry) = (catalogue.case(name).unwrap(), cases::find(name).unwrap());
    let mut played = play(
        &mut Tampered::<Wrong>(|| Box::new(Says(|_, _| {}))),
        0,
        (case, entry),
        Acceptor,
        &Options::default(),
    );
    let fact = Finding {
        statements: vec!["1.7-04".into()],
        text: "it knows of SMB2 only".into(),
        at: 0,
        connection: None,
        sent: None,
        came: None,
        known: None,
    };
    played.does_not.push(fact);
    played.asserted.insert("1.7-04".into(), Tally { held: 1, failed: 1 });
    let report = Report::new("tampered".into(), vec!["one".into()], &catalogue, vec![played]);
    assert!(report.passed() && report.judged());
    let verdict = report.statements.iter().find(|known| known.id == "1.7-04").unwrap().verdict;
    assert_eq!((verdict, report.totals.statements.broken), (Verdict::DoesNot, 0));
    let [text, _, page, object] = in_all_forms(&report);
    assert!(
        text.contains("\ndoes not, and need not:\n") && text.contains(": it knows of SMB2 only (1.7-04)\n"),
        "{text}"
    );
    assert!(text.contains(" broken  does not\n"), "{text}");
    assert!(page.contains("Does not, and need not (1.7-04): it knows of SMB2 only"));
    assert!(object.contains("\"verdict\": \"does-not\""));
}
