//! CLOSE and FLUSH (3.3.5.10, 3.3.5.11).

use smbd_core::endpoint::Chunks;

use crate::server::action::{Done, Operation};
use crate::server::answer::{failure_of_file, of_file, success};
use crate::server::chain::Asked;
use crate::server::inner::Inner;
use crate::server::pending::{Outcome, Task, What};
use crate::wire::{
    AccessMask, CloseFlags, CloseRequest, CloseResponse, Command, FileId, FlushRequest, FlushResponse,
    LockResponse, NtStatus, SetInfoResponse,
};

/// 3.3.5.10.
pub(in crate::server) fn request(
    inner: &mut Inner,
    asked: &Asked,
    request: &CloseRequest,
) -> Result<Outcome, NtStatus> {
    let (file_id, open) = inner.open(asked, request.file_id)?;
    let handle = open.handle;
    inner.session(asked)?.opens.remove(&file_id.volatile);
    inner.end_changes(handle);
    let wants_attributes = request.flags.contains(CloseFlags::POSTQUERY_ATTRIB);
    Ok(Outcome::Wait(What::Close { wants_attributes }, Task::Close { handle, wants_attributes }))
}

/// The file is closed, whatever the driver says of it.
pub(in crate::server) fn done(
    room: &mut Chunks,
    asked: &Asked,
    wants_attributes: bool,
    done: Result<Done, NtStatus>,
) -> Outcome {
    let response = match done {
        Ok(Done::Attributes(attributes)) if wants_attributes => CloseResponse {
            flags: CloseFlags::POSTQUERY_ATTRIB,
            creation_time: attributes.creation_time,
            last_access_time: attributes.last_access_time,
            last_write_time: attributes.last_write_time,
            change_time: attributes.change_time,
            allocation_size: attributes.allocation_size,
            end_of_file: attributes.end_of_file,
            file_attributes: attributes.file_attributes,
        },
        Ok(_) | Err(_) => CloseResponse::default(),
    };
    success(room, asked, &response)
}

/// 3.3.5.11.
pub(in crate::server) fn flush(
    inner: &mut Inner,
    asked: &Asked,
    request: &FlushRequest,
) -> Result<Outcome, NtStatus> {
    let (file_id, open) = inner.open(asked, request.file_id)?;
    let may_write = [AccessMask::WRITE_DATA, AccessMask::APPEND_DATA];
    if !may_write.into_iter().any(|right| open.access.contains(right)) {
        return Err(NtStatus::ACCESS_DENIED);
    }
    let what = What::Plain { file_id, kept: None };
    Ok(Outcome::Wait(what, Task::File(Operation::Flush(open.handle))))
}

/// An operation whose answer says nothing.
pub(in crate::server) fn plain_done(
    room: &mut Chunks,
    asked: &Asked,
    file_id: FileId,
    done: Result<Done, NtStatus>,
) -> Outcome {
    if let Err(status) = done {
        return failure_of_file(room, asked, file_id, status);
    }
    match asked.header.command {
        Command::FLUSH => of_file(room, asked, file_id, NtStatus::SUCCESS, &FlushResponse::default()),
        Command::LOCK => of_file(room, asked, file_id, NtStatus::SUCCESS, &LockResponse::default()),
        _ => of_file(room, asked, file_id, NtStatus::SUCCESS, &SetInfoResponse::default()),
    }
}
