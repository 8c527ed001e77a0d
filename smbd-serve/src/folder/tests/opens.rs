use std::fs;

use proptest::prelude::*;
use smbd_smb2::server::FileSystem;
use smbd_smb2::wire::{
    AccessMask, CreateAction, CreateDisposition, CreateOptions, FileAttributes, LockElement, LockFlags,
    NtStatus, ShareAccess,
};

use super::{How, Rig};
use crate::folder::Options;

#[test]
fn dispositions_do_what_they_say_with_what_is_there_and_what_is_not() {
    use CreateDisposition as D;
    for (disposition, there, not_there) in [
        (D::SUPERSEDE, Ok(CreateAction::SUPERSEDED), Ok(CreateAction::CREATED)),
        (D::OPEN, Ok(CreateAction::OPENED), Err(NtStatus::OBJECT_NAME_NOT_FOUND)),
        (D::CREATE, Err(NtStatus::OBJECT_NAME_COLLISION), Ok(CreateAction::CREATED)),
        (D::OPEN_IF, Ok(CreateAction::OPENED), Ok(CreateAction::CREATED)),
        (D::OVERWRITE, Ok(CreateAction::OVERWRITTEN), Err(NtStatus::OBJECT_NAME_NOT_FOUND)),
        (D::OVERWRITE_IF, Ok(CreateAction::OVERWRITTEN), Ok(CreateAction::CREATED)),
    ] {
        let mut rig = Rig::new();
        rig.write("there", b"content");
        for (name, expected) in [("there", there), ("new", not_there)] {
            let opened = rig.open_as(name, How::of(disposition));
            assert_eq!(opened.as_ref().map(|(_, action)| *action).map_err(|status| *status), expected);
            assert_eq!(rig.host(name).exists(), name == "there" || expected.is_ok());
            if let Ok((file, _)) = opened {
                rig.close(file);
            }
        }
        let replaces = matches!(there, Ok(CreateAction::SUPERSEDED | CreateAction::OVERWRITTEN));
        assert_eq!(fs::read(rig.host("there")).unwrap(), if replaces { &b""[..] } else { b"content" });
    }
}

#[test]
fn a_file_is_replaced_by_whoever_may_only_read_what_is_new() {
    let mut rig = Rig::new();
    rig.write("f", b"content");
    let how = How { access: AccessMask::READ_DATA, ..How::of(CreateDisposition::OVERWRITE_IF) };
    let (file, _) = rig.open_as("f", how).unwrap();
    assert_eq!(rig.folder.attributes(&file).unwrap().end_of_file, 0);
}

#[test]
fn files_and_directories_are_told_apart() {
    let mut rig = Rig::new();
    rig.write("f", b"");
    fs::create_dir(rig.host("d")).unwrap();
    let with = |options| How { options, ..How::default() };
    let open = |rig: &mut Rig, name: &str, how| rig.open_as(name, how).map(|_| ());
    assert_eq!(
        open(&mut rig, "d", with(CreateOptions::NON_DIRECTORY_FILE)),
        Err(NtStatus::FILE_IS_A_DIRECTORY)
    );
    assert_eq!(open(&mut rig, "f", with(CreateOptions::DIRECTORY_FILE)), Err(NtStatus::NOT_A_DIRECTORY));
    assert_eq!(
        open(&mut rig, "d", How::of(CreateDisposition::OVERWRITE)),
        Err(NtStatus::FILE_IS_A_DIRECTORY)
    );
    assert_eq!(rig.status("f\\x"), NtStatus::OBJECT_PATH_NOT_FOUND);
    assert_eq!(rig.status("none\\x"), NtStatus::OBJECT_PATH_NOT_FOUND);
    assert_eq!(rig.status(""), NtStatus::SUCCESS);
}

#[test]
fn a_name_is_found_in_other_capitals_unless_it_is_there_as_it_is() {
    let mut rig = Rig::new();
    fs::create_dir_all(rig.host("Sub/Dir")).unwrap();
    rig.write("Sub/Dir/File", b"1");
    let size = |rig: &mut Rig, name: &str| {
        let file = rig.open(name).unwrap();
        let size = rig.folder.attributes(&file).unwrap().end_of_file;
        rig.close(file);
        size
    };
    assert_eq!(size(&mut rig, "SUB\\dir\\fILE"), 1);
    assert_eq!(rig.make("sub\\DIR\\FILE").map(|_| ()), Err(NtStatus::OBJECT_NAME_COLLISION));
    rig.write("Sub/Dir/FILE", b"22");
    assert_eq!(size(&mut rig, "Sub\\Dir\\FILE"), 2);
    assert_eq!(size(&mut rig, "Sub\\Dir\\File"), 1);

    let mut exact = Rig::with(Options { case_sensitive: true, ..Options::default() });
    exact.write("File", b"1");
    assert_eq!(exact.status("file"), NtStatus::OBJECT_NAME_NOT_FOUND);
    let made = exact.make("file").unwrap();
    exact.close(made);
    assert!(exact.host("file").exists() && exact.host("File").exists());
}

#[test]
fn whoever_has_a_file_decides_what_others_do_with_it_by_whatever_name() {
    let mut rig = Rig::new();
    rig.write("a", b"");
    fs::hard_link(rig.host("a"), rig.host("b")).unwrap();
    let reads = How { access: AccessMask::READ_DATA, share: ShareAccess::READ, ..How::default() };
    let (file, _) = rig.open_as("a", reads).unwrap();
    assert_eq!(rig.open("b").map(|_| ()), Err(NtStatus::SHARING_VIOLATION));
    let (other, _) = rig.open_as("b", reads).unwrap();
    rig.close(file);
    assert_eq!(rig.status("a"), NtStatus::SHARING_VIOLATION);
    rig.close(other);
    assert_eq!(rig.status("a"), NtStatus::SUCCESS);
}

#[test]
fn a_file_without_write_bits_is_read_only_and_stays() {
    let mut rig = Rig::new();
    let how = How { attributes: FileAttributes::READONLY, ..How::of(CreateDisposition::CREATE) };
    let (file, _) = rig.open_as("f", how).unwrap();
    assert!(rig.folder.attributes(&file).unwrap().file_attributes.contains(FileAttributes::READONLY));
    // Whoever made it may write it.
    rig.folder.write(&file, 0, b"x", true, 0).unwrap();
    rig.close(file);
    assert!(fs::metadata(rig.host("f")).unwrap().permissions().readonly());
    assert_eq!(rig.status("f"), NtStatus::ACCESS_DENIED);
    let deletes =
        How { access: AccessMask::DELETE, options: CreateOptions::DELETE_ON_CLOSE, ..How::default() };
    assert_eq!(rig.open_as("f", deletes).map(|_| ()), Err(NtStatus::CANNOT_DELETE));
}

#[test]
fn what_replaces_a_file_makes_it_read_only_if_it_is_asked_to() {
    use CreateDisposition as D;
    for disposition in [D::OVERWRITE, D::OVERWRITE_IF, D::SUPERSEDE] {
        let mut rig = Rig::new();
        rig.write("f", b"content");
        let how = How { attributes: FileAttributes::READONLY, ..How::of(disposition) };
        let deletes = How { options: CreateOptions::DELETE_ON_CLOSE, ..how };
        assert_eq!(rig.open_as("f", deletes).map(|_| ()), Err(NtStatus::CANNOT_DELETE));
        assert_eq!(fs::read(rig.host("f")).unwrap(), b"content");
        let (file, _) = rig.open_as("f", how).unwrap();
        let known = rig.folder.attributes(&file).unwrap();
        assert_eq!(known.file_attributes, FileAttributes::ARCHIVE | FileAttributes::READONLY);
        // Whoever has replaced it may write it.
        rig.folder.write(&file, 0, b"x", true, 0).unwrap();
        assert_eq!(rig.open_as("f", how).map(|_| ()), Err(NtStatus::ACCESS_DENIED));
    }
}

#[test]
fn a_file_that_cannot_be_written_is_opened_for_what_is_left() {
    let mut rig = Rig::new();
    let how = How { attributes: FileAttributes::READONLY, ..How::of(CreateDisposition::CREATE) };
    let (file, _) = rig.open_as("f", how).unwrap();
    rig.close(file);
    let left = AccessMask(super::ALL.0 & !(AccessMask::WRITE_DATA.0 | AccessMask::APPEND_DATA.0));
    let maximum = How { read_only_access: Some(left), ..How::of(CreateDisposition::OPEN_IF) };
    let (file, _) = rig.open_as("f", maximum).unwrap();
    assert_eq!(rig.folder.write(&file, 0, b"x", false, 0), Err(NtStatus::ACCESS_DENIED));
    // It is in nobody's way who lets no one write.
    let reads = How { access: AccessMask::READ_DATA, share: ShareAccess(5), ..How::default() };
    assert!(rig.open_as("f", reads).is_ok());
}

#[test]
fn nothing_is_changed_in_a_folder_that_is_served_for_reading() {
    let mut rig = Rig::with(Options { read_only: true, ..Options::default() });
    rig.write("f", b"content");
    assert_eq!(rig.status("f"), NtStatus::ACCESS_DENIED);
    for disposition in [CreateDisposition::CREATE, CreateDisposition::OPEN_IF, CreateDisposition::OVERWRITE] {
        let how = How { access: AccessMask::READ_DATA, ..How::of(disposition) };
        assert_eq!(rig.open_as("f", how).map(|_| ()), Err(NtStatus::ACCESS_DENIED));
    }
    let how = How { access: AccessMask::READ_DATA | AccessMask::WRITE_ATTRIBUTES, ..How::default() };
    let (file, _) = rig.open_as("f", how).unwrap();
    let mut read = [0; 7];
    assert_eq!(rig.folder.read(&file, 0, &mut read), Ok(7));
    assert_eq!(rig.folder.write(&file, 0, b"x", false, 0), Err(NtStatus::ACCESS_DENIED));
}

#[test]
fn a_lock_keeps_others_out_until_its_file_is_closed() {
    let mut rig = Rig::new();
    rig.write("f", b"0123456789");
    let (one, other) = (rig.open("f").unwrap(), rig.open("f").unwrap());
    let range = LockElement { offset: 2, length: 3, flags: LockFlags::EXCLUSIVE_LOCK };
    rig.folder.lock(&one, &range).unwrap();
    let mut into = [0; 3];
    assert_eq!(rig.folder.lock(&other, &range), Err(NtStatus::LOCK_NOT_GRANTED));
    assert_eq!(rig.folder.read(&other, 4, &mut into), Err(NtStatus::FILE_LOCK_CONFLICT));
    assert_eq!(rig.folder.write(&other, 0, b"abc", false, 0), Err(NtStatus::FILE_LOCK_CONFLICT));
    assert_eq!(rig.folder.read(&one, 2, &mut into), Ok(3));
    assert_eq!(rig.folder.read(&other, 5, &mut into), Ok(3));
    rig.close(one);
    assert_eq!(rig.folder.lock(&other, &range), Ok(()));
}

#[test]
fn the_volume_has_the_space_of_its_host() {
    let rig = Rig::new();
    let volume = rig.folder.volume();
    assert!(volume.unit.is_multiple_of(512) && volume.unit > 0);
    assert!(volume.total_units >= volume.free_units && volume.total_units > 0);
}

#[derive(Clone, Debug)]
enum Step {
    Write(u16, Vec<u8>),
    Truncate(u16),
    Read(u16, u8),
}

fn step() -> impl Strategy<Value = Step> {
    let data = prop::collection::vec(any::<u8>(), 0..300);
    prop_oneof![
        (0..2000_u16, data).prop_map(|(offset, data)| Step::Write(offset, data)),
        (0..2000_u16).prop_map(Step::Truncate),
        (0..3000_u16, any::<u8>()).prop_map(|(offset, len)| Step::Read(offset, len)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_file_is_what_was_written_to_it(steps in prop::collection::vec(step(), 1..20)) {
        let mut rig = Rig::new();
        let file = rig.make("f").unwrap();
        let mut model: Vec<u8> = Vec::new();
        for step in steps {
            match step {
                Step::Write(offset, data) => {
                    rig.folder.write(&file, offset.into(), &data, false, 0).unwrap();
                    let end = usize::from(offset) + data.len();
                    if !data.is_empty() && model.len() < end {
                        model.resize(end, 0);
                    }
                    if !data.is_empty() {
                        model[usize::from(offset)..end].copy_from_slice(&data);
                    }
                }
                Step::Truncate(len) => {
                    let change = smbd_smb2::server::Change::EndOfFile(len.into());
                    rig.folder.change(&file, &change, 0).unwrap();
                    model.resize(len.into(), 0);
                }
                Step::Read(offset, len) => {
                    let mut into = vec![0xEE; len.into()];
                    let got = rig.folder.read(&file, offset.into(), &mut into).unwrap();
                    let rest = model.get(usize::from(offset)..).unwrap_or_default();
                    prop_assert_eq!(&into[..got], &rest[..rest.len().min(len.into())]);
                }
            }
            prop_assert_eq!(rig.folder.attributes(&file).unwrap().end_of_file, model.len() as u64);
        }
        prop_assert_eq!(fs::read(rig.host("f")).unwrap(), model);
    }
}
