use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use proptest::prelude::*;
use smbd_smb2::server::{Attributes, Entry, FileSystem};
use smbd_smb2::wire::NtStatus;

use super::Rig;

fn names(entries: &[Entry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.name.as_str()).collect()
}

#[test]
fn what_is_no_file_or_has_no_name_is_not_shown() {
    let mut rig = Rig::new();
    rig.write("f:1", b"");
    fs::create_dir(rig.host("d")).unwrap();
    symlink("f:1", rig.host("link")).unwrap();
    fs::write(rig.host("").join(std::ffi::OsStr::from_bytes(b"\xff")), b"").unwrap();
    drop(std::os::unix::net::UnixListener::bind(rig.host("socket")).unwrap());
    let root = rig.open("").unwrap();
    let entries = rig.folder.list(&root, 0, 100).unwrap();
    let names: BTreeSet<_> = names(&entries).into_iter().collect();
    assert_eq!(names, BTreeSet::from([".", "..", "d", "f\u{F022}1"]));
    let file = rig.open("f\u{F022}1").unwrap();
    assert_eq!(rig.folder.list(&file, 0, 100).map(|_| ()), Err(NtStatus::NOT_A_DIRECTORY));
}

#[test]
fn an_entry_is_the_file_that_its_name_opens() {
    let mut rig = Rig::new();
    fs::create_dir(rig.host("d")).unwrap();
    rig.write("d/f", b"12345");
    let directory = rig.open("d").unwrap();
    let entries = rig.folder.list(&directory, 0, 100).unwrap();
    let root = rig.open("").unwrap();
    let file = rig.open("d\\f").unwrap();
    for (name, file) in [(".", &directory), ("..", &root), ("f", &file)] {
        let entry = entries.iter().find(|entry| entry.name == name).unwrap();
        // To list a directory is to read it.
        let timeless = |known: Attributes| Attributes { last_access_time: 0, ..known };
        let known = rig.folder.attributes(file).unwrap();
        assert_eq!(timeless(entry.attributes), timeless(known), "{name}");
    }
    // Nothing is above the root.
    let above = &rig.folder.list(&root, 0, 2).unwrap()[1];
    assert_eq!(above.attributes.id, rig.folder.attributes(&root).unwrap().id);
}

#[test]
fn what_had_no_room_is_told_again_and_what_comes_later_is_told_from_the_beginning() {
    let mut rig = Rig::new();
    for at in 0..20 {
        rig.write(&format!("f{at}"), b"");
    }
    let root = rig.open("").unwrap();
    let all = rig.folder.list(&root, 0, 100).unwrap();
    let position = |at: usize| all[at].position;
    // The server told five of the ten that it asked for.
    let ten = rig.folder.list(&root, 0, 10).unwrap();
    let rest = rig.folder.list(&root, ten[4].position, 100).unwrap();
    assert_eq!(names(&rest), names(&all[5..]));
    // A restart in the middle, and a place from which nothing is known any more.
    assert_eq!(rig.folder.list(&root, position(20), 100).unwrap().len(), 1);
    assert_eq!(names(&rig.folder.list(&root, position(2), 2).unwrap()), names(&all[3..5]));
    rig.write("later", b"");
    assert_eq!(rig.folder.list(&root, 0, 100).unwrap().len(), 23);
}

#[test]
fn files_behind_many_that_nobody_sees_are_told() {
    let mut rig = Rig::new();
    for at in 0..200 {
        symlink("f", rig.host(&format!("{at}{}", "x".repeat(200)))).unwrap();
        rig.write(&format!("f{at}"), b"");
    }
    let root = rig.open("").unwrap();
    for max in [1, 7, 512] {
        let (mut told, mut after) = (0, 0);
        loop {
            let entries = rig.folder.list(&root, after, max).unwrap();
            let Some(last) = entries.last() else { break };
            (told, after) = (told + entries.len(), last.position);
        }
        assert_eq!(told, 202);
    }
}

#[test]
fn an_open_directory_takes_two_descriptors_and_12_kib_of_its_names() {
    let mut rig = Rig::new();
    drop(rig.make_directory("d").unwrap());
    let directory = rig.make_directory("d\\e").unwrap();
    for at in 0..1000 {
        rig.write(&format!("d/e/{at}{}", "x".repeat(200)), b"");
    }
    let listing = std::sync::Arc::clone(
        &rig.folder.table.lock().opened(directory.key, directory.open).unwrap().listing,
    );
    let (mut told, mut after) = (0, 0);
    loop {
        let entries = rig.folder.list(&directory, after, 512).unwrap();
        let bytes = listing.lock().unwrap().as_ref().unwrap().bytes();
        assert!(bytes <= (12 << 10) + 256, "{bytes}");
        let Some(last) = entries.last() else { break };
        (told, after) = (told + entries.len(), last.position);
        let open = fs::read_dir("/proc/self/fd").unwrap().filter_map(Result::ok);
        let its = open.filter(|fd| fs::read_link(fd.path()).is_ok_and(|to| to.starts_with(rig.host("d"))));
        assert_eq!(its.count(), 2);
    }
    assert_eq!(told, 1002);
    assert_eq!(listing.lock().unwrap().as_ref().unwrap().bytes(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn every_file_is_told_once_however_few_are_told_at_once(count in 0..40_usize, max in 1..12_usize) {
        let mut rig = Rig::new();
        for at in 0..count {
            rig.write(&format!("f{at}"), b"");
        }
        let root = rig.open("").unwrap();
        let (mut told, mut after) = (Vec::new(), 0);
        loop {
            let entries = rig.folder.list(&root, after, max).unwrap();
            let Some(last) = entries.last() else { break };
            prop_assert!(entries.is_sorted_by_key(|entry| entry.position) && entries.len() <= max);
            prop_assert!(entries[0].position > after);
            after = last.position;
            told.extend(entries.into_iter().map(|entry| entry.name));
        }
        let once: BTreeSet<_> = told.iter().collect();
        prop_assert_eq!((told.len(), once.len()), (count + 2, count + 2));
    }
}
