//! Edges that smbtorture tries: reads of nothing, numbers beyond all files, ranges that are none.

use smbd_smb2::wire::{
    CreateDisposition, CreateOptions, FileId, LockElement, LockFlags, LockRequest, NtStatus, ReadRequest,
    WriteRequest,
};

use crate::rig::{Rig, TCP, opened, params};

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
