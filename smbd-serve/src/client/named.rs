//! Files are opened and get other names. A directory may have to be read for a name, which takes long.

use std::sync::Arc;

use smbd_smb2::server::{
    Change, Completion, ConnectionId, Done, FileResult, Operation, OperationId, SharePath, open_done,
};
use smbd_smb2::wire::NtStatus;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::clock::now;
use crate::folder::Lookup;
use crate::host::{Host, Told};

/// How often a name is looked up that others change meanwhile.
const LOOKS_MAX: usize = 16;
/// How many names of one client are looked up at the same time. Looking for a name may take long, and threads are few.
pub(super) const LOOKING_MAX: usize = 2;

/// What came of a look.
pub(super) enum Looked {
    Done(Done),
    /// A large directory has to be read.
    Unread(Lookup),
}

/// The path of an operation that looks one up.
pub(super) const fn path(operation: &Operation) -> Option<&SharePath> {
    match operation {
        Operation::Open(_, how) => Some(&how.path),
        Operation::Change(_, Change::Rename { path, .. }) => Some(path),
        _ => None,
    }
}

/// Begins an operation of a client that looks a path up, which waits for one of the client's `turns`. Large directories are read by as
/// many threads as the host lets, whichever client they are for: a client that waits for one has no thread.
pub(super) fn start(
    host: Arc<Host>,
    turns: &Arc<Semaphore>,
    (number, id): (ConnectionId, OperationId),
    operation: Operation,
) {
    let turns = Arc::clone(turns);
    tokio::spawn(async move {
        let turn = turns.acquire_owned().await;
        let completion = of_path(&host, number, Arc::new(operation)).await;
        drop(turn);
        host.tell(number, Told::Done(id, completion, None));
    });
}

async fn of_path(host: &Arc<Host>, number: ConnectionId, operation: Arc<Operation>) -> Completion {
    let look = async |lookup: Option<Lookup>| {
        let (host, operation, reads) = (Arc::clone(host), Arc::clone(&operation), lookup.is_some());
        let looked = spawn_blocking(move || look(&host, number, &operation, lookup, reads, now())).await;
        // It has panicked.
        looked.unwrap_or(Err(NtStatus::INTERNAL_ERROR))
    };
    let lookup = match look(None).await? {
        Looked::Done(done) => return Ok(done),
        Looked::Unread(lookup) => lookup,
    };
    let _reading = host.reading().acquire().await;
    match look(Some(lookup)).await? {
        Looked::Done(done) => Ok(done),
        Looked::Unread(_) => Err(NtStatus::INTERNAL_ERROR),
    }
}

/// Looks the path up, and acts on what is there: with `lookup`, if it has begun. Large directories are read if `reads`.
pub(super) fn look(
    host: &Host,
    number: ConnectionId,
    operation: &Operation,
    mut lookup: Option<Lookup>,
    reads: bool,
    now: u64,
) -> FileResult<Looked> {
    let path = path(operation).ok_or(NtStatus::INTERNAL_ERROR)?;
    for _ in 0..LOOKS_MAX {
        let lookup = match lookup.take() {
            Some(lookup) => lookup,
            None => begin(host, number, operation)?,
        };
        let Some(looked_up) = lookup.look_up(path, reads)? else { return Ok(Looked::Unread(lookup)) };
        match operation {
            Operation::Open(handle, how) => {
                let mut folder = host.folder(how.share)?;
                if let Some(opened) = folder.open_at(how, looked_up)? {
                    let (file, done) = open_done(&mut folder, opened, now)?;
                    host.files().insert((number, *handle), how.share, file);
                    return Ok(Looked::Done(done));
                }
            }
            Operation::Change(handle, Change::Rename { replace, .. }) => {
                let (folder, file) = host.file((number, *handle))?;
                if let Some(()) = folder.rename_at(&file, (path, looked_up), *replace)? {
                    return Ok(Looked::Done(Done::Nothing));
                }
            }
            _ => return Err(NtStatus::INTERNAL_ERROR),
        }
    }
    Err(NtStatus::SHARING_VIOLATION)
}

fn begin(host: &Host, number: ConnectionId, operation: &Operation) -> FileResult<Lookup> {
    match operation {
        Operation::Open(_, how) => host.folder(how.share).map(|folder| folder.lookup()),
        Operation::Change(handle, _) => host.file((number, *handle)).map(|(folder, _)| folder.lookup()),
        _ => Err(NtStatus::INTERNAL_ERROR),
    }
}
