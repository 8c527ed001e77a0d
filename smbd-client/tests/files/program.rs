//! The program, against a server at a port of this host.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy, duplex, sink, split};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::{spawn_blocking, yield_now};

use super::server::{Host, PASSWORD, content, folder};

pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

fn run(arguments: &[&str], password: Option<&str>) -> Said {
    let mut command = Command::new(env!("CARGO_BIN_EXE_smbd-cp"));
    command.args(arguments).env_remove("SMBD_PASSWORD");
    if let Some(password) = password {
        command.env("SMBD_PASSWORD", password);
    }
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Said { code: status.code(), out: text(stdout), err: text(stderr) }
}

/// A server at a port, and the URL of its share.
pub async fn listen(host: &Host) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let host = host.clone();
    tokio::spawn(async move {
        for number in 1.. {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(host.clone().serve(stream, number));
        }
    });
    format!("smb://tester@127.0.0.1:{port}/data")
}

pub async fn cp(arguments: &[&str]) -> Said {
    let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_string()).collect();
    spawn_blocking(move || {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        run(&arguments, Some(PASSWORD))
    })
    .await
    .unwrap()
}

pub fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_copied_listed_and_removed() {
    let folder = folder("program");
    let url = listen(&Host::new(|_| {})).await;
    let [a, b] = ["a.bin", "b.bin"].map(|name| folder.join(name));
    fs::write(&a, content(3_000_000)).unwrap();
    fs::write(&b, content(10)).unwrap();
    assert_eq!(cp(&["mkdir", &format!("{url}/dir")]).await.code, Some(0));
    let put = cp(&["put", path(&a), path(&b), &format!("{url}/dir/"), "--check", "--json"]).await;
    assert_eq!((put.code, put.err.as_str()), (Some(0), ""));
    let told: Value = serde_json::from_str(&put.out).unwrap();
    assert_eq!((&told["way"], &told["failed"]), (&"plain".into(), &0.into()));
    let mut files: Vec<_> = told["files"].as_array().unwrap().iter().collect();
    files.sort_by_key(|file| file["remote"].as_str());
    assert_eq!((&files[0]["remote"], &files[0]["bytes"]), (&"dir/a.bin".into(), &3_000_000.into()));
    let sum = format!("{:016x}", twox_hash::XxHash3_64::oneshot(&content(10)));
    assert_eq!(files[1]["xxh3"], sum);

    let ls = cp(&["ls", &format!("{url}/dir")]).await;
    let lines: Vec<_> = ls.out.lines().collect();
    assert!(lines[0].starts_with("-        3000000 ") && lines[0].ends_with(" a.bin"), "{}", ls.out);
    assert!(lines[1].starts_with("-             10 ") && lines.len() == 2, "{}", ls.out);
    let one = cp(&["ls", &format!("{url}/dir/b.bin")]).await;
    assert!(one.out.ends_with(" b.bin\n"), "{}{}", one.out, one.err);

    let got = folder.join("got.bin");
    fs::write(&got, content(1_000_000)).unwrap();
    let get = cp(&["get", &format!("{url}/dir/a.bin"), path(&got), "--resume", "--encrypt"]).await;
    assert_eq!(get.code, Some(0), "{}", get.err);
    assert!(get.out.contains("3000000 bytes, 1000000 of them were there, "), "{}", get.out);
    assert!(get.out.ends_with("MB/s, tcp encrypted\n"), "{}", get.out);
    assert!(fs::read(&got).unwrap() == content(3_000_000));

    let rm = cp(&["rm", &format!("{url}/dir/a.bin"), &format!("{url}/dir/none")]).await;
    assert_eq!(rm.code, Some(1));
    assert_eq!(rm.err, "smbd-cp: dir/none: STATUS_OBJECT_NAME_NOT_FOUND (there is no file of this name)\n");
    let rm = cp(&["rm", "--directory", &format!("{url}/dir")]).await;
    assert_eq!(rm.err, "smbd-cp: dir: STATUS_DIRECTORY_NOT_EMPTY (the directory is not empty)\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn dialect_cipher_and_signing_are_those_that_are_asked_for() {
    let folder = folder("offer");
    let url = listen(&Host::new(|_| {})).await;
    let file = folder.join("f");
    fs::write(&file, content(100_000)).unwrap();
    for (options, dialect, protection) in [
        (&["--dialect", "3.0"][..], "3.0", ("AES-128-CCM", "AES-CMAC", "plain")),
        (&["--dialect", "3.0.2", "--encrypt"], "3.0.2", ("AES-128-CCM", "AES-CMAC", "tcp encrypted")),
        (&["--dialect", "3.1.1", "--sign"], "3.1.1", ("AES-128-GCM", "AES-GMAC", "tcp signed")),
        (&["--signing", "aes-cmac", "--sign"], "3.1.1", ("AES-128-GCM", "AES-CMAC", "tcp signed")),
        (&["--signing", "hmac-sha256", "--sign"], "3.1.1", ("AES-128-GCM", "HMAC-SHA256", "tcp signed")),
        (&["--cipher", "aes-256-ccm", "--encrypt"], "3.1.1", ("AES-256-CCM", "AES-GMAC", "tcp encrypted")),
        // The server chooses among several.
        (
            &["--cipher", "aes-256-gcm,aes-128-ccm", "--encrypt"],
            "3.1.1",
            ("AES-128-CCM", "AES-GMAC", "tcp encrypted"),
        ),
    ] {
        let put =
            cp(&[&["put", path(&file), &format!("{url}/f"), "--check", "--json"], options].concat()).await;
        assert_eq!((put.code, put.err.as_str()), (Some(0), ""), "{options:?}");
        let told: Value = serde_json::from_str(&put.out).unwrap();
        let said = ["dialect", "cipher", "signing", "way"].map(|name| told[name].as_str().unwrap());
        let (cipher, signing, way) = protection;
        assert_eq!(said, [dialect, cipher, signing, way], "{options:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_share_is_measured_by_reads_and_writes_of_a_file_that_is_long_enough() {
    let url = format!("{}/f", listen(&Host::new(|_| {})).await);
    let perf = async |verb: &str, options: &[&str]| {
        let said = cp(&[&["perf", verb, &url, "--json"], options].concat()).await;
        let told = serde_json::from_str::<Value>(&said.out).unwrap_or_default();
        (said, told)
    };
    // Pieces of 1 MiB, the last of them shorter.
    let long = ["--size", "2500K", "--at-once", "3", "--time", "0.01"];
    let (said, _) = perf("read", &long).await;
    assert_eq!(said.err, "smbd-cp: f: STATUS_OBJECT_NAME_NOT_FOUND (there is no file of this name)\n");
    for verb in ["write", "read"] {
        let (said, told) = perf(verb, &long).await;
        assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
        assert_eq!((&told["operation"], &told["at_once"]), (&verb.into(), &3.into()));
        let operations = told["operations"].as_u64().unwrap();
        assert!(operations >= 3 && told["seconds"].as_f64().unwrap() >= 0.01, "{told}");
        assert_eq!((&told["bytes"], &told["way"]), (&(operations * 2_560_000).into(), &"plain".into()));
    }
    let (said, _) = perf("read", &["--size", "2500K", "--at-once", "4"]).await;
    let expected = "f: the file has 7680000 bytes, and 4 operations of 2560000 bytes at once read 10240000";
    assert!(said.code == Some(1) && said.err.contains(expected), "{}", said.err);
    assert_eq!(perf("read", &["--size", "65M"]).await.0.code, Some(2));
    let said = cp(&["perf", "write", &url, "--time", "0", "--size", "1"]).await;
    assert!(
        said.out.starts_with("write: 1 bytes, 8 at once, ") && said.out.ends_with(" s, plain\n"),
        "{}",
        said.out
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_fails_is_told_and_the_others_are_copied() {
    let folder = folder("some");
    let url = listen(&Host::new(|_| {})).await;
    let file = folder.join("f");
    fs::write(&file, content(100)).unwrap();
    assert_eq!(cp(&["put", path(&file), &format!("{url}/f")]).await.code, Some(0));
    let out = folder.join("out");
    fs::create_dir(&out).unwrap();
    let get = cp(&["get", &format!("{url}/none"), &format!("{url}/f"), path(&out)]).await;
    assert_eq!(get.code, Some(1));
    assert_eq!(get.err, "smbd-cp: none: STATUS_OBJECT_NAME_NOT_FOUND (there is no file of this name)\n");
    assert_eq!(fs::read(out.join("f")).unwrap(), content(100));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_password_is_told_wherever_it_comes_from() {
    let folder = folder("password");
    let url = listen(&Host::new(|_| {})).await;
    let file = folder.join("password");
    fs::write(&file, "wrong\nsecond line\n").unwrap();
    let said = cp(&["ls", &url, "--password-file", path(&file)]).await;
    assert_eq!(said.code, Some(1));
    let expected = "cannot log in: STATUS_LOGON_FAILURE (the user or the password is wrong)\n";
    assert!(said.err.ends_with(expected), "{}", said.err);
    fs::write(&file, format!("{PASSWORD}\n")).unwrap();
    assert_eq!(cp(&["ls", &url, "--password-file", path(&file)]).await.code, Some(0));
    let said = cp(&["ls", &url, "--password-file", path(&folder.join("none"))]).await;
    assert!(said.err.contains("none: No such file"), "{}", said.err);
}

#[test]
fn ctrl_c_ends_the_program_while_a_server_says_nothing() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("smb://u@{}/s/f", listener.local_addr().unwrap());
    let out = folder("interrupted").join("out");
    let mut command = Command::new(env!("CARGO_BIN_EXE_smbd-cp"));
    command.args(["get", &url, path(&out)]).env("SMBD_PASSWORD", "x").stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    // NEGOTIATE has come, and nothing answers it.
    stream.read_exact(&mut [0; 8]).unwrap();
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(130));
    assert_eq!(ended.stderr, b"smbd-cp: stopped; --resume goes on where it stopped\n");
    assert!(!out.exists());
}

/// A server at a port that gets so many bytes of a connection. The rest is lost, and it is said when that begins.
async fn listen_to(bytes: u64, host: &Host) -> (String, oneshot::Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("smb://tester@{}/data", listener.local_addr().unwrap());
    let (host, (tell, told)) = (host.clone(), oneshot::channel());
    tokio::spawn(async move {
        let (mut from_client, mut to_client) = listener.accept().await.unwrap().0.into_split();
        let (here, there) = duplex(1 << 16);
        let (mut from_server, mut to_server) = split(here);
        tokio::spawn(host.serve(there, u64::MAX));
        tokio::spawn(async move { copy(&mut from_server, &mut to_client).await });
        copy(&mut (&mut from_client).take(bytes), &mut to_server).await.unwrap();
        tell.send(()).unwrap();
        let _ = copy(&mut from_client, &mut sink()).await;
        to_server.shutdown().await.unwrap();
    });
    (url, told)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_in_the_middle_of_a_copy_leaves_what_resume_goes_on_with() {
    let folder = folder("signal");
    let host = Host::new(|_| {});
    let url = listen(&host).await;
    let file = folder.join("f");
    fs::write(&file, content(3_000_000)).unwrap();
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let (halting, halted) = listen_to(1_500_000, &host).await;
        let mut command = Command::new(env!("CARGO_BIN_EXE_smbd-cp"));
        command.args(["put", path(&file), &format!("{halting}/f")]).env("SMBD_PASSWORD", PASSWORD);
        let child = command.stderr(Stdio::piped()).spawn().unwrap();
        halted.await.unwrap();
        kill_process(Pid::from_child(&child), signal).unwrap();
        let ended = spawn_blocking(|| child.wait_with_output().unwrap()).await.unwrap();
        assert_eq!(ended.status.code(), Some(code));
        assert_eq!(ended.stderr, b"smbd-cp: stopped; --resume goes on where it stopped\n");
        // The server sees the end of the connection.
        while host.files().open_count() > 0 {
            yield_now().await;
        }
        let ls = cp(&["ls", &url]).await.out;
        assert!(ls.ends_with(" f.smbd-partial\n") && ls.lines().count() == 1, "{ls}");
        let put = cp(&["put", path(&file), &format!("{url}/f"), "--resume", "--check"]).await;
        assert_eq!((put.code, put.err.as_str()), (Some(0), ""));
        let ls = cp(&["ls", &url]).await.out;
        assert!(ls.ends_with(" f\n") && ls.lines().count() == 1, "{ls}");
        assert_eq!(cp(&["rm", &format!("{url}/f")]).await.code, Some(0));
    }
}

#[test]
fn what_cannot_be_written_to_standard_output_is_told() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_smbd-cp"));
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let Output { status, stderr, .. } = command.arg("--help").stdout(full).output().unwrap();
    assert_eq!(status.code(), Some(2));
    assert!(stderr.starts_with(b"smbd-cp: standard output: No space left on device"));
    let said = run(&["--version"], None);
    assert!(said.code == Some(0) && said.out.starts_with("smbd-cp ") && said.err.is_empty());
}

#[test]
fn wrong_usage_has_status_2_and_says_what_is_wrong() {
    for (arguments, said) in [
        (&["get", "smb://u@h/s/f"][..], "OUT: there is none"),
        (&["put", "f"], "URL: there is none"),
        (&["get", "smb://u@h/s/f", "-"], "'-': files are copied"),
        (&["put", "-", "smb://u@h/s/"], "'-': files are copied"),
        (&["get", "smb://u@h/s/f", "/no/such/"], "there is no directory '/no/such/'; make it first"),
        (&["ls", "http://u@h/s"], "scheme: 'http://' is neither rdma:// nor smb://"),
        (&["ls", "smb://h/s"], "user: there is none"),
        (&["get", "f", "out"], "'f': scheme: 'f' is neither"),
        (&["get", "smb://u@h/s/a", "smb://u@other/s/b", "."], "all URLs have to be of one server"),
        (&["get", "smb://u@h/s/a", "smb://u@h/s/b", "/no/such"], "'/no/such' has to be a directory"),
        (&["get", "smb://u@h/s/x/a", "smb://u@h/s/y/a", "."], "two files are called 'a'"),
        (&["get", "smb://u@h/s/dir/", "out"], "smb://u@h/s/dir is a directory"),
        (&["put", "a", "b", "smb://u@h/s/f"], "the URL has to be a directory"),
        (&["rm", "smb://u@h/s"], "path: there is none behind the share s"),
        (&["get", "smb://u@h/s/f", "out", "--pieces", "33"], "33 is not in 1..=32"),
        (&["ls", "smb://u@h/s", "--dialect", "2.1"], "it has to be one of 3.0, 3.0.2, 3.1.1"),
        (&["ls", "smb://u@h/s", "--cipher", "aes-256-gcm", "--dialect", "3.0"], "3.0 has aes-128-ccm only"),
        (&["ls", "smb://u@h/s", "--signing", "aes-gmac", "--dialect", "3.0.2"], "signs with aes-cmac only"),
    ] {
        let Said { code, err, .. } = run(arguments, Some("x"));
        assert_eq!(code, Some(2), "{arguments:?}: {err}");
        assert!(err.contains(said), "{arguments:?}: {err}");
    }
}

#[cfg(not(feature = "verbs"))]
#[test]
fn rdma_says_which_feature_it_needs_before_a_password_is_asked_for() {
    let Said { code, err, .. } = run(&["ls", "rdma://u@h/s"], None);
    assert_eq!(code, Some(2));
    assert!(
        err.contains("rdma:// is not built in; cargo install smbd-client --features program,verbs"),
        "{err}"
    );
}

#[test]
fn a_server_that_does_not_answer_is_named_with_its_address() {
    // A port that was just given back.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let Said { code, err, .. } = run(&["ls", &format!("smb://u@127.0.0.1:{port}/s")], Some("x"));
    assert_eq!(code, Some(1));
    let expected =
        format!("smbd-cp: smb://u@127.0.0.1:{port}/s: cannot connect: 127.0.0.1:{port}: Connection refused");
    assert!(err.starts_with(&expected), "{err}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_multichannel_is_told_and_files_are_copied_over_one_connection() {
    let folder = folder("channels-none");
    let url = listen(&Host::new(|_| {})).await;
    let file = folder.join("f");
    fs::write(&file, content(3_000_000)).unwrap();
    let put = cp(&["put", path(&file), &format!("{url}/f"), "--channels", "4", "--json"]).await;
    assert_eq!(put.code, Some(0));
    assert!(
        put.err.contains(": no further connection: STATUS_") && put.err.lines().count() == 1,
        "{}",
        put.err
    );
    let told: Value = serde_json::from_str(&put.out).unwrap();
    assert_eq!((&told["connections"], &told["lost"]), (&1.into(), &0.into()));
    let get = cp(&["get", &format!("{url}/f"), path(&folder.join("got")), "--channels", "9"]).await;
    assert_eq!(get.code, Some(2));
}
