//! What the program makes of a report: where it comes from, where it goes, and what it says of what was not played or judged.

mod common;

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use common::{IWARP, ROCE, path};
use serde_json::Value;

/// A leap day.
const DATE: (&str, &str) = ("1709210096", "2024-02-29T12:34:56Z");
/// One case, four plays of an acceptor.
const CASE: &str = "BVT_SmbdNegotiate_Basic";

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_smbd-conformance"));
    command.args(arguments).stdin(Stdio::null()).env("SOURCE_DATE_EPOCH", DATE.0);
    command
}

fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    ended(program(arguments).output().unwrap())
}

fn ended(output: Output) -> (Option<i32>, String, String) {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// A place for a file that is not there yet.
fn place(name: &str) -> PathBuf {
    let place = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    _ = fs::remove_file(&place);
    place
}

fn written(name: &str, bytes: &[u8]) -> PathBuf {
    let place = place(name);
    fs::write(&place, bytes).unwrap();
    place
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| line.parse().unwrap()).collect()
}

/// Has it judge a capture in which there is nothing to judge.
fn nothing_to_judge(file: &Path, frames: u64, why: &str) {
    let name = file.to_str().unwrap();
    let (status, text, said) = run(&["capture", name]);
    assert_eq!(status, Some(2), "{text}");
    assert!(text.contains(&format!("frames: {frames}, ")), "{text}");
    assert_eq!(said, format!("smbd-conformance: {name}: warning: nothing to judge: {why}\n"));
    let (status, text, _) = run(&["capture", name, "--json"]);
    assert_eq!(status, Some(2));
    let last = lines(&text).pop().unwrap();
    assert_eq!(
        (&last["type"], &last["text"]),
        (&"problem".into(), &format!("nothing to judge: {why}").into())
    );
}

#[test]
fn a_capture_of_an_unknown_link_type_is_nothing_to_judge_and_its_frames_are_counted() {
    let mut bytes = fs::read(path(ROCE)).unwrap();
    bytes[20] = 147;
    let file = written("link-147.pcap", &bytes);
    let why = "all 886 frames have link type 147; Ethernet, Linux cooked and raw IP can be read";
    nothing_to_judge(&file, 886, why);
    let (_, text, _) = run(&["capture", file.to_str().unwrap()]);
    assert!(text.contains(", 886 not understood"), "{text}");
}

#[test]
fn a_capture_without_a_packet_or_without_smb_direct_is_nothing_to_judge() {
    let bytes = fs::read(path(IWARP)).unwrap();
    nothing_to_judge(&written("no-packet.pcap", &bytes[..24]), 0, "no packet is in the capture");
    // Its first frame begins the TCP connection.
    let len = 24 + 16 + usize::from(bytes[24 + 8]);
    let why = "no SMB Direct message is in 1 frames, 0 of other protocols, 0 not understood";
    nothing_to_judge(&written("one-packet.pcap", &bytes[..len]), 1, why);
}

#[test]
fn a_capture_that_breaks_off_has_a_problem_record() {
    let bytes = fs::read(path(ROCE)).unwrap();
    let file = written("breaks-off.pcap", &bytes[..5000]);
    let (status, text, said) = run(&["capture", "--json", file.to_str().unwrap()]);
    assert_eq!(status, Some(2));
    let lines = lines(&text);
    let types: Vec<_> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(types, ["about", "ledger", "ledger", "summary", "problem"]);
    let problem = lines[4]["text"].as_str().unwrap();
    assert!(problem.contains(" is cut: ") && said.contains(problem), "{problem}");
}

#[test]
fn an_empty_file_and_a_compressed_one_are_told_as_what_they_are() {
    for (name, bytes, expected) in [
        ("empty.pcap", &[][..], "the file is empty"),
        (
            "a.pcap.gz",
            &[0x1f, 0x8b, 8, 0, 0],
            "the file is compressed (gzip); read what is in it from a pipe: `zcat ",
        ),
    ] {
        let file = written(name, bytes);
        let (status, _, said) = run(&["capture", file.to_str().unwrap()]);
        assert_eq!(status, Some(2), "{name}");
        assert!(said.contains(&format!("{name}: {expected}")), "{said}");
    }
}

#[test]
fn a_capture_can_come_from_standard_input() {
    let output = program(&["capture", "-"]).stdin(File::open(path(ROCE)).unwrap()).output().unwrap();
    let (status, text, _) = ended(output);
    assert_eq!(status, Some(0));
    let (_, same, _) = run(&["capture", path(ROCE).to_str().unwrap()]);
    let body = |text: &str| text.split_once('\n').unwrap().1.to_owned();
    assert_eq!(body(&text), body(&same));
}

#[test]
fn every_report_says_which_version_made_it_when_and_how_it_was_called() {
    let version = env!("CARGO_PKG_VERSION");
    let called =
        |format: &str| format!("smbd-conformance run {CASE} --section 2.2 --set 'a b' --format {format}");
    let report = |format: &str| {
        let (status, text, said) =
            run(&["run", CASE, "--section", "2.2", "--set", "a b", "--format", format]);
        assert_eq!(status, Some(0), "{said}");
        text
    };
    let text = report("text");
    let expected = format!("\nversion: {version}\ndate: {}\ncommand line: {}\n", DATE.1, called("text"));
    assert!(text.contains(&expected), "{text}");

    let json: Value = report("json").parse().unwrap();
    let about = serde_json::json!({
        "version": version, "date": DATE.1, "command_line": called("json"), "host": null,
    });
    assert_eq!(json["about"], about);
    assert_eq!(json["devices"], serde_json::json!([]));

    let junit = report("junit");
    assert!(junit.contains(&format!("timestamp=\"{}\"", DATE.1)), "{junit}");
    assert!(junit.contains(&format!("<property name=\"version\" value=\"{version}\"/>")), "{junit}");
    let line = called("junit").replace('\'', "&apos;");
    assert!(junit.contains(&format!("<property name=\"command line\" value=\"{line}\"/>")), "{junit}");

    let html = report("html");
    for (name, value) in [("version", version), ("date", DATE.1)] {
        assert!(html.contains(&format!("<dt>{name}</dt><dd>{value}</dd>")), "{name}");
    }
    assert!(html.contains("<dt>command line</dt><dd>smbd-conformance run "));

    let (_, capture, _) = run(&["capture", path(ROCE).to_str().unwrap()]);
    let expected = format!("smbd-conformance {version}, {}: smbd-conformance capture ", DATE.1);
    assert!(capture.starts_with(&expected), "{capture}");
    let (_, capture, _) = run(&["capture", "--json", path(ROCE).to_str().unwrap()]);
    let about = &lines(&capture)[0];
    assert_eq!((&about["type"], &about["date"]), (&"about".into(), &DATE.1.into()));
}

#[test]
fn a_date_that_is_none_is_exit_status_2_before_the_work() {
    let output = program(&["run", CASE]).env("SOURCE_DATE_EPOCH", "yesterday").output().unwrap();
    let (status, text, said) = ended(output);
    assert_eq!((status, text.as_str()), (Some(2), ""));
    assert!(said.starts_with("smbd-conformance: SOURCE_DATE_EPOCH is 'yesterday'"), "{said}");
}

/// Plays of a JUnit report and how many of them are what.
fn counted(xml: &str) -> [usize; 4] {
    let tests = xml.matches("<testcase ").count();
    let [skipped, errors, failures] = ["<skipped", "<error", "<failure"].map(|tag| xml.matches(tag).count());
    let sums = format!("tests=\"{tests}\" skipped=\"{skipped}\" failures=\"{failures}\" errors=\"{errors}\"");
    assert!(xml.contains(&format!("<testsuites name=\"smbd-conformance, target sim\" {sums}>")), "{sums}");
    [tests, skipped, errors, failures]
}

#[test]
fn what_a_run_that_is_ended_does_not_come_to_is_skipped_in_junit_and_the_run_is_an_error() {
    let file = place("ended.xml");
    let mut command = program(&["run", "--format", "junit", "--output"]);
    let mut child = command.arg(&file).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    said.read_line(&mut String::new()).unwrap();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    // Until it has ended, or it would find nobody to tell.
    said.lines().for_each(drop);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let xml = fs::read_to_string(&file).unwrap();
    let [tests, skipped, errors, failures] = counted(&xml);
    assert_eq!((errors, failures), (1, 0));
    assert!(xml.contains("<testcase name=\"the run comes to its end\" classname=\"run\">"));
    let not_reached = xml.matches("<skipped message=\"not reached: the run was ended\"/>").count();
    assert!(not_reached > 0 && not_reached <= skipped, "{not_reached} {skipped}");
    // All plays are there, as many as in a run that comes to its end.
    let catalogue = smbd_conformance::catalogue::Catalogue::load().unwrap();
    let sides = smbd_conformance::suite::SIDES;
    let of = |case: &smbd_conformance::catalogue::Case| {
        sides.iter().filter(|side| case.role.includes(**side)).count()
    };
    assert_eq!(tests, catalogue.cases.iter().map(of).sum::<usize>() * 4 + 1);
}

#[test]
fn json_names_the_cases_that_a_run_did_not_come_to() {
    let file = place("killed.json");
    let mut command = program(&["run", "--format", "json", "--no-messages", "--output"]);
    let mut child = command.arg(&file).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut String::new()).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let report: Value = fs::read_to_string(&file).unwrap().parse().unwrap();
    let names = report["not_reached"].as_array().unwrap();
    assert_eq!(names.len() as u64, report["totals"]["not_reached"].as_u64().unwrap());
    let catalogue = smbd_conformance::catalogue::Catalogue::load().unwrap();
    assert_eq!(names.last().unwrap()["name"], catalogue.cases.last().unwrap().name.as_str());
    assert!(!names[0]["roles"].as_array().unwrap().is_empty());
}

#[test]
fn json_has_no_messages_if_they_are_not_wanted() {
    let (status, whole, _) = run(&["run", CASE, "--format", "json"]);
    let (same, short, _) = run(&["run", CASE, "--format", "json", "--no-messages"]);
    assert_eq!((status, same), (Some(0), Some(0)));
    let [whole, short]: [Value; 2] = [whole, short].map(|text| text.parse().unwrap());
    let plays = |report: &Value| report["cases"][0]["plays"].as_array().unwrap().len();
    assert_eq!((plays(&whole), plays(&short)), (4, 4));
    let events = |report: &Value| report["cases"][0]["plays"][0]["trace"]["first"].as_array().unwrap().len();
    assert!(events(&whole) > 5, "{}", events(&whole));
    assert_eq!(events(&short), 0);
    assert_eq!(whole["statements"], short["statements"]);
    let (status, _, said) = run(&["run", CASE, "--no-messages"]);
    assert_eq!((status, said.as_str()), (Some(2), "smbd-conformance: --no-messages is for --format json\n"));
}

#[test]
fn output_to_a_folder_is_refused_before_the_work_and_a_hyphen_is_standard_output() {
    let folder = env!("CARGO_TARGET_TMPDIR");
    let (status, text, said) = run(&["run", CASE, "--output", folder]);
    assert_eq!((status, text.as_str()), (Some(2), ""));
    assert_eq!(said, format!("smbd-conformance: --output {folder}: is a directory\n"));
    let (status, _, said) = run(&["run", CASE, "--output", "/nowhere/report"]);
    assert_eq!(status, Some(2));
    assert!(said.starts_with("smbd-conformance: --output /nowhere/report: "), "{said}");

    let mut command = program(&["run", CASE, "--output", "-"]);
    let (status, text, _) = ended(command.current_dir(folder).output().unwrap());
    assert_eq!(status, Some(0));
    assert!(text.starts_with("target sim: "), "{text}");
    assert!(!Path::new(folder).join("-").exists());
}

#[test]
fn a_list_of_nothing_is_exit_status_2() {
    for (arguments, why) in [
        (&["list", "nope"][..], "no case is like that; `smbd-conformance list` has all"),
        (&["list", "--section", "9.9"], "no case is like that"),
        (&["list", "--after", "nope"], "--after nope: there is no such case"),
        (&["show", "--after", "nope"], "--after nope: there is no such case"),
    ] {
        let (status, text, said) = run(arguments);
        assert_eq!((status, text.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(said.starts_with(&format!("smbd-conformance: {why}")), "{said}");
    }
}

#[test]
fn a_full_disk_is_exit_status_2_and_a_reader_who_has_gone_is_none() {
    let report = place("beside.txt");
    let capture = path(ROCE);
    for arguments in [
        &["run", CASE][..],
        &["run", CASE, "--output", report.to_str().unwrap()],
        &["list"],
        &["show", CASE],
        &["capture", capture.to_str().unwrap()],
        &["capture", "--json", capture.to_str().unwrap()],
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let (status, _, said) = ended(program(arguments).stdout(full).output().unwrap());
        assert_eq!(status, Some(2), "{arguments:?}: {said}");
        assert!(
            said.ends_with("smbd-conformance: output: No space left on device (os error 28)\n"),
            "{said}"
        );
        let mut child = program(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let (status, _, said) = ended(child.wait_with_output().unwrap());
        assert_eq!(status, Some(0), "{arguments:?}: {said}");
    }
}

#[test]
fn past_the_limit_of_file_sizes_exit_status_is_2_with_what_is_too_long() {
    let (out, report) = (place("limited.out"), place("limited.html"));
    let name = report.to_str().unwrap();
    let to_file = ["run", CASE, "--format", "html", "--output", name];
    let in_output = "standard output: File too large";
    for (arguments, blocks, why) in [
        (&["list"][..], 0, "output: File too large"),
        (&["--help"], 0, in_output),
        (&to_file, 1, &format!("{name}.part: File too large")),
    ] {
        let mut limited = Command::new("sh");
        limited.arg("-c").arg(format!("ulimit -f {blocks}; exec \"$@\"")).arg("sh");
        limited.arg(env!("CARGO_BIN_EXE_smbd-conformance")).args(arguments);
        let ended_as = limited.stdout(File::create(&out).unwrap()).output().unwrap();
        let (status, _, said) = ended(ended_as);
        assert_eq!(status, Some(2), "{arguments:?}: {said}");
        assert!(said.starts_with(&format!("smbd-conformance: {why}")), "{arguments:?}: {said}");
    }
    assert!(!report.exists());
}

#[test]
fn help_that_cannot_be_printed_is_no_success() {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let (status, _, said) = ended(program(&["--help"]).stdout(full).output().unwrap());
    assert_eq!(
        (status, said.as_str()),
        (Some(2), "smbd-conformance: standard output: No space left on device (os error 28)\n")
    );
}
