//! `smbd-serve user`: users of a file.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::process::Stdio;

use super::program::{Serve, command, text};
use super::words::folder;
use smbd_testkit::terminal::Terminal;

/// Runs a command that gets a line: its status and what it said.
fn user(arguments: &[&str], typed: &str) -> (Option<i32>, String) {
    let mut command = command(&[&["user"], arguments].concat());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // One that does not want it has ended.
    let _ = child.stdin.take().unwrap().write_all(typed.as_bytes());
    let output = child.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(said).unwrap())
}

fn said(status: i32, text: &str) -> (Option<i32>, String) {
    (Some(status), text.to_owned())
}

#[test]
fn a_user_who_was_added_is_let_in_with_the_new_password_and_one_who_was_removed_is_not() {
    let folder = folder("users");
    let path = folder.join("users");
    let file = text(&path);
    assert_eq!(user(&["add", file, "tester"], "first\n"), said(0, "tester: added\n"));
    assert_eq!(user(&["add", file, "other"], "second"), said(0, "other: added\n"));
    assert_eq!(user(&["add", file, "TESTER"], "third\n"), said(0, "TESTER: has another password\n"));
    assert_eq!(user(&["list", file], ""), said(0, "TESTER\nother\n"));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!fs::read_to_string(&path).unwrap().contains("third"), "the file has no password");
    let lets_in =
        |name: &str, password: &str| Serve::start(&[text(&folder), "--users", file]).lets_in(name, password);
    assert!(lets_in("tester", "third") && lets_in("other", "second"));
    assert!(!lets_in("tester", "first"));
    assert_eq!(user(&["remove", file, "Other"], ""), said(0, "Other: removed\n"));
    assert!(!lets_in("other", "second"));
    let not_there = format!("smbd-serve: other is no user of {file}\n");
    assert_eq!(user(&["remove", file, "other"], ""), said(1, &not_there));
}

#[test]
fn lines_of_others_and_a_file_with_a_fault_stay_as_they_are() {
    let folder = folder("users-lines");
    let path = folder.join("users");
    let write = |text: &str| {
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    };
    write("# ours\n\none:password:a:b c\ntwo:password:x");
    assert_eq!(user(&["add", text(&path), "three"], "y\n").0, Some(0));
    let new = fs::read_to_string(&path).unwrap();
    assert!(new.starts_with("# ours\n\none:password:a:b c\ntwo:password:x\nthree:nt:"), "{new}");
    write("one:password:x\nnonsense\n");
    for arguments in [["add", text(&path), "three"], ["remove", text(&path), "one"]] {
        let (code, said) = user(&arguments, "y\n");
        assert_eq!((code, said.contains(", line 2: ")), (Some(1), true), "{said}");
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "one:password:x\nnonsense\n");
    assert_eq!(others(&folder), ["users"], "nothing is left beside the file");
}

/// Names of a folder.
fn others(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn what_is_no_name_or_no_password_changes_nothing() {
    let folder = folder("users-wrong");
    let path = folder.join("users");
    for (name, typed, why) in [
        ("a:b", "x\n", "it has a colon"),
        ("#a", "x\n", "it begins with #"),
        ("a", "\n", "the password is empty"),
        ("a", "", "the password is empty"),
        ("a", &"x".repeat(5000), "more than 4096 bytes"),
    ] {
        let (code, said) = user(&["add", text(&path), name], typed);
        assert_eq!((code, said.contains(why)), (Some(1), true), "{said}");
        assert!(!path.exists());
    }
    assert_eq!(user(&["list", text(&path)], "").0, Some(1));
}

#[test]
fn a_link_to_a_file_of_users_stays_one() {
    let folder = folder("users-link");
    let (file, link) = (folder.join("file"), folder.join("link"));
    assert_eq!(user(&["add", text(&file), "one"], "x\n").0, Some(0));
    let before = fs::metadata(&file).unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    assert_eq!(user(&["add", text(&link), "two"], "y\n").0, Some(0));
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    let after = fs::metadata(&file).unwrap();
    assert_ne!(before.ino(), after.ino(), "the whole file was replaced");
    assert_eq!(user(&["list", text(&file)], ""), said(0, "one\ntwo\n"));
}

/// `user add` at a terminal, at which these are typed: the status, and what the program said.
fn typed(file: &str, first: &str, again: &str) -> (Option<i32>, String) {
    let mut terminal = Terminal::open();
    let child = terminal.starts(env!("CARGO_BIN_EXE_smbd-serve"), |serve| {
        serve.args(["user", "add", file, "tester"]);
    });
    assert_eq!(terminal.until(": "), "Password of tester: ");
    assert_eq!(terminal.modes(), [false; 3], "what is typed is not shown");
    terminal.types(first);
    assert_eq!(terminal.until(": "), "\r\nThe same again: ");
    terminal.types(again);
    let output = child.wait_with_output().unwrap();
    assert_eq!(terminal.rest(), "\r\n");
    (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
}

#[test]
fn at_a_terminal_a_password_is_typed_twice_and_not_shown() {
    let folder = folder("users-terminal");
    let path = folder.join("users");
    let (code, said) = typed(text(&path), "first\n", "second\n");
    assert_eq!((code, said.contains("these are two passwords")), (Some(1), true), "{said}");
    assert!(!path.exists());
    let added = (Some(0), "tester: added\n".to_owned());
    assert_eq!(typed(text(&path), "first\n", "first\n"), added);
    let by_pipe = folder.join("pipe");
    assert_eq!(user(&["add", text(&by_pipe), "tester"], "first\n").0, Some(0));
    assert_eq!(fs::read(&path).unwrap(), fs::read(&by_pipe).unwrap());
}
