//! WRITE (3.3.5.13).

use smbd_core::endpoint::Chunks;

use crate::server::action::{Done, Operation, WriteData};
use crate::server::answer::{failure_of_file, of_file};
use crate::server::chain::Asked;
use crate::server::channel;
use crate::server::inner::Inner;
use crate::server::pending::{Outcome, Task, What};
use crate::server::session::Open;
use crate::server::transform;
use crate::wire::{
    AccessMask, Channel, CreateOptions, Dialect, FileId, NtStatus, WriteFlags, WriteRequest, WriteResponse,
    write,
};

/// With a channel of none, DataOffset can be this at most.
const DATA_OFFSET_MAX: u16 = 0x100;

/// 3.3.5.13. `element` is the request as it came.
pub(in crate::server) fn request(
    inner: &mut Inner,
    asked: &Asked,
    request: &WriteRequest<'_>,
    element: &[u8],
) -> Result<Outcome, NtStatus> {
    let dialect = inner.dialect();
    let (file_id, open) = inner.open(asked, request.file_id)?;
    if open.is_directory {
        return Ok(failure_of_file(&mut inner.chunks, asked, file_id, NtStatus::INVALID_DEVICE_REQUEST));
    }
    let (handle, is_through) = (open.handle, is_through(open, request, dialect));
    let append_only = !open.access.contains(AccessMask::WRITE_DATA);
    if append_only && !open.access.contains(AccessMask::APPEND_DATA) {
        return Err(NtStatus::ACCESS_DENIED);
    }
    let outcome = check(inner, request, element).and_then(|len| {
        let through = is_through?;
        let data = |data| Operation::Write { handle, offset: request.offset, data, through, append_only };
        if request.channel == Channel::NONE {
            let operation = data(WriteData::Bytes(inner.chunks.copy(&[request.data]).freeze()));
            return Ok(Outcome::Wait(What::Write { file_id, len }, Task::File(operation)));
        }
        let (cover, descriptors) = transform::of_write(inner, asked, request)?;
        transform::check(inner, asked, cover)?;
        let buffers = channel::buffers(inner, descriptors, len)?;
        if buffers.first().is_none_or(|first| first.length == 0) {
            return Err(NtStatus::INVALID_PARAMETER);
        }
        let operation = data(WriteData::Channel(len));
        Ok(Outcome::Wait(What::Fetch { file_id, len, operation, cover }, Task::RdmaRead { buffers, len }))
    });
    Ok(outcome.unwrap_or_else(|status| failure_of_file(&mut inner.chunks, asked, file_id, status)))
}

/// What a WRITE and its channel have to be. Returns the number of bytes.
fn check(inner: &Inner, request: &WriteRequest<'_>, element: &[u8]) -> Result<u32, NtStatus> {
    let data_offset = write::request::DATA_OFFSET.get(element).unwrap_or_default();
    let length = write::request::LENGTH.get(element).unwrap_or_default();
    if !channel::is_known_of_write(inner, request.channel) {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    let is_valid = if request.channel == Channel::NONE {
        data_offset <= DATA_OFFSET_MAX
    } else {
        let info = write::request::WRITE_CHANNEL_INFO_OFFSET.get(element).unwrap_or_default();
        let is_empty = request.remaining_bytes == 0 || info == 0 || request.channel_info.is_empty();
        inner.link.transport.is_rdma() && length == 0 && data_offset == 0 && !is_empty
    };
    let len = if request.channel == Channel::NONE { length } else { request.remaining_bytes };
    let ends = request.offset.checked_add(len.into()).is_some_and(|end| i64::try_from(end).is_ok());
    if !is_valid || !ends || len > inner.params().max_write_size {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    Ok(len)
}

/// Whether the data have to be on disk before the answer. What was opened for buffered writes cannot ask for it in each.
fn is_through(open: &Open, request: &WriteRequest<'_>, dialect: Dialect) -> Result<bool, NtStatus> {
    let is_through = request.flags.contains(WriteFlags::WRITE_THROUGH);
    let is_unbuffered = dialect >= Dialect::SMB_3_0_2 && request.flags.contains(WriteFlags::WRITE_UNBUFFERED);
    if is_through && !is_unbuffered && !open.options.contains(CreateOptions::NO_INTERMEDIATE_BUFFERING) {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    Ok(is_through || open.options.contains(CreateOptions::WRITE_THROUGH))
}

/// The data are written.
pub(in crate::server) fn done(
    room: &mut Chunks,
    asked: &Asked,
    file_id: FileId,
    len: u32,
    done: Result<Done, NtStatus>,
) -> Outcome {
    match done {
        Ok(_) => of_file(room, asked, file_id, NtStatus::SUCCESS, &WriteResponse { count: len }),
        Err(status) => failure_of_file(room, asked, file_id, status),
    }
}
