//! Edges that smbtorture tries: reads of nothing, numbers beyond all files, ranges that are none, files that cannot be written, options
//! that nobody has.

use smbd_smb2::wire::info::class;
use smbd_smb2::wire::{
    AccessMask, CreateContext, CreateDisposition, CreateOptions, CreateRequest, CreateResponse,
    FileAttributes, FileId, InfoType, LockElement, LockFlags, LockRequest, NtStatus, QueryInfoRequest,
    QueryInfoResponse, ReadRequest, Records, SetInfoRequest, WriteRequest,
};

use crate::rig::{Rig, TCP, create, opened, params};

/// A file of ten bytes.
fn ready() -> (Rig, FileId) {
    let mut rig = Rig::ready(params(), TCP);
    let file_id = rig.file("f");
    let written = rig.status(&WriteRequest { file_id, data: b"0123456789", ..WriteRequest::default() });
    assert_eq!(written, NtStatus::SUCCESS);
    (rig, file_id)
}

fn read(rig: &mut Rig, file_id: FileId, offset: u64, length: u32, minimum_count: u32) -> NtStatus {
    rig.status(&ReadRequest { file_id, offset, length, minimum_count, ..ReadRequest::default() })
}

#[test]
fn a_read_of_nothing_succeeds_unless_something_is_the_least_of_it() {
    let (mut rig, file) = ready();
    for offset in [0, 10, 100] {
        assert_eq!(read(&mut rig, file, offset, 0, 0), NtStatus::SUCCESS, "{offset}");
        assert_eq!(read(&mut rig, file, offset, 0, 1), NtStatus::END_OF_FILE, "{offset}");
    }
}

#[test]
fn a_read_ends_within_the_numbers_that_files_have() {
    let (mut rig, file) = ready();
    let last = i64::MAX as u64;
    assert_eq!(read(&mut rig, file, last - 10, 10, 0), NtStatus::END_OF_FILE);
    assert_eq!(read(&mut rig, file, last, 0, 0), NtStatus::SUCCESS);
    for (offset, length) in [(last - 10, 11), (last + 1, 0), (u64::MAX, 0)] {
        assert_eq!(read(&mut rig, file, offset, length, 0), NtStatus::INVALID_PARAMETER, "{offset}");
    }
}

#[test]
fn a_range_that_goes_beyond_all_numbers_is_no_range_to_lock() {
    let (mut rig, file_id) = ready();
    let mut lock = |offset, length, kind| {
        let flags = kind | LockFlags::FAIL_IMMEDIATELY;
        let locks = [LockElement { offset, length, flags }];
        rig.status(&LockRequest { file_id, locks: (&locks[..]).into(), ..LockRequest::default() })
    };
    /// STATUS_INVALID_LOCK_RANGE.
    const NO_RANGE: NtStatus = NtStatus(0xC000_01A1);
    assert_eq!(lock(u64::MAX, 2, LockFlags::EXCLUSIVE_LOCK), NO_RANGE);
    assert_eq!(lock(2, u64::MAX, LockFlags::SHARED_LOCK), NO_RANGE);
    assert_eq!(lock(u64::MAX, 1, LockFlags::EXCLUSIVE_LOCK), NtStatus::SUCCESS);
}

#[test]
fn no_lock_keeps_anybody_from_reading_or_writing_nothing() {
    let (mut rig, one) = ready();
    let other = opened(&rig.create("f", CreateDisposition::OPEN, CreateOptions::NONE));
    let locks = [LockElement {
        offset: 0,
        length: 10,
        flags: LockFlags::EXCLUSIVE_LOCK | LockFlags::FAIL_IMMEDIATELY,
    }];
    let locked =
        rig.status(&LockRequest { file_id: one, locks: (&locks[..]).into(), ..LockRequest::default() });
    assert_eq!(locked, NtStatus::SUCCESS);
    assert_eq!(read(&mut rig, other, 5, 1, 0), NtStatus::FILE_LOCK_CONFLICT);
    assert_eq!(read(&mut rig, other, 5, 0, 0), NtStatus::SUCCESS);
    let nothing = WriteRequest { file_id: other, offset: 5, ..WriteRequest::default() };
    assert_eq!(rig.status(&nothing), NtStatus::SUCCESS);
}

/// 3.3.5.14.1
#[test]
fn what_was_unlocked_before_a_range_that_is_to_be_locked_stays_so() {
    let mut rig = Rig::ready(params(), TCP);
    let first = rig.file("a");
    let second = opened(&rig.create("a", CreateDisposition::OPEN, CreateOptions::NONE));
    let now = LockFlags::EXCLUSIVE_LOCK | LockFlags::FAIL_IMMEDIATELY;
    let range = |offset, flags| LockElement { offset, length: 10, flags };
    let lock = |rig: &mut Rig, file_id, locks: &[LockElement]| {
        rig.status(&LockRequest { file_id, locks: locks.into(), ..LockRequest::default() })
    };
    assert_eq!(lock(&mut rig, first, &[range(0, now), range(20, now)]), NtStatus::SUCCESS);
    let mixed = [range(0, LockFlags::UNLOCK), range(10, now), range(20, LockFlags::UNLOCK)];
    assert_eq!(lock(&mut rig, first, &mixed), NtStatus::INVALID_PARAMETER);
    assert_eq!(lock(&mut rig, second, &[range(0, now)]), NtStatus::SUCCESS, "it was unlocked");
    assert_eq!(lock(&mut rig, second, &[range(10, now)]), NtStatus::SUCCESS, "nobody locked it");
    assert_eq!(lock(&mut rig, second, &[range(20, now)]), NtStatus::LOCK_NOT_GRANTED, "it is behind");
    let beyond = [LockElement { offset: u64::MAX, length: 2, flags: LockFlags::UNLOCK }];
    assert_eq!(lock(&mut rig, first, &beyond), NtStatus(0xC000_01A1), "STATUS_INVALID_LOCK_RANGE");
}

#[test]
fn bad_locks_are_refused_before_any_range_is_locked() {
    let mut rig = Rig::ready(params(), TCP);
    let (file_id, directory) = (rig.file("a"), rig.directory("d"));
    let now = LockFlags::EXCLUSIVE_LOCK | LockFlags::FAIL_IMMEDIATELY;
    let of = |flags| LockElement { offset: 0, length: 1, flags };
    for locks in [
        &[][..],
        &[of(now), of(LockFlags::UNLOCK)],
        &[of(LockFlags::EXCLUSIVE_LOCK), of(now)],
        &[of(LockFlags::SHARED_LOCK | LockFlags::EXCLUSIVE_LOCK)],
        &[of(LockFlags(0x80))],
    ] {
        let request = LockRequest { file_id, locks: locks.into(), ..LockRequest::default() };
        assert_eq!(rig.status(&request), NtStatus::INVALID_PARAMETER, "{locks:?}");
    }
    let locks = [of(now)];
    let request = LockRequest { file_id: directory, locks: (&locks).into(), ..LockRequest::default() };
    assert_eq!(rig.status(&request), NtStatus::INVALID_PARAMETER);
    let many = vec![of(now); 65];
    let request = LockRequest { file_id, locks: many[..].into(), ..LockRequest::default() };
    assert_eq!(rig.status(&request), NtStatus::INSUFFICIENT_RESOURCES);
}

/// Opens the file.
fn open() -> CreateRequest<'static> {
    create("f", CreateDisposition::OPEN, CreateOptions::NONE)
}

/// Gives a file these attributes by FileBasicInformation (MS-FSCC 2.4.7).
fn set_attributes(rig: &mut Rig, file_id: FileId, attributes: u32) -> NtStatus {
    let mut input = [0; 40];
    input[32..36].copy_from_slice(&attributes.to_le_bytes());
    let request = SetInfoRequest {
        file_id,
        info_type: InfoType::FILE,
        info_class: class::FILE_BASIC,
        input: &input,
        ..SetInfoRequest::default()
    };
    rig.status(&request)
}

/// FileAccessInformation (MS-FSCC 2.4.1).
fn access_of(rig: &mut Rig, file_id: FileId) -> u32 {
    let request = QueryInfoRequest {
        file_id,
        info_type: InfoType::FILE,
        info_class: 8,
        output_buffer_length: 4,
        ..QueryInfoRequest::default()
    };
    let answer = rig.request(&request);
    let output = QueryInfoResponse::parse(&answer.bytes).unwrap().output;
    u32::from_le_bytes(output.try_into().unwrap())
}

#[test]
fn maximum_allowed_of_a_read_only_file_is_without_the_rights_to_write_it() {
    let (mut rig, file) = ready();
    assert_eq!(set_attributes(&mut rig, file, 1), NtStatus::SUCCESS);
    let maximum = AccessMask::MAXIMUM_ALLOWED;
    for (desired_access, expected) in [
        (maximum, Ok(0x001F_01F9)),
        (maximum | AccessMask::GENERIC_READ, Ok(0x001F_01F9)),
        (maximum | AccessMask::WRITE_DATA, Err(NtStatus::ACCESS_DENIED)),
        (maximum | AccessMask::GENERIC_WRITE, Err(NtStatus::ACCESS_DENIED)),
        (AccessMask::GENERIC_ALL, Err(NtStatus::ACCESS_DENIED)),
    ] {
        for create_disposition in [CreateDisposition::OPEN, CreateDisposition::OPEN_IF] {
            let answer = rig.request(&CreateRequest { desired_access, create_disposition, ..open() });
            let got = match answer.status() {
                NtStatus::SUCCESS => Ok(access_of(&mut rig, opened(&answer))),
                status => Err(status),
            };
            assert_eq!(got, expected, "{desired_access}");
        }
    }
    let file_id = opened(&rig.request(&open()));
    let written = rig.status(&WriteRequest { file_id, data: b"x", ..WriteRequest::default() });
    assert_eq!(written, NtStatus::ACCESS_DENIED);
    // Whoever makes it may write it.
    let made = CreateRequest {
        file_attributes: FileAttributes::READONLY,
        ..create("new", CreateDisposition::CREATE, CreateOptions::NONE)
    };
    let made = opened(&rig.request(&made));
    assert_eq!(access_of(&mut rig, made), 0x001F_01FF);
}

#[test]
fn what_replaces_a_file_gives_it_its_attributes_and_knows_that_it_was_hidden() {
    use CreateDisposition as D;
    const DENIED: Result<u32, NtStatus> = Err(NtStatus::ACCESS_DENIED);
    const DELETES: CreateOptions = CreateOptions::DELETE_ON_CLOSE;
    for (before, disposition, options, attributes, expected) in [
        (0x20, D::OVERWRITE, CreateOptions::NONE, 0x01, Ok(0x21)),
        (0x20, D::OVERWRITE_IF, CreateOptions::NONE, 0x03, Ok(0x23)),
        (0x20, D::SUPERSEDE, CreateOptions::NONE, 0x81, Ok(0x21)),
        (0x20, D::OVERWRITE, DELETES, 0x01, Err(NtStatus::CANNOT_DELETE)),
        (0x22, D::OVERWRITE, CreateOptions::NONE, 0x80, DENIED),
        (0x24, D::OVERWRITE_IF, CreateOptions::NONE, 0x02, DENIED),
        (0x26, D::OVERWRITE, CreateOptions::NONE, 0x04, DENIED),
        (0x26, D::OVERWRITE, CreateOptions::NONE, 0x06, Ok(0x26)),
        (0x22, D::SUPERSEDE, CreateOptions::NONE, 0x80, Ok(0x20)),
        (0x21, D::SUPERSEDE, CreateOptions::NONE, 0x01, DENIED),
    ] {
        let (mut rig, file) = ready();
        assert_eq!(set_attributes(&mut rig, file, before), NtStatus::SUCCESS);
        let file_attributes = FileAttributes(attributes);
        let answer = rig.request(&CreateRequest { file_attributes, ..create("f", disposition, options) });
        let got = match answer.status() {
            NtStatus::SUCCESS => Ok(CreateResponse::parse(&answer.bytes).unwrap().file_attributes.0),
            status => Err(status),
        };
        assert_eq!(got, expected, "{before:#x} {disposition} {attributes:#x}");
    }
}

#[test]
fn options_that_nobody_has_and_those_that_nobody_supports_are_told_apart() {
    let (mut rig, _) = ready();
    for bit in 0..32 {
        let create_options = CreateOptions(1 << bit);
        let expected = match create_options.0 {
            1 => NtStatus::NOT_A_DIRECTORY,
            0x80 | 0x2000 | 0x0010_0000 => NtStatus::NOT_SUPPORTED,
            0x0100_0000.. => NtStatus::INVALID_PARAMETER,
            _ => NtStatus::SUCCESS,
        };
        // What is deleted on close is for the last.
        if create_options != CreateOptions::DELETE_ON_CLOSE {
            assert_eq!(rig.status(&CreateRequest { create_options, ..open() }), expected, "{create_options}");
        }
    }
}

#[test]
fn extended_attributes_of_who_knows_none_are_denied_2_2_13() {
    let (mut rig, _) = ready();
    let contexts = [CreateContext { name: CreateContext::EA_BUFFER, data: &[0; 16] }];
    for (create_options, expected) in [
        (CreateOptions::NONE, NtStatus(0xC000_004F)),
        (CreateOptions::NO_EA_KNOWLEDGE, NtStatus::ACCESS_DENIED),
    ] {
        let contexts = Records::from(&contexts[..]);
        assert_eq!(rig.status(&CreateRequest { create_options, contexts, ..open() }), expected);
    }
}

#[test]
fn no_directory_is_temporary_and_no_file_a_directory() {
    let (mut rig, file) = ready();
    let directory = rig.directory("d");
    for (file_id, attributes, expected) in [
        (directory, 0x100, NtStatus::INVALID_PARAMETER),
        (directory, 0x110, NtStatus::INVALID_PARAMETER),
        (directory, 0x10, NtStatus::SUCCESS),
        (file, 0x100, NtStatus::SUCCESS),
        (file, 0x10, NtStatus::INVALID_PARAMETER),
    ] {
        assert_eq!(set_attributes(&mut rig, file_id, attributes), expected, "{attributes:#x}");
    }
    let temporary = CreateRequest {
        file_attributes: FileAttributes::TEMPORARY,
        ..create("e", CreateDisposition::CREATE, CreateOptions::DIRECTORY_FILE)
    };
    assert_eq!(rig.status(&temporary), NtStatus::INVALID_PARAMETER);
}

#[test]
fn a_backslash_at_the_end_opens_a_directory_that_is_there_and_makes_none() {
    let mut rig = Rig::ready(params(), TCP);
    rig.directory("d");
    for (name, expected) in
        [("d\\", NtStatus::SUCCESS), ("e\\", NtStatus::OBJECT_NAME_NOT_FOUND), ("d", NtStatus::SUCCESS)]
    {
        let answer = rig.create(name, CreateDisposition::OPEN_IF, CreateOptions::NONE);
        assert_eq!(answer.status(), expected, "{name}");
    }
}

#[test]
fn an_unlock_has_no_other_flag() {
    let (mut rig, file_id) = ready();
    let mut lock = |flags: &[LockFlags]| {
        let locks: Vec<_> = flags
            .iter()
            .zip(0..)
            .map(|(flags, offset)| LockElement { offset, length: 1, flags: *flags })
            .collect();
        rig.status(&LockRequest { file_id, locks: locks.as_slice().into(), ..LockRequest::default() })
    };
    let exclusive = LockFlags::EXCLUSIVE_LOCK | LockFlags::FAIL_IMMEDIATELY;
    let (unlock, bad) = (LockFlags::UNLOCK, LockFlags::UNLOCK | LockFlags::FAIL_IMMEDIATELY);
    assert_eq!(lock(&[exclusive, exclusive]), NtStatus::SUCCESS);
    assert_eq!(lock(&[bad, unlock]), NtStatus::INVALID_PARAMETER);
    assert_eq!(lock(&[exclusive]), NtStatus::LOCK_NOT_GRANTED, "nothing was unlocked");
    assert_eq!(lock(&[unlock, bad]), NtStatus::INVALID_PARAMETER);
    assert_eq!(lock(&[exclusive]), NtStatus::SUCCESS, "the first was unlocked");
}
