//! `smbd-serve`, against the client of this project.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Output, Stdio};

use smbd_client::{Remote, Settings};

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use smbd_smb2::wire::Dialect;

use super::program::{Serve, command, connect, text, users};
use super::words::{content, folder, login, said, settings};

#[test]
fn files_go_there_and_back_and_each_client_is_told_in_the_log() {
    let folder = folder("serve");
    let share = folder.join("share");
    fs::create_dir(&share).unwrap();
    let file = folder.join("in");
    fs::write(&file, content(300_000)).unwrap();
    let serve = Serve::start(&[text(&share), "--users", &users(&folder, 0o600)]);
    for settings in
        [settings(), Settings { sign: true, ..settings() }, Settings { encrypt: true, ..settings() }]
    {
        serve.put(&file, "f", &settings).unwrap();
        assert_eq!(fs::read(share.join("f")).unwrap(), content(300_000));
    }
    let out = folder.join("out");
    serve.get("f", &out).unwrap();
    assert_eq!(fs::read(&out).unwrap(), content(300_000));
    let (code, lines) = serve.terminate();
    assert_eq!(code, Some(0));
    let ended: Vec<_> = lines.iter().filter(|line| line.starts_with("client ended ")).collect();
    assert_eq!(ended.len(), 4, "{lines:?}");
    assert!(ended.iter().all(|line| {
        line.contains(" user=tester dialect=3.1.1 ") && line.ends_with(r#" why="the client has left""#)
    }));
    assert!(ended[1].contains(" signed=AES-GMAC encrypted=no "), "{}", ended[1]);
    assert!(ended[2].contains(" signed=no encrypted=AES-128-GCM "), "{}", ended[2]);
    assert_eq!(lines.last().unwrap(), "ended");
}

/// cifs.ko 6.12 registers whole pages, and a buffer may begin anywhere in one. For more pages than a region has it tries again for ever.
#[test]
fn no_transfer_touches_more_pages_than_a_region_of_cifs_has() {
    const PAGE: u32 = 4096;
    const REGION: u32 = 256;
    let folder = folder("serve-transfers");
    let serve = Serve::start(&[text(&folder), "--users", &users(&folder, 0o600)]);
    for len in serve.transfers_max() {
        let pages = (PAGE - 1 + len).div_ceil(PAGE);
        assert_eq!(pages, REGION, "{len} bytes behind the last byte of a page");
    }
}

#[test]
fn nothing_is_written_to_a_share_that_is_read_only() {
    let folder = folder("serve-read-only");
    fs::write(folder.join("f"), "text").unwrap();
    let serve = Serve::start(&[text(&folder), "--users", &users(&folder, 0o600), "--read-only"]);
    let out = folder.join("out");
    serve.get("f", &out).unwrap();
    let said = serve.put(&out, "g", &settings()).unwrap_err();
    assert!(said.contains("STATUS_ACCESS_DENIED"), "{said}");
    assert!(!folder.join("g").exists());
}

#[test]
fn a_file_longer_than_the_limit_of_the_process_is_a_full_disk_and_the_server_goes_on() {
    let folder = folder("serve-file-size");
    let source = folder.join("source");
    fs::write(&source, vec![1; 3 << 20]).unwrap();
    let serve = Serve::start(&[text(&folder), "--users", &users(&folder, 0o600)]);
    let limit = Rlimit { current: Some(1 << 20), maximum: None };
    let pid = Pid::from_child(&serve.child);
    prlimit(Some(pid), Resource::Fsize, limit).unwrap();
    let said = serve.put(&source, "big", &settings()).unwrap_err();
    assert!(said.contains("STATUS_DISK_FULL"), "{said}");
    let out = folder.join("out");
    serve.get("source", &out).unwrap();
}

#[test]
fn what_cannot_be_served_is_told_with_its_cure() {
    let folder = folder("serve-errors");
    let none = folder.join("none");
    let (good, open) = (users(&folder, 0o600), folder.join("open"));
    fs::copy(&good, &open).unwrap();
    fs::set_permissions(&open, fs::Permissions::from_mode(0o644)).unwrap();
    let listen = ["--listen", "tcp:127.0.0.1:0"];
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = format!("tcp:{}", other.local_addr().unwrap());
    for (arguments, code, said) in [
        (vec![text(&folder), "--users", &good], 2, "--listen <ADDR:PORT>"),
        (vec![text(&folder), "--listen", "127.0.0.1", "--users", &good], 2, "is no ADDR:PORT"),
        ([&[text(&folder)][..], &listen].concat(), 2, "--users <FILE>"),
        ([&[text(&none), "--users", &good][..], &listen].concat(), 1, "No such file or directory"),
        ([&[text(&folder), "--users", text(&open)][..], &listen].concat(), 1, "chmod 600"),
        ([&[text(&folder), "--users", &good, "--memory", "24"][..], &listen].concat(), 2, "need 1536 MiB"),
        ([&[text(&folder), "--users", &good, "--share", "IPC$"][..], &listen].concat(), 2, "IPC$"),
        (vec![text(&folder), "--users", &good, "--listen", "tcp:192.0.2.1:445"], 1, "tcp:192.0.2.1:445: "),
        (
            vec![text(&folder), "--users", &good, "--listen", "tcp:192.0.2.1:445"],
            1,
            "no interface of this host",
        ),
        (vec![text(&folder), "--users", &good, "--listen", &taken], 1, "another program listens there"),
    ] {
        let Output { status, stderr, .. } = command(&arguments).output().unwrap();
        let err = String::from_utf8(stderr).unwrap();
        assert_eq!((status.code(), err.contains(said)), (Some(code), true), "{arguments:?}: {err}");
    }
}

#[test]
fn check_looks_at_what_would_be_served_and_serves_nothing() {
    let folder = folder("serve-check");
    let none = folder.join("none");
    let good = users(&folder, 0o600);
    // A server that runs has the port.
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = format!("tcp:{}", other.local_addr().unwrap());
    let sound = [text(&folder), "--users", &good, "--listen", &at, "--check"];
    let Output { status, stdout, stderr } = command(&sound).output().unwrap();
    let said = [stdout, stderr].map(|said| String::from_utf8(said).unwrap());
    assert_eq!(said, ["smbd-serve: options and configuration are valid\n".to_owned(), String::new()]);
    assert_eq!(status.code(), Some(0));
    let wrong_users = format!("--users {}: ", text(&none));
    let wrong_folder = format!("DIR {}: ", text(&none));
    for (arguments, said) in [
        (vec![text(&folder), "--users", text(&none), "--listen", &at], wrong_users.as_str()),
        (vec![text(&none), "--users", &good, "--listen", &at], &wrong_folder),
        (
            vec![text(&folder), "--users", &good, "--listen", "tcp:192.0.2.1:445"],
            "--listen tcp:192.0.2.1:445: ",
        ),
        (
            vec![text(&folder), "--users", &good, "--listen", "rdma:192.0.2.1:445"],
            "--listen rdma:192.0.2.1:445: ",
        ),
        (vec![text(&folder), "--users", &good, "--listen", &at, "--share", "IPC$"], "IPC$"),
        (vec![text(&folder), "--users", &good, "--listen", &at, "--memory", "24"], "--memory: "),
    ] {
        let Output { status, stdout, stderr } = command(&arguments).arg("--check").output().unwrap();
        let err = String::from_utf8(stderr).unwrap();
        assert_eq!((status.code(), err.contains(said)), (Some(2), true), "{arguments:?}: {err}");
        assert!(stdout.is_empty(), "{arguments:?}");
    }
}

/// The expression of the document for fail2ban, with an address for its `<HOST>`.
fn failregex() -> regex::Regex {
    let document = include_str!("../../README.md");
    let expression = document.lines().find_map(|line| line.strip_prefix("failregex = ")).unwrap();
    regex::Regex::new(&expression.replace("<HOST>", r"(?P<host>[0-9a-f.:]+?)")).unwrap()
}

#[test]
fn a_failed_login_is_one_line_that_fail2ban_reads() {
    let folder = folder("serve-failed");
    let mut child =
        command(&[text(&folder), "--users", &users(&folder, 0o600), "--listen", "tcp:127.0.0.1:0"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let first = lines.next().unwrap();
    let port = first.split(['=', ' ']).find_map(|word| word.strip_prefix("127.0.0.1:")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (remote, driver) = Remote::over(connect(port).await, &settings()).unwrap();
        tokio::spawn(driver);
        assert!(login(&remote, "wrong").await.is_err());
    });
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    let lines: Vec<String> = lines.collect();
    child.wait().unwrap();
    let failregex = failregex();
    let host = |line: &String| Some(failregex.captures(line)?["host"].to_owned());
    assert_eq!(lines.iter().filter_map(host).collect::<Vec<_>>(), ["127.0.0.1"], "{lines:#?}");
    let failed = |line: &&String| said(line).starts_with("login failed ");
    let failed: Vec<_> = lines.iter().filter(failed).collect();
    assert!(
        failed[0].ends_with(r#" user=tester why="the user is unknown or the password is wrong""#),
        "{failed:?}"
    );
    let forged =
        format!("2026-01-02T03:04:05.678901Z  INFO client session client=10.9.0.9:1 user={:?}", failed[0]);
    assert_eq!(host(&forged), None);
    // As the journal and addresses of version 6 have them.
    let line =
        "2026-01-02T03:04:05.678901Z  WARN login failed client=[fd00::1]:5 over=rdma user=x why=y".to_owned();
    assert_eq!(host(&line).as_deref(), Some("fd00::1"));
    assert_eq!(host(&format!("here smbd-serve[7]: {line}")).as_deref(), Some("fd00::1"));
    assert_eq!(host(&line[27..].to_owned()).as_deref(), Some("fd00::1"), "fail2ban takes the time away");
}

#[test]
fn a_client_without_a_dialect_of_the_server_is_told_in_the_log() {
    let folder = folder("serve-dialects");
    let serve = Serve::start(&[text(&folder), "--users", &users(&folder, 0o600)]);
    serve.negotiate(Dialect::SMB_2_1);
    let (_, lines) = serve.terminate();
    let refused = |line: &&String| line.starts_with("dialects refused client=127.0.0.1:");
    let refused: Vec<_> = lines.iter().filter(refused).collect();
    assert!(matches!(refused[..], [line] if line.contains(" offered=2.1 ")), "{lines:#?}");
}

#[test]
fn help_that_cannot_be_printed_is_no_success() {
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let Output { status, stderr, .. } = command(&["--help"]).stdout(full).output().unwrap();
    let err = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(2), "{err}");
    assert!(err.contains("standard output: No space left on device"), "{err}");
}

#[test]
fn a_log_that_nobody_reads_and_a_full_standard_error_end_no_server() {
    let folder = folder("serve-log-lost");
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let arguments = [text(&folder), "--guest", "--listen", "tcp:127.0.0.1:0"];
    let mut child = command(&arguments).stdout(Stdio::piped()).stderr(full).spawn().unwrap();
    let mut log = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    log.read_line(&mut first).unwrap();
    assert!(said(&first).starts_with("listening"), "{first}");
    drop(log);
    // Two lines more, which it cannot write.
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn each_line_of_json_has_a_time_and_a_level() {
    let folder = folder("serve-json");
    let arguments = ["--users", &users(&folder, 0o600), "--listen", "tcp:127.0.0.1:0", "--log", "json"];
    let mut child = command(&[text(&folder)]).args(arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.next().unwrap().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&line["level"], &line["what"]), (&"INFO".into(), &"listening".into()));
    assert!(line["timestamp"].as_str().unwrap().ends_with('Z'));
}

#[test]
fn a_client_is_told_of_the_address_and_makes_a_second_connection_if_that_is_allowed() {
    let folder = folder("serve-channels");
    let share = folder.join("share");
    fs::create_dir(&share).unwrap();
    let users = users(&folder, 0o600);
    let settings = Settings { channels: 2, ..settings() };
    for (channels, connections) in [("2", 2), ("1", 1)] {
        let serve = Serve::start(&[text(&share), "--users", &users, "--channels", channels]);
        serve
            .with_share(&settings, async |share, session| {
                let told = share.interfaces().await.unwrap_or_default();
                let is_there = told.iter().any(|it| it.address == Some([127, 0, 0, 1].into()));
                assert_eq!(is_there, connections == 2, "{told:?}");
                let (channel, driver) = session.channel(connect(&serve.port).await).unwrap();
                let driver = tokio::spawn(driver);
                assert_eq!(channel.bind().await.is_ok(), connections == 2);
                if connections == 1 {
                    driver.await.unwrap();
                }
                Ok(())
            })
            .unwrap();
        let (code, lines) = serve.terminate();
        assert_eq!(code, Some(0));
        let ended = lines.iter().filter(|line| line.starts_with("client ended "));
        assert_eq!(ended.filter(|line| line.contains(" user=tester ")).count(), connections, "{lines:?}");
    }
}
