//! Files: opened, asked about, changed, listed.

use super::*;

fn query(client: &mut Client, file_id: FileId, info_type: InfoType, info_class: u8, room: u32) -> Answer {
    let output_buffer_length = room;
    client.ask(&QueryInfoRequest {
        info_type,
        info_class,
        output_buffer_length,
        file_id,
        ..QueryInfoRequest::default()
    })
}

fn set(client: &mut Client, file_id: FileId, info_class: u8, input: &[u8]) -> NtStatus {
    let request =
        SetInfoRequest { info_type: InfoType::FILE, info_class, file_id, input, ..SetInfoRequest::default() };
    client.ask(&request).status()
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

/// FILE_RENAME_INFORMATION_TYPE_2 and FILE_LINK_INFORMATION_TYPE_2 (MS-FSCC 2.4.42.2, 2.4.28.2).
fn new_name(name: &str, replace: bool) -> Vec<u8> {
    let name = utf16(name);
    let mut bytes = vec![0; 16];
    bytes[0] = replace.into();
    bytes.extend((name.len() as u32).to_le_bytes());
    bytes.extend(name);
    bytes
}

#[test]
fn each_disposition_does_what_it_says() {
    use CreateDisposition as How;
    let cases = [
        ("hello", How::SUPERSEDE, Ok((CreateAction::SUPERSEDED, 0))),
        ("hello", How::OPEN, Ok((CreateAction::OPENED, 12))),
        ("hello", How::CREATE, Err(NtStatus::OBJECT_NAME_COLLISION)),
        ("hello", How::OPEN_IF, Ok((CreateAction::OPENED, 12))),
        ("hello", How::OVERWRITE, Ok((CreateAction::OVERWRITTEN, 0))),
        ("hello", How::OVERWRITE_IF, Ok((CreateAction::OVERWRITTEN, 0))),
        ("new", How::SUPERSEDE, Ok((CreateAction::CREATED, 0))),
        ("new", How::OPEN, Err(NtStatus::OBJECT_NAME_NOT_FOUND)),
        ("new", How::CREATE, Ok((CreateAction::CREATED, 0))),
        ("new", How::OPEN_IF, Ok((CreateAction::CREATED, 0))),
        ("new", How::OVERWRITE, Err(NtStatus::OBJECT_NAME_NOT_FOUND)),
        ("new", How::OVERWRITE_IF, Ok((CreateAction::CREATED, 0))),
        ("new", How(6), Err(NtStatus::INVALID_PARAMETER)),
    ];
    for (name, create_disposition, expected) in cases {
        let mut client = Client::mounted();
        let request = CreateRequest { name: name.into(), create_disposition, ..CreateRequest::default() };
        let answer = client.ask(&request);
        let seen = match answer.status() {
            NtStatus::SUCCESS => {
                let response = CreateResponse::parse(&answer.bytes).unwrap();
                Ok((response.create_action, response.end_of_file))
            }
            status => Err(status),
        };
        assert_eq!(seen, expected, "{name} {create_disposition}");
    }
}

#[test]
fn names_that_no_file_can_have_are_refused() {
    let mut client = Client::mounted();
    for (name, status) in [
        ("\\hello", NtStatus::INVALID_PARAMETER),
        ("folder\\hello", NtStatus::OBJECT_PATH_NOT_FOUND),
        ("a:b", NtStatus::OBJECT_NAME_INVALID),
        ("a*", NtStatus::OBJECT_NAME_INVALID),
        ("..", NtStatus::OBJECT_NAME_INVALID),
        (&"n".repeat(256), NtStatus::OBJECT_NAME_INVALID),
    ] {
        assert_eq!(
            client.create(name, CreateDisposition::CREATE, CreateOptions::NONE),
            Err(status),
            "{name}"
        );
    }
    client.create(&"n".repeat(255), CreateDisposition::CREATE, CreateOptions::NONE).unwrap();
}

#[test]
fn a_folder_is_no_file_and_a_file_no_folder() {
    let mut client = Client::mounted();
    let open = CreateDisposition::OPEN;
    let file = client.create("", open, CreateOptions::NON_DIRECTORY_FILE);
    assert_eq!(file, Err(NtStatus::FILE_IS_A_DIRECTORY));
    let folder = client.create("hello", open, CreateOptions::DIRECTORY_FILE);
    assert_eq!(folder, Err(NtStatus::NOT_A_DIRECTORY));
    let new = client.create("new", CreateDisposition::CREATE, CreateOptions::DIRECTORY_FILE);
    assert_eq!(new, Err(NtStatus::ACCESS_DENIED));
    assert_eq!(client.create("", open, CreateOptions::DELETE_ON_CLOSE), Err(NtStatus::CANNOT_DELETE));
    client.create("", open, CreateOptions::DIRECTORY_FILE).unwrap();
}

#[test]
fn a_close_can_ask_for_attributes() {
    let mut client = Client::mounted();
    let file_id = client.open("hello");
    let answer = client.ask(&CloseRequest { flags: CloseFlags::POSTQUERY_ATTRIB, file_id });
    let response = CloseResponse::parse(&answer.bytes).unwrap();
    assert_eq!((response.end_of_file, response.allocation_size), (12, 4096));
    assert_eq!(response.file_attributes, FileAttributes::NORMAL);
    assert_eq!(client.close(file_id), NtStatus::FILE_CLOSED);
}

#[test]
fn a_file_that_is_deleted_on_close_goes_with_its_last_open() {
    let mut client = Client::mounted();
    let first = client.open("hello");
    let second = client.create("hello", CreateDisposition::OPEN, CreateOptions::DELETE_ON_CLOSE).unwrap();
    let pending = client.create("hello", CreateDisposition::OPEN, CreateOptions::NONE);
    assert_eq!(pending, Err(NtStatus::DELETE_PENDING));
    assert_eq!(client.close(second), NtStatus::SUCCESS);
    assert_eq!(client.server.files().len_of("hello"), Some(12));
    assert_eq!(client.close(first), NtStatus::SUCCESS);
    assert_eq!(client.server.files().len_of("hello"), None);
}

#[test]
fn a_file_is_deleted_if_its_disposition_stays_so() {
    for (dispositions, is_left) in [(&[1][..], false), (&[1, 0], true)] {
        let mut client = Client::mounted();
        let file = client.open("hello");
        for disposition in dispositions {
            assert_eq!(
                set(&mut client, file, info::class::FILE_DISPOSITION, &[*disposition]),
                NtStatus::SUCCESS
            );
        }
        client.close(file);
        assert_eq!(client.server.files().len_of("hello").is_some(), is_left);
    }
}

#[test]
fn a_file_gets_another_length_and_another_name() {
    let mut client = Client::mounted();
    let file = client.open("hello");
    let class = info::class::FILE_END_OF_FILE;
    assert_eq!(set(&mut client, file, class, &5_u64.to_le_bytes()), NtStatus::SUCCESS);
    assert_eq!(set(&mut client, file, class, &7_u64.to_le_bytes()), NtStatus::SUCCESS);
    assert_eq!(set(&mut client, file, class, &u64::MAX.to_le_bytes()), NtStatus::DISK_FULL);
    assert_eq!(set(&mut client, file, class, &[0; 7]), NtStatus::INFO_LENGTH_MISMATCH);
    assert_eq!(client.server.files().written("hello"), Some(&b"hello"[..]));
    assert_eq!(client.server.files().len_of("hello"), Some(7));
    let class = info::class::FILE_RENAME;
    assert_eq!(set(&mut client, file, class, &new_name("zeros", false)), NtStatus::OBJECT_NAME_COLLISION);
    assert_eq!(set(&mut client, file, class, &new_name("a\\b", false)), NtStatus::ACCESS_DENIED);
    assert_eq!(set(&mut client, file, class, &new_name("moved", false)), NtStatus::SUCCESS);
    assert_eq!(client.server.files().names().collect::<Vec<_>>(), ["moved", "zeros"]);
    assert_eq!(set(&mut client, file, class, &new_name("zeros", true)), NtStatus::SUCCESS);
    assert_eq!(client.server.files().names().collect::<Vec<_>>(), ["zeros"]);
    assert_eq!(client.server.files().len_of("zeros"), Some(7));
    // The open knows the new name.
    set(&mut client, file, info::class::FILE_DISPOSITION, &[1]);
    client.close(file);
    assert_eq!(client.server.files().names().count(), 0);
}

#[test]
fn a_file_that_is_open_is_not_replaced() {
    let mut client = Client::mounted();
    let (file, _other) = (client.open("hello"), client.open("zeros"));
    let status = set(&mut client, file, info::class::FILE_RENAME, &new_name("zeros", true));
    assert_eq!(status, NtStatus::ACCESS_DENIED);
}

#[test]
fn a_link_is_another_name() {
    let mut client = Client::mounted();
    let file = client.open("hello");
    assert_eq!(set(&mut client, file, info::class::FILE_LINK, &new_name("again", false)), NtStatus::SUCCESS);
    assert_eq!(client.server.files().written("again"), Some(&b"hello, world"[..]));
    let standard = query(&mut client, file, InfoType::FILE, info::class::FILE_STANDARD, 24);
    assert_eq!(QueryInfoResponse::parse(&standard.bytes).unwrap().output[16..20], [2, 0, 0, 0]);
}

#[test]
fn times_that_are_0_stay() {
    let mut client = Client::mounted();
    let file = client.open("hello");
    let class = info::class::FILE_BASIC;
    let before = query(&mut client, file, InfoType::FILE, class, 40).bytes;
    let before = QueryInfoResponse::parse(&before).unwrap().output.to_vec();
    let times: Vec<u8> = [0, 5, 0, 9, 0].into_iter().flat_map(u64::to_le_bytes).collect();
    assert_eq!(set(&mut client, file, class, &times), NtStatus::SUCCESS);
    let after = query(&mut client, file, InfoType::FILE, class, 40).bytes;
    let after = QueryInfoResponse::parse(&after).unwrap().output.to_vec();
    assert_eq!((&after[..8], &after[8..16], &after[16..24]), (&before[..8], &times[8..16], &before[16..24]));
}

#[test]
fn information_of_files_has_the_sizes_of_fscc() {
    let mut client = Client::mounted();
    let file = client.open("hello");
    let name = 4 + 2 * "\\hello".len();
    let sizes = [
        (4, 40),
        (5, 24),
        (6, 8),
        (7, 4),
        (8, 4),
        (9, name),
        (14, 8),
        (16, 4),
        (17, 4),
        (18, 96 + name),
        (22, 24 + 2 * "::$DATA".len()),
        (34, 56),
        (35, 8),
        (48, name),
        (59, 24),
    ];
    for (class, len) in sizes {
        let answer = query(&mut client, file, InfoType::FILE, class, 1000);
        assert_eq!(answer.status(), NtStatus::SUCCESS, "{class}");
        assert_eq!(QueryInfoResponse::parse(&answer.bytes).unwrap().output.len(), len, "{class}");
    }
    assert_eq!(query(&mut client, file, InfoType::FILE, 0, 1000).status(), NtStatus::INVALID_INFO_CLASS);
    assert_eq!(query(&mut client, file, InfoType::SECURITY, 0, 1000).status(), NtStatus::NOT_SUPPORTED);
}

#[test]
fn information_of_the_file_system_has_the_sizes_of_fscc() {
    let mut client = Client::mounted();
    let file = client.open("");
    for (class, len) in [(1, 18 + 8), (3, 24), (4, 8), (5, 12 + 8), (7, 32), (11, 28)] {
        let answer = query(&mut client, file, InfoType::FILESYSTEM, class, 1000);
        assert_eq!(QueryInfoResponse::parse(&answer.bytes).unwrap().output.len(), len, "{class}");
    }
}

#[test]
fn what_varies_in_length_is_cut_and_what_does_not_is_refused() {
    let mut client = Client::mounted();
    let file = client.open("hello");
    let cut = query(&mut client, file, InfoType::FILE, info::class::FILE_ALL, 104);
    assert_eq!(cut.status(), NtStatus::BUFFER_OVERFLOW);
    assert_eq!(QueryInfoResponse::parse(&cut.bytes).unwrap().output.len(), 104);
    let status = query(&mut client, file, InfoType::FILE, info::class::FILE_ALL, 99).status();
    assert_eq!(status, NtStatus::INFO_LENGTH_MISMATCH);
    let status = query(&mut client, file, InfoType::FILE, info::class::FILE_BASIC, 39).status();
    assert_eq!(status, NtStatus::INFO_LENGTH_MISMATCH);
}

fn list(
    client: &mut Client,
    file_id: FileId,
    pattern: &str,
    room: u32,
    flags: QueryDirectoryFlags,
) -> Answer {
    client.ask(&QueryDirectoryRequest {
        information_class: DirectoryInformationClass::ID_FULL_DIRECTORY,
        flags,
        file_id,
        output_buffer_length: room,
        pattern: pattern.into(),
        ..QueryDirectoryRequest::default()
    })
}

/// Names of FILE_ID_FULL_DIR_INFORMATION entries.
fn names(answer: &Answer) -> Vec<String> {
    let mut names = Vec::new();
    let mut entry = QueryDirectoryResponse::parse(&answer.bytes).unwrap().output;
    loop {
        let word = |at: usize| u32::from_le_bytes(entry[at..at + 4].try_into().unwrap()) as usize;
        names.push(Text::from_wire(&entry[80..80 + word(60)]).to_string());
        if word(0) == 0 {
            return names;
        }
        assert_eq!(word(0) % 8, 0);
        entry = &entry[word(0)..];
    }
}

#[test]
fn a_scan_tells_every_entry_once_however_little_room_there_is() {
    let mut options = options();
    for number in 0..50 {
        options.files.put(&format!("file {number}"), b"").unwrap();
    }
    for room in [100, 300, 1000, 65_536] {
        let mut client = Client::mounted_with(options.clone(), Dialect::SMB_3_1_1);
        let folder = client.open("");
        let mut told = Vec::new();
        loop {
            let answer = list(&mut client, folder, "*", room, QueryDirectoryFlags::NONE);
            if answer.status() == NtStatus::NO_MORE_FILES {
                break;
            }
            assert_eq!(answer.status(), NtStatus::SUCCESS);
            assert!(QueryDirectoryResponse::parse(&answer.bytes).unwrap().output.len() <= room as usize);
            told.extend(names(&answer));
        }
        told.sort();
        told.dedup();
        assert_eq!(told.len(), 54, "{room}");
    }
}

#[test]
fn a_scan_matches_starts_again_and_can_tell_one_by_one() {
    let mut client = Client::mounted();
    let folder = client.open("");
    let none = QueryDirectoryFlags::NONE;
    assert_eq!(names(&list(&mut client, folder, "h*", 1000, none)), ["hello"]);
    assert_eq!(list(&mut client, folder, "h*", 1000, none).status(), NtStatus::NO_MORE_FILES);
    let again = QueryDirectoryFlags::RESTART_SCANS;
    assert_eq!(list(&mut client, folder, "x", 1000, again).status(), NtStatus::NO_SUCH_FILE);
    let single = again | QueryDirectoryFlags::RETURN_SINGLE_ENTRY;
    assert_eq!(names(&list(&mut client, folder, "*", 1000, single)), ["."]);
    assert_eq!(names(&list(&mut client, folder, "*", 1000, none)), ["..", "hello", "zeros"]);
    assert_eq!(list(&mut client, folder, "*", 20, again).status(), NtStatus::INFO_LENGTH_MISMATCH);
    let file = client.open("hello");
    assert_eq!(list(&mut client, file, "*", 1000, none).status(), NtStatus::INVALID_PARAMETER);
}

#[test]
fn a_flush_and_a_lock_need_an_open() {
    let mut client = Client::mounted();
    let file_id = client.open("hello");
    let locks = [LockElement { offset: 0, length: 1, flags: LockFlags::EXCLUSIVE_LOCK }];
    assert_eq!(client.ask(&FlushRequest { file_id }).status(), NtStatus::SUCCESS);
    let lock = LockRequest { file_id, locks: (&locks).into(), lock_sequence: 0 };
    assert_eq!(client.ask(&lock).status(), NtStatus::SUCCESS);
    let none = LockRequest { locks: List::EMPTY, ..lock };
    assert_eq!(client.ask(&none).status(), NtStatus::INVALID_PARAMETER);
    let file_id = FileId { persistent: 1, ..file_id };
    assert_eq!(client.ask(&FlushRequest { file_id }).status(), NtStatus::FILE_CLOSED);
    assert_eq!(client.ask(&LockRequest { file_id, ..lock }).status(), NtStatus::FILE_CLOSED);
}
