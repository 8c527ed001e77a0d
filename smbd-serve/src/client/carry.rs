//! Operations are carried out: at once if they wait for nothing, otherwise in threads, which may wait for a disk.

use std::sync::Arc;

use smbd_link::transport::Memory;
use smbd_smb2::server::{
    Completion, ConnectionId, Done, Operation, OperationId, WriteData, carry_out as of_file, close,
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

/// What has become of an operation that is begun.
pub(super) enum Begun {
    /// The task of the client has carried the operation out.
    Completed(Completed),
    /// The operation waits for a lock.
    Waits,
    /// A thread carries the operation out, and reports its end.
    Runs,
}

/// An operation of an open file. `data` is memory of its data, if they go by RDMA.
pub(super) struct OfFile<F: Served> {
    id: OperationId,
    share: F,
    file: F::File,
    operation: Operation,
    data: Option<Data>,
}

/// Begins an operation of a client. `data` is memory of its data, if they go by RDMA. Operations that wait for nothing are carried out at
/// once, others in a thread. An operation that looks up a path or lists a directory waits for one of the client's `turns`; of all clients,
/// as many list directories as may read large ones.
pub(super) fn begin<F: Served, A: Surroundings>(
    host: &Arc<Host<F, A>>,
    around: &A,
    turns: &Arc<Semaphore>,
    (number, id): (ConnectionId, OperationId),
    operation: Operation,
    data: Option<Data>,
) -> Begun {
    if named::has_path(&operation) {
        named::start(Arc::clone(host), around, turns, (number, id), operation);
        return Begun::Runs;
    }
    if matches!(operation, Operation::Lock(..)) {
        return lock(host, (number, id), operation, around.date()).map_or(Begun::Waits, Begun::Completed);
    }
    let found = OfFile::find(host, (number, id), operation, data);
    let work = match found.and_then(|work| soon(host, around, number, work)) {
        Ok(work) => work,
        Err(completed) => return Begun::Completed(completed),
    };
    let lists = matches!(work.operation, Operation::List { .. });
    let (of_thread, clock) = (Arc::clone(host), around.clone());
    let work = move || {
        let completed = carry_out(&of_thread, number, work, clock.date());
        of_thread.tell(number, completed);
    };
    if lists {
        around.spawn(list(Arc::clone(host), around.clone(), Arc::clone(turns), work));
    } else {
        drop(around.work(work));
    }
    Begun::Runs
}

/// Locks ranges of a file, for which nobody waits for a disk; `None`: the operation waits until it can.
pub(super) fn lock<F: Served, A: Surroundings>(
    host: &Host<F, A>,
    (number, id): (ConnectionId, OperationId),
    operation: Operation,
    now: u64,
) -> Option<Completed> {
    let completion = host.files().carry_out(number, id, operation, None, now)?;
    Some(Completed { id, completion, data: None })
}

/// Carries out an operation if that takes no time. Otherwise it comes back, for a thread.
///
/// # Errors
/// The operation is over.
pub(super) fn soon<F: Served, A: Surroundings>(
    host: &Host<F, A>,
    around: &A,
    number: ConnectionId,
    mut work: OfFile<F>,
) -> Result<OfFile<F>, Completed> {
    if matches!(work.operation, Operation::List { .. }) || moves(&work.operation) > SOON_MAX {
        return Ok(work);
    }
    if work.share.is_quick() || matches!(work.operation, Operation::Unlock(..)) {
        return Err(carry_out(host, number, work, around.date()));
    }
    let OfFile { share, file, operation, data, .. } = &mut work;
    let read = match (&mut *operation, data) {
        (Operation::Read { offset, buffer, .. }, _) => share.read_soon(file, *offset, buffer),
        (Operation::ReadChannel { offset, len, .. }, Some(memory)) => {
            share.read_to_soon(file, *offset, (&**memory, *len))
        }
        _ => Ok(None),
    };
    let completion = match (read, operation) {
        (Ok(None), operation) => {
            // Reads that wait for a thread have no memory.
            if let Operation::Read { buffer, .. } = operation {
                buffer.release();
            }
            return Ok(work);
        }
        (Ok(Some(count)), Operation::Read { buffer, .. }) => {
            buffer.truncate(count);
            Ok(Done::Read(buffer.take()))
        }
        (Ok(Some(count)), _) => done_count(count),
        (Err(status), _) => Err(status),
    };
    Err(Completed::new(work.id, completion, work.data))
}

impl<F: Served> OfFile<F> {
    /// Finds the file of an operation.
    ///
    /// # Errors
    /// There is none, and the operation is over.
    pub(super) fn find<A: Surroundings>(
        host: &Host<F, A>,
        (number, id): (ConnectionId, OperationId),
        operation: Operation,
        data: Option<Data>,
    ) -> Result<Self, Completed> {
        match host.file((number, operation.handle())) {
            Ok((share, file)) => Ok(Self { id, share, file, operation, data }),
            Err(status) => Err(Completed { id, completion: Err(status), data: None }),
        }
    }

    /// The operation.
    #[cfg(test)]
    pub(super) const fn operation(&self) -> &Operation {
        &self.operation
    }
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

/// A number of bytes was read to memory of a connection.
fn done_count(count: usize) -> Completion {
    u32::try_from(count).map(Done::Count).map_err(|_| NtStatus::INTERNAL_ERROR)
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

/// Carries out an operation.
pub(super) fn carry_out<F: Served, A: Surroundings>(
    host: &Host<F, A>,
    number: ConnectionId,
    work: OfFile<F>,
    now: u64,
) -> Completed {
    let OfFile { id, mut share, file, operation, data } = work;
    let unlocks = matches!(operation, Operation::Unlock(..) | Operation::Close { .. });
    let completion = match operation {
        Operation::Close { handle, wants_attributes } => {
            drop(file);
            let removed = host.remove((number, handle));
            removed.and_then(|(mut share, file)| close(&mut share, file, wants_attributes, now))
        }
        other => of_share(&mut share, &file, other, data.as_deref(), now),
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
