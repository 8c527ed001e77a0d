//! Operations are carried out, in threads that may wait for a disk.

use std::sync::Arc;

use smbd_smb2::server::{
    Completion, ConnectionId, Done, Handle, OpenParameters, Operation, OperationId, WriteData,
};
use smbd_smb2::wire::NtStatus;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::clock::now;
use super::host::{Host, Told};
use crate::folder::Folder;

/// How often a name is looked up that others change meanwhile.
const LOOKS_MAX: usize = 16;
/// How many files of one client are opened at the same time. Looking for a name may take long, and threads are few.
pub(super) const OPENING_MAX: usize = 2;

/// Begins an operation of a client, in a thread. What opens a file waits for one of the client's `turns`.
pub(super) fn start(
    host: Arc<Host>,
    turns: &Arc<Semaphore>,
    (number, id): (ConnectionId, OperationId),
    operation: Operation,
    data: Vec<u8>,
) {
    if !matches!(operation, Operation::Open(..)) {
        spawn_blocking(move || carry_out(&host, number, id, operation, data, now()));
        return;
    }
    let turns = Arc::clone(turns);
    tokio::spawn(async move {
        let turn = turns.acquire_owned().await;
        let work = spawn_blocking(move || carry_out(&host, number, id, operation, data, now()));
        // Whatever became of it, the turn is over.
        let _ = work.await;
        drop(turn);
    });
}

/// Carries out an operation, and tells its client. `data` is what was fetched for it.
pub(super) fn carry_out(
    host: &Host,
    number: ConnectionId,
    id: OperationId,
    operation: Operation,
    data: Vec<u8>,
    now: u64,
) {
    let unlocks = matches!(operation, Operation::Unlock(..) | Operation::Close { .. });
    let mut buffer = data;
    let done = match operation {
        Operation::Read { .. }
        | Operation::ReadChannel { .. }
        | Operation::Write { .. }
        | Operation::Flush(_) => of_data(host, number, operation, &mut buffer),
        Operation::Open(handle, parameters) => opened(host, (number, handle), &parameters, now),
        other => {
            let mut files = host.files();
            let done = files.carry_out(number, id, other, None, now);
            let Some(done) = done else {
                // Before anybody can unlock what it waits for.
                host.tell(number, Told::Waits(id));
                return;
            };
            done
        }
    };
    let data = matches!(done, Ok(Done::Count(_))).then_some(buffer);
    host.tell(number, Told::Done(id, done, data));
    if unlocks {
        host.retry();
    }
}

/// Opens a file. Its name is looked up while others use the folder.
fn opened(host: &Host, key: (ConnectionId, Handle), how: &OpenParameters, now: u64) -> Completion {
    for _ in 0..LOOKS_MAX {
        let lookup = host.files().shares().get(how.share).map(Folder::lookup);
        let looked_up = lookup.ok_or(NtStatus::BAD_NETWORK_NAME)?.look_up(&how.path)?;
        let open = |folder: &mut Folder| folder.open_at(how, looked_up);
        if let Some(done) = host.files().open_with(key, how.share, now, open)? {
            return Ok(done);
        }
    }
    Err(NtStatus::SHARING_VIOLATION)
}

/// Reads, writes or flushes, while others use the folder.
fn of_data(host: &Host, number: ConnectionId, operation: Operation, into: &mut Vec<u8>) -> Completion {
    match operation {
        Operation::Read { handle, offset, mut buffer } => {
            let len = buffer.len() as u64;
            let data = reading(host, (number, handle), offset, len)?;
            let len = data.read(offset, buffer.space())?;
            buffer.truncate(len);
            Ok(Done::Read(buffer))
        }
        Operation::ReadChannel { handle, offset, len } => {
            let data = reading(host, (number, handle), offset, len.into())?;
            into.clear();
            into.resize(len as usize, 0);
            let len = data.read(offset, into)?;
            into.truncate(len);
            u32::try_from(len).map(Done::Count).map_err(|_| NtStatus::INTERNAL_ERROR)
        }
        Operation::Write { handle, offset, data, through, append_only } => {
            let bytes = match &data {
                WriteData::Bytes(bytes) => Some(bytes.as_slice()),
                WriteData::Channel(len) => into.get(..*len as usize),
            };
            let bytes = bytes.ok_or(NtStatus::INTERNAL_ERROR)?;
            let data = {
                let mut files = host.files();
                let (folder, file) = files.file((number, handle))?;
                folder.writing(file, offset, bytes.len() as u64)?
            };
            if append_only && data.size()? > offset {
                return Err(NtStatus::ACCESS_DENIED);
            }
            data.write(offset, bytes, through)?;
            Ok(Done::Nothing)
        }
        Operation::Flush(handle) => {
            let data = {
                let mut files = host.files();
                let (folder, file) = files.file((number, handle))?;
                folder.flushing(file)
            };
            data.flush()?;
            Ok(Done::Nothing)
        }
        _ => Err(NtStatus::INTERNAL_ERROR),
    }
}

fn reading(
    host: &Host,
    key: (ConnectionId, Handle),
    offset: u64,
    len: u64,
) -> Result<crate::folder::Data, NtStatus> {
    let mut files = host.files();
    let (folder, file) = files.file(key)?;
    folder.reading(file, offset, len)
}
