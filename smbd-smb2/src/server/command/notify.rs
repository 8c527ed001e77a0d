//! CHANGE_NOTIFY (3.3.5.19) and what is acknowledged without a reason (3.3.5.22).

use crate::server::answer::failure_of_file;
use crate::server::chain::Asked;
use crate::server::inner::Inner;
use crate::server::pending::{Outcome, Task, What};
use crate::server::status;
use crate::wire::{ChangeNotifyRequest, NtStatus, OplockBreakAcknowledgment};

/// 3.3.5.19: it waits until it is cancelled, or the directory closed. No change is told.
pub(in crate::server) fn request(
    inner: &mut Inner,
    asked: &Asked,
    request: &ChangeNotifyRequest,
) -> Result<Outcome, NtStatus> {
    let (max, has_room) = (inner.max_transact(), inner.has_room_for_a_wait());
    let (file_id, open) = inner.open(asked, request.file_id)?;
    let handle = open.handle;
    let status = if request.output_buffer_length > max || !open.is_directory {
        NtStatus::INVALID_PARAMETER
    } else if !open.reads() {
        NtStatus::ACCESS_DENIED
    } else if !asked.is_last {
        // What is behind it would wait for ever.
        NtStatus::INTERNAL_ERROR
    } else if !has_room {
        NtStatus::INSUFFICIENT_RESOURCES
    } else {
        return Ok(Outcome::Wait(What::Notify { file_id }, Task::Change { handle }));
    };
    Ok(failure_of_file(&mut inner.chunks, asked, file_id, status))
}

/// 3.3.5.22.1: there are no oplocks that could break.
pub(in crate::server) fn oplock(
    inner: &mut Inner,
    asked: &Asked,
    request: &OplockBreakAcknowledgment,
) -> Result<Outcome, NtStatus> {
    inner.open(asked, request.file_id)?;
    Err(status::INVALID_DEVICE_STATE)
}

/// 3.3.5.22.2: there are no leases.
pub(in crate::server) fn lease(inner: &mut Inner, asked: &Asked) -> Result<Outcome, NtStatus> {
    inner.tree(asked)?;
    Err(NtStatus::OBJECT_NAME_NOT_FOUND)
}
