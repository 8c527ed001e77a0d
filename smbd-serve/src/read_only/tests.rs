use smbd_smb2::wire::{ShareAccess, Text};

use super::*;

/// A directory with files `One` and `two`, and a directory `more` with a file `three`; each file has its name for its bytes.
#[derive(Clone)]
struct Names;

impl Source for Names {
    type Node = &'static str;

    fn root(&self) -> &'static str {
        "/"
    }

    fn child(&self, directory: &&'static str, name: &str) -> io::Result<Option<&'static str>> {
        let all: &[&'static str] = if *directory == "/" { &["One", "two", "more"] } else { &["three"] };
        Ok(all.iter().find(|other| **other == name).copied())
    }

    fn names(&self, directory: &&'static str) -> io::Result<Vec<String>> {
        let all: &[&str] = if *directory == "/" { &["One", "two", "more", "gone"] } else { &["three"] };
        Ok(all.iter().map(|name| (*name).to_owned()).collect())
    }

    fn about(&self, node: &&'static str) -> io::Result<About> {
        let is_directory = matches!(*node, "/" | "more");
        let len = (!is_directory).then_some(node.len() as u64);
        Ok(About { id: node.len() as u64, len, modified: SystemTime::UNIX_EPOCH })
    }

    fn read(&self, file: &&'static str, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let rest = file.as_bytes().get(offset as usize..).unwrap_or_default();
        let count = rest.len().min(into.len());
        into[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}

fn files() -> ReadOnly<Names> {
    ReadOnly::new(Names, "names")
}

fn how(path: &str) -> OpenParameters {
    OpenParameters {
        share: 0,
        path: SharePath::parse(Text::from(path)).unwrap(),
        access: AccessMask::READ_DATA,
        read_only_access: AccessMask::READ_DATA,
        share_access: ShareAccess(7),
        disposition: CreateDisposition::OPEN,
        options: CreateOptions::NONE,
        file_attributes: FileAttributes::NONE,
    }
}

#[test]
fn names_are_found_in_other_capitals_and_each_miss_has_its_status() {
    for (path, there) in
        [("", "/"), ("One", "One"), ("TWO", "two"), ("More\\THREE", "three"), ("more", "more")]
    {
        assert_eq!(files().open(&how(path), 0), Ok((there, CreateAction::OPENED)), "{path}");
    }
    for (path, status) in [
        ("none", NtStatus::OBJECT_NAME_NOT_FOUND),
        ("more\\none", NtStatus::OBJECT_NAME_NOT_FOUND),
        ("none\\three", NtStatus::OBJECT_PATH_NOT_FOUND),
        ("one\\three", NtStatus::OBJECT_PATH_NOT_FOUND),
        ("gone", NtStatus::OBJECT_NAME_NOT_FOUND),
    ] {
        assert_eq!(files().open(&how(path), 0), Err(status), "{path}");
    }
}

#[test]
fn nothing_is_made_replaced_deleted_or_opened_to_be_written() {
    let of = |path, change: &dyn Fn(&mut OpenParameters)| {
        let mut how = how(path);
        change(&mut how);
        files().open(&how, 0).map(|(node, _)| node)
    };
    let disposition = |wanted| move |how: &mut OpenParameters| how.disposition = wanted;
    for wanted in [CreateDisposition::CREATE, CreateDisposition::OPEN_IF, CreateDisposition::SUPERSEDE] {
        assert_eq!(of("none", &disposition(wanted)), Err(NtStatus::MEDIA_WRITE_PROTECTED));
    }
    assert_eq!(of("none", &disposition(CreateDisposition::OVERWRITE)), Err(NtStatus::OBJECT_NAME_NOT_FOUND));
    assert_eq!(of("one", &disposition(CreateDisposition::OVERWRITE)), Err(NtStatus::MEDIA_WRITE_PROTECTED));
    assert_eq!(of("one", &disposition(CreateDisposition::CREATE)), Err(NtStatus::OBJECT_NAME_COLLISION));
    assert_eq!(of("one", &disposition(CreateDisposition::OPEN_IF)), Ok("One"));
    for access in [AccessMask::WRITE_DATA, AccessMask::APPEND_DATA, AccessMask::DELETE] {
        assert_eq!(of("one", &|how| how.access = access), Err(NtStatus::MEDIA_WRITE_PROTECTED));
    }
    let option = |wanted| move |how: &mut OpenParameters| how.options = wanted;
    assert_eq!(of("one", &option(CreateOptions::DELETE_ON_CLOSE)), Err(NtStatus::MEDIA_WRITE_PROTECTED));
    assert_eq!(of("one", &option(CreateOptions::DIRECTORY_FILE)), Err(NtStatus::NOT_A_DIRECTORY));
    assert_eq!(of("more", &option(CreateOptions::NON_DIRECTORY_FILE)), Err(NtStatus::FILE_IS_A_DIRECTORY));
    assert_eq!(files().write(&"One", 0, b"x", false, 0), Err(NtStatus::MEDIA_WRITE_PROTECTED));
}

#[test]
fn a_listing_goes_on_behind_any_position_and_leaves_out_what_has_gone() {
    let all = files().list(&"/", 0, 100).unwrap();
    let names: Vec<_> = all.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, [".", "..", "One", "two", "more"]);
    for (at, entry) in all.iter().enumerate() {
        assert_eq!(
            files().list(&"/", entry.position, 2).unwrap(),
            all[at + 1..].iter().take(2).cloned().collect::<Vec<_>>()
        );
    }
    assert_eq!(files().list(&"One", 0, 9), Err(NtStatus::NOT_A_DIRECTORY));
}

#[test]
fn a_file_has_its_bytes_its_length_and_its_time() {
    let mut into = [0; 8];
    assert_eq!(files().read(&"three", 2, &mut into), Ok(3));
    assert_eq!(&into[..3], b"ree");
    assert_eq!(files().read(&"three", 5, &mut into), Ok(0));
    let attributes = files().attributes(&"three").unwrap();
    assert_eq!(
        (attributes.end_of_file, attributes.allocation_size, attributes.is_directory()),
        (5, 4096, false)
    );
    // 1970-01-01 (MS-DTYP 2.3.3).
    assert_eq!(attributes.last_write_time, 116_444_736_000_000_000);
    assert!(files().attributes(&"more").unwrap().is_directory());
}
