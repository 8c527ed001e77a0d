//! Several threads use a folder whose disk is slow.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};

use smbd_smb2::server::{Change, FileResult, FileSystem, SharePath};
use smbd_smb2::wire::{
    AccessMask, CreateAction, CreateDisposition, CreateOptions, NtStatus, ShareAccess, Text,
};

use super::{FolderFile, How, Rig};
use crate::folder::Act;

const DELETE: Change = Change::Delete(true);

fn rename(to: &str) -> Change {
    Change::Rename { path: SharePath::parse(Text::from(to)).unwrap(), replace: true }
}

/// Opens something in a thread.
fn opens(rig: &Rig, path: &str, how: How) -> JoinHandle<FileResult<(FolderFile, CreateAction)>> {
    let (mut folder, parameters) = (rig.folder.clone(), how.parameters(path).unwrap());
    thread::spawn(move || folder.open(&parameters, 0))
}

/// Changes a file in a thread.
fn changes(rig: &Rig, file: &FolderFile, change: Change) -> JoinHandle<FileResult<()>> {
    let (mut folder, file) = (rig.folder.clone(), file.clone());
    thread::spawn(move || folder.change(&file, &change, 0))
}

fn closes(rig: &Rig, file: &FolderFile) -> JoinHandle<()> {
    let (mut folder, file) = (rig.folder.clone(), file.clone());
    thread::spawn(move || folder.close(file, 0))
}

impl Rig {
    /// Returns when `act` is being done by `thread`.
    fn stopped<T>(&self, act: Act, thread: impl FnOnce() -> JoinHandle<T>) -> JoinHandle<T> {
        self.folder.slow.stop_at(act);
        let thread = thread();
        self.folder.slow.reached();
        thread
    }

    /// Returns when a thread waits for another, or has ended.
    fn waits<T>(&self, thread: &JoinHandle<T>) {
        let waits = || self.folder.table.waiting.load(Ordering::SeqCst) > 0;
        while !waits() && !thread.is_finished() {
            thread::yield_now();
        }
    }

    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.host("")).unwrap();
        let mut names: Vec<_> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

#[test]
fn a_name_that_is_being_made_is_made_once_whatever_its_capitals() {
    for (disposition, expected) in [
        (CreateDisposition::CREATE, Err(NtStatus::OBJECT_NAME_COLLISION)),
        (CreateDisposition::OPEN_IF, Ok(CreateAction::OPENED)),
        (CreateDisposition::OVERWRITE_IF, Ok(CreateAction::OVERWRITTEN)),
    ] {
        for other in ["new", "NEW"] {
            let rig = Rig::new();
            let first = rig.stopped(Act::Open, || opens(&rig, "new", How::of(CreateDisposition::CREATE)));
            let second = opens(&rig, other, How::of(disposition));
            rig.waits(&second);
            rig.folder.slow.go_on();
            assert_eq!(first.join().unwrap().unwrap().1, CreateAction::CREATED);
            assert_eq!(second.join().unwrap().map(|(_, action)| action), expected, "{other}");
            assert_eq!(rig.names(), ["new"]);
        }
    }
}

#[test]
fn a_file_that_is_being_made_is_shared_as_its_maker_shares_it() {
    let rig = Rig::new();
    let alone = How { share: ShareAccess(0), ..How::of(CreateDisposition::CREATE) };
    let first = rig.stopped(Act::Open, || opens(&rig, "new", alone));
    let second = opens(&rig, "new", How::of(CreateDisposition::OPEN_IF));
    rig.waits(&second);
    rig.folder.slow.go_on();
    first.join().unwrap().unwrap();
    assert_eq!(second.join().unwrap().unwrap_err(), NtStatus::SHARING_VIOLATION);
}

#[test]
fn a_file_that_is_being_opened_is_shared_as_its_opener_shares_it() {
    let mut rig = Rig::new();
    rig.write("f", b"");
    fs::hard_link(rig.host("f"), rig.host("link")).unwrap();
    let alone = How { share: ShareAccess(0), ..How::default() };
    let first = rig.stopped(Act::Open, || opens(&rig, "f", alone));
    // By any of its names, and at once.
    for name in ["f", "link"] {
        assert_eq!(rig.open(name).unwrap_err(), NtStatus::SHARING_VIOLATION);
    }
    rig.folder.slow.go_on();
    let file = first.join().unwrap().unwrap().0;
    rig.close(file);
    rig.open("link").unwrap();
}

#[test]
fn an_open_that_fails_is_taken_back() {
    let mut rig = Rig::new();
    rig.write("f", b"");
    let alone = How { share: ShareAccess(0), ..How::default() };
    let first = rig.stopped(Act::Open, || opens(&rig, "f", alone));
    fs::rename(rig.host("f"), rig.host("g")).unwrap();
    rig.folder.slow.go_on();
    assert_eq!(first.join().unwrap().unwrap_err(), NtStatus::OBJECT_NAME_NOT_FOUND);
    rig.open("g").unwrap();
}

#[test]
fn a_file_goes_with_an_open_that_is_taken_back_if_it_is_the_last() {
    let mut rig = Rig::new();
    let file = rig.make("f").unwrap();
    let how = How { options: CreateOptions::DELETE_ON_CLOSE, ..How::default() };
    let opens = rig.stopped(Act::Open, || opens(&rig, "f", how));
    rig.folder.change(&file, &DELETE, 0).unwrap();
    rig.close(file);
    assert_eq!(rig.names(), ["f"]);
    // It cannot be opened to be deleted any more.
    fs::set_permissions(rig.host("f"), Permissions::from_mode(0o444)).unwrap();
    rig.folder.slow.go_on();
    assert_eq!(opens.join().unwrap().unwrap_err(), NtStatus::CANNOT_DELETE);
    assert_eq!(rig.names(), [""; 0]);
}

#[test]
fn a_file_that_is_being_deleted_is_not_opened() {
    let mut rig = Rig::new();
    let file = rig.make("f").unwrap();
    rig.folder.change(&file, &DELETE, 0).unwrap();
    let closes = rig.stopped(Act::Delete, || closes(&rig, &file));
    let keeps = rig.folder.change(&file, &Change::Delete(false), 0);
    assert_eq!(keeps, Err(NtStatus::FILE_CLOSED), "nothing keeps it any more");
    for disposition in [CreateDisposition::OPEN, CreateDisposition::OPEN_IF, CreateDisposition::CREATE] {
        let opened = rig.open_as("f", How::of(disposition)).map(|_| ());
        assert_eq!(opened, Err(NtStatus::DELETE_PENDING));
    }
    rig.folder.slow.go_on();
    closes.join().unwrap();
    assert_eq!(rig.open("f").unwrap_err(), NtStatus::OBJECT_NAME_NOT_FOUND);
    rig.make("f").unwrap();
}

#[test]
fn a_directory_into_which_a_file_is_coming_is_not_marked_to_be_deleted() {
    for renames in [false, true] {
        for at_close in [false, true] {
            let mut rig = Rig::new();
            let directory = rig.make_directory("d").unwrap();
            let share = How {
                access: AccessMask::READ_DATA,
                options: if at_close { CreateOptions::DELETE_ON_CLOSE } else { CreateOptions::NONE },
                ..How::default()
            };
            rig.close(directory);
            let comes = if renames {
                let file = rig.make("f").unwrap();
                rig.stopped(Act::Rename, || {
                    let (mut folder, to) = (rig.folder.clone(), rename("d\\f"));
                    thread::spawn(move || folder.change(&file, &to, 0))
                })
            } else {
                rig.stopped(Act::Open, || {
                    let opened = opens(&rig, "d\\f", How::of(CreateDisposition::CREATE));
                    thread::spawn(move || opened.join().unwrap().map(|_| ()))
                })
            };
            let access = if at_close { share.access | AccessMask::DELETE } else { super::ALL };
            let directory = rig.open_as("d", How { access, ..share }).unwrap().0;
            if at_close {
                let closes = closes(&rig, &directory);
                rig.waits(&closes);
                rig.folder.slow.go_on();
                closes.join().unwrap();
            } else {
                let marks = changes(&rig, &directory, DELETE);
                rig.waits(&marks);
                rig.folder.slow.go_on();
                assert_eq!(marks.join().unwrap(), Err(NtStatus::DIRECTORY_NOT_EMPTY));
            }
            comes.join().unwrap().unwrap();
            assert!(rig.host("d/f").exists());
            rig.open("d\\f").unwrap();
        }
    }
}

#[test]
fn what_is_beneath_a_directory_that_is_being_renamed_is_opened_before_or_after() {
    for disposition in [CreateDisposition::OPEN, CreateDisposition::OPEN_IF, CreateDisposition::CREATE] {
        let mut rig = Rig::new();
        fs::create_dir(rig.host("d")).unwrap();
        let is_there = disposition == CreateDisposition::OPEN;
        if is_there {
            rig.write("d/f", b"");
        }
        let directory = rig.open("d").unwrap();
        let renames = rig.stopped(Act::Rename, || changes(&rig, &directory, rename("e")));
        let opens = opens(&rig, "d\\f", How::of(disposition));
        rig.waits(&opens);
        rig.folder.slow.go_on();
        renames.join().unwrap().unwrap();
        assert_eq!(opens.join().unwrap().map(|_| ()), Err(NtStatus::OBJECT_PATH_NOT_FOUND));
        assert_eq!(rig.host("e/f").exists(), is_there);
    }
    // The other way round: what is being made is as good as open.
    let mut rig = Rig::new();
    let directory = rig.make_directory("d").unwrap();
    let makes = rig.stopped(Act::Open, || opens(&rig, "d\\f", How::of(CreateDisposition::CREATE)));
    assert_eq!(rig.folder.change(&directory, &rename("e"), 0), Err(NtStatus::ACCESS_DENIED));
    rig.folder.slow.go_on();
    makes.join().unwrap().unwrap();
}

#[test]
fn two_renames_to_one_name_come_one_after_the_other() {
    let mut rig = Rig::new();
    let (one, two) = (rig.make("one").unwrap(), rig.make("two").unwrap());
    let first = rig.stopped(Act::Rename, || changes(&rig, &one, rename("to")));
    let second = changes(&rig, &two, rename("TO"));
    rig.waits(&second);
    rig.folder.slow.go_on();
    first.join().unwrap().unwrap();
    // What is open is not replaced.
    assert_eq!(second.join().unwrap(), Err(NtStatus::ACCESS_DENIED));
    assert_eq!(rig.names(), ["to", "two"]);
}

#[test]
fn a_file_that_is_being_renamed_goes_under_its_new_name() {
    let mut rig = Rig::new();
    let file = rig.make("f").unwrap();
    let renames = rig.stopped(Act::Rename, || changes(&rig, &file, rename("g")));
    rig.folder.change(&file, &DELETE, 0).unwrap();
    let closes = closes(&rig, &file);
    rig.waits(&closes);
    rig.folder.slow.go_on();
    renames.join().unwrap().unwrap();
    closes.join().unwrap();
    assert_eq!(rig.names(), [""; 0]);
}

#[test]
fn a_name_from_which_a_file_is_being_moved_is_made_anew() {
    let mut rig = Rig::new();
    let file = rig.make("f").unwrap();
    let renames = rig.stopped(Act::Rename, || changes(&rig, &file, rename("g")));
    // As long as it is there it is opened.
    assert_eq!(rig.open_as("f", How::of(CreateDisposition::OPEN_IF)).unwrap().1, CreateAction::OPENED);
    rig.folder.slow.go_on();
    renames.join().unwrap().unwrap();
    assert_eq!(rig.open_as("f", How::of(CreateDisposition::OPEN_IF)).unwrap().1, CreateAction::CREATED);
    assert_eq!(rig.names(), ["f", "g"]);
}
