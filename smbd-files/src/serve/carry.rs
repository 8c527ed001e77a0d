//! Operations are carried out, in threads that may wait for a disk.

use std::sync::Arc;

use smbd_smb2::server::{Completion, ConnectionId, Done, Handle, Operation, OperationId, WriteData};
use smbd_smb2::wire::NtStatus;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::clock::now;
use super::host::{Host, Told};
use super::named;

/// Begins an operation of a client, in a thread. What looks up a path or lists a directory waits for one of the client's `turns`; of all
/// clients, as many list directories as may read large ones.
pub(super) fn start(
    host: Arc<Host>,
    turns: &Arc<Semaphore>,
    (number, id): (ConnectionId, OperationId),
    operation: Operation,
    data: Vec<u8>,
) {
    if named::path(&operation).is_some() {
        named::start(host, turns, (number, id), operation);
        return;
    }
    let lists = matches!(operation, Operation::List { .. });
    let of_thread = Arc::clone(&host);
    let work = move || carry_out(&of_thread, number, id, operation, data, now());
    if !lists {
        spawn_blocking(work);
        return;
    }
    let turns = Arc::clone(turns);
    tokio::spawn(async move {
        let _turn = turns.acquire().await;
        let _reading = host.reading().acquire().await;
        // Whatever became of it, the turn is over.
        let _ = spawn_blocking(work).await;
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
        Operation::Attributes(_) | Operation::Volume(_) | Operation::List { .. } => {
            looked_at(host, number, &operation)
        }
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

/// Looks at a file, its entries or its volume, while others use the folder.
fn looked_at(host: &Host, number: ConnectionId, operation: &Operation) -> Completion {
    let (Operation::Attributes(handle) | Operation::Volume(handle) | Operation::List { handle, .. }) =
        operation
    else {
        return Err(NtStatus::INTERNAL_ERROR);
    };
    let mut files = host.files();
    let (folder, file) = files.file((number, *handle))?;
    match operation {
        Operation::Attributes(_) => {
            let looking = folder.looking(file);
            drop(files);
            looking.attributes().map(Done::Attributes)
        }
        Operation::Volume(_) => {
            let space = folder.space();
            drop(files);
            Ok(Done::Volume(space.volume()))
        }
        Operation::List { after, max, .. } => {
            let entries = folder.listing(file)?;
            drop(files);
            entries.list(*after, *max).map(Done::Entries)
        }
        _ => Err(NtStatus::INTERNAL_ERROR),
    }
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
