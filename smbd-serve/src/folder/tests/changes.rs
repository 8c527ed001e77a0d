use std::fs;

use smbd_smb2::server::{BasicChange, Change, FileSystem, SharePath, TimeChange};
use smbd_smb2::wire::{AccessMask, CreateDisposition, CreateOptions, FileAttributes, NtStatus, Text};

use super::super::beneath::Place;
use super::super::removal;
use super::{How, Rig};

fn rename(to: &str, replace: bool) -> Change {
    Change::Rename { path: SharePath::parse(Text::from(to)).unwrap(), replace }
}

const DELETE: Change = Change::Delete(true);

#[test]
fn a_file_goes_with_the_last_who_has_it_open() {
    let mut rig = Rig::new();
    let (one, other) = (rig.make("f").unwrap(), rig.open("f").unwrap());
    rig.folder.change(&one, &DELETE, 0).unwrap();
    assert!(rig.folder.attributes(&other).unwrap().is_delete_pending);
    rig.close(one);
    assert_eq!(rig.status("f"), NtStatus::DELETE_PENDING);
    assert!(rig.host("f").exists());
    rig.close(other);
    assert!(!rig.host("f").exists());
    assert_eq!(rig.status("f"), NtStatus::OBJECT_NAME_NOT_FOUND);
}

#[test]
fn a_file_that_is_not_to_be_deleted_any_more_stays() {
    let mut rig = Rig::new();
    let file = rig.make("f").unwrap();
    rig.folder.change(&file, &DELETE, 0).unwrap();
    rig.folder.change(&file, &Change::Delete(false), 0).unwrap();
    rig.close(file);
    assert!(rig.host("f").exists());
}

#[test]
fn what_is_deleted_on_close_goes_with_a_directory_only_if_that_is_empty() {
    let mut rig = Rig::new();
    let options = CreateOptions::DELETE_ON_CLOSE;
    let how = How { options, ..How::of(CreateDisposition::CREATE) };
    let (file, _) = rig.open_as("f", how).unwrap();
    rig.close(file);
    assert!(!rig.host("f").exists());

    let directory = How { options: options | CreateOptions::DIRECTORY_FILE, ..how };
    let (file, _) = rig.open_as("d", directory).unwrap();
    rig.write("d/child", b"");
    rig.close(file);
    assert!(rig.host("d").exists());
    let file = rig.open("d").unwrap();
    assert_eq!(rig.folder.change(&file, &DELETE, 0), Err(NtStatus::DIRECTORY_NOT_EMPTY));
    fs::remove_file(rig.host("d/child")).unwrap();
    rig.folder.change(&file, &DELETE, 0).unwrap();
    assert_eq!(rig.make("d\\new").map(|_| ()), Err(NtStatus::DELETE_PENDING));
    rig.close(file);
    assert!(!rig.host("d").exists());
}

#[test]
fn the_root_is_neither_deleted_nor_renamed() {
    let mut rig = Rig::new();
    let root = rig.open("").unwrap();
    assert_eq!(rig.folder.change(&root, &DELETE, 0), Err(NtStatus::CANNOT_DELETE));
    assert_eq!(rig.folder.change(&root, &rename("x", false), 0), Err(NtStatus::ACCESS_DENIED));
}

#[test]
fn a_file_has_its_new_name_for_all_who_have_it_open() {
    let mut rig = Rig::new();
    let (one, other) = (rig.make("a").unwrap(), rig.open("a").unwrap());
    fs::create_dir(rig.host("d")).unwrap();
    rig.folder.change(&one, &rename("d\\b", false), 0).unwrap();
    assert!(!rig.host("a").exists() && rig.host("d/b").exists());
    // The other deletes what it has open, and not what its name was.
    rig.write("a", b"another");
    rig.folder.change(&other, &DELETE, 0).unwrap();
    rig.close(one);
    rig.close(other);
    assert!(rig.host("a").exists() && !rig.host("d/b").exists());
}

#[test]
fn a_name_is_taken_from_another_file_only_if_it_may_be() {
    let mut rig = Rig::new();
    rig.write("to", b"old");
    rig.write("from", b"new");
    let file = rig.open("from").unwrap();
    assert_eq!(rig.folder.change(&file, &rename("to", false), 0), Err(NtStatus::OBJECT_NAME_COLLISION));
    assert_eq!(rig.folder.change(&file, &rename("TO", false), 0), Err(NtStatus::OBJECT_NAME_COLLISION));
    let other = rig.open("to").unwrap();
    assert_eq!(rig.folder.change(&file, &rename("to", true), 0), Err(NtStatus::ACCESS_DENIED));
    rig.close(other);
    rig.folder.change(&file, &rename("to", true), 0).unwrap();
    assert_eq!(fs::read(rig.host("to")).unwrap(), b"new");
    let directory = rig.make_directory("d").unwrap();
    assert_eq!(rig.folder.change(&file, &rename("d", true), 0), Err(NtStatus::ACCESS_DENIED));
    assert_eq!(rig.folder.change(&directory, &rename("d\\e", false), 0), Err(NtStatus::ACCESS_DENIED));
    assert_eq!(rig.folder.change(&file, &rename("none\\e", false), 0), Err(NtStatus::OBJECT_PATH_NOT_FOUND));
}

#[test]
fn another_link_of_a_file_is_another_name() {
    let mut rig = Rig::new();
    let file = rig.make("a").unwrap();
    fs::hard_link(rig.host("a"), rig.host("b")).unwrap();
    for name in ["b", "B"] {
        assert_eq!(rig.folder.change(&file, &rename(name, false), 0), Err(NtStatus::OBJECT_NAME_COLLISION));
        assert_eq!(
            rig.folder.change(&file, &rename(name, true), 0),
            Err(NtStatus::ACCESS_DENIED),
            "it is open"
        );
    }
    rig.folder.change(&file, &rename("c", false), 0).unwrap();
    assert!(rig.host("b").exists() && rig.host("c").exists() && !rig.host("a").exists());
}

#[test]
fn a_directory_keeps_its_name_as_long_as_something_beneath_it_is_open() {
    let mut rig = Rig::new();
    let directory = rig.make_directory("Dir").unwrap();
    fs::create_dir(rig.host("Dir/sub")).unwrap();
    fs::create_dir(rig.host("Dirs")).unwrap();
    rig.write("Dir/sub/f", b"");
    rig.write("Dirs/f", b"");
    let looks = How { access: AccessMask::READ_ATTRIBUTES, ..How::default() };
    let beside = rig.open("Dirs\\f").unwrap();
    for name in ["Dir\\sub\\f", "DIR\\SUB", "dir\\sub\\F"] {
        let (beneath, _) = rig.open_as(name, looks).unwrap();
        for to in ["New", "DIR", "Dir"] {
            let renamed = rig.folder.change(&directory, &rename(to, false), 0);
            assert_eq!(renamed, Err(NtStatus::ACCESS_DENIED), "{name} {to}");
        }
        rig.close(beneath);
    }
    let moved = rig.open("Dir\\sub\\f").unwrap();
    rig.folder.change(&moved, &rename("f", false), 0).unwrap();
    rig.folder.change(&directory, &rename("New", false), 0).unwrap();
    // It goes by its new name.
    rig.close(directory);
    let directory = rig.open("New").unwrap();
    assert_eq!(rig.folder.change(&moved, &rename("new\\f", false), 0), Err(NtStatus::SHARING_VIOLATION));
    rig.close(directory);
    rig.folder.change(&moved, &rename("new\\f", false), 0).unwrap();
    let directory = rig.open("New").unwrap();
    assert_eq!(rig.folder.change(&directory, &rename("Dir", false), 0), Err(NtStatus::ACCESS_DENIED));
    rig.close(beside);
}

#[test]
fn nothing_comes_into_a_directory_that_somebody_may_delete() {
    let mut rig = Rig::new();
    let file = rig.make("f").unwrap();
    let directory = rig.make_directory("d").unwrap();
    for name in ["d\\f", "D\\F"] {
        assert_eq!(rig.folder.change(&file, &rename(name, true), 0), Err(NtStatus::SHARING_VIOLATION));
    }
    rig.close(directory);
    let lists = How { access: AccessMask::READ_DATA, ..How::default() };
    let (_directory, _) = rig.open_as("d", lists).unwrap();
    rig.folder.change(&file, &rename("d\\f", false), 0).unwrap();
}

#[test]
fn the_capitals_of_a_name_change_and_nothing_else_does() {
    let mut rig = Rig::new();
    let file = rig.make("name").unwrap();
    rig.folder.change(&file, &rename("NAME", false), 0).unwrap();
    let names: Vec<_> = fs::read_dir(rig.host("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["NAME"]);
}

#[test]
fn what_has_become_another_file_is_neither_deleted_nor_renamed() {
    let mut rig = Rig::new();
    let file = rig.make("f").unwrap();
    rig.folder.change(&file, &DELETE, 0).unwrap();
    fs::rename(rig.host("f"), rig.host("moved")).unwrap();
    rig.write("f", b"another");
    rig.close(file);
    assert!(rig.host("f").exists() && rig.host("moved").exists());

    let file = rig.open("moved").unwrap();
    fs::rename(rig.host("f"), rig.host("moved")).unwrap();
    assert_eq!(rig.folder.change(&file, &rename("g", false), 0), Err(NtStatus::OBJECT_NAME_NOT_FOUND));
    assert!(rig.host("moved").exists() && !rig.host("g").exists());
}

#[test]
fn what_becomes_another_file_in_the_moment_of_its_deletion_is_not_deleted() {
    let mut rig = Rig::new();
    for is_directory in [false, true] {
        let file = if is_directory { rig.make_directory("f") } else { rig.make("f") }.unwrap();
        let place = rig.folder.table.lock().opened(file.key, file.open).unwrap().place.clone().unwrap();
        removal::remove_when(&place, file.key, || {
            fs::rename(rig.host("f"), rig.host("moved")).unwrap();
            rig.write("f", b"another");
        });
        assert_eq!(fs::read(rig.host("f")).unwrap(), b"another");
        assert!(rig.host("moved").exists());
        assert_eq!(fs::read_dir(rig.host("")).unwrap().count(), 2);
        // Without another file it goes.
        fs::rename(rig.host("moved"), rig.host("f")).unwrap_or_else(|_| {
            fs::remove_file(rig.host("f")).unwrap();
            fs::rename(rig.host("moved"), rig.host("f")).unwrap();
        });
        removal::remove(&place, file.key);
        assert_eq!(fs::read_dir(rig.host("")).unwrap().count(), 0);
        rig.close(file);
    }
}

#[test]
fn a_file_that_was_renamed_in_the_place_of_another_gets_its_name_back() {
    let mut rig = Rig::new();
    let file = rig.make("f").unwrap();
    let from = rig.folder.table.lock().opened(file.key, file.open).unwrap().place.clone().unwrap();
    let to = Place { name: "g".into(), ..from.clone() };
    // Another program has swapped them after the look.
    fs::rename(rig.host("f"), rig.host("moved")).unwrap();
    rig.write("g", b"another");
    assert!(!removal::was_moved(&from, &to, file.key));
    assert_eq!(fs::read(rig.host("f")).unwrap(), b"another");
    fs::rename(rig.host("moved"), rig.host("g")).unwrap();
    assert!(removal::was_moved(&from, &to, file.key));
    assert!(rig.host("g").exists());
}

#[test]
fn times_and_read_only_are_kept() {
    let mut rig = Rig::new();
    let file = rig.make("f").unwrap();
    let time = 0x01dc_5000_0000_0000 / 10 * 10;
    let change = BasicChange {
        last_write_time: Some(TimeChange::Set(time)),
        last_access_time: Some(TimeChange::Set(time + 10)),
        file_attributes: Some(FileAttributes::READONLY),
        ..BasicChange::default()
    };
    rig.folder.change(&file, &Change::Basic(change), 0).unwrap();
    let known = rig.folder.attributes(&file).unwrap();
    assert_eq!((known.last_write_time, known.last_access_time), (time, time + 10));
    assert!(known.file_attributes.contains(FileAttributes::READONLY));
    let change = BasicChange { file_attributes: Some(FileAttributes::ARCHIVE), ..BasicChange::default() };
    rig.folder.change(&file, &Change::Basic(change), 0).unwrap();
    let known = rig.folder.attributes(&file).unwrap();
    assert_eq!(known.file_attributes, FileAttributes::ARCHIVE);
    assert_eq!(known.last_write_time, time);
}

fn written(time: TimeChange) -> Change {
    Change::Basic(BasicChange { last_write_time: Some(time), ..BasicChange::default() })
}

#[test]
fn a_time_that_was_set_or_frozen_stays_through_changes_of_the_same_open_until_it_is_thawed() {
    const TIME: u64 = 0x01dc_5000_0000_0000 / 10 * 10;
    let mut rig = Rig::new();
    let (one, other) = (rig.make("f").unwrap(), rig.open("f").unwrap());
    let write_time = |rig: &Rig| rig.folder.attributes(&one).unwrap().last_write_time;
    for change in [TimeChange::Set(TIME), TimeChange::Freeze] {
        rig.folder.change(&one, &written(change), 0).unwrap();
        rig.folder.write(&one, 0, b"0123456789", false, 0).unwrap();
        assert_eq!(write_time(&rig), TIME, "{change:?}: a write");
        for change in [Change::EndOfFile(100), Change::Allocation(5)] {
            rig.folder.change(&one, &change, 0).unwrap();
            assert_eq!(write_time(&rig), TIME, "{change:?}");
        }
    }
    // What another sets stays as well; what another writes does not hold it.
    rig.folder.change(&other, &written(TimeChange::Set(TIME + 10)), 0).unwrap();
    rig.folder.change(&other, &written(TimeChange::Thaw), 0).unwrap();
    rig.folder.write(&one, 0, b"x", false, 0).unwrap();
    assert_eq!(write_time(&rig), TIME + 10);
    rig.folder.write(&other, 0, b"x", false, 0).unwrap();
    assert!(write_time(&rig) > TIME + 10);
    rig.folder.change(&one, &written(TimeChange::Set(TIME)), 0).unwrap();
    rig.folder.change(&one, &written(TimeChange::Thaw), 0).unwrap();
    assert_eq!(write_time(&rig), TIME);
    rig.folder.write(&one, 0, b"x", false, 0).unwrap();
    assert!(write_time(&rig) > TIME);
}

#[test]
fn a_time_of_access_that_was_set_stays_through_reads_of_the_same_open() {
    const TIME: u64 = 0x01dc_5000_0000_0000 / 10 * 10;
    let mut rig = Rig::new();
    rig.write("f", b"0123456789");
    let file = rig.open("f").unwrap();
    let change = BasicChange { last_access_time: Some(TimeChange::Set(TIME)), ..BasicChange::default() };
    rig.folder.change(&file, &Change::Basic(change), 0).unwrap();
    rig.folder.read(&file, 0, &mut [0; 4]).unwrap();
    assert_eq!(rig.folder.attributes(&file).unwrap().last_access_time, TIME);
}

#[test]
fn an_allocation_that_is_smaller_than_a_file_cuts_it_and_a_larger_one_does_nothing() {
    let mut rig = Rig::new();
    rig.write("f", b"0123456789");
    let file = rig.open("f").unwrap();
    rig.folder.change(&file, &Change::Allocation(1 << 40), 0).unwrap();
    assert_eq!(rig.folder.attributes(&file).unwrap().end_of_file, 10);
    rig.folder.change(&file, &Change::Allocation(4), 0).unwrap();
    assert_eq!(fs::read(rig.host("f")).unwrap(), b"0123");
    let how = How { access: AccessMask::READ_DATA, ..How::default() };
    let (directory, _) = rig.open_as("", how).unwrap();
    assert_eq!(rig.folder.change(&directory, &Change::EndOfFile(0), 0), Err(NtStatus::INVALID_PARAMETER));
}
