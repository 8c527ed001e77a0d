//! The program: its exit status and its two forms of output.

mod common;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};

use common::{ROCE, path};

fn program(arguments: &[&str], file: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_smbd-conformance")).args(arguments).arg(file).output().unwrap()
}

/// The RoCE capture with one byte changed, in a file of its own.
struct Changed(PathBuf);

impl Changed {
    fn new(name: &str, change: impl FnOnce(&mut Vec<u8>)) -> Self {
        let mut bytes = std::fs::read(path(ROCE)).unwrap();
        change(&mut bytes);
        let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::write(&file, bytes).unwrap();
        Self(file)
    }
}

impl Drop for Changed {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn nothing_broken_is_exit_status_0_with_the_ledger() {
    let output = program(&["capture"], &path(ROCE));
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("acceptor 10.9.0.1: 254 credits granted (254 negotiating, 0 later)"), "{text}");
    assert!(text.contains("initiator 10.9.0.2: 344 credits granted (0 negotiating, 344 later)"), "{text}");
    assert!(text.contains("0 violations"), "{text}");
}

#[test]
fn a_violation_is_exit_status_1_with_its_frame_in_both_forms() {
    // CreditsRequested, CreditsGranted, Flags, Reserved, RemainingDataLength, DataOffset, DataLength of frame 12.
    let header = [255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 24, 0, 0, 0, 216, 0, 0, 0];
    let file = Changed::new("violation.pcap", |bytes| {
        let place = bytes.windows(header.len()).position(|window| window == header).unwrap();
        bytes[place] = 0;
    });
    let output = program(&["capture"], &file.0);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("frame 12 I>A VIOLATION data-credits-requested-zero"), "{text}");

    let output = program(&["capture", "--json"], &file.0);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<serde_json::Value> = text.lines().map(|line| line.parse().unwrap()).collect();
    let types: Vec<_> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["about", "finding", "ledger", "ledger", "summary"]);
    assert_eq!(lines[1]["rule"], "data-credits-requested-zero");
    assert_eq!(lines[1]["sources"], serde_json::json!(["3.1.5.8-03"]));
    assert_eq!((&lines[1]["frame"], &lines[1]["violation"]), (&12.into(), &true.into()));
    assert_eq!((&lines[4]["violations"], &lines[4]["deviations"]), (&1.into(), &0.into()));
}

#[test]
fn deviations_alone_are_exit_status_0() {
    // Reserved of frame 12.
    let header = [255, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 24, 0, 0, 0, 216, 0, 0, 0];
    let file = Changed::new("deviation.pcap", |bytes| {
        let place = bytes.windows(header.len()).position(|window| window == header).unwrap();
        bytes[place + 6] = 1;
    });
    let output = program(&["capture"], &file.0);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("frame 12 I>A deviation data-reserved (2.2.3; hardening: NE-12)"), "{text}");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn what_cannot_be_read_is_exit_status_2_with_the_reason() {
    let nowhere = path("nowhere.pcap");
    let output = program(&["capture"], &nowhere);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("nowhere.pcap"));

    let file = Changed::new("cut.pcap", |bytes| bytes.truncate(5000));
    let output = program(&["capture"], &file.0);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cut.pcap"));
    assert!(String::from_utf8_lossy(&output.stdout).contains("total: 1 SMB Direct connections"));
}

#[test]
fn wrong_usage_is_exit_status_2() {
    for arguments in [&["capture", "--no-such-option"][..], &["no-such-command"]] {
        assert_eq!(program(arguments, &path(ROCE)).status.code(), Some(2), "{arguments:?}");
    }
}

/// One case, and both roles of another.
const FEW: [&str; 3] = ["run", "BVT_SmbdNegotiate_Basic", "examples::peer_transmits_500_bytes"];

fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_smbd-conformance")).args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_run_ends_with_the_counts_and_exit_status_0() {
    let (status, text, _) = run(&FEW);
    assert_eq!(status, Some(0));
    let last: Vec<_> = text.lines().rev().take(3).collect();
    let requirements = smbd_conformance::catalogue::Catalogue::load().unwrap().summary().statements;
    assert_eq!(last[0], format!("requirements: {requirements}"));
    assert_eq!(last[1], "cases: 2 passed, 0 failed");
    assert_eq!(last[2], "plays: 12 passed, 0 failed");
    // Without a command it is the same.
    let (status, same, _) = run(&FEW[1..]);
    let body = |text: &str| text.split_once("\nMS-SMBD ").unwrap().1.to_owned();
    assert_eq!((status, body(&same)), (Some(0), body(&text)));
}

#[test]
fn options_choose_cases_together() {
    let (_, all, _) = run(&["list"]);
    let count = smbd_conformance::catalogue::Catalogue::load().unwrap().cases.len();
    assert_eq!(all.lines().count(), count);
    let (_, some, _) =
        run(&["list", "--section", "3.1.6", "--group", "SmbdDataTransfer", "--level", "should"]);
    let names: Vec<_> = some.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(
        names,
        ["SmbdDataTransfer_IdleConnection_Server", "SmbdDataTransfer_IdleConnection_Server_Timeout"]
    );
    let (_, initiators, _) = run(&["list", "--group", "examples", "--role", "initiator"]);
    assert_eq!(initiators.lines().count(), 3);
}

#[test]
fn cases_within_a_time_are_those_that_list_says_take_no_longer() {
    let (_, all, _) = run(&["list", "--json"]);
    let (code, short, _) = run(&["list", "--within", "4", "--json"]);
    assert_eq!(code, Some(0));
    let parsed = |text: &str| serde_json::from_str::<Vec<serde_json::Value>>(text).unwrap();
    let mut expected = parsed(&all);
    expected.retain(|case| case["time"].as_u64().unwrap() <= 4);
    assert_eq!(parsed(&short), expected);
    assert!(expected.iter().any(|case| case["time"] == 4) && expected.len() < parsed(&all).len());
}

#[test]
fn what_waits_for_timers_can_be_left_out() {
    let (status, text, _) = run(&["run", "--no-timers", "IdleConnection", "BVT_SmbdNegotiate_Basic"]);
    assert_eq!(status, Some(0));
    assert!(text.contains("cases: 1 passed, 0 failed, 3 left out"), "{text}");
    assert!(text.contains("SmbdDataTransfer_IdleConnection_Server: it waits for a timer, 250 s"), "{text}");
}

#[test]
fn json_has_recordings_and_junit_each_play() {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("report.json");
    let to = file.to_str().unwrap();
    let (status, counts, _) = run(&[&FEW[..], &["--format", "json", "--output", to]].concat());
    assert_eq!(status, Some(0));
    assert!(counts.contains("cases: 2 passed, 0 failed"), "{counts}");
    let report: serde_json::Value = std::fs::read_to_string(&file).unwrap().parse().unwrap();
    std::fs::remove_file(&file).unwrap();
    assert_eq!(report["totals"]["cases"]["passed"], 2);
    let play = &report["cases"][0]["plays"][0];
    assert_eq!((&play["case"], &play["outcome"]), (&"BVT_SmbdNegotiate_Basic".into(), &"passed".into()));
    let events = play["trace"]["first"].as_array().unwrap();
    let request = events.iter().find(|event| event["event"] == "message").unwrap();
    assert_eq!(request["fields"]["MaxFragmentedSize"], 131_072);
    assert_eq!(request["bytes"], "00 01 00 01 00 00 0A 00 00 04 00 00 00 04 00 00 00 00 02 00");

    let (status, xml, _) = run(&[&FEW[..], &["--format", "junit"]].concat());
    assert_eq!(status, Some(0));
    assert_eq!(xml.matches("<testcase ").count(), 12);
}

/// A run of all cases that has played the first one when this returns; its standard error from there on.
fn run_that_goes_on(report: &Path) -> (Child, BufReader<ChildStderr>) {
    _ = std::fs::remove_file(report);
    let mut command = Command::new(env!("CARGO_BIN_EXE_smbd-conformance"));
    command.args(["run", "--format", "json", "--output"]).arg(report);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert!(line.starts_with("BVT_SmbdNegotiate_Basic ... passed, "), "{line}");
    (child, lines)
}

fn parsed(report: &Path) -> serde_json::Value {
    let report_text = std::fs::read_to_string(report).unwrap();
    std::fs::remove_file(report).unwrap();
    report_text.parse().unwrap()
}

#[test]
fn a_run_that_is_told_to_end_reports_what_it_has_played() {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("interrupted.json");
    let (child, lines) = run_that_goes_on(&file);
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let last = lines.lines().map_while(Result::ok).last().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(last.ends_with(" ... ended by a signal"), "{last}");
    let counts = String::from_utf8(output.stdout).unwrap();
    assert!(counts.contains(" not reached: the run was ended"), "{counts}");
    let report = parsed(&file);
    let left = report["totals"]["not_reached"].as_u64().unwrap();
    let played = report["cases"].as_array().unwrap().len() as u64;
    assert!(played > 0 && left > 0, "{played} {left}");
    assert_eq!(played + left, smbd_conformance::catalogue::Catalogue::load().unwrap().cases.len() as u64);
}

#[test]
fn a_run_that_is_killed_leaves_a_report() {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("killed.json");
    let (mut child, _) = run_that_goes_on(&file);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(parsed(&file)["totals"]["not_reached"].as_u64().unwrap() > 0);
}

#[test]
fn html_is_one_page_with_all_cases() {
    let (status, page, _) = run(&[&FEW[..], &["--format", "html"]].concat());
    assert_eq!(status, Some(0));
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>"), "{page:.200}");
    assert!(page.contains("All 2 cases played passed"));
    for name in &FEW[1..] {
        assert!(page.contains(&format!("id=\"case-{name}\"")), "{name}");
    }
}

#[test]
fn show_has_statements_steps_and_messages() {
    let (status, text, _) = run(&["show", "BVT_SmbdNegotiate_Basic", "--bytes"]);
    assert_eq!(status, Some(0));
    for part in [
        "  2.2.2-14    LAYOUT  Bytes 10 and 11",
        "  wait for the answer, 120 s at most",
        "acceptor, windows-roce: passed",
        "CreditsGranted 10 Status 0x00000000",
        "00 01 00 01 00 00 0A 00 00 04 00 00 00 04 00 00 00 00 02 00",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn a_name_nothing_has_and_a_file_that_cannot_be_made_are_exit_status_2() {
    for arguments in [
        &["run", "no-such-case"][..],
        &["show", "no-such-case"],
        &["show", "BVT_SmbdNegotiate_Basic", "--variant", "none"],
        &["run", "BVT_SmbdNegotiate_Basic", "--output", "/nowhere/report"],
    ] {
        let (status, _, error) = run(arguments);
        assert_eq!(status, Some(2), "{arguments:?}");
        assert!(error.starts_with("smbd-conformance: "), "{error}");
    }
}

#[test]
fn a_profile_that_names_an_unknown_case_is_exit_status_2_with_its_name() {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("unknown-case.toml");
    let text = "name = 'Made up'\nacceptor.name = 'a'\ninitiator.name = 'i'\n[[known]]\nrole = 'acceptor'\n\
                statements = ['2.2.2-14']\ndoes = 'It does.'\nevidence = 'Seen.'\nfinds.'no::such_case' = ['more']\n";
    std::fs::write(&file, text).unwrap();
    let output = program(&["run", "BVT_SmbdNegotiate_Basic", "--profile"], &file);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("profile `Made up` names the case `no::such_case`, which there is not"), "{told}");
}

#[test]
fn a_run_goes_on_behind_the_case_that_ended_the_one_before() {
    let before = "SmbdNegotiate_DisconnectAfterNegotiate";
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_smbd-conformance"));
        command.args(["run", "--group", "SmbdNegotiate", "--after"]).args(arguments).output().unwrap()
    };
    let output = run(&[before, "--lost", "the kernel crashed"]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains(&format!("\nFAILED {before}\n  acceptor, windows-roce\n    the kernel crashed\n")),
        "{text}"
    );
    let said = String::from_utf8(output.stderr).unwrap();
    let mut lines = said.lines().filter(|line| !line.starts_with(' '));
    assert!(lines.next().is_some_and(|line| line.starts_with(&format!("{before} ... FAILED"))), "{said}");
    assert!(
        lines.next().is_some_and(|line| line.starts_with("SmbdNegotiate_UncompletedMessage ... ")),
        "{said}"
    );

    let output = run(&["no::such_case"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("no::such_case: there is no such case"));
}

#[test]
fn list_has_the_longest_wait_of_each_case_also_as_json() {
    let (status, text, _) = run(&["list", "SmbdDataTransfer_IdleConnection_Server_Timeout", "--json"]);
    assert_eq!(status, Some(0));
    let all: serde_json::Value = text.parse().unwrap();
    let [case] = &all.as_array().unwrap()[..] else { panic!("{all}") };
    assert_eq!(
        case["longest_wait"].as_u64().unwrap(),
        case["time"].as_u64().unwrap() + 132,
        "a credit, and a usual connection"
    );
    assert_eq!(case["needs"], serde_json::json!(["timers"]));
    let (_, lines, _) = run(&["list", "SmbdDataTransfer_IdleConnection_Server_Timeout"]);
    assert!(lines.contains(&format!(" <= {} s ", case["longest_wait"])), "{lines}");
}

#[test]
fn list_has_the_statements_with_what_shows_that_each_can_be_broken() {
    let (status, text, _) = run(&["list", "--statements"]);
    assert_eq!(status, Some(0));
    let (_, json, _) = run(&["list", "--statements", "--json"]);
    let object: serde_json::Value = json.parse().unwrap();
    let (statements, numbers) = (object["statements"].as_array().unwrap(), &object["numbers"]);
    let number = |name: &str| numbers[name].as_u64().unwrap();

    let summary = smbd_conformance::catalogue::Catalogue::load().unwrap().summary().statements;
    assert_eq!((statements.len(), number("covered")), (summary.total(), summary.covered as u64));
    let shown = number("broken") + number("broken_by_patches_alone");
    assert!(shown >= 250, "{numbers}");
    assert_eq!(shown + number("not_shown"), number("covered"));
    let (covered, broken, peers) = (number("covered"), number("broken"), number("peers"));
    let last: Vec<_> = text.lines().rev().take(2).collect();
    assert!(
        last[1].starts_with(&format!("{} statements, {covered} of them covered by cases", statements.len()))
    );
    assert!(
        last[0].starts_with(&format!("seen broken: {broken} by {peers} peers that are wrong")),
        "{}",
        last[0]
    );

    for statement in statements {
        let excused = ["not_shown", "exception"].map(|name| !statement[name].is_null());
        let broken = ["broken_by", "broken_by_patches"].map(|name| statement[name].as_array().unwrap());
        let broken = broken.into_iter().any(|by| !by.is_empty());
        assert_eq!([broken].into_iter().chain(excused).filter(|is| *is).count(), 1, "{statement:#}");
        let [id, level] = ["id", "level"].map(|name| statement[name].as_str().unwrap());
        let line = format!("{id:<11} {level:<7} ");
        assert!(text.lines().any(|other| other.starts_with(&line)), "{id}");
    }
}

#[test]
fn list_has_the_statements_of_the_cases_chosen() {
    let (_, text, _) = run(&["list", "--statements", "SmbdNegotiate_DisconnectAfterNegotiate"]);
    let ids = text.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit()));
    let ids: Vec<_> = ids.filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(ids, ["3.1.7.1-02", "3.1.7.2-04", "2"], "{text}");
    assert!(text.contains("\n2 statements, 2 of them covered by cases"), "{text}");
}

#[test]
fn a_verbose_run_says_when_each_case_begins_and_how_it_ended() {
    let (_, _, said) = run(&[&FEW[..], &["-v"]].concat());
    let lines: Vec<_> = said.lines().collect();
    assert_eq!(lines.len(), 4, "{said}");
    assert_eq!(lines[0], "BVT_SmbdNegotiate_Basic: begins");
    assert!(lines[1].starts_with("BVT_SmbdNegotiate_Basic ... passed, "), "{said}");
}

#[cfg(feature = "verbs")]
#[test]
fn without_a_peer_nothing_is_played_and_it_is_exit_status_2_with_what_to_check() {
    // An address for documents (RFC 5737), which no device has; where there is a device, nobody answers.
    for way in ["--connect", "--listen", "--address"] {
        let nowhere = if way == "--address" { "192.0.2.1" } else { "192.0.2.1:5445" };
        let (status, text, said) = run(&["run", "examples::", "--target", "verbs", way, nowhere]);
        assert_eq!((status, text.as_str()), (Some(2), ""), "{way}: {said}");
        assert!(said.contains("\n  check: ") && !said.contains(" ... "), "{way}: {said}");
    }
}
