//! Operations are carried out: at once if they wait for nothing, otherwise in threads, which may wait for a disk.

use std::sync::Arc;

use smbd_link::transport::Memory;
use smbd_smb2::server::{
    Completion, ConnectionId, Done, FileResult, Operation, OperationId, WriteData, carry_out as of_file,
    close,
};
use smbd_smb2::wire::NtStatus;
use tokio::sync::Semaphore;

use super::host::Host;
use super::inbox::Completed;
use super::named;
use super::surroundings::Surroundings;
use crate::link::Data;
use crate::served::Served;

/// The most bytes that a client's task reads or writes at once. To copy more takes longer than to hand the operation to a thread, and other
/// clients of the same thread would wait.
const SOON_MAX: usize = 64 << 10;

/// What became of an operation that was to be carried out at once.
pub(super) enum Soon {
    Completed(Completed),
    /// It waits for a lock.
    Waits,
    /// It may wait for a disk, or take long: a thread is to carry it out.
    Later(Operation, Option<Data>),
}

/// Carries out an operation if that takes no time: the client's task does it. `data` is memory of its data, if they go by RDMA.
pub(super) fn soon<F: Served, A: Surroundings>(
    host: &Host<F, A>,
    around: &A,
    (number, id): (ConnectionId, OperationId),
    mut operation: Operation,
    data: Option<Data>,
) -> Soon {
    let is_long = named::has_path(&operation) || matches!(operation, Operation::List { .. });
    if is_long || moves(&operation) > SOON_MAX {
        return Soon::Later(operation, data);
    }
    // Nobody waits for a disk here.
    if let Operation::Lock(..) = operation {
        let completion = host.files().carry_out(number, id, operation, None, around.date());
        return completion
            .map_or(Soon::Waits, |completion| Soon::Completed(Completed { id, completion, data: None }));
    }
    let share = host.file((number, operation.handle()));
    let is_quick = share.as_ref().is_ok_and(|(share, _)| share.is_quick());
    if is_quick || matches!(operation, Operation::Unlock(..)) {
        return Soon::Completed(carry_out(host, number, id, operation, data, around.date()));
    }
    let read =
        share.and_then(|(mut share, file)| read_soon(&mut share, &file, &mut operation, data.as_deref()));
    let completion = match (read, operation) {
        (Ok(None), operation) => return Soon::Later(operation, data),
        (Ok(Some(count)), Operation::Read { mut buffer, .. }) => {
            buffer.truncate(count);
            Ok(Done::Read(buffer))
        }
        (Ok(Some(count)), _) => done_count(count),
        (Err(status), _) => Err(status),
    };
    Soon::Completed(Completed::new(id, completion, data))
}

/// How many bytes an operation moves.
const fn moves(operation: &Operation) -> usize {
    match operation {
        Operation::Read { buffer, .. } => buffer.len(),
        Operation::ReadChannel { len, .. } | Operation::Write { data: WriteData::Channel(len), .. } => {
            *len as usize
        }
        Operation::Write { data: WriteData::Bytes(bytes), .. } => bytes.len(),
        _ => 0,
    }
}

/// Reads what the file system has in memory; `None` if that is not all, or if nothing is to be read.
fn read_soon<F: Served>(
    share: &mut F,
    file: &F::File,
    operation: &mut Operation,
    data: Option<&dyn Memory>,
) -> FileResult<Option<usize>> {
    match (operation, data) {
        (Operation::Read { offset, buffer, .. }, _) => share.read_soon(file, *offset, buffer.space()),
        (Operation::ReadChannel { offset, len, .. }, Some(memory)) => {
            share.read_to_soon(file, *offset, (memory, *len))
        }
        _ => Ok(None),
    }
}

/// So many bytes were read to memory of a connection.
fn done_count(count: usize) -> Completion {
    u32::try_from(count).map(Done::Count).map_err(|_| NtStatus::INTERNAL_ERROR)
}

/// Begins an operation of a client, in a thread. `data` is memory of its data, if they go by RDMA. What looks up a path or lists a directory
/// waits for one of the client's `turns`; of all clients, as many list directories as may read large ones.
pub(super) fn start<F: Served, A: Surroundings>(
    host: Arc<Host<F, A>>,
    around: &A,
    turns: &Arc<Semaphore>,
    (number, id): (ConnectionId, OperationId),
    operation: Operation,
    data: Option<Data>,
) {
    if named::has_path(&operation) {
        named::start(host, around, turns, (number, id), operation);
        return;
    }
    let lists = matches!(operation, Operation::List { .. });
    let (of_thread, clock) = (Arc::clone(&host), around.clone());
    let work = move || {
        let completed = carry_out(&of_thread, number, id, operation, data, clock.date());
        of_thread.tell(number, completed);
    };
    if !lists {
        drop(around.work(work));
        return;
    }
    around.spawn(list(host, around.clone(), Arc::clone(turns), work));
}

/// Begins work that lists a directory when it is its turn.
async fn list<F: Served, A: Surroundings>(
    host: Arc<Host<F, A>>,
    around: A,
    turns: Arc<Semaphore>,
    work: impl FnOnce() + Send + 'static,
) {
    let _turn = turns.acquire().await;
    let _reading = host.reading().acquire().await;
    // Whatever became of it, the turn is over.
    let _ = around.work(work).await;
}

/// Carries out an operation that neither looks up a path nor locks. `data` is memory of its data, if they go by RDMA.
pub(super) fn carry_out<F: Served, A: Surroundings>(
    host: &Host<F, A>,
    number: ConnectionId,
    id: OperationId,
    operation: Operation,
    data: Option<Data>,
    now: u64,
) -> Completed {
    let unlocks = matches!(operation, Operation::Unlock(..) | Operation::Close { .. });
    let completion = match operation {
        Operation::Close { handle, wants_attributes } => {
            let removed = host.remove((number, handle));
            removed.and_then(|(mut share, file)| close(&mut share, file, wants_attributes, now))
        }
        other => {
            let file = host.file((number, other.handle()));
            file.and_then(|(mut share, file)| of_share(&mut share, &file, other, data.as_deref(), now))
        }
    };
    if unlocks {
        host.retry();
    }
    Completed::new(id, completion, data)
}

/// Carries out an operation of an open file. Data that go by RDMA are read to their memory, and written from there.
fn of_share<F: Served>(
    share: &mut F,
    file: &F::File,
    operation: Operation,
    data: Option<&dyn Memory>,
    now: u64,
) -> Completion {
    match operation {
        Operation::ReadChannel { offset, len, .. } => {
            let memory = data.ok_or(NtStatus::INTERNAL_ERROR)?;
            done_count(share.read_to(file, offset, (memory, len))?)
        }
        Operation::Write { offset, data: WriteData::Channel(len), through, append_only, .. } => {
            if append_only && share.attributes(file)?.end_of_file > offset {
                return Err(NtStatus::ACCESS_DENIED);
            }
            let memory = data.ok_or(NtStatus::INTERNAL_ERROR)?;
            share.write_from(file, offset, (memory, len), through, now).map(|()| Done::Nothing)
        }
        other => of_file(share, file, other, None, now),
    }
}
