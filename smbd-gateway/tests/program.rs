//! The command line of `smbd-gateway`: what needs no device.

use std::io::Write;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::Path;
use std::process::{Command, Output};
use std::thread::{JoinHandle, spawn};

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_smbd-gateway")).args(arguments).output().expect("the program starts")
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
        ("help_reverse", &["reverse", "--help"]),
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
    assert!(said.contains("\n[limits]\n") && said.contains("\nserver = []\n"));
}

#[test]
fn wrong_usage_ends_with_2_and_names_what_is_wrong() {
    let file = std::env::temp_dir().join(format!("smbd-gateway-{}.toml", std::process::id()));
    std::fs::write(&file, "[limits]\nconections = 5\n").expect("a file is written");
    let path = file.to_str().expect("a path of this program");
    for (arguments, wanted) in [
        (&[][..], "Usage"),
        (&["run"], "--server is missing"),
        (&["run", "--server", "192.0.2.1:445"], "--allow-plaintext-backend"),
        (&["run", "--server", "127.0.0.1:445", "--listen", "0.0.0.0:5445"], "cannot listen at 0.0.0.0:5445"),
        (&["run", "--server", "127.0.0.1:445", "--allow", "10.9/8"], "'10.9/8' is no network"),
        (&["run", "--server", "127.0.0.1:445", "--config", "/nowhere"], "/nowhere: No such file"),
        (&["run", "--server", "127.0.0.1:445", "--config", path], "did you mean `connections`?"),
        (&["reverse"], "--server is missing"),
        (&["reverse", "--server", "10.9.0.1", "--listen", "0.0.0.0:1445"], "--allow NETWORK"),
        (&["reverse", "--server", "10.9.0.1", "--config", path], "did you mean `connections`?"),
        (&["run", "--server", "127.0.0.1:445", "--log", "xml"], "possible values: text, json"),
    ] {
        let output = run(arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(wanted), "{arguments:?}: {wanted} is missing in\n{said}");
    }
    std::fs::remove_file(file).expect("the file is there");
}

/// Whether this host has an RDMA device: then more is wrong than that there is none.
fn has_device() -> bool {
    std::fs::read_dir("/sys/class/infiniband").is_ok_and(|mut devices| devices.next().is_some())
}

#[test]
fn without_a_device_it_ends_with_1_and_says_what_to_check() {
    if has_device() {
        return;
    }
    let output = run(&["run", "--server", "127.0.0.1:445", "--listen", "192.0.2.1:5445"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("`rdma link`"), "{said}");
}

#[test]
fn doctor_finds_what_is_wrong_with_the_settings_of_samba() {
    let file = std::env::temp_dir().join(format!("smbd-gateway-{}.conf", std::process::id()));
    std::fs::write(&file, "[global]\nserver signing = mandatory\n").expect("a file is written");
    let path = file.to_str().expect("a path of this program");
    let output = run(&["doctor", "--smb-conf", path]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    let wanted =
        format!("error: {path}:2: `server signing = mandatory` requires clients to sign [signing]\n  why:  ");
    assert!(said.contains(&wanted), "{wanted} is missing in\n{said}");
    let output = run(&["doctor", "--smb-conf", path, "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let findings: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let signing = findings.as_array().expect("an array").iter().find(|finding| finding["id"] == "signing");
    let signing = signing.expect("it is found");
    assert_eq!((&signing["line"], &signing["severity"]), (&2.into(), &"error".into()));
    std::fs::remove_file(file).expect("the file is there");
}

#[test]
fn doctor_ends_with_2_if_it_cannot_look() {
    for (arguments, wanted) in [
        (["doctor", "--smb-conf", "/nowhere/smb.conf"], "/nowhere/smb.conf: No such file"),
        (["doctor", "--config", "/nowhere/gateway.toml"], "/nowhere/gateway.toml: No such file"),
        (["doctor", "--smb-conf", "/etc/passwd"], "/etc/passwd: this is no smb.conf"),
        (["doctor", "--unknown", "option"], "unexpected argument"),
    ] {
        let output = run(&arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(wanted), "{wanted} is missing in\n{said}");
    }
}

#[test]
fn where_no_gateway_tells_its_status_that_is_said() {
    for more in [&[][..], &["--json"]] {
        let output = run(&[&["status", "--socket", "/nowhere/status.sock"], more].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("no status at /nowhere/status.sock: No such file"), "{said}");
    }
}

/// Answers once, as a gateway does.
fn gateway_of(path: &Path, answer: &'static str) -> JoinHandle<()> {
    let listener = UnixListener::bind(path).expect("a socket is made");
    spawn(move || {
        let (mut stream, _) = listener.accept().expect("somebody asks");
        stream.write_all(answer.as_bytes()).expect("it is read");
    })
}

#[test]
fn status_shows_the_connections_once_where_no_terminal_is() {
    let answer = concat!(
        r#"{"version":"0.1.0","is_stopping":false,"connections_max":256,"connections":[{"client":"10.9.0.2:45501","#,
        r#""server":"127.0.0.1:445","server_port":35000,"dialect":"3.1.1","session":"rdma","no_rdma":null,"bytes_in":1,"#,
        r#""bytes_out":2,"rdma_in":1048575,"rdma_out":0,"age_s":61}],"of_a_later_version":1}"#
    );
    let path = std::env::temp_dir().join(format!("smbd-gateway-status-{}", std::process::id()));
    for (name, more) in [("status", &[][..]), ("status_json", &["--json"])] {
        let gateway = gateway_of(&path, answer);
        let shown =
            run(&[&["status", "--socket", path.to_str().expect("a path of this program")], more].concat());
        gateway.join().expect("it has answered");
        std::fs::remove_file(&path).expect("the socket is there");
        assert!(shown.status.success(), "{}", text(&shown.stderr));
        insta::assert_snapshot!(name, text(&shown.stdout));
    }
    let gateway = gateway_of(&path, "HTTP/1.1 200 OK");
    let shown = run(&["status", "--socket", path.to_str().expect("a path of this program")]);
    gateway.join().expect("it has answered");
    std::fs::remove_file(&path).expect("the socket is there");
    assert!(text(&shown.stderr).contains("it is no answer of smbd-gateway"));
}

#[test]
fn one_that_cannot_listen_never_says_that_it_is_ready() {
    if has_device() {
        return;
    }
    let path = std::env::temp_dir().join(format!("smbd-gateway-notified-{}", std::process::id()));
    let socket = UnixDatagram::bind(&path).expect("a socket is made");
    socket.set_nonblocking(true).expect("it does not wait");
    let mut program = Command::new(env!("CARGO_BIN_EXE_smbd-gateway"));
    let arguments = ["run", "--server", "127.0.0.1:445", "--status-socket", "", "--listen", "192.0.2.1:5445"];
    let output = program.args(arguments).env("NOTIFY_SOCKET", &path).output().expect("the program starts");
    std::fs::remove_file(&path).expect("the socket is there");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(socket.recv(&mut [0]).is_err(), "it has said something");
}

#[test]
fn reverse_without_a_device_ends_with_1_and_says_what_to_check() {
    if has_device() {
        return;
    }
    let output = run(&["reverse", "--server", "192.0.2.1", "--listen", "127.0.0.1:0", "--status-socket", ""]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("`rdma link`"), "{said}");
}

#[test]
fn check_looks_at_the_configuration_and_opens_nothing() {
    let file = std::env::temp_dir().join(format!("smbd-gateway-check-{}.toml", std::process::id()));
    std::fs::write(&file, "[timeouts]\nnegotiation_s = 0\n").expect("a file is written");
    let path = file.to_str().expect("a path of this program");
    for command in ["run", "reverse"] {
        let checked = run(&[command, "--server", "127.0.0.1", "--listen", "127.0.0.1:1", "--check"]);
        assert_eq!(checked.status.code(), Some(0), "{command}: {}", text(&checked.stderr));
        assert_eq!(text(&checked.stdout), "smbd-gateway: options and configuration are valid\n");
        assert_eq!(run(&[command, "--check"]).status.code(), Some(2), "{command}: there is no server");
    }
    let wrong = run(&["run", "--server", "127.0.0.1", "--config", path, "--check"]);
    std::fs::remove_file(&file).expect("the file is there");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(text(&wrong.stderr).contains("timeouts.negotiation_s is 0"), "{}", text(&wrong.stderr));
}

#[test]
fn a_full_standard_output_is_said_and_is_no_success() {
    let path = std::env::temp_dir().join(format!("smbd-gateway-full-{}", std::process::id()));
    let socket = path.to_str().expect("a path of this program");
    let answer = r#"{"version":"0.1.0","is_stopping":false,"connections_max":256,"connections":[]}"#;
    for (arguments, code) in [
        (&["config"][..], 2),
        (&["--help"], 2),
        (&["run", "--help"], 2),
        (&["doctor", "--smb-conf", "/dev/null"], 2),
        (&["run", "--server", "127.0.0.1", "--check"], 2),
        (&["status", "--socket", socket], 1),
        (&["status", "--json", "--socket", socket], 1),
    ] {
        let gateway = arguments.contains(&"status").then(|| gateway_of(&path, answer));
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
        let mut program = Command::new(env!("CARGO_BIN_EXE_smbd-gateway"));
        let output = program.args(arguments).stdout(full).output().expect("the program starts");
        if let Some(gateway) = gateway {
            gateway.join().expect("it has answered");
            std::fs::remove_file(&path).expect("the socket is there");
        }
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.contains("standard output: No space left on device"), "{arguments:?}: {said}");
    }
}

#[test]
fn a_standard_output_past_the_limit_of_file_sizes_is_said_and_is_no_success() {
    let path = std::env::temp_dir().join(format!("smbd-gateway-size-{}", std::process::id()));
    for arguments in [&["config"][..], &["--help"], &["run", "--server", "127.0.0.1", "--check"]] {
        let out = std::fs::File::create(&path).expect("a place of this program");
        let mut program = Command::new("sh");
        program.args(["-c", "ulimit -f 0; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_smbd-gateway")]);
        let output = program.args(arguments).stdout(out).output().expect("the program starts");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {:?} {said}", output.status);
        assert!(said.contains("standard output: File too large"), "{arguments:?}: {said}");
    }
    std::fs::remove_file(path).expect("the file is there");
}
