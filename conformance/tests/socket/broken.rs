//! Mistakes in an implementation: the suite names the section that each breaks.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use smbd_conformance::catalogue::UnderTest;
use smbd_conformance::suite::Outcome;

use super::field::plays;
use super::python::{EXAMPLES, Python};

/// A line of the example in Python, and what is there instead.
struct Mistake {
    name: &'static str,
    line: &'static str,
    instead: &'static str,
    /// The case that is played.
    case: &'static str,
    /// The section that has to be named.
    section: &'static str,
}

/// The example with a mistake, in a folder of its own.
struct Folder(PathBuf);

impl Folder {
    fn with(mistake: &Mistake) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(mistake.name);
        fs::create_dir_all(&folder).unwrap();
        let [echo, device] = ["socket_echo.py", "socket_device.py"];
        fs::copy(PathBuf::from(EXAMPLES).join(device), folder.join(device)).unwrap();
        let right = fs::read_to_string(PathBuf::from(EXAMPLES).join(echo)).unwrap();
        assert_eq!(right.matches(mistake.line).count(), 1, "{}", mistake.line);
        fs::write(folder.join(echo), right.replace(mistake.line, mistake.instead)).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

fn is_named(mistake: &Mistake) {
    let folder = Folder::with(mistake);
    let python = Python::of(folder.0.join("socket_echo.py"));
    let played = plays(mistake.name, &python, UnderTest::Acceptor, |case| case.name == mistake.case);
    let failed = played.iter().filter(|played| played.outcome == Outcome::Failed);
    let broken: BTreeSet<_> =
        failed.flat_map(|played| &played.findings).flat_map(|finding| finding.statements.clone()).collect();
    let prefix = format!("{}-", mistake.section);
    assert!(broken.iter().any(|statement| statement.starts_with(&prefix)), "{}: {broken:?}", mistake.name);
}

#[test]
fn a_credit_that_is_not_granted_breaks_3_1_5_9() {
    is_named(&Mistake {
        name: "credit-lost",
        line: "        self.receive_credits += new\n        return new\n",
        instead: "        self.receive_credits += new\n        return max(new - 1, 0) if self.send_credits else new\n",
        case: "credits::no_credit_is_ever_lost",
        section: "3.1.5.9",
    });
}

#[test]
fn a_wrong_remaining_data_length_breaks_3_1_5_4() {
    is_named(&Mistake {
        name: "remaining-wrong",
        line: "self.send_queue.append((len(whole) - at - len(piece), piece))",
        instead: "self.send_queue.append((len(whole) - at - len(piece) and len(whole) - at, piece))",
        case: "fragments::a_message_is_cut_exactly",
        section: "3.1.5.4",
    });
}

#[test]
fn a_keepalive_that_is_not_answered_breaks_3_1_5_8() {
    is_named(&Mistake {
        name: "keepalive-unanswered",
        line: "self.send_immediate |= bool(flags & self.RESPONSE_REQUESTED)",
        instead: "pass",
        case: "keepalive::an_answer_does_not_ask",
        section: "3.1.5.8",
    });
}

#[test]
fn a_version_that_is_accepted_and_should_not_be_breaks_3_1_5_6() {
    is_named(&Mistake {
        name: "version-accepted",
        line: "if not low <= 0x100 <= high:",
        instead: "if False:",
        case: "negotiate::the_version_is_judged_before_the_fields",
        section: "3.1.5.6",
    });
}

#[test]
fn fragments_above_max_fragmented_size_break_3_1_5_8() {
    is_named(&Mistake {
        name: "too-long-accepted",
        line: "if length + remaining > self.max_fragmented_recv_size or ",
        instead: "if ",
        case: "fragments::a_message_may_have_max_fragmented_size",
        section: "3.1.5.8",
    });
}
