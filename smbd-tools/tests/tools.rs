//! The command lines of the tools: what needs no device.

use std::fs::File;
use std::process::{Command, Output, Stdio};

fn run(program: &str, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).output().expect("the program starts")
}

const PING: &str = env!("CARGO_BIN_EXE_smbd-ping");
const ECHO: &str = env!("CARGO_BIN_EXE_smbd-echo");
const PERF: &str = env!("CARGO_BIN_EXE_smbd-perf");

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("plain text")
}

#[test]
fn help_tells_a_newcomer_what_to_do() {
    for (name, program) in [("ping", PING), ("echo", ECHO), ("perf", PERF)] {
        let help = run(program, &["--help"]);
        assert!(help.status.success());
        insta::assert_snapshot!(format!("help_{name}"), text(&help.stdout));
    }
}

#[test]
fn wrong_usage_ends_with_2_and_names_option_and_value() {
    for (program, arguments, wanted) in [
        (PING, &[][..], "<ADDR[:PORT]>"),
        (PING, &["10.9.0.1", "--device", "siw0"], "cannot be used with"),
        (PING, &["10.9.0.1:0"], "'0' is no port; ports are 1 to 65535"),
        (PING, &["10.9.0.1", "--count", "0"], "'0'"),
        (PING, &["10.9.0.1", "--max-send-size", "9000"], "--max-send-size is 9000, must be 128 to 8136"),
        (PING, &["10.9.0.1", "--credits", "3"], "--credits is 3, must be 4 to 32767"),
        (PING, &["10.9.0.1", "--timeout", "0"], "must be above 0"),
        (PING, &["10.9.0.1", "--profile", "other"], "possible values: windows"),
        (ECHO, &[], "--listen <ADDR:PORT>"),
        (
            ECHO,
            &["--listen", "10.9.0.1"],
            "--listen is '10.9.0.1', must be an address of this host with a port",
        ),
        (ECHO, &["--listen", "0.0.0.0:445", "--max-connections", "0"], "'0'"),
        (
            ECHO,
            &["--listen", "0.0.0.0:445", "--max-backlog", "1000"],
            "--max-backlog is 1000, must be at least --max-message, which is 1048576",
        ),
        (PERF, &["10.9.0.1:445"], "<KIND>"),
        (PERF, &["10.9.0.1", "send"], "'10.9.0.1' has no port"),
        (PERF, &["10.9.0.1:445", "send", "--size", "0"], "'0'"),
        (PERF, &["10.9.0.1:445", "send", "--time", "1", "--count", "1"], "cannot be used with"),
        (PERF, &["10.9.0.1:445", "latency", "--verify"], "--verify is not for latency"),
    ] {
        let output = run(program, arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(wanted), "{arguments:?}: {wanted} is missing in\n{said}");
        assert!(output.stdout.is_empty());
    }
}

/// What all three say where there is no RDMA device.
const ADVICE: &str =
    "is there an RDMA device, and may this user open it? `rdma link`, `ls -l /dev/infiniband`";
/// An address for documents (RFC 5737), which no device has; where there is a device, nobody answers.
const NOWHERE: &str = "192.0.2.1:5445";
const SOON: [&str; 2] = ["--timeout", "0.5"];

/// Whether this host has an RDMA device: then more is wrong than that there is none.
fn has_device() -> bool {
    std::fs::read_dir("/sys/class/infiniband").is_ok_and(|mut devices| devices.next().is_some())
}

fn parsed(output: &Output) -> serde_json::Value {
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

#[test]
fn without_a_device_all_tools_say_what_to_check() {
    let (ping, echo, perf) = ([NOWHERE], ["--listen", NOWHERE], [NOWHERE, "send"]);
    for (program, arguments) in [(PING, &ping[..]), (ECHO, &echo), (PERF, &perf)] {
        let output = run(program, &[arguments, &SOON].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("\n  check: "), "{program}: {said}");
        assert!(has_device() || said.ends_with(&format!("\n  check: {ADVICE}\n")), "{program}: {said}");
    }
}

#[test]
fn without_a_device_json_is_an_object_with_the_error() {
    let ping = run(PING, &[&[NOWHERE, "--json"][..], &SOON].concat());
    let perf = run(PERF, &[&[NOWHERE, "send", "--json"][..], &SOON].concat());
    let (pinged, measured) = (parsed(&ping), parsed(&perf));
    for (output, object, error) in
        [(&ping, &pinged, &pinged["connections"][0]["error"]), (&perf, &measured, &measured["error"])]
    {
        assert_eq!(output.status.code(), Some(1));
        assert!(output.stderr.is_empty());
        assert_eq!(object["ok"], false, "{object}");
        assert!(has_device() || error["advice"] == ADVICE, "{object}");
        assert!(!error["what"].as_str().expect("a text").is_empty());
    }
    assert_eq!((&measured["kind"], &measured["address"]), (&"send".into(), &NOWHERE.into()));
}

#[test]
fn a_device_that_is_not_there_is_said_to_be_missing() {
    let (plain, json) = (run(PING, &["--device", "none9"]), run(PING, &["--device", "none9", "--json"]));
    assert_eq!((plain.status.code(), json.status.code()), (Some(1), Some(1)));
    let said = text(&plain.stderr);
    assert!(
        said.starts_with("smbd-ping: none9: ") && said.contains(ADVICE) && plain.stdout.is_empty(),
        "{said}"
    );
    let object = parsed(&json);
    assert_eq!((&object["device"], &object["ok"]), (&"none9".into(), &false.into()));
    assert_eq!(object["error"]["advice"], ADVICE);
}

#[test]
fn a_full_disk_is_2_and_a_reader_who_has_gone_is_no_failure_of_the_tool() {
    for (name, program, arguments) in
        [("ping", PING, &[NOWHERE, "--json"][..]), ("perf", PERF, &[NOWHERE, "send", "--json"])]
    {
        let arguments = [arguments, &SOON].concat();
        let full = File::options().write(true).open("/dev/full").expect("a system with /dev/full");
        let output =
            Command::new(program).args(&arguments).stdout(full).output().expect("the program starts");
        assert_eq!(output.status.code(), Some(2));
        let expected = format!("smbd-{name}: output: No space left on device (os error 28)\n");
        assert_eq!(text(&output.stderr), expected);

        let mut command = Command::new(program);
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(1), ""));
    }
}

#[test]
fn help_that_cannot_be_written_to_a_full_disk_or_past_the_limit_of_file_sizes_is_2() {
    let path = std::env::temp_dir().join(format!("smbd-tools-size-{}", std::process::id()));
    for (name, program) in [("ping", PING), ("perf", PERF), ("echo", ECHO)] {
        let full = File::options().write(true).open("/dev/full").expect("a system with /dev/full");
        let output = Command::new(program).arg("--help").stdout(full).output().expect("the program starts");
        assert_eq!(output.status.code(), Some(2));
        let expected = format!("smbd-{name}: standard output: No space left on device (os error 28)\n");
        assert_eq!(text(&output.stderr), expected);

        let out = File::create(&path).expect("a place of this program");
        let mut limited = Command::new("sh");
        limited.args(["-c", "ulimit -f 0; exec \"$@\"", "sh", program, "--help"]);
        let output = limited.stdout(out).output().expect("the program starts");
        assert_eq!(output.status.code(), Some(2), "{:?}", output.status);
        let expected = format!("smbd-{name}: standard output: File too large (os error 27)\n");
        assert_eq!(text(&output.stderr), expected);
    }
    std::fs::remove_file(path).expect("the file is there");
}
