//! Operations are carried out, in threads that may wait for a disk.

use std::sync::Arc;

use smbd_link::transport::Memory;
use smbd_smb2::server::{
    Completion, ConnectionId, Done, Operation, OperationId, WriteData, carry_out as of_file, close,
};
use smbd_smb2::wire::NtStatus;
use tokio::sync::Semaphore;

use super::host::{Host, Told};
use super::named;
use super::surroundings::Surroundings;
use crate::link::Data;
use crate::served::Served;

/// Begins an operation of a client, in a thread. `data` is memory of its data, if they go by RDMA. What looks up a path or lists a directory waits for one of the client's `turns`; of all
/// clients, as many list directories as may read large ones.
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
    let work = move || carry_out(&of_thread, number, id, operation, data, clock.date());
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

/// Carries out an operation, and tells its client. `data` is memory of its data, if they go by RDMA.
pub(super) fn carry_out<F: Served, A: Surroundings>(
    host: &Host<F, A>,
    number: ConnectionId,
    id: OperationId,
    operation: Operation,
    data: Option<Data>,
    now: u64,
) {
    let unlocks = matches!(operation, Operation::Unlock(..) | Operation::Close { .. });
    let done = match operation {
        // Nobody waits for a disk here.
        Operation::Lock(..) | Operation::Unlock(..) => {
            let done = host.files().carry_out(number, id, operation, None, now);
            let Some(done) = done else {
                // Before anybody can unlock what it waits for.
                host.tell(number, Told::Waits(id));
                return;
            };
            done
        }
        Operation::Close { handle, wants_attributes } => {
            let removed = host.remove((number, handle));
            removed.and_then(|(mut share, file)| close(&mut share, file, wants_attributes, now))
        }
        other => {
            let file = host.file((number, other.handle()));
            file.and_then(|(mut share, file)| of_share(&mut share, &file, other, data.as_deref(), now))
        }
    };
    let data = data.filter(|_| matches!(done, Ok(Done::Count(_))));
    host.tell(number, Told::Done(id, done, data));
    if unlocks {
        host.retry();
    }
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
            let count = share.read_to(file, offset, (memory, len))?;
            u32::try_from(count).map(Done::Count).map_err(|_| NtStatus::INTERNAL_ERROR)
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
