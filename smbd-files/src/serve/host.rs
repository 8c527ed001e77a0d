//! What is served to all clients.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smbd_broker::client::Broker;
use smbd_smb2::server::{Completion, ConnectionId, Files, OperationId, Server};
use smbd_smb2::wire::Guid;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::known::Known;
use super::member::Newcomer;
use super::registry::Registry;
use crate::folder::Folder;

/// What a client's task is told.
#[derive(Debug)]
pub(super) enum Told {
    /// An operation has ended. With the data that it has read for RDMA.
    Done(OperationId, Completion, Option<Vec<u8>>),
    /// It waits for a lock.
    Waits(OperationId),
    /// A user has another session, which replaces this one.
    Replaced { session_id: u64, user: String },
}

/// What is served: a server and the folders of its shares. All clients share it.
pub struct Host {
    server: Arc<Server>,
    files: Mutex<Files<Folder>>,
    clients: Mutex<BTreeMap<ConnectionId, UnboundedSender<Told>>>,
    last: AtomicU64,
    /// Clients that take other connections, by ClientGuid.
    groups: Mutex<BTreeMap<[u8; 16], UnboundedSender<Newcomer>>>,
    registry: Option<Registry>,
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("server", &self.server).finish_non_exhaustive()
    }
}

impl Host {
    /// Serves these folders, in the order of the server's shares.
    #[must_use]
    pub fn new(server: Arc<Server>, folders: Vec<Folder>) -> Self {
        let (files, clients) = (Mutex::new(Files::new(folders)), Mutex::default());
        Self { server, files, clients, last: AtomicU64::new(0), groups: Mutex::default(), registry: None }
    }

    /// Tells a broker which clients and which sessions are here, so that it brings other connections of theirs: by their ClientGuid, if
    /// sessions can have several channels, and by the SessionId that they bind. It knows before the client gets the answer. Needs a runtime.
    ///
    /// For several processes of a server: one that takes all connections need not tell.
    #[must_use]
    pub fn announced_to(self, broker: Broker) -> Self {
        Self { registry: Some(Registry::new(broker)), ..self }
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

    /// The files. Whoever panicked with them has left them as whole as an error would have.
    pub(super) fn files(&self) -> MutexGuard<'_, Files<Folder>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn clients(&self) -> MutexGuard<'_, BTreeMap<ConnectionId, UnboundedSender<Told>>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn groups(&self) -> MutexGuard<'_, BTreeMap<[u8; 16], UnboundedSender<Newcomer>>> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a connection to the client with this ClientGuid. If there is none, it comes back, with what brings other connections of its
    /// client.
    pub(super) fn give(
        &self,
        guid: Option<Guid>,
        newcomer: Newcomer,
    ) -> Option<(Newcomer, UnboundedReceiver<Newcomer>)> {
        let mut groups = self.groups();
        let group = guid.and_then(|guid| groups.get(&guid.0));
        let newcomer = match group {
            Some(group) => group.send(newcomer).err()?.0,
            None => newcomer,
        };
        let (bring, brought) = unbounded_channel();
        if let Some(guid) = guid {
            groups.insert(guid.0, bring);
        }
        Some((newcomer, brought))
    }

    /// Forgets clients that take no connections any more.
    pub(super) fn forget(&self) {
        self.groups().retain(|_, group| !group.is_closed());
    }

    /// A client has come. Returns its number.
    pub(super) fn enter(&self, tell: UnboundedSender<Told>) -> ConnectionId {
        let number = self.last.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        self.clients().insert(number, tell);
        number
    }

    /// A client has left. None of its operations is being carried out any more.
    pub(super) fn leave(&self, number: ConnectionId, now: u64) {
        self.clients().remove(&number);
        self.files().end(number, now);
        self.retry();
    }

    /// Tells a client something. One that has left is told nothing.
    pub(super) fn tell(&self, number: ConnectionId, told: Told) {
        if let Some(tell) = self.clients().get(&number) {
            // It is about to leave.
            let _ = tell.send(told);
        }
    }

    /// Tells all others that a session is replaced.
    pub(super) fn replaced(&self, by: ConnectionId, session_id: u64, user: &str) {
        for (_, tell) in self.clients().iter().filter(|(number, _)| **number != by) {
            let _ = tell.send(Told::Replaced { session_id, user: user.to_owned() });
        }
    }

    /// Tries locks that wait, because something was unlocked.
    pub(super) fn retry(&self) {
        let ended = self.files().retry();
        for (number, id, completion) in ended {
            self.tell(number, Told::Done(id, completion, None));
        }
    }
}
