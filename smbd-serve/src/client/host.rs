//! What is served to all clients.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::num::NonZero;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use smbd_broker::client::Broker;
use smbd_link::time::TokioTime;
use smbd_smb2::server::{ConnectionId, FileResult, Files, Handle, Server};
use smbd_smb2::wire::{Guid, NtStatus};
use tokio::sync::Semaphore;

use super::inbox::{Completed, Inbox, JOINING_MAX, NotJoined, Teller, inbox};
use super::member::{End, Newcomer};
use super::surroundings::Surroundings;
use crate::announce::{Known, Registry};
use crate::brief::{Brief, Held};
use crate::folder::Folder;
use crate::served::Served;

/// Clients by ClientGuid.
type Groups<A> = BTreeMap<[u8; 16], (ConnectionId, Teller<A>)>;

/// The first connection of a client, and the inbox of its task.
pub(super) struct Opening<A> {
    pub(super) newcomer: Box<Newcomer<A>>,
    pub(super) number: ConnectionId,
    pub(super) inbox: Inbox<A>,
}

/// What is served: a server and the file systems of its shares. All clients share it.
pub struct Host<F: Served = Folder, A: Surroundings = TokioTime> {
    server: Arc<Server>,
    /// No call of the system is made under its lock.
    files: Brief<Files<F>>,
    /// To read large directories for names, and to list directories.
    reading: Semaphore,
    clients: Mutex<BTreeMap<ConnectionId, Teller<A>>>,
    last: AtomicU64,
    /// Clients that take other connections, by ClientGuid.
    groups: Mutex<Groups<A>>,
    /// In units of 100 ns.
    interim_after: Option<u64>,
    registry: Option<Registry>,
}

impl<F: Served, A: Surroundings> fmt::Debug for Host<F, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("server", &self.server).finish_non_exhaustive()
    }
}

impl<F: Served> Host<F> {
    /// Serves these file systems, in the order of the server's shares. As many threads at once read large directories as there are
    /// processors, but one.
    #[must_use]
    pub fn new(server: Arc<Server>, shares: Vec<F>) -> Self {
        // One processor is for all else.
        let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self::new_in(server, shares, processors.saturating_sub(1))
    }
}

impl<F: Served, A: Surroundings> Host<F, A> {
    /// Serves these file systems, in the order of the server's shares, in any surroundings. At most `readers` threads at once, and at least
    /// one, read large directories.
    #[must_use]
    pub fn new_in(server: Arc<Server>, shares: Vec<F>, readers: usize) -> Self {
        let reading = Semaphore::new(readers.clamp(1, Semaphore::MAX_PERMITS));
        let (files, clients) = (Brief::new(Files::new(shares)), Mutex::default());
        Self {
            server,
            files,
            reading,
            clients,
            last: AtomicU64::new(0),
            groups: Mutex::default(),
            interim_after: None,
            registry: None,
        }
    }

    /// Tells a broker which clients and which sessions are here, so that it brings other connections of theirs: by their ClientGuid, if
    /// sessions can have several channels, and by the SessionId that they bind. It knows before the client gets the answer. Needs a runtime.
    ///
    /// For several processes of a server: one that takes all connections need not tell.
    #[must_use]
    pub fn announced_to(self, broker: Broker) -> Self {
        Self { registry: Some(Registry::new(broker)), ..self }
    }

    /// Sends an interim response (MS-SMB2 3.3.4.2) when an operation on a file takes longer than this time: a client waits longer for an
    /// answer that is announced. Otherwise only locks and changes of directories have one.
    ///
    /// An interim response gives the request's credits back. A client may have
    /// [`Params::waiting_max`](smbd_smb2::server::Params::waiting_max) such operations besides those of its credits, each with the memory of its
    /// data and a thread.
    #[must_use]
    pub fn interim_after(self, time: Duration) -> Self {
        let ticks = u64::try_from(time.as_nanos() / 100).unwrap_or(u64::MAX);
        Self { interim_after: Some(ticks), ..self }
    }

    /// How long an operation may take without an interim response, in units of 100 ns; `None`: for ever.
    pub(super) const fn patience(&self) -> Option<u64> {
        self.interim_after
    }

    /// What the broker will know of a client.
    pub(super) fn known(&self, guid: Option<Guid>) -> Option<Known> {
        self.registry.clone().map(|registry| Known::new(registry, guid))
    }

    /// The server.
    #[must_use]
    pub const fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// How many files are open.
    #[must_use]
    pub fn open_count(&self) -> usize {
        self.files().open_count()
    }

    /// The files.
    pub(super) fn files(&self) -> Held<'_, Files<F>> {
        self.files.lock()
    }

    /// The file system of a share, to be used without the lock.
    pub(super) fn share(&self, share: usize) -> FileResult<F> {
        self.files().shares().get(share).cloned().ok_or(NtStatus::BAD_NETWORK_NAME)
    }

    /// An open file and its file system, to be used without the lock.
    pub(super) fn file(&self, key: (ConnectionId, Handle)) -> FileResult<(F, F::File)> {
        self.files().file(key).map(|(share, file)| (share.clone(), file.clone()))
    }

    /// Takes an open file away, to be closed without the lock.
    pub(super) fn remove(&self, key: (ConnectionId, Handle)) -> FileResult<(F, F::File)> {
        self.files().remove(key).map(|(share, file)| (share.clone(), file))
    }

    /// Those who read large directories for names.
    pub(super) const fn reading(&self) -> &Semaphore {
        &self.reading
    }

    fn clients(&self) -> MutexGuard<'_, BTreeMap<ConnectionId, Teller<A>>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn groups(&self) -> MutexGuard<'_, Groups<A>> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a connection to the client with this ClientGuid. If there is none, it comes back: it is the first of a client.
    pub(super) fn give(&self, guid: Option<Guid>, newcomer: Box<Newcomer<A>>) -> Option<Opening<A>> {
        let mut groups = self.groups();
        let given = match guid.and_then(|guid| groups.get(&guid.0)) {
            Some((_, group)) => group.joined(newcomer),
            None => Err(NotJoined::Gone(newcomer)),
        };
        match given {
            Ok(()) => None,
            Err(NotJoined::Full(newcomer)) => {
                let why = format!("{JOINING_MAX} other connections of the client wait to be taken");
                // Nobody may wait any more.
                let _ = newcomer.ended.send(End { why, seen: None });
                None
            }
            Err(NotJoined::Gone(newcomer)) => {
                let (number, teller, inbox) = self.enter();
                if let Some(guid) = guid {
                    groups.insert(guid.0, (number, teller));
                }
                Some(Opening { newcomer, number, inbox })
            }
        }
    }

    /// Gives a client no further connections.
    pub(super) fn forget(&self, guid: Option<Guid>, number: ConnectionId) {
        if let Some(guid) = guid
            && let Entry::Occupied(group) = self.groups().entry(guid.0)
            && group.get().0 == number
        {
            group.remove();
        }
    }

    /// A client has come. Returns its number.
    pub(super) fn enter(&self) -> (ConnectionId, Teller<A>, Inbox<A>) {
        let number = self.last.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        let (teller, inbox) = inbox();
        self.clients().insert(number, teller.clone());
        (number, teller, inbox)
    }

    /// A client has left. None of its operations is being carried out any more.
    pub(super) fn leave(&self, number: ConnectionId, now: u64) {
        self.clients().remove(&number);
        let files = self.files().remove_all(number);
        for (share, file) in files {
            if let Ok(mut share) = self.share(share) {
                share.close(file, now);
            }
        }
        self.retry();
    }

    /// Reports the end of an operation to its client. A client that has left hears of nothing.
    pub(super) fn tell(&self, number: ConnectionId, completed: Completed) {
        if let Some(teller) = self.clients().get(&number) {
            teller.completed(completed);
        }
    }

    /// Tells all others that a session is replaced.
    pub(super) fn replaced(&self, by: ConnectionId, session_id: u64, user: &Arc<str>) {
        for (_, teller) in self.clients().iter().filter(|(number, _)| **number != by) {
            teller.replaced(session_id, Arc::clone(user));
        }
    }

    /// Tries locks that wait, because something was unlocked.
    pub(super) fn retry(&self) {
        let ended = self.files().retry();
        for (number, id, completion) in ended {
            self.tell(number, Completed { id, completion, data: None });
        }
    }
}
