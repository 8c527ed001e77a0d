//! What a new user does wrong: each is told what is wrong and what to do, with the right exit status, and nothing panics.

use std::fs::{self, File, OpenOptions};
use std::os::fd::OwnedFd;
use std::process::{Command, Output, Stdio};

use tokio::task::spawn_blocking;

use super::program::{cp, listen, path};
use super::server::{Host, PASSWORD, content, folder};

/// Runs the program with this standard output or error.
async fn into(arguments: &[&str], out: Option<OwnedFd>, err: Option<OwnedFd>) -> Output {
    let or_pipe = |fd: Option<OwnedFd>| fd.map_or_else(Stdio::piped, Stdio::from);
    let mut command = Command::new(env!("CARGO_BIN_EXE_smbd-cp"));
    command.args(arguments).env("SMBD_PASSWORD", PASSWORD).stdout(or_pipe(out)).stderr(or_pipe(err));
    spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

fn full() -> Option<OwnedFd> {
    Some(OpenOptions::new().write(true).open("/dev/full").unwrap().into())
}

/// Runs the program with a limit on the size of files, in blocks of the shell (512 or 1024 bytes).
async fn limited(blocks: u32, arguments: &[&str], out: Option<OwnedFd>) -> Output {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("ulimit -f {blocks}; exec \"$@\"")).arg("sh");
    command.arg(env!("CARGO_BIN_EXE_smbd-cp")).args(arguments).env("SMBD_PASSWORD", PASSWORD);
    command.stdout(out.map_or_else(Stdio::piped, Stdio::from));
    spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

/// The end of a pipe whose other end is closed.
fn closed() -> Option<OwnedFd> {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    Some(writer.into())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_output_that_is_closed_or_full_loses_no_file_and_panics_nowhere() {
    let folder = folder("misuse-output");
    let url = listen(&Host::new(|_| {})).await;
    let file = folder.join("f");
    fs::write(&file, content(100_000)).unwrap();
    let (dir, far, back) = (format!("{url}/"), format!("{url}/f"), folder.join("back"));
    for arguments in [
        &["put", path(&file), &dir][..],
        &["get", &far, path(&back)],
        &["get", &far, path(&back), "--json"],
        &["ls", &url],
        &["ls", &url, "--json"],
        &["perf", "read", &far, "--time", "0", "--size", "1K"],
    ] {
        let said = into(arguments, closed(), None).await;
        assert_eq!((said.status.code(), said.stderr.as_slice()), (Some(0), &b""[..]), "{arguments:?}");
        let said = into(arguments, full(), None).await;
        let err = String::from_utf8(said.stderr).unwrap();
        assert_eq!(said.status.code(), Some(1), "{arguments:?}: {err}");
        assert!(err.starts_with("smbd-cp: standard output: No space left"), "{arguments:?}: {err}");
        if arguments[0] == "get" {
            assert_eq!(fs::read(&back).unwrap(), content(100_000));
            fs::remove_file(&back).unwrap();
        }
    }
    for err in [full(), closed()] {
        assert_eq!(into(&["rm", &format!("{url}/none")], None, err).await.status.code(), Some(1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_past_the_limit_of_the_process_is_an_error_that_names_it_and_leaves_a_beginning_to_resume() {
    let folder = folder("misuse-file-size");
    let url = listen(&Host::new(|_| {})).await;
    let file = folder.join("f");
    fs::write(&file, content(100_000)).unwrap();
    assert_eq!(cp(&["put", path(&file), &format!("{url}/f")]).await.code, Some(0));
    let (far, back) = (format!("{url}/f"), folder.join("back"));
    let failed = limited(8, &["get", &far, path(&back)], None).await;
    let err = String::from_utf8(failed.stderr).unwrap();
    assert_eq!(failed.status.code(), Some(1), "{:?} {err}", failed.status);
    let partial = folder.join("back.smbd-partial");
    assert!(err.contains(&format!("{}: File too large", path(&partial))), "{err}");
    assert!(!back.exists() && fs::metadata(&partial).unwrap().len() < 100_000);
    assert_eq!(cp(&["get", &far, path(&back), "--resume"]).await.code, Some(0));
    assert_eq!(fs::read(&back).unwrap(), content(100_000));
    for (arguments, code) in [(&["ls", &url][..], 1), (&["ls", &url, "--json"], 1), (&["--help"], 2)] {
        let out = File::create(folder.join("out")).unwrap();
        let failed = limited(0, arguments, Some(out.into())).await;
        let err = String::from_utf8(failed.stderr).unwrap();
        assert_eq!(failed.status.code(), Some(code), "{arguments:?}: {:?} {err}", failed.status);
        assert!(err.starts_with("smbd-cp: standard output: File too large"), "{arguments:?}: {err}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_copied_is_told_with_what_to_do() {
    let folder = folder("misuse-copies");
    let url = listen(&Host::new(|_| {})).await;
    let [file, out] = ["f", "out"].map(|name| folder.join(name));
    fs::write(&file, content(1000)).unwrap();
    let far = |name: &str| format!("{url}/{name}");
    assert_eq!(cp(&["mkdir", &far("dir")]).await.code, Some(0));
    for (arguments, said) in [
        (&["put", path(&file), &far("dir")][..], "with a / at its end the URL is where files are put"),
        (&["put", path(&folder), &far("x")], "it is a directory"),
        (&["put", "/dev/null", &far("x")], "it is a device, a socket or a pipe"),
        (&["put", path(&file), &far("none/f")], "a directory of the path is not there"),
        (&["get", &far("dir"), path(&out)], "single files are copied"),
        (&["ls", &url, "--wireshark-keys", "/no/such/file"], "--wireshark-keys /no/such/file: No such file"),
    ] {
        let told = cp(arguments).await;
        assert_eq!((told.code, told.out.as_str()), (Some(1), ""), "{arguments:?}: {}", told.err);
        assert!(told.err.starts_with("smbd-cp: ") && told.err.contains(said), "{arguments:?}: {}", told.err);
    }
    assert!(!out.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn names_with_spaces_and_of_any_script_go_there_and_back() {
    let folder = folder("misuse-names");
    let url = listen(&Host::new(|_| {})).await;
    for (name, far) in [
        ("a b", "a b"),
        ("\u{fc} \u{4e2d}\u{6587}", "%C3%BC%20\u{4e2d}\u{6587}"),
        ("100%", "100%25"),
        ("a;b@c", "a;b@c"),
    ] {
        let (file, back) = (folder.join(name), folder.join("back"));
        fs::write(&file, name).unwrap();
        let put = cp(&["put", path(&file), &format!("{url}/"), "--quiet"]).await;
        assert_eq!((put.code, put.err.as_str()), (Some(0), ""), "{name}");
        let get = cp(&["get", &format!("{url}/{far}"), path(&back), "--quiet"]).await;
        assert_eq!((get.code, get.err.as_str()), (Some(0), ""), "{name}");
        assert_eq!(fs::read_to_string(&back).unwrap(), name);
        drop(File::create(&back).unwrap());
    }
}
