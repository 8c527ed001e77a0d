//! A subject that does one thing wrong: the case that is there for it fails, and names the statement.
//!
//! The subject is `smbd-core`, and what is wrong is done to its messages and to the end of its connection on their way to
//! the script.

use std::collections::BTreeMap;

use smbd_conformance::catalogue::{Catalogue, Need, UnderTest};
use smbd_conformance::profile::Profile;
use smbd_conformance::suite::report::{ProfileReport, Report, Verdict, html, json, junit, text::Text};
use smbd_conformance::suite::rig::sim::Sim;
use smbd_conformance::suite::rig::{Full, News, Opening, Order, Rig, Settings, Target, Unable, UpperHand};
use smbd_conformance::suite::trace::Event;
use smbd_conformance::suite::{Options, Outcome, cases, play};
use smbd_core::Instant;

use UnderTest::{Acceptor, Initiator};

/// What is wrong. Messages of the subject are counted from 0 on each connection.
#[derive(Clone, Copy)]
pub enum Wrong {
    /// Its messages are changed.
    Says(fn(u64, &mut Vec<u8>)),
    /// Some of its messages never come.
    Keeps(fn(u64, &[u8]) -> bool),
    /// Its connections never end.
    Stays,
    /// It never connects.
    Absent,
}

pub struct Broken(pub Wrong);

impl Target for Broken {
    fn name(&self) -> String {
        "broken".into()
    }

    fn variants(&self) -> Vec<String> {
        Sim.variants()
    }

    fn lacks(&self, role: UnderTest, need: Option<Need>) -> Option<String> {
        Sim.lacks(role, need)
    }

    fn rig(
        &mut self,
        variant: usize,
        role: UnderTest,
        settings: Option<Settings>,
    ) -> Result<Box<dyn Rig>, Unable> {
        let rig = Sim.rig(variant, role, settings)?;
        Ok(Box::new(BrokenRig { rig, wrong: self.0, came: BTreeMap::new() }))
    }
}

struct BrokenRig {
    rig: Box<dyn Rig>,
    wrong: Wrong,
    came: BTreeMap<usize, u64>,
}

impl Rig for BrokenRig {
    fn now(&self) -> Instant {
        self.rig.now()
    }

    fn open(&mut self, opening: &Opening) -> Result<usize, Unable> {
        self.rig.open(opening)
    }

    fn await_request(&mut self, connection: usize) -> Result<bool, Unable> {
        match self.wrong {
            Wrong::Absent => Err(Unable::Broken("the subject did not connect within 30 s".into())),
            _ => self.rig.await_request(connection),
        }
    }

    fn order(&mut self, connection: usize, order: Order<'_>) -> Result<u64, Full> {
        self.rig.order(connection, order)
    }

    fn allocate(&mut self, connection: usize, bytes: &[u8]) -> Result<usize, Full> {
        self.rig.allocate(connection, bytes)
    }

    fn contents(&mut self, connection: usize, buffer: usize) -> Vec<u8> {
        self.rig.contents(connection, buffer)
    }

    fn fill(&mut self, connection: usize, buffer: usize, bytes: &[u8]) {
        self.rig.fill(connection, buffer, bytes);
    }

    fn news(&mut self, connection: usize) -> Option<(Instant, News)> {
        loop {
            let (at, mut news) = self.rig.news(connection)?;
            match (&mut news, self.wrong) {
                (News::Message(bytes, _), wrong) => {
                    let came = self.came.entry(connection).or_default();
                    let index = *came;
                    *came += 1;
                    match wrong {
                        Wrong::Says(change) => change(index, bytes),
                        Wrong::Keeps(keeps) if keeps(index, bytes) => continue,
                        Wrong::Keeps(_) | Wrong::Stays | Wrong::Absent => {}
                    }
                }
                (News::Disconnected, Wrong::Stays) => continue,
                _ => {}
            }
            return Some((at, news));
        }
    }

    fn pass(&mut self, limit: Instant) {
        self.rig.pass(limit);
    }

    fn seen(&mut self) -> Vec<Event> {
        self.rig.seen()
    }

    fn upper(&mut self, connection: usize) -> Option<&mut dyn UpperHand> {
        self.rig.upper(connection)
    }
}

/// Writes bytes into a message that is long enough.
pub fn put<const N: usize>(bytes: &mut [u8], at: usize, with: [u8; N]) {
    if let Some(to) = bytes.get_mut(at..at + N) {
        to.copy_from_slice(&with);
    }
}

/// Changes a byte of every message but the first.
fn flip(index: u64, bytes: &mut [u8], at: usize) {
    if let Some(byte) = bytes.get_mut(at).filter(|_| index > 0) {
        *byte ^= 1;
    }
}

/// The first message alone is changed.
macro_rules! first {
    ($at:expr, $with:expr) => {
        Wrong::Says(|index, bytes| {
            if index == 0 {
                put(bytes, $at, $with);
            }
        })
    };
}

/// Every message but the first is changed.
macro_rules! later {
    ($at:expr, $with:expr) => {
        Wrong::Says(|index, bytes| {
            if index > 0 {
                put(bytes, $at, $with);
            }
        })
    };
}

/// The statement that has to be named, the case, the side under test, what is wrong.
type Row = (&'static str, &'static str, UnderTest, Wrong);

const BASIC: &str = "BVT_SmbdNegotiate_Basic";
const SETTING_UP: &str = "examples::establishing_a_connection";
const SMALL: &str = "BVT_SmbdDataTransfer_Basic_SendSmallBytesOfData";
const LONG: &str = "examples::peer_transmits_64_kib";
const ANSWER: &str = "SmbdDataTransfer_IdleConnection_Client";
const QUESTION: &str = "SmbdDataTransfer_IdleConnection_Server";

fn negotiating() -> Vec<Row> {
    vec![
        ("2.2-03", BASIC, Acceptor, Wrong::Says(|_, bytes| bytes.push(0))),
        ("2.2.2-03", BASIC, Acceptor, first!(0, [1, 1])),
        ("2.2.2-06", BASIC, Acceptor, first!(2, [1, 1])),
        ("2.2.2-08", BASIC, Acceptor, first!(4, [0, 2])),
        ("2.2.2-11", BASIC, Acceptor, first!(6, [1, 0])),
        ("2.2.2-13", BASIC, Acceptor, first!(8, [0, 0])),
        ("2.2.2-14", BASIC, Acceptor, first!(10, [11, 0])),
        ("2.2.2-16", BASIC, Acceptor, first!(12, [1, 0, 0, 0])),
        ("2.2.2-19", BASIC, Acceptor, first!(20, [1, 4, 0, 0])),
        ("2.2-04", BASIC, Acceptor, first!(20, [0, 0, 4, 0])),
        ("3.1.5.6-10", "SmbdNegotiate_PreferredSendSizeMaxValue", Acceptor, first!(24, [0, 1, 0, 0])),
        ("3.1.5.6-11", "SmbdNegotiate_PreferredSendSizeWithZero", Acceptor, first!(24, [127, 0, 0, 0])),
        ("3.1.5.3-14", "SmbdNegotiate_PreferredSendSizeLessThan128", Acceptor, first!(24, [127, 0, 0, 0])),
        ("2.2-10", "SmbdNegotiate_Redundancy", Acceptor, Wrong::Keeps(|_, _| true)),
        ("3.1.5.6-02", "SmbdNegotiate_UncompletedMessage", Acceptor, Wrong::Stays),
        (
            "3.1.5.6-04",
            "SmbdNegotiate_VersionRangeNotCover0x0100_LessThanMinVersion",
            Acceptor,
            first!(12, [0x9A, 0, 0, 0xC0]),
        ),
        (
            "3.1.5.3-08",
            "SmbdNegotiate_VersionRangeNotCover0x0100_LargerThanMaxVersion",
            Acceptor,
            Wrong::Stays,
        ),
        ("3.1.5.6-06", "SmbdNegotiate_NegativeParameter_CreditsRequested", Acceptor, Wrong::Stays),
        ("3.1.5.6-07", "SmbdNegotiate_NegativeParameter_MaxReceiveSize", Acceptor, Wrong::Stays),
        (
            "3.1.5.6-14",
            "SmbdNegotiate_NegativeParameter_MaxReceiveSize",
            Acceptor,
            first!(20, [129, 0, 0, 0]),
        ),
        ("3.1.5.6-08", "SmbdNegotiate_NegativeParameter_MaxFragmentedSize", Acceptor, Wrong::Stays),
        ("3.1.6.1-01", "SmbdNegotiate_NegotiationTimer_Timeout", Acceptor, Wrong::Stays),
        ("3.1.7.2-03", "SmbdNegotiate_NegotiationTimer", Acceptor, first!(12, [1, 0, 0, 0])),
        ("2.2.2-21", SETTING_UP, Acceptor, first!(28, [1, 0, 2, 0])),
        ("2.2.1-12", SETTING_UP, Initiator, first!(8, [1, 4, 0, 0])),
        ("2.2.1-08", SETTING_UP, Initiator, first!(4, [1, 0])),
        ("3.1.5.7-18", SETTING_UP, Initiator, later!(2, [9, 0])),
    ]
}

fn transferring() -> Vec<Row> {
    vec![
        ("2.2.3-21", SMALL, Acceptor, Wrong::Says(|index, bytes| flip(index, bytes, 24))),
        ("2.2.3-02", SMALL, Acceptor, later!(0, [0, 0])),
        ("2.2.3-15", SMALL, Acceptor, later!(12, [25, 0, 0, 0])),
        ("2.2-02", SMALL, Acceptor, Wrong::Keeps(|index, _| index > 0)),
        ("2.2.3-18", "examples::peer_transmits_500_bytes", Initiator, later!(16, [0xF4, 1, 0, 0, 1, 0])),
        ("3.1.5.4-14", LONG, Acceptor, later!(12, [32, 0, 0, 0])),
        ("3.1.5.4-15", LONG, Acceptor, later!(16, [0xE7, 3, 0, 0])),
        ("3.1.5.1-10", LONG, Acceptor, later!(0, [9, 0])),
        (
            "3.1.5.4-18",
            LONG,
            Acceptor,
            Wrong::Says(|index, bytes| bytes[8] = bytes[8].wrapping_add(u8::from(index == 9))),
        ),
        ("3.1.5.8-14", ANSWER, Acceptor, Wrong::Keeps(|index, _| index > 0)),
        ("2.2.3-06", ANSWER, Acceptor, later!(2, [0, 0])),
        ("3.1.5.1-14", ANSWER, Acceptor, later!(4, [1, 0])),
        ("3.1.5.4-04", ANSWER, Acceptor, later!(6, [1, 0])),
        ("3.1.5.4-05", ANSWER, Acceptor, later!(8, [1, 0, 0, 0])),
        ("3.1.5.4-06", ANSWER, Acceptor, later!(12, [24, 0, 0, 0])),
        ("3.1.5.4-07", ANSWER, Acceptor, later!(16, [1, 0, 0, 0])),
        ("3.1.5.4-08", ANSWER, Acceptor, Wrong::Says(|_, bytes| bytes.extend([0; 4]))),
        ("3.1.2.2-02", QUESTION, Acceptor, later!(4, [0, 0])),
        ("3.1.6.2-04", QUESTION, Acceptor, Wrong::Keeps(|index, _| index == 1)),
        ("3.1.6.2-02", "SmbdDataTransfer_IdleConnection_Server_Timeout", Acceptor, Wrong::Stays),
        ("3.1.5.8-02", "SmbdDataTransfer_UncompletedMessage", Acceptor, Wrong::Stays),
        ("3.1.5.8-03", "SmbdCreditMgmt_NegativeParameter_CreditRequested", Acceptor, Wrong::Stays),
        (
            "3.1.5.8-04",
            "SmbdDataTransfer_NegativeParameter_DataOffset_Against8ByteAligned",
            Acceptor,
            Wrong::Stays,
        ),
        (
            "3.1.5.8-05",
            "SmbdDataTransfer_NegativeParameter_DataLength_AgainstMessageLength",
            Acceptor,
            Wrong::Stays,
        ),
        ("3.1.5.8-06", "SmbdDataTransfer_NegativeParameter_AgainstMaxFragmentedSize", Acceptor, Wrong::Stays),
        (
            "3.1.5.8-19",
            "SmbdDataTransfer_NegativeParameter_RemainingDataLength_AgainstFragmentReassemblyRemaining",
            Acceptor,
            Wrong::Stays,
        ),
        ("3.1.5.8-21", "SmbdDataTransfer_NegativeParameter_RemainingDataLength_Zero", Acceptor, Wrong::Stays),
        (
            "3.1.5.1-07",
            "SmbdCreditMgmt_ConsumeAllReceiveCredits",
            Acceptor,
            Wrong::Says(|index, bytes| {
                if index > 20 {
                    put(bytes, 2, [0, 0]);
                }
            }),
        ),
        ("3.1.5.8-09", "SmbdCreditMgmt_ConsumeAllSendCredits", Acceptor, Wrong::Keeps(|index, _| index > 0)),
        (
            "3.1.4.6-05",
            "examples::peer_writes_1_mib",
            Acceptor,
            Wrong::Says(|index, bytes| flip(index, bytes, 47)),
        ),
        ("3.1.4.5-06", "examples::peer_reads_1_mib", Acceptor, Wrong::Keeps(|index, _| index > 0)),
    ]
}

#[test]
fn whoever_breaks_a_statement_is_told_which() {
    let catalogue = Catalogue::load().unwrap();
    let mut unnoticed = Vec::new();
    for (statement, name, role, wrong) in negotiating().into_iter().chain(transferring()) {
        let (case, entry) = (catalogue.case(name).unwrap(), cases::find(name).unwrap());
        let played = play(&mut Broken(wrong), 0, (case, entry), role, &Options::default());
        let named = played.findings.iter().any(|finding| finding.statements.iter().any(|id| id == statement));
        if played.outcome != Outcome::Failed || !named {
            unnoticed.push(format!("{statement}, {name}: {:?}", played.findings));
        }
    }
    assert!(unnoticed.is_empty(), "{}", unnoticed.join("\n"));
}

#[test]
fn a_finding_is_reported_with_its_requirement_what_was_sent_and_what_came() {
    let catalogue = Catalogue::load().unwrap();
    let wrong = [(BASIC, first!(10, [11, 0])), (SMALL, Wrong::Says(|index, bytes| flip(index, bytes, 24)))];
    let played = wrong.map(|(name, wrong)| {
        let (case, entry) = (catalogue.case(name).unwrap(), cases::find(name).unwrap());
        play(&mut Broken(wrong), 0, (case, entry), Acceptor, &Options::default())
    });
    let report = Report::new("broken".into(), Broken(Wrong::Stays).variants(), &catalogue, played.into());
    assert!(!report.passed());
    let text = Text { report: &report }.to_string();
    let (findings, matrix) = text.split_once("\nsection").unwrap();
    insta::assert_snapshot!("findings", findings);
    assert!(matrix.contains("cases: 0 passed, 2 failed\n"), "{matrix}");
    let section = matrix.lines().find(|line| line.starts_with("2.2.2 ")).unwrap();
    assert!(section.ends_with(" 1"), "CreditsGranted alone is broken: {section}");

    let mut xml = Vec::new();
    junit::write(&report, &mut xml).unwrap();
    insta::assert_snapshot!("findings.junit", String::from_utf8(xml).unwrap());
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
BVT_SmbdNegotiate_Basic = ['CreditsGranted should be 1 to 10, which was asked for, it is 11', 'never']
";

/// A run of one case against a subject that is wrong like this, of which so much is known.
fn run_knowing(wrong: Wrong) -> Report {
    let profile = Profile::parse(GRANTS_MORE).unwrap();
    let catalogue = Catalogue::load().unwrap();
    assert_eq!(profile.check(&catalogue), Ok(()));
    let (case, entry) = (catalogue.case(BASIC).unwrap(), cases::find(BASIC).unwrap());
    let mut target = Broken(wrong);
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
    let report = run_knowing(Wrong::Says(|index, bytes| {
        if index == 0 {
            put(bytes, 8, [0, 0, 11, 0]);
        }
    }));
    assert!(!report.passed());
    let verdict = |id: &str| report.statements.iter().find(|known| known.id == id).unwrap().verdict;
    assert_eq!((verdict("3.1.5.6-13"), verdict("2.2.2-13")), (Verdict::Known, Verdict::Broken));
    let [text, ..] = in_all_forms(&report);
    assert!(text.contains("CreditsRequested should be 1 at least, it is 0"), "{text}");
    assert!(text.contains("known (NE-9)"), "{text}");
}
