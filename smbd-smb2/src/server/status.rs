//! NTSTATUS values (MS-ERREF 2.3) that only a server gives.

use crate::wire::NtStatus;

/// STATUS_NO_EAS_ON_FILE.
pub(super) const NO_EAS_ON_FILE: NtStatus = NtStatus(0xC000_0052);
/// STATUS_INVALID_DEVICE_STATE.
pub(super) const INVALID_DEVICE_STATE: NtStatus = NtStatus(0xC000_0184);
/// STATUS_INVALID_LOCK_RANGE.
pub(super) const INVALID_LOCK_RANGE: NtStatus = NtStatus(0xC000_01A1);
/// STATUS_FILE_NOT_AVAILABLE.
pub(super) const FILE_NOT_AVAILABLE: NtStatus = NtStatus(0xC000_0467);
