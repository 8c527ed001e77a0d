//! NTSTATUS values (MS-ERREF 2.3) that only a server gives.

use crate::wire::{LockElement, NtStatus};

/// STATUS_OBJECT_PATH_SYNTAX_BAD.
pub(super) const OBJECT_PATH_SYNTAX_BAD: NtStatus = NtStatus(0xC000_003B);
/// STATUS_EAS_NOT_SUPPORTED.
pub(super) const EAS_NOT_SUPPORTED: NtStatus = NtStatus(0xC000_004F);
/// STATUS_NO_EAS_ON_FILE.
pub(super) const NO_EAS_ON_FILE: NtStatus = NtStatus(0xC000_0052);
/// STATUS_BAD_IMPERSONATION_LEVEL.
pub(super) const BAD_IMPERSONATION_LEVEL: NtStatus = NtStatus(0xC000_00A5);
/// STATUS_INVALID_DEVICE_STATE.
pub(super) const INVALID_DEVICE_STATE: NtStatus = NtStatus(0xC000_0184);
/// STATUS_INVALID_LOCK_RANGE.
pub(super) const INVALID_LOCK_RANGE: NtStatus = NtStatus(0xC000_01A1);
/// STATUS_FILE_NOT_AVAILABLE.
pub(super) const FILE_NOT_AVAILABLE: NtStatus = NtStatus(0xC000_0467);

/// Whether the last byte of a range has an offset (MS-FSA 2.1.5.7, 2.1.5.8).
pub(super) fn check_range(range: &LockElement) -> Result<(), NtStatus> {
    let last = range.length.checked_sub(1);
    if last.is_some_and(|last| range.offset.checked_add(last).is_none()) {
        return Err(INVALID_LOCK_RANGE);
    }
    Ok(())
}
