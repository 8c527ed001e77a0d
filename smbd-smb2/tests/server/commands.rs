//! What each command does with a file, well and badly (3.3.5.9 to 3.3.5.22).

use smbd_smb2::wire::info::class;
use smbd_smb2::wire::{
    AccessMask, AdditionalInformation, CloseFlags, CloseRequest, CloseResponse, ControlCode, CreateAction,
    CreateContext, CreateDisposition, CreateOptions, CreateRequest, CreateResponse, ErrorResponse,
    FileAttributes, FileId, FlushRequest, ImpersonationLevel, InfoType, IoctlFlags, IoctlRequest,
    LeaseBreakAcknowledgment, LockElement, LockFlags, LockRequest, NtStatus, OplockBreakAcknowledgment,
    OplockLevel, QueryInfoRequest, QueryInfoResponse, ReadRequest, ReadResponse, Records, SetInfoRequest,
    ShareAccess, Text, WriteFlags, WriteRequest, WriteResponse,
};

use crate::rig::{Answer, Rig, TCP, create, opened, params};

fn ready() -> Rig {
    Rig::ready(params(), TCP)
}

fn close(rig: &mut Rig, file_id: FileId) -> NtStatus {
    rig.status(&CloseRequest { file_id, ..CloseRequest::default() })
}

fn write(rig: &mut Rig, file_id: FileId, offset: u64, data: &[u8]) -> Answer {
    let header = rig.header::<WriteRequest<'_>>(data.len() as u64);
    rig.ask(&header, &WriteRequest { file_id, offset, data, ..WriteRequest::default() })
}

fn read(rig: &mut Rig, file_id: FileId, offset: u64, length: u32) -> Result<Vec<u8>, NtStatus> {
    let header = rig.header::<ReadRequest<'_>>(length.into());
    let answer = rig.ask(&header, &ReadRequest { file_id, offset, length, ..ReadRequest::default() });
    match answer.status() {
        NtStatus::SUCCESS => Ok(ReadResponse::parse(&answer.bytes).unwrap().data.to_vec()),
        status => Err(status),
    }
}

pub fn query(rig: &mut Rig, file_id: FileId, info_type: InfoType, info_class: u8, max: u32) -> Answer {
    let request = QueryInfoRequest {
        file_id,
        info_type,
        info_class,
        output_buffer_length: max,
        ..QueryInfoRequest::default()
    };
    let header = rig.header::<QueryInfoRequest<'_>>(max.into());
    rig.ask(&header, &request)
}

pub fn output(answer: &Answer) -> Vec<u8> {
    QueryInfoResponse::parse(&answer.bytes).unwrap().output.to_vec()
}

pub fn set(rig: &mut Rig, file_id: FileId, info_class: u8, input: &[u8]) -> NtStatus {
    let request =
        SetInfoRequest { file_id, info_type: InfoType::FILE, info_class, input, ..SetInfoRequest::default() };
    rig.status(&request)
}

fn rename(rig: &mut Rig, file_id: FileId, name: &str, replace: bool) -> NtStatus {
    let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut input = vec![u8::from(replace), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    input.extend_from_slice(&u32::try_from(name.len()).unwrap().to_le_bytes());
    input.extend_from_slice(&name);
    set(rig, file_id, class::FILE_RENAME, &input)
}

#[test]
fn what_is_written_is_read() {
    let mut rig = ready();
    let file = rig.file("a");
    let answer = write(&mut rig, file, 0, b"hello world");
    assert_eq!(WriteResponse::parse(&answer.bytes).unwrap().count, 11);
    assert_eq!(read(&mut rig, file, 6, 100), Ok(b"world".to_vec()));
    assert_eq!(read(&mut rig, file, 11, 1), Err(NtStatus::END_OF_FILE));
    assert_eq!(read(&mut rig, file, 11, 0), Ok(Vec::new()), "nothing was asked for");
    let large = vec![7; 300_000];
    assert_eq!(write(&mut rig, file, 20, &large).status(), NtStatus::SUCCESS);
    assert_eq!(read(&mut rig, file, 20, 300_000), Ok(large));
    assert_eq!(read(&mut rig, file, 10, 10), Ok(b"d\0\0\0\0\0\0\0\0\0".to_vec()));
    assert_eq!(rig.status(&FlushRequest { file_id: file }), NtStatus::SUCCESS);
    let minimum = ReadRequest {
        file_id: file,
        length: 100,
        minimum_count: 100,
        offset: 300_000,
        ..ReadRequest::default()
    };
    assert_eq!(rig.status(&minimum), NtStatus::END_OF_FILE, "MinimumCount");
}

#[test]
fn a_read_or_write_beyond_the_limits_is_refused() {
    let mut params = params();
    params.max_read_size = 65536;
    params.max_write_size = 65536;
    let mut rig = Rig::ready(params, TCP);
    let file = rig.file("a");
    assert_eq!(read(&mut rig, file, 0, 65537), Err(NtStatus::INVALID_PARAMETER));
    assert_eq!(write(&mut rig, file, 0, &[0; 65537]).status(), NtStatus::INVALID_PARAMETER);
    assert_eq!(read(&mut rig, file, u64::MAX, 2), Err(NtStatus::INVALID_PARAMETER));
    assert_eq!(write(&mut rig, file, u64::MAX, b"ab").status(), NtStatus::INVALID_PARAMETER);
    assert_eq!(write(&mut rig, file, 1 << 62, b"ab").status(), NtStatus::DISK_FULL);
}

#[test]
fn rights_of_the_open_decide() {
    let mut rig = ready();
    let file = rig.file("a");
    write(&mut rig, file, 0, b"data");
    close(&mut rig, file);
    let mut open = |access| {
        let request = CreateRequest {
            desired_access: access,
            ..create("a", CreateDisposition::OPEN, CreateOptions::NONE)
        };
        opened(&rig.request(&request))
    };
    let (reader, writer, appender) =
        (open(AccessMask::READ_DATA), open(AccessMask::WRITE_DATA), open(AccessMask::APPEND_DATA));
    let denied = NtStatus::ACCESS_DENIED;
    assert_eq!(read(&mut rig, writer, 0, 4), Err(denied));
    assert_eq!(write(&mut rig, reader, 0, b"x").status(), denied);
    assert_eq!(write(&mut rig, appender, 0, b"x").status(), denied);
    assert_eq!(write(&mut rig, appender, 4, b"x").status(), NtStatus::SUCCESS);
    assert_eq!(rig.status(&FlushRequest { file_id: reader }), denied);
    assert_eq!(query(&mut rig, reader, InfoType::FILE, 4, 100).status(), denied, "READ_ATTRIBUTES");
    assert_eq!(set(&mut rig, reader, class::FILE_END_OF_FILE, &[0; 8]), denied);
    assert_eq!(set(&mut rig, reader, class::FILE_DISPOSITION, &[1]), denied);
    assert_eq!(set(&mut rig, reader, class::FILE_BASIC, &[0; 40]), denied);
    assert_eq!(rename(&mut rig, reader, "b", false), denied);
}

#[test]
fn a_read_only_share_is_only_read() {
    let mut rig = ready();
    rig.connect("read");
    let root = |access| CreateRequest {
        desired_access: access,
        ..create("", CreateDisposition::OPEN, CreateOptions::NONE)
    };
    assert_eq!(rig.status(&root(AccessMask::MAXIMUM_ALLOWED)), NtStatus::SUCCESS);
    assert_eq!(rig.status(&root(AccessMask::GENERIC_READ)), NtStatus::SUCCESS);
    assert_eq!(rig.status(&root(AccessMask::GENERIC_WRITE)), NtStatus::ACCESS_DENIED);
    for disposition in [CreateDisposition::CREATE, CreateDisposition::OPEN_IF, CreateDisposition::OVERWRITE] {
        assert_eq!(rig.create("a", disposition, CreateOptions::NONE).status(), NtStatus::ACCESS_DENIED);
    }
    assert_eq!(
        rig.create("", CreateDisposition::OPEN, CreateOptions::DELETE_ON_CLOSE).status(),
        NtStatus::ACCESS_DENIED
    );
}

#[test]
fn each_disposition_does_what_it_says() {
    use CreateDisposition as D;
    let mut rig = ready();
    let found = [
        (D::SUPERSEDE, Ok(CreateAction::SUPERSEDED)),
        (D::OPEN, Ok(CreateAction::OPENED)),
        (D::CREATE, Err(NtStatus::OBJECT_NAME_COLLISION)),
        (D::OPEN_IF, Ok(CreateAction::OPENED)),
        (D::OVERWRITE, Ok(CreateAction::OVERWRITTEN)),
        (D::OVERWRITE_IF, Ok(CreateAction::OVERWRITTEN)),
    ];
    let missing = [
        (D::SUPERSEDE, Ok(CreateAction::CREATED)),
        (D::OPEN, Err(NtStatus::OBJECT_NAME_NOT_FOUND)),
        (D::CREATE, Ok(CreateAction::CREATED)),
        (D::OPEN_IF, Ok(CreateAction::CREATED)),
        (D::OVERWRITE, Err(NtStatus::OBJECT_NAME_NOT_FOUND)),
        (D::OVERWRITE_IF, Ok(CreateAction::CREATED)),
    ];
    let a = rig.file("a");
    close(&mut rig, a);
    let cases = found.map(|case| ("A", case)).into_iter().chain(missing.map(|case| ("new", case)));
    for (name, (disposition, expected)) in cases {
        let answer = rig.create(name, disposition, CreateOptions::NONE);
        let got = match answer.status() {
            NtStatus::SUCCESS => Ok(CreateResponse::parse(&answer.bytes).unwrap().create_action),
            status => Err(status),
        };
        assert_eq!(got, expected, "{name} {disposition}");
        if got.is_ok() {
            let file_id = opened(&answer);
            if name == "new" {
                assert_eq!(set(&mut rig, file_id, class::FILE_DISPOSITION, &[1]), NtStatus::SUCCESS);
            }
            close(&mut rig, file_id);
        }
    }
}

#[test]
fn a_bad_create_is_refused_with_its_status() {
    use CreateDisposition as D;
    let mut rig = ready();
    let (d, f) = (rig.directory("d"), rig.file("f"));
    close(&mut rig, d);
    close(&mut rig, f);
    let both = CreateOptions::DIRECTORY_FILE | CreateOptions::NON_DIRECTORY_FILE;
    let none = CreateOptions::NONE;
    for (name, disposition, options, expected) in [
        ("d", D::OPEN, CreateOptions::NON_DIRECTORY_FILE, NtStatus::FILE_IS_A_DIRECTORY),
        ("f", D::OPEN, CreateOptions::DIRECTORY_FILE, NtStatus::NOT_A_DIRECTORY),
        ("f", D::OPEN, both, NtStatus::INVALID_PARAMETER),
        ("f", CreateDisposition(6), none, NtStatus::INVALID_PARAMETER),
        ("d", D::OVERWRITE, CreateOptions::DIRECTORY_FILE, NtStatus::INVALID_PARAMETER),
        ("\\f", D::OPEN, none, NtStatus::INVALID_PARAMETER),
        ("..\\f", D::OPEN, none, NtStatus(0xC000_003B)),
        ("f:stream", D::OPEN, none, NtStatus::OBJECT_NAME_INVALID),
        ("x\\f", D::CREATE, none, NtStatus::OBJECT_PATH_NOT_FOUND),
        ("f\\f", D::CREATE, none, NtStatus::OBJECT_PATH_NOT_FOUND),
        ("x", D::OPEN, CreateOptions::OPEN_BY_FILE_ID, NtStatus::NOT_SUPPORTED),
        ("f", D::OPEN, CreateOptions::RESERVE_OPFILTER, NtStatus::NOT_SUPPORTED),
        ("d\\", D::OPEN, CreateOptions::NON_DIRECTORY_FILE, NtStatus::OBJECT_NAME_INVALID),
        ("d\\\\", D::OPEN, none, NtStatus::OBJECT_NAME_INVALID),
        ("x\\", D::CREATE, none, NtStatus::OBJECT_NAME_INVALID),
        ("f\\", D::OPEN, none, NtStatus::NOT_A_DIRECTORY),
        ("", D::OPEN, CreateOptions::DELETE_ON_CLOSE, NtStatus::CANNOT_DELETE),
    ] {
        assert_eq!(
            rig.create(name, disposition, options).status(),
            expected,
            "{name} {disposition} {options}"
        );
    }
    let nothing = CreateRequest { desired_access: AccessMask::NONE, ..create("f", D::OPEN, none) };
    assert_eq!(rig.status(&nothing), NtStatus::ACCESS_DENIED);
    let level = CreateRequest { impersonation_level: ImpersonationLevel(4), ..create("f", D::OPEN, none) };
    assert_eq!(rig.status(&level), NtStatus(0xC000_00A5), "STATUS_BAD_IMPERSONATION_LEVEL");
    assert_eq!(rig.files.open_count(), 0);
    for (name, disposition, options) in
        [("d\\", D::OPEN, none), ("e\\", D::CREATE, CreateOptions::DIRECTORY_FILE)]
    {
        assert_eq!(rig.create(name, disposition, options).status(), NtStatus::SUCCESS, "{name}");
    }
}

#[test]
fn contexts_are_answered_declined_or_refused() {
    let mut rig = ready();
    let ask = |rig: &mut Rig, contexts: &[CreateContext<'_>]| {
        let request = CreateRequest {
            contexts: Records::from(contexts),
            oplock_level: OplockLevel::LEASE,
            ..create("", CreateDisposition::OPEN, CreateOptions::NONE)
        };
        rig.request(&request)
    };
    let declined = [
        CreateContext { name: CreateContext::LEASE, data: &[0; 52] },
        CreateContext { name: CreateContext::DURABLE_HANDLE_REQUEST, data: &[0; 16] },
        CreateContext { name: CreateContext::DURABLE_HANDLE_REQUEST_V2, data: &[0; 32] },
        CreateContext { name: b"what is this", data: b"" },
    ];
    let answer = ask(&mut rig, &declined);
    let response = CreateResponse::parse(&answer.bytes).unwrap();
    assert_eq!((response.oplock_level, response.contexts.count()), (OplockLevel::NONE, 0));
    let answered = [
        CreateContext { name: CreateContext::QUERY_MAXIMAL_ACCESS, data: b"" },
        CreateContext { name: CreateContext::QUERY_ON_DISK_ID, data: b"" },
    ];
    let answer = ask(&mut rig, &answered);
    let response = CreateResponse::parse(&answer.bytes).unwrap();
    let access = [&[0; 4][..], &0x001F_01FF_u32.to_le_bytes()].concat();
    assert_eq!(response.contexts.find(CreateContext::QUERY_MAXIMAL_ACCESS), Some(&access[..]));
    let id = response.contexts.find(CreateContext::QUERY_ON_DISK_ID).unwrap();
    assert_eq!((id.len(), id[0]), (32, 1), "the id of the root");
    let stamp = response.change_time.to_le_bytes();
    let known = [CreateContext { name: CreateContext::QUERY_MAXIMAL_ACCESS, data: &stamp }];
    let answer = ask(&mut rig, &known);
    let response = CreateResponse::parse(&answer.bytes).unwrap();
    let none_mapped = [&0xC000_0073_u32.to_le_bytes()[..], &[0; 4]].concat();
    assert_eq!(response.contexts.find(CreateContext::QUERY_MAXIMAL_ACCESS), Some(&none_mapped[..]));
    // One that knows another time, or a time that is none, is told; half a time is no request.
    for stamp in [&[1, 0, 0, 0, 0, 0, 0, 0][..], &[0; 8]] {
        let other = [CreateContext { name: CreateContext::QUERY_MAXIMAL_ACCESS, data: stamp }];
        let answer = ask(&mut rig, &other);
        let response = CreateResponse::parse(&answer.bytes).unwrap();
        assert_eq!(response.contexts.find(CreateContext::QUERY_MAXIMAL_ACCESS), Some(&access[..]));
    }
    for (name, expected) in [
        (CreateContext::QUERY_MAXIMAL_ACCESS, NtStatus::INVALID_PARAMETER),
        (CreateContext::DURABLE_HANDLE_RECONNECT, NtStatus::OBJECT_NAME_NOT_FOUND),
        (CreateContext::DURABLE_HANDLE_RECONNECT_V2, NtStatus::OBJECT_NAME_NOT_FOUND),
        (CreateContext::TIMEWARP_TOKEN, NtStatus::OBJECT_NAME_NOT_FOUND),
        (CreateContext::EA_BUFFER, NtStatus(0xC000_004F)),
        (b"abc", NtStatus::INVALID_PARAMETER),
    ] {
        assert_eq!(ask(&mut rig, &[CreateContext { name, data: &[0; 16] }]).status(), expected);
    }
}

#[test]
fn who_shares_nothing_has_a_file_alone() {
    let mut rig = ready();
    let alone = CreateRequest {
        share_access: ShareAccess::NONE,
        ..create("a", CreateDisposition::CREATE, CreateOptions::NONE)
    };
    let file = opened(&rig.request(&alone));
    let other = create("a", CreateDisposition::OPEN, CreateOptions::NONE);
    assert_eq!(rig.status(&other), NtStatus::SHARING_VIOLATION);
    close(&mut rig, file);
    assert_eq!(rig.status(&other), NtStatus::SUCCESS);
}

#[test]
fn files_that_are_open_have_a_limit() {
    let mut params = params();
    params.opens_max = 2;
    let mut rig = Rig::ready(params, TCP);
    let file = rig.file("a");
    rig.file("b");
    assert_eq!(
        rig.create("c", CreateDisposition::CREATE, CreateOptions::NONE).status(),
        NtStatus::INSUFFICIENT_RESOURCES
    );
    close(&mut rig, file);
    rig.file("c");
}

#[test]
fn nothing_can_be_opened_in_ipc() {
    let mut rig = ready();
    rig.connect("IPC$");
    for name in ["srvsvc", ""] {
        let answer = rig.create(name, CreateDisposition::OPEN, CreateOptions::NONE);
        assert_eq!(answer.status(), NtStatus::OBJECT_NAME_NOT_FOUND);
    }
}

#[test]
fn close_tells_attributes_if_they_are_wanted_and_the_file_is_gone_after_it() {
    let mut rig = ready();
    let file_id = rig.file("a");
    write(&mut rig, file_id, 0, b"12345");
    let answer = rig.request(&CloseRequest { flags: CloseFlags::POSTQUERY_ATTRIB, file_id });
    let response = CloseResponse::parse(&answer.bytes).unwrap();
    assert_eq!((response.flags, response.end_of_file), (CloseFlags::POSTQUERY_ATTRIB, 5));
    assert_eq!(close(&mut rig, file_id), NtStatus::FILE_CLOSED);
    let file_id = rig.file("b");
    let answer = rig.request(&CloseRequest { file_id, ..CloseRequest::default() });
    assert_eq!(CloseResponse::parse(&answer.bytes).unwrap(), CloseResponse::default());
}

#[test]
fn files_are_known_by_both_parts_of_their_id_and_in_their_tree_connect_only() {
    let mut rig = ready();
    let file_id = rig.file("a");
    let other = FileId { persistent: file_id.persistent + 1, ..file_id };
    assert_eq!(close(&mut rig, other), NtStatus::FILE_CLOSED);
    rig.connect("data");
    assert_eq!(close(&mut rig, file_id), NtStatus::FILE_CLOSED);
}

#[test]
fn a_file_goes_when_the_last_closes_it() {
    let mut rig = ready();
    let file = rig.file("a");
    let again = opened(&rig.create("a", CreateDisposition::OPEN, CreateOptions::NONE));
    assert_eq!(set(&mut rig, file, class::FILE_DISPOSITION, &[1]), NtStatus::SUCCESS);
    let standard = output(&query(&mut rig, again, InfoType::FILE, class::FILE_STANDARD, 24));
    assert_eq!(standard[16..22], [0, 0, 0, 0, 1, 0], "no link, delete pending, no directory");
    assert_eq!(
        rig.create("a", CreateDisposition::OPEN, CreateOptions::NONE).status(),
        NtStatus::DELETE_PENDING
    );
    close(&mut rig, file);
    assert_eq!(
        rig.create("a", CreateDisposition::OPEN, CreateOptions::NONE).status(),
        NtStatus::DELETE_PENDING
    );
    close(&mut rig, again);
    rig.file("a");
    let options = CreateOptions::DELETE_ON_CLOSE;
    let temporary = opened(&rig.create("t", CreateDisposition::CREATE, options));
    close(&mut rig, temporary);
    let answer = rig.create("t", CreateDisposition::OPEN, CreateOptions::NONE);
    assert_eq!(answer.status(), NtStatus::OBJECT_NAME_NOT_FOUND);
}

#[test]
fn a_directory_with_something_in_it_and_a_file_that_is_read_only_are_not_deleted() {
    let mut rig = ready();
    let directory = rig.directory("d");
    let file = rig.file("d\\f");
    assert_eq!(set(&mut rig, directory, class::FILE_DISPOSITION, &[1]), NtStatus::DIRECTORY_NOT_EMPTY);
    let mut basic = [0; 40];
    basic[32] = 1;
    assert_eq!(set(&mut rig, file, class::FILE_BASIC, &basic), NtStatus::SUCCESS);
    assert_eq!(set(&mut rig, file, class::FILE_DISPOSITION, &[1]), NtStatus::CANNOT_DELETE);
    basic[32] = 0x80;
    assert_eq!(set(&mut rig, file, class::FILE_BASIC, &basic), NtStatus::SUCCESS);
    assert_eq!(set(&mut rig, file, class::FILE_DISPOSITION, &[1]), NtStatus::SUCCESS);
    close(&mut rig, file);
    assert_eq!(set(&mut rig, directory, class::FILE_DISPOSITION, &[1]), NtStatus::SUCCESS);
}

#[test]
fn a_directory_that_is_to_go_with_its_close_stays_if_something_is_in_it() {
    let mut rig = ready();
    let (directory, file) = (rig.directory("d"), rig.file("d\\f"));
    close(&mut rig, directory);
    let directory = opened(&rig.create("d", CreateDisposition::OPEN, CreateOptions::DELETE_ON_CLOSE));
    close(&mut rig, directory);
    close(&mut rig, file);
    let left = rig.create("d\\f", CreateDisposition::OPEN, CreateOptions::DELETE_ON_CLOSE);
    close(&mut rig, opened(&left));
    let directory = opened(&rig.create("d", CreateDisposition::OPEN, CreateOptions::DELETE_ON_CLOSE));
    close(&mut rig, directory);
    let answer = rig.create("d", CreateDisposition::OPEN, CreateOptions::NONE);
    assert_eq!(answer.status(), NtStatus::OBJECT_NAME_NOT_FOUND);
}

#[test]
fn a_file_gets_another_name_and_tells_it() {
    let mut rig = ready();
    let directory = rig.directory("d");
    close(&mut rig, directory);
    let (file, other) = (rig.file("a"), rig.file("b"));
    assert_eq!(rename(&mut rig, file, "b", false), NtStatus::OBJECT_NAME_COLLISION);
    assert_eq!(rename(&mut rig, file, "b", true), NtStatus::ACCESS_DENIED, "it is open");
    close(&mut rig, other);
    assert_eq!(rename(&mut rig, file, "b", true), NtStatus::SUCCESS);
    assert_eq!(rename(&mut rig, file, "d\\New", false), NtStatus::SUCCESS);
    let all = output(&query(&mut rig, file, InfoType::FILE, class::FILE_ALL, 1000));
    assert_eq!(Text::from_wire(&all[100..]).to_string(), "\\d\\New");
    assert_eq!(rename(&mut rig, file, "x\\y", false), NtStatus::OBJECT_PATH_NOT_FOUND);
    assert_eq!(rename(&mut rig, file, "..\\y", false), NtStatus(0xC000_003B));
    assert_eq!(rename(&mut rig, file, "", false), NtStatus::INVALID_PARAMETER);
    assert_eq!(set(&mut rig, file, class::FILE_RENAME, &[0; 19]), NtStatus::INFO_LENGTH_MISMATCH);
    let directory = opened(&rig.create("d", CreateDisposition::OPEN, CreateOptions::NONE));
    assert_eq!(rename(&mut rig, directory, "d\\d", false), NtStatus::ACCESS_DENIED, "into itself");
    // smb2.rename of smbtorture
    assert_eq!(rename(&mut rig, directory, "e", false), NtStatus::ACCESS_DENIED, "a file in it is open");
    let below = rig.create("b", CreateDisposition::CREATE, CreateOptions::NONE);
    let below = opened(&below);
    assert_eq!(rename(&mut rig, below, "d\\b", false), NtStatus::SHARING_VIOLATION, "it may be deleted");
    close(&mut rig, file);
    assert_eq!(rename(&mut rig, directory, "e", false), NtStatus::SUCCESS);
    close(&mut rig, directory);
    assert_eq!(rename(&mut rig, below, "e\\b", false), NtStatus::SUCCESS);
}

#[test]
fn sizes_times_and_attributes_are_set() {
    let mut rig = ready();
    let file = rig.file("a");
    write(&mut rig, file, 0, b"1234567890");
    assert_eq!(set(&mut rig, file, class::FILE_END_OF_FILE, &4_u64.to_le_bytes()), NtStatus::SUCCESS);
    assert_eq!(read(&mut rig, file, 0, 10), Ok(b"1234".to_vec()));
    assert_eq!(set(&mut rig, file, class::FILE_ALLOCATION, &100_u64.to_le_bytes()), NtStatus::SUCCESS);
    assert_eq!(read(&mut rig, file, 0, 10), Ok(b"1234".to_vec()));
    assert_eq!(set(&mut rig, file, class::FILE_ALLOCATION, &2_u64.to_le_bytes()), NtStatus::SUCCESS);
    assert_eq!(read(&mut rig, file, 0, 10), Ok(b"12".to_vec()));
    let most = (1_u64 << 62).to_le_bytes();
    assert_eq!(set(&mut rig, file, class::FILE_END_OF_FILE, &most), NtStatus::DISK_FULL);
    assert_eq!(set(&mut rig, file, class::FILE_END_OF_FILE, &[255; 8]), NtStatus::INVALID_PARAMETER);
    assert_eq!(set(&mut rig, file, class::FILE_END_OF_FILE, &[0; 7]), NtStatus::INFO_LENGTH_MISMATCH);
    let mut basic = [0; 40];
    basic[0] = 9;
    basic[8..16].fill(0xFF);
    basic[32] = 2;
    assert_eq!(set(&mut rig, file, class::FILE_BASIC, &basic), NtStatus::SUCCESS);
    let told = output(&query(&mut rig, file, InfoType::FILE, class::FILE_BASIC, 40));
    assert_eq!((told[0], told[32]), (9, 2));
    for (number, expected) in [
        (14, NtStatus::SUCCESS),
        (class::FILE_LINK, NtStatus::NOT_SUPPORTED),
        (64, NtStatus::NOT_SUPPORTED),
        (5, NtStatus::INVALID_INFO_CLASS),
        (200, NtStatus::INVALID_INFO_CLASS),
    ] {
        assert_eq!(set(&mut rig, file, number, &[0; 40]), expected, "{number}");
    }
    for info_type in [InfoType::FILESYSTEM, InfoType::SECURITY, InfoType::QUOTA] {
        let request = SetInfoRequest { file_id: file, info_type, input: b"1", ..SetInfoRequest::default() };
        assert_eq!(rig.status(&request), NtStatus::NOT_SUPPORTED);
    }
}

#[test]
fn what_cifs_smbclient_and_explorer_ask_about_files_and_volumes_is_answered() {
    let mut rig = ready();
    let file = rig.file("a");
    for number in [4, 5, 6, 7, 8, 14, 16, 17, 18, 21, 22, 28, 34, 35, 48, 59] {
        assert_eq!(
            query(&mut rig, file, InfoType::FILE, number, 1000).status(),
            NtStatus::SUCCESS,
            "{number}"
        );
    }
    for number in [1, 3, 4, 5, 6, 7, 8, 11] {
        assert_eq!(
            query(&mut rig, file, InfoType::FILESYSTEM, number, 1000).status(),
            NtStatus::SUCCESS,
            "{number}"
        );
    }
    for (info_type, number, expected) in [
        (InfoType::FILE, 15, NtStatus(0xC000_0052)),
        (InfoType::FILE, 20, NtStatus::NOT_SUPPORTED),
        (InfoType::FILE, 200, NtStatus::INVALID_INFO_CLASS),
        (InfoType::FILESYSTEM, 2, NtStatus::NOT_SUPPORTED),
        (InfoType::FILESYSTEM, 99, NtStatus::INVALID_INFO_CLASS),
        (InfoType::QUOTA, 32, NtStatus::NOT_SUPPORTED),
        (InfoType(9), 4, NtStatus::INVALID_PARAMETER),
    ] {
        assert_eq!(query(&mut rig, file, info_type, number, 1000).status(), expected, "{info_type} {number}");
    }
}

#[test]
fn an_answer_that_is_too_long_is_cut_behind_its_fixed_part_and_not_before() {
    let mut rig = ready();
    let file = rig.file("abc");
    let answer = query(&mut rig, file, InfoType::FILE, class::FILE_ALL, 104);
    assert_eq!((answer.status(), output(&answer).len()), (NtStatus::BUFFER_OVERFLOW, 104));
    let answer = query(&mut rig, file, InfoType::FILE, class::FILE_ALL, 99);
    assert_eq!(answer.status(), NtStatus::INFO_LENGTH_MISMATCH);
    let ErrorResponse::Contexts(contexts) = ErrorResponse::parse(&answer.bytes).unwrap() else {
        panic!("3.1.1")
    };
    assert_eq!(contexts.iter().next().unwrap().unwrap().data, b"");
    let descriptor = |parts, max| QueryInfoRequest {
        file_id: file,
        info_type: InfoType::SECURITY,
        additional_information: parts,
        output_buffer_length: max,
        ..QueryInfoRequest::default()
    };
    let answer = rig.request(&descriptor(AdditionalInformation(7), 71));
    assert_eq!(answer.status(), NtStatus::BUFFER_TOO_SMALL);
    let ErrorResponse::Contexts(contexts) = ErrorResponse::parse(&answer.bytes).unwrap() else {
        panic!("3.1.1")
    };
    assert_eq!(contexts.iter().next().unwrap().unwrap().data, 72_u32.to_le_bytes());
    let answer = rig.request(&descriptor(AdditionalInformation(7), 72));
    assert_eq!((answer.status(), output(&answer).len()), (NtStatus::SUCCESS, 72));
    assert_eq!(rig.status(&descriptor(AdditionalInformation::SACL, 100)), NtStatus::ACCESS_DENIED);
}

#[test]
fn ranges_are_locked_all_or_none() {
    let mut rig = ready();
    let first = rig.file("a");
    let second = opened(&rig.create("a", CreateDisposition::OPEN, CreateOptions::NONE));
    let now = LockFlags::EXCLUSIVE_LOCK | LockFlags::FAIL_IMMEDIATELY;
    let range = |offset, flags| LockElement { offset, length: 10, flags };
    let lock = |rig: &mut Rig, file_id, locks: &[LockElement]| {
        rig.status(&LockRequest { file_id, locks: locks.into(), ..LockRequest::default() })
    };
    write(&mut rig, first, 0, &[1; 100]);
    assert_eq!(lock(&mut rig, first, &[range(10, now)]), NtStatus::SUCCESS);
    assert_eq!(lock(&mut rig, second, &[range(0, now), range(15, now)]), NtStatus::LOCK_NOT_GRANTED);
    assert_eq!(lock(&mut rig, first, &[range(0, now)]), NtStatus::SUCCESS, "the first was given back");
    assert_eq!(read(&mut rig, second, 0, 5), Err(NtStatus::FILE_LOCK_CONFLICT));
    assert_eq!(write(&mut rig, second, 19, b"x").status(), NtStatus::FILE_LOCK_CONFLICT);
    assert_eq!(read(&mut rig, first, 0, 5), Ok(vec![1; 5]));
    assert_eq!(lock(&mut rig, second, &[range(10, LockFlags::UNLOCK)]), NtStatus::RANGE_NOT_LOCKED);
    assert_eq!(lock(&mut rig, first, &[range(10, LockFlags::UNLOCK)]), NtStatus::SUCCESS);
    assert_eq!(lock(&mut rig, second, &[range(10, now)]), NtStatus::SUCCESS);
    close(&mut rig, first);
    assert_eq!(lock(&mut rig, second, &[range(0, now)]), NtStatus::SUCCESS, "a close unlocks");
}

#[test]
fn controls_that_are_not_there_are_refused_with_the_right_status() {
    let mut rig = ready();
    let file = rig.file("a");
    let control = |control_code, file_id, flags| IoctlRequest {
        control_code,
        file_id,
        flags,
        max_output_response: 1000,
        ..IoctlRequest::default()
    };
    let none = FileId::RELATED;
    let fsctl = IoctlFlags::IS_FSCTL;
    for (request, expected) in [
        (control(ControlCode::DFS_GET_REFERRALS, none, fsctl), NtStatus::FS_DRIVER_REQUIRED),
        (control(ControlCode::DFS_GET_REFERRALS_EX, none, fsctl), NtStatus::FS_DRIVER_REQUIRED),
        (control(ControlCode::DFS_GET_REFERRALS, file, fsctl), NtStatus::INVALID_PARAMETER),
        (control(ControlCode::QUERY_NETWORK_INTERFACE_INFO, none, fsctl), NtStatus::NOT_SUPPORTED),
        (control(ControlCode::PIPE_WAIT, none, fsctl), NtStatus::OBJECT_NAME_NOT_FOUND),
        (control(ControlCode::SRV_COPYCHUNK, file, fsctl), NtStatus::INVALID_DEVICE_REQUEST),
        (control(ControlCode::SRV_COPYCHUNK, none, fsctl), NtStatus::FILE_CLOSED),
        (control(ControlCode::DFS_GET_REFERRALS, none, IoctlFlags::NONE), NtStatus::NOT_SUPPORTED),
    ] {
        assert_eq!(rig.status(&request), expected, "{request:?}");
    }
}

#[test]
fn breaks_that_never_were_are_not_acknowledged() {
    let mut rig = ready();
    let file_id = rig.file("a");
    let oplock = OplockBreakAcknowledgment { file_id, ..OplockBreakAcknowledgment::default() };
    assert_eq!(rig.status(&oplock), NtStatus(0xC000_0184));
    assert_eq!(rig.status(&LeaseBreakAcknowledgment::default()), NtStatus::OBJECT_NAME_NOT_FOUND);
}

#[test]
fn a_write_through_needs_a_file_that_is_not_buffered() {
    let mut rig = ready();
    let buffered = rig.file("a");
    let through = |file_id, flags| WriteRequest { file_id, flags, data: b"x", ..WriteRequest::default() };
    let bad = rig.status(&through(buffered, WriteFlags::WRITE_THROUGH));
    assert_eq!(bad, NtStatus::INVALID_PARAMETER);
    let both = WriteFlags::WRITE_THROUGH | WriteFlags::WRITE_UNBUFFERED;
    assert_eq!(rig.status(&through(buffered, both)), NtStatus::SUCCESS);
    let options = CreateOptions::NO_INTERMEDIATE_BUFFERING;
    let unbuffered = opened(&rig.create("b", CreateDisposition::CREATE, options));
    assert_eq!(rig.status(&through(unbuffered, WriteFlags::WRITE_THROUGH)), NtStatus::SUCCESS);
}

#[test]
fn a_directory_is_neither_read_nor_written() {
    let mut rig = ready();
    let directory = rig.directory("d");
    assert_eq!(read(&mut rig, directory, 0, 1), Err(NtStatus::INVALID_DEVICE_REQUEST));
    assert_eq!(write(&mut rig, directory, 0, b"x").status(), NtStatus::INVALID_DEVICE_REQUEST);
    let answer = rig.create("d", CreateDisposition::OPEN, CreateOptions::NONE);
    let attributes = CreateResponse::parse(&answer.bytes).unwrap().file_attributes;
    assert_eq!(attributes, FileAttributes::DIRECTORY);
}
