//! READ (3.3.5.12).

use smbd_core::endpoint::Chunks;

use crate::cover::Cover;
use crate::server::action::{Action, Done, FRONT, Operation, OperationId, ReadBuffer};
use crate::server::answer::{failure_of_file, of_bytes, of_file};
use crate::server::chain::{Answer, Asked};
use crate::server::channel;
use crate::server::inner::Inner;
use crate::server::pending::{Outcome, Reading, Task, What};
use crate::server::transform;
use crate::wire::{
    Channel, FileId, NtStatus, ReadRequest, ReadResponse, ReadResponseFlags, read, write_element,
};

/// 3.3.5.12. `element` is the request as it came.
pub(in crate::server) fn request(
    inner: &mut Inner,
    asked: &Asked,
    request: &ReadRequest<'_>,
    element: &[u8],
) -> Result<Outcome, NtStatus> {
    let (file_id, open) = inner.open(asked, request.file_id)?;
    let (handle, is_directory) = (open.handle, open.is_directory);
    if !open.reads() {
        return Err(NtStatus::ACCESS_DENIED);
    }
    // Nothing is success only if nothing was asked for.
    let minimum = request.minimum_count.max(u32::from(request.length > 0));
    let outcome = check(inner, request, element).map(|()| {
        if request.channel == Channel::NONE {
            // A client that cannot receive the answer gets a part of the data.
            let len = inner.link.transport.payload_max(request.length);
            let minimum = if len < request.length { minimum.min(len) } else { minimum };
            let buffer = ReadBuffer::new(read::response::LAYOUT.end(), len);
            let operation = Operation::Read { handle, offset: request.offset, buffer };
            return Ok(Outcome::Wait(What::Read { file_id, minimum }, Task::File(operation)));
        }
        let cover = transform::of_read(inner, asked);
        transform::check(inner, asked, cover)?;
        let descriptors = request.descriptors().map_err(|_| NtStatus::INVALID_PARAMETER)?;
        let buffers = channel::buffers(inner, descriptors, request.length)?;
        let operation = Operation::ReadChannel { handle, offset: request.offset, len: request.length };
        let reading = Reading { file_id, handle, minimum, buffers, cover };
        Ok(Outcome::Wait(What::ReadChannel(reading), Task::File(operation)))
    });
    // MS-FSA 2.1.5.3
    let outcome = outcome
        .and_then(|outcome| if is_directory { Err(NtStatus::INVALID_DEVICE_REQUEST) } else { outcome });
    Ok(outcome.unwrap_or_else(|status| failure_of_file(&mut inner.chunks, asked, file_id, status)))
}

/// What a READ and its channel have to be.
fn check(inner: &Inner, request: &ReadRequest<'_>, element: &[u8]) -> Result<(), NtStatus> {
    // MS-FSA 2.1.5.3
    let end = request.offset.checked_add(request.length.into());
    if request.length > inner.params().max_read_size || end.is_none_or(|end| i64::try_from(end).is_err()) {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    if !channel::is_known(request.channel, inner.dialect()) {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    if request.channel != Channel::NONE {
        let offset = read::request::READ_CHANNEL_INFO_OFFSET.get(element).unwrap_or_default();
        let is_empty = request.length == 0 || offset == 0 || request.channel_info.is_empty();
        if !inner.link.transport.is_rdma() || is_empty {
            return Err(NtStatus::INVALID_PARAMETER);
        }
    }
    Ok(())
}

/// The data are in the answer.
pub(in crate::server) fn done(
    room: &mut Chunks,
    asked: &Asked,
    file_id: FileId,
    minimum: u32,
    done: Result<Done, NtStatus>,
) -> Outcome {
    let buffer = match done {
        Ok(Done::Read(buffer)) => buffer,
        Ok(_) => return failure_of_file(room, asked, file_id, NtStatus::INTERNAL_ERROR),
        Err(status) => return failure_of_file(room, asked, file_id, status),
    };
    let len = u32::try_from(buffer.len()).unwrap_or(u32::MAX);
    if len < minimum {
        return failure_of_file(room, asked, file_id, NtStatus::END_OF_FILE);
    }
    let (front, stated) = room.write(|front| {
        write_element(front, &asked.response(NtStatus::SUCCESS), &ReadResponse::default())
            .and_then(|()| read::response::DATA_LENGTH.set(front, len))
    });
    let mut bytes = buffer.into_bytes();
    let place = bytes.get_mut(FRONT..).and_then(|answer| answer.get_mut(..front.len()));
    match place {
        Some(place) if stated.is_ok() => place.copy_from_slice(&front),
        Some(_) | None => return failure_of_file(room, asked, file_id, NtStatus::INTERNAL_ERROR),
    }
    Outcome::Answer(Answer { file: Some(Ok(file_id)), ..of_bytes(asked, NtStatus::SUCCESS, bytes) })
}

/// The data are in the driver's buffer. They are signed or encrypted there, if they have to be.
pub(in crate::server) fn channel_done(
    inner: &mut Inner,
    asked: &Asked,
    id: OperationId,
    reading: Reading,
    done: Result<Done, NtStatus>,
) -> Outcome {
    let Reading { file_id, minimum, ref buffers, .. } = reading;
    let total = buffers.iter().fold(0_u64, |total, buffer| total.saturating_add(buffer.length.into()));
    let len = match done {
        Ok(Done::Count(len)) if u64::from(len) <= total => len,
        Ok(_) => return failure_of_file(&mut inner.chunks, asked, file_id, NtStatus::INTERNAL_ERROR),
        Err(status) => return failure_of_file(&mut inner.chunks, asked, file_id, status),
    };
    if len < minimum {
        return failure_of_file(&mut inner.chunks, asked, file_id, NtStatus::END_OF_FILE);
    }
    match reading.cover {
        Some(cover) => Outcome::Wait(What::Cover { reading, len, cover }, Task::Transform { len }),
        None => give(inner, asked, id, reading, (len, &[])),
    }
}

/// The data are signed or encrypted.
pub(in crate::server) fn covered(
    inner: &mut Inner,
    asked: &Asked,
    id: OperationId,
    (reading, len, cover): (Reading, u32, &Cover),
    done: Result<Done, NtStatus>,
) -> Outcome {
    match done {
        Ok(_) => give(inner, asked, id, reading, (len, &transform::buffer(cover))),
        Err(status) => failure_of_file(&mut inner.chunks, asked, reading.file_id, status),
    }
}

/// The data go to the client before the answer does.
fn give(
    inner: &mut Inner,
    asked: &Asked,
    id: OperationId,
    Reading { file_id, buffers, .. }: Reading,
    (len, data): (u32, &[u8]),
) -> Outcome {
    inner.begin_write(id);
    inner.push(Action::RdmaWrite { id, buffers, len });
    let flags = ReadResponseFlags::NONE.with(ReadResponseFlags::RDMA_TRANSFORM, !data.is_empty());
    let response = ReadResponse { data_remaining: len, data, flags };
    of_file(&mut inner.chunks, asked, file_id, NtStatus::SUCCESS, &response)
}
