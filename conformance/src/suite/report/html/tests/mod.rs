//! The page as a browser reads it.

mod markup;

use std::collections::BTreeSet;

use smbd_core::Instant;

use self::markup::Parsed;
use super::{page, visible, write};
use crate::catalogue::{Catalogue, UnderTest};
use crate::suite::outcome::{Finding, Outcome, Played};
use crate::suite::report::{CaseReport, CaseResult, Fact, Gone, Report, SectionReport};
use crate::suite::rig::{Target, sim::Sim};
use crate::suite::trace::{By, Kind, Packet, What};
use crate::suite::{Options, SIDES, cases, play};

/// Whatever would break out of a text, an attribute, a comment or a script, and what cannot be seen.
const HOSTILE: &str = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>-->]]></title></style>&amp;\u{202e}\u{0}\u{7}\u{feff}";

/// These cases over the simulator, in all roles and variants.
fn played(names: &[&str]) -> Report {
    let catalogue = Catalogue::load().unwrap();
    let mut played = Vec::new();
    for entry in cases::all().filter(|entry| names.iter().any(|name| entry.name.contains(name))) {
        let case = catalogue.case(entry.name).unwrap();
        for role in SIDES.into_iter().filter(|side| case.role.includes(*side)) {
            for variant in 0..Sim.variants().len() {
                played.push(play(&mut Sim, variant, (case, entry), role, &Options::default()));
            }
        }
    }
    Report::new("sim".into(), Sim.variants(), &catalogue, played)
}

/// As if the subject had done something wrong at the end of this play.
fn fail(played: &mut Played, text: &str) {
    let message = |by| played.trace.last_message(0, by).cloned();
    let finding = Finding {
        statements: vec!["2.2.3-15".into(), "2.2.3-16".into()],
        text: text.into(),
        at: played.time,
        connection: Some(0),
        sent: message(By::Script),
        came: message(By::Subject),
        known: None,
    };
    let index = played.findings.len();
    played.findings.push(finding);
    played.trace.push(Instant::from_nanos(played.time), 0, By::Script, What::Finding { index });
    played.outcome = Outcome::Failed;
}

fn html(report: &Report) -> String {
    let mut page = Vec::new();
    write(report, &mut page).unwrap();
    String::from_utf8(page).unwrap()
}

/// A report of examples in which the first play of the first two cases failed.
fn with_findings() -> Report {
    let mut report = played(&["examples::", "BVT_SmbdNegotiate_Basic"]);
    for case in report.cases.iter_mut().take(2) {
        fail(&mut case.plays[0], "DataOffset should be 24, it is 32");
        fail(&mut case.plays[0], "DataLength should be 500, it is 499");
        case.result = CaseResult::Failed;
        report.totals.cases.failed += 1;
    }
    report
}

#[test]
fn a_page_is_well_formed_and_its_links_lead_somewhere() {
    let page = html(&with_findings());
    let parsed = Parsed::of(&page);
    assert_eq!(parsed.errors, Vec::<String>::new());
    let ids: BTreeSet<_> = parsed.ids.iter().collect();
    assert_eq!(ids.len(), parsed.ids.len(), "an id is there twice");
    assert!(parsed.links.len() > 300, "{}", parsed.links.len());
    for link in &parsed.links {
        let id = link.strip_prefix('#').unwrap_or_else(|| panic!("{link} leads out of the page"));
        assert!(ids.contains(&id.to_owned()), "{link} leads nowhere");
    }
}

#[test]
fn a_page_has_each_case_each_statement_and_each_finding() {
    let report = with_findings();
    let parsed = Parsed::of(&html(&report));
    for case in &report.cases {
        assert!(parsed.ids.contains(&format!("case-{}", case.name)), "{}", case.name);
        for line in case.steps.iter().chain(&case.expected) {
            assert!(parsed.text.contains(&line.replace('`', "")), "{line}");
        }
    }
    for known in &report.statements {
        assert!(parsed.ids.contains(&format!("statement-{}", known.id)), "{}", known.id);
        assert!(parsed.text.contains(&known.text.replace('`', "")), "{}", known.text);
    }
    for number in 1..=4 {
        assert!(parsed.ids.contains(&format!("finding-{number}")));
        assert!(parsed.links.contains(&format!("#finding-{number}")), "a sequence leads to it");
    }
    // The first fragment that came: CreditsRequested, CreditsGranted and what follows.
    assert!(parsed.text.contains("DataOffset should be 24, it is 32"));
    let came = report.cases[0].plays[0].findings[0].came.as_ref().unwrap();
    let line: String = came.bytes[..16].iter().map(|byte| format!("{byte:02x} ")).collect();
    assert!(parsed.text.contains(&line), "{line}");
    // One of each role that passed in all variants, and the one that failed.
    assert_eq!(parsed.elements("svg"), 2 + 2 + 2 + 1 + 1 + 1);
}

#[test]
fn the_same_finding_in_all_variants_is_one() {
    let mut report = played(&["BVT_SmbdNegotiate_Basic"]);
    for played in &mut report.cases[0].plays {
        fail(played, "the same each time");
    }
    fail(&mut report.cases[0].plays[1], "in one variant only");
    let parsed = Parsed::of(&html(&report));
    assert!(parsed.ids.contains(&"finding-2".into()) && !parsed.ids.contains(&"finding-3".into()));
    assert!(parsed.text.contains(&format!("acceptor under test · {}", report.variants.join(", "))));
    // The second is drawn because it has another finding as well.
    assert_eq!(parsed.elements("svg"), 2);
}

#[test]
fn cases_that_are_not_applicable_fold_behind_their_number() {
    let mut report = played(&["examples::", "BVT_SmbdNegotiate_Basic"]);
    for case in report.cases.iter_mut().filter(|case| case.group == "examples").take(2) {
        case.result = CaseResult::NotApplicable;
    }
    let page = html(&report);
    let parsed = Parsed::of(&page);
    assert_eq!(parsed.errors, Vec::<String>::new());
    let (_, folded) = page.split_once("<details class=\"out\"").unwrap();
    let (_, folded) = folded.split_once("<summary>2 cases not applicable</summary>").unwrap();
    assert_eq!(folded.matches("<details class=\"case\"").count(), 2);
    assert_eq!(page.matches("<details class=\"out\"").count(), 1);
}

#[test]
fn amber_is_for_warnings_only() {
    let [style, _] = page::assets();
    let amber = ["var(--warning", "var(--bar-warning"];
    let amber: Vec<_> = style.lines().filter(|line| amber.iter().any(|name| line.contains(name))).collect();
    assert!(amber.len() > 5, "{amber:?}");
    for rule in amber {
        let (selector, _) = rule.split_once('{').unwrap();
        assert!(selector.contains(".unjudged") || selector.starts_with(".sequence .failed"), "{rule}");
    }
    let classes = |result| super::words::result_class(result);
    assert_eq!(classes(CaseResult::NotJudged), "unjudged");
    assert!(
        [CaseResult::NotApplicable, CaseResult::LeftOut]
            .map(classes)
            .iter()
            .all(|class| *class != "unjudged")
    );
}

/// A report in which every text and every byte is hostile.
fn hostile() -> Report {
    let mut report = played(&["BVT_SmbdNegotiate_Basic"]);
    let text = || HOSTILE.to_owned();
    report.target = text();
    report.variants = vec![text()];
    for known in &mut report.statements {
        (known.level, known.role, known.text) = (text(), text(), text());
        known.exception = Some(format!("{HOSTILE}: {HOSTILE}"));
        known.cases = vec![text()];
    }
    let case = &mut report.cases[0];
    let played = &mut case.plays[0];
    let bytes = [&[0xFF, 0xC0, 0xAF, 0xED, 0xA0, 0x80, 0][..], HOSTILE.as_bytes()].concat();
    for (at, kind) in
        [Kind::NegotiateRequest, Kind::NegotiateResponse, Kind::DataTransfer].into_iter().enumerate()
    {
        let packet = Packet::of(kind, &bytes[..bytes.len() - at], Some(u32::MAX));
        for what in [
            What::Message(packet),
            What::ConnectFailed { reason: text() },
            What::Memory { text: text() },
            What::Rdma { text: text() },
            What::WorkFailed { text: text() },
            What::Upper { text: text() },
            What::Step { text: text() },
        ] {
            played.trace.push(Instant::from_nanos(u64::MAX), usize::MAX - 1, By::Subject, what);
        }
    }
    fail(played, HOSTILE);
    played.findings[0].statements.push(text());
    (played.role, played.variant, played.case) = (text(), text(), text());
    let mut unplayed = played.clone();
    unplayed.outcome = Outcome::NotApplicable(text());
    case.plays.push(unplayed);
    *case = CaseReport {
        name: text(),
        group: text(),
        statements: vec![text()],
        steps: vec![text()],
        expected: vec![text()],
        ..case.clone()
    };
    report
}

#[test]
fn hostile_texts_stay_texts() {
    let page = html(&hostile());
    let parsed = Parsed::of(&page);
    assert_eq!(parsed.errors, Vec::<String>::new());
    assert_eq!((parsed.elements("script"), parsed.elements("style"), parsed.elements("img")), (1, 1, 0));
    let scripted = parsed.attributes.iter().filter(|name| name.starts_with("on"));
    assert_eq!(scripted.count(), 0);
    let shown = visible(HOSTILE);
    assert!(shown.ends_with("&amp;\\u{202e}\\u{0}\\u{7}\\u{feff}"), "{shown}");
    assert!(parsed.text.matches(&shown).count() > 300);
    assert!(page.chars().all(|character| character == '\n' || !character.is_control()));
}

#[test]
fn a_page_needs_nothing_from_elsewhere() {
    let page = html(&played(&["BVT_SmbdNegotiate_Basic"]));
    for needed in ["http:", "https:", "//", "url(", "@import", "src="] {
        assert!(!page.contains(needed), "{needed}");
    }
    assert!(page.contains("default-src 'none'"));
    for asset in page::assets() {
        assert!(!asset.contains("</") && asset == visible(asset));
    }
}

#[test]
fn what_is_wider_than_a_phone_shows_that_it_scrolls_and_can_be_scrolled_with_keys() {
    let page = html(&with_findings());
    let figures = page.matches("<figure>").count();
    assert!(figures > 0);
    let scroller = "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Messages\"><svg";
    assert_eq!(page.matches(scroller).count(), figures);
    // A sequence is as wide as that at least, and below it the caption says so.
    let [style, _] = page::assets();
    for rule in [
        ".sequence { display: block; width: 100%; min-width: 40rem;",
        "figure { container-type: inline-size;",
        "@container (width < 40rem) { figcaption::after { content: ",
        ".scroll, .dump { --under: var(--card); overflow-x: auto;",
        "background-attachment: local, local, scroll, scroll;",
    ] {
        assert!(style.contains(rule), "{rule}");
    }
}

#[test]
fn open_all_is_about_everything_that_folds() {
    let parsed = Parsed::of(&html(&with_findings()));
    assert!(parsed.elements("details") > parsed.ids.iter().filter(|id| id.starts_with("case-")).count());
    let [_, script] = page::assets();
    assert!(script.contains("const details = [...document.querySelectorAll(\"details\")];"));
    assert!(
        script
            .contains("for (const one of details) {\n      if (!one.closest(\"[hidden]\")) one.open = open;")
    );
}

#[test]
fn a_run_in_which_nothing_was_played_says_so() {
    let mut report = played(&["BVT_SmbdNegotiate_Basic"]);
    report.cases[0].result = CaseResult::NotApplicable;
    report.cases[0].plays.truncate(1);
    report.cases[0].plays[0].outcome = Outcome::NotApplicable("no echo".into());
    report.totals.cases = crate::suite::report::Counts { not_applicable: 1, ..Default::default() };
    let parsed = Parsed::of(&html(&report));
    assert_eq!(parsed.errors, Vec::<String>::new());
    assert!(parsed.text.contains("No case was played") && parsed.text.contains("Not played: no echo"));
}

#[test]
fn a_peer_that_is_gone_is_told_before_all_findings_with_what_was_sent() {
    let report = with_findings();
    let gone = Gone::after(&report.cases[0].plays[0]).unwrap();
    let fact = Fact::Gone(Gone { why: HOSTILE.into(), ..gone.clone() });
    let no_credits = Fact::NoCredits { after: gone.after.clone() };
    let page = html(&report.telling(vec![no_credits, fact]));
    let parsed = Parsed::of(&page);
    assert_eq!(parsed.errors, Vec::<String>::new());
    assert!(page.find("id=\"peer\"") < page.find("id=\"findings\""));
    assert!(parsed.links.contains(&format!("#case-{}", gone.after.case)));
    assert!(parsed.text.contains(&format!(
        "after {}: {}; it did not come back",
        gone.after,
        visible(HOSTILE)
    )));
    assert!(parsed.text.contains("it gave no credit for 120 s: "));
    assert_eq!(page.matches("Sent by the script").count(), gone.sent.len());
}

/// Two sections, two cases, one finding: all that a page has.
#[test]
fn a_small_report_as_a_page() {
    let mut report = played(&["examples::peer_transmits_500_bytes", "BVT_SmbdNegotiate_Basic"]);
    report.sections.retain(|section| ["1.5", "2.2.3.1"].contains(&section.section.as_str()));
    report.statements.retain(|known| known.id.starts_with("1.5-") || known.id.starts_with("2.2.3.1-"));
    for known in &mut report.statements {
        known.cases.retain(|name| name.starts_with("examples::"));
    }
    report.totals.statements = SectionReport { title: String::new(), ..report.sections[0].clone() };
    for case in &mut report.cases {
        case.plays.retain(|played| played.role == UnderTest::Acceptor.to_string());
        case.plays.truncate(2);
    }
    fail(&mut report.cases[0].plays[0], "CreditsGranted should be 10, it is 11");
    report.cases[0].result = CaseResult::Failed;
    report.totals.cases = crate::suite::report::Counts { passed: 1, failed: 1, ..Default::default() };
    let page = html(&report);
    let (_, body) = page.split_once("</style>").unwrap();
    let (body, _) = body.split_once("<script>").unwrap();
    insta::assert_snapshot!("page", body.replace("><", ">\n<"));
}
