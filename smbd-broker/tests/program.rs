//! The command line of `smbd-broker`: what needs no device.
#![cfg(feature = "verbs")]

use std::path::Path;
use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_smbd-broker")).args(arguments).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("plain text")
}

#[test]
fn help_tells_a_newcomer_what_to_do() {
    for (name, arguments) in [
        ("help", &["--help"][..]),
        ("help_run", &["run", "--help"]),
        ("help_status", &["status", "--help"]),
        ("help_doctor", &["doctor", "--help"]),
    ] {
        let help = run(arguments);
        assert!(help.status.success());
        insta::assert_snapshot!(name, text(&help.stdout));
    }
}

#[test]
fn config_prints_a_file_that_run_would_read() {
    let printed = run(&["config"]);
    assert!(printed.status.success());
    let said = text(&printed.stdout);
    assert!(said.contains("\n[slots]\n") && said.contains("\nsocket = \"/run/smbd-broker/socket\"\n"));
}

#[test]
fn check_looks_at_the_configuration_and_opens_nothing() {
    let checked = run(&["run", "--check", "--socket", "/nowhere/at/all/socket"]);
    assert_eq!(checked.status.code(), Some(0), "{}", text(&checked.stderr));
    assert_eq!(text(&checked.stdout), "smbd-broker: options and configuration are valid\n");
    assert_eq!(run(&["run", "--check", "--socket", ""]).status.code(), Some(2));
}

#[test]
fn wrong_usage_ends_with_2_and_names_what_is_wrong() {
    let file = std::env::temp_dir().join(format!("smbd-broker-{}.toml", std::process::id()));
    std::fs::write(&file, "[limits]\nconections = 5\n").expect("a file is written");
    let path = file.to_str().expect("a path of this program");
    for (arguments, wanted) in [
        (&[][..], "Usage"),
        (&["--listen", "10.9.0.1:5445"], "unexpected argument '--listen'"),
        (&["run", "--listen", "0.0.0.0:5445"], "cannot listen at 0.0.0.0:5445"),
        (&["run", "--listen", "eth0"], "'eth0' is no address of this host"),
        (&["run", "--allow", "10.9/8"], "'10.9/8' is no network"),
        (&["run", "--allow-uid", "root"], "invalid value 'root' for '--allow-uid <UID>'"),
        (&["run", "--socket", ""], "owners.socket is empty"),
        (&["run", "--config", "/nowhere"], "/nowhere: No such file"),
        (&["run", "--config", path], "did you mean `connections`?"),
        (&["run", "--log", "xml"], "possible values: text, json"),
        (&["doctor", "--config", path], "did you mean `connections`?"),
    ] {
        let output = run(arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(wanted), "{arguments:?}: {wanted} is missing in\n{said}");
    }
    std::fs::remove_file(file).expect("the file is there");
}

#[test]
fn without_a_broker_status_ends_with_1_and_says_what_to_check() {
    let output = run(&["status", "--socket", "/nowhere/status.sock"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("does smbd-broker run"), "{said}");
}

#[test]
fn a_path_at_which_servers_cannot_attach_is_said_before_anything_is_served() {
    let folder = std::env::temp_dir().join(format!("smbd-broker-program-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder is made");
    let path = folder.join("file");
    std::fs::write(&path, "precious").expect("a file is written");
    let text_of = |path: &Path| path.to_str().expect("a path of this program").to_owned();
    let status = text_of(&folder.join("status"));
    let output = run(&["run", "--socket", &text_of(&path), "--status-socket", &status]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("there is something else"), "{said}");
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), "precious");
    std::fs::remove_dir_all(folder).expect("the folder is there");
}

#[test]
fn the_unit_waits_until_the_broker_is_ready_and_gives_it_one_capability_and_the_folder_of_its_sockets() {
    let unit = include_str!("../systemd/smbd-broker.service");
    for line in [
        "Type=notify",
        "AmbientCapabilities=CAP_NET_BIND_SERVICE",
        "CapabilityBoundingSet=CAP_NET_BIND_SERVICE",
        "RuntimeDirectory=smbd-broker",
        "RestrictAddressFamilies=AF_INET AF_INET6 AF_NETLINK AF_UNIX",
    ] {
        assert_eq!(unit.lines().filter(|other| *other == line).count(), 1, "{line}");
    }
}

#[test]
fn help_that_cannot_be_printed_is_no_success() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let mut program = Command::new(env!("CARGO_BIN_EXE_smbd-broker"));
    let output = program.arg("--help").stdout(full).output().expect("the program starts");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("standard output: No space left on device"), "{said}");
}

#[test]
fn a_standard_output_past_the_limit_of_file_sizes_is_said_and_is_no_success() {
    let path = std::env::temp_dir().join(format!("smbd-broker-size-{}", std::process::id()));
    for arguments in ["config", "--help"] {
        let out = std::fs::File::create(&path).expect("a place of this program");
        let mut program = Command::new("sh");
        program.args(["-c", "ulimit -f 0; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_smbd-broker")]);
        let output = program.arg(arguments).stdout(out).output().expect("the program starts");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {:?} {said}", output.status);
        assert!(said.contains("standard output: File too large"), "{arguments}: {said}");
    }
    std::fs::remove_file(path).expect("the file is there");
}

/// Set where the test below runs as a process of its own, with a limit.
const LIMITED: &str = "SMBD_BROKER_LIMITED";

#[test]
fn memory_of_an_owner_past_the_limit_of_file_sizes_is_an_error_and_not_the_end_of_the_broker() {
    if std::env::var_os(LIMITED).is_some() {
        // As the program begins.
        smbd_program::outlive_file_size().expect("a handler is set");
        let refused = smbd_broker::socket::memory(1 << 20).expect_err("it is limited");
        assert_eq!(refused.kind(), std::io::ErrorKind::FileTooLarge);
        return;
    }
    let name = "memory_of_an_owner_past_the_limit_of_file_sizes_is_an_error_and_not_the_end_of_the_broker";
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -f 1; exec \"$@\"", "sh"]);
    limited.arg(std::env::current_exe().expect("it runs")).args(["--exact", name]).env(LIMITED, "1");
    let output = limited.output().expect("the test starts");
    assert!(output.status.success(), "{:?} {}", output.status, text(&output.stderr));
    assert!(text(&output.stdout).contains("1 passed"), "{}", text(&output.stdout));
}
