//! Operations are carried out, in threads that may wait for a disk.

use std::sync::Arc;

use smbd_smb2::server::{ConnectionId, Done, Operation, OperationId, carry_out as of_file, close};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use super::clock::now;
use super::named;
use crate::host::{Host, Told};
use crate::served::Served;

/// Begins an operation of a client, in a thread. What looks up a path or lists a directory waits for one of the client's `turns`; of all
/// clients, as many list directories as may read large ones.
pub(super) fn start<F: Served>(
    host: Arc<Host<F>>,
    turns: &Arc<Semaphore>,
    (number, id): (ConnectionId, OperationId),
    operation: Operation,
    data: Vec<u8>,
) {
    if named::has_path(&operation) {
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
pub(super) fn carry_out<F: Served>(
    host: &Host<F>,
    number: ConnectionId,
    id: OperationId,
    operation: Operation,
    data: Vec<u8>,
    now: u64,
) {
    let unlocks = matches!(operation, Operation::Unlock(..) | Operation::Close { .. });
    let mut buffer = data;
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
            file.and_then(|(mut share, file)| of_file(&mut share, &file, other, Some(&mut buffer), now))
        }
    };
    let data = matches!(done, Ok(Done::Count(_))).then_some(buffer);
    host.tell(number, Told::Done(id, done, data));
    if unlocks {
        host.retry();
    }
}
