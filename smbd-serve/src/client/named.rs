//! Files are opened and get other names. A directory may have to be read for a name, which takes long.

use std::sync::Arc;

use smbd_smb2::server::{
    Change, Completion, ConnectionId, Done, FileResult, Operation, OperationId, open_done,
};
use smbd_smb2::wire::NtStatus;
use tokio::sync::Semaphore;

use super::host::Host;
use super::inbox::Completed;
use super::surroundings::Surroundings;
use crate::served::Served;

/// How many names of one client are looked up at the same time. Looking for a name may take long, and threads are few.
pub(super) const LOOKING_MAX: usize = 2;

/// Whether an operation looks up a path.
pub(super) const fn has_path(operation: &Operation) -> bool {
    matches!(operation, Operation::Open(..) | Operation::Change(_, Change::Rename { .. }))
}

/// Begins an operation of a client that looks a path up, which waits for one of the client's `turns`. Large directories are read by as
/// many threads as the host lets, whichever client they are for: a client that waits for one has no thread.
pub(super) fn start<F: Served, A: Surroundings>(
    host: Arc<Host<F, A>>,
    around: &A,
    turns: &Arc<Semaphore>,
    (number, id): (ConnectionId, OperationId),
    operation: Operation,
) {
    let (turns, threads) = (Arc::clone(turns), around.clone());
    around.spawn(async move {
        let turn = turns.acquire_owned().await;
        let completion = of_path((&host, &threads), number, Arc::new(operation)).await;
        drop(turn);
        host.tell(number, Completed { id, completion, data: None });
    });
}

async fn of_path<F: Served, A: Surroundings>(
    (host, around): (&Arc<Host<F, A>>, &A),
    number: ConnectionId,
    operation: Arc<Operation>,
) -> Completion {
    let look = async |is_patient| {
        let (host, clock, operation) = (Arc::clone(host), around.clone(), Arc::clone(&operation));
        let looked = around.work(move || look(&host, number, &operation, is_patient, clock.date())).await;
        // The thread has panicked.
        looked.unwrap_or(Err(NtStatus::INTERNAL_ERROR))
    };
    if let Some(done) = look(false).await? {
        return Ok(done);
    }
    let _reading = host.reading().acquire().await;
    look(true).await?.ok_or(NtStatus::INTERNAL_ERROR)
}

/// Looks the path up, and acts on what is there. None if that takes long, and nobody is patient.
pub(super) fn look<F: Served, A: Surroundings>(
    host: &Host<F, A>,
    number: ConnectionId,
    operation: &Operation,
    is_patient: bool,
    now: u64,
) -> FileResult<Option<Done>> {
    match operation {
        Operation::Open(handle, how) => {
            let mut share = host.share(how.share)?;
            let opened =
                if is_patient { share.open(how, now).map(Some)? } else { share.open_soon(how, now)? };
            let Some(opened) = opened else { return Ok(None) };
            let (file, done) = open_done(&mut share, opened, now)?;
            host.files().insert((number, *handle), how.share, file);
            Ok(Some(done))
        }
        Operation::Change(handle, change @ Change::Rename { path, replace }) => {
            let (mut share, file) = host.file((number, *handle))?;
            let renamed = if is_patient {
                share.change(&file, change, now).map(Some)?
            } else {
                share.rename_soon(&file, (path, *replace), now)?
            };
            Ok(renamed.map(|()| Done::Nothing))
        }
        _ => Err(NtStatus::INTERNAL_ERROR),
    }
}
