//! The state of a client, and what all commands do with it.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;

use smbd_core::endpoint::{Chunks, Lists};

use super::action::{Action, Handle, LinkId, Operation, OperationId};
use super::chain::Asked;
use super::config::{Params, Server};
use super::entropy::Entropy;
use super::link::Link;
use super::negotiated::Negotiated;
use super::pending::{Enumeration, Pending, WaitsFor, What};
use super::session::{Kept, Open, Session, Tree, Valid};
use super::transport::Transport;
use crate::security::{Fresh, RdmaTransforms};
use crate::wire::{Command, Dialect, FileId, Flags, NtStatus, SessionId, TreeId};

/// All that is known of a client: of its connections, and of what they share.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) server: Arc<Server>,
    /// The connection on which something happens now.
    pub(super) link: Link,
    /// All others.
    pub(super) others: BTreeMap<LinkId, Link>,
    /// The time of the last event: a FILETIME.
    pub(super) now: u64,
    pub(super) entropy: Entropy,
    /// GlobalSessionTable, as far as it is about this client.
    pub(super) sessions: BTreeMap<u64, Session>,
    /// Connection.RequestList of all connections, without those that are being looked at. Those of connections that are lost stay while
    /// the driver carries them out.
    pub(super) pending: BTreeMap<OperationId, Pending>,
    /// What is to be done, with the connection if it goes through one.
    pub(super) actions: VecDeque<(Option<LinkId>, Action)>,
    /// Requests that waited for changes of a directory that is closed: they are answered as soon as nothing else is done.
    pub(super) cleanup: Vec<OperationId>,
    /// Files that the driver has open.
    files: BTreeMap<Handle, FileState>,
    /// Files that are being closed for nobody.
    silent: BTreeSet<OperationId>,
    /// Transfers to the client that were not completed.
    pub(super) writing: BTreeMap<OperationId, LinkId>,
    /// Transfers and data of connections that are lost. The driver may not have heard of it.
    pub(super) lost: BTreeMap<OperationId, LinkId>,
    /// Memory of answers, and of descriptors.
    pub(super) chunks: Chunks,
    pub(super) lists: Lists,
    pub(super) last_link: u32,
    next_operation: u64,
    next_handle: u64,
    next_tree: u32,
    next_async: u64,
}

/// What is done with a file.
#[derive(Debug)]
struct FileState {
    /// The connection that opened it, and the session.
    link: LinkId,
    session_id: SessionId,
    /// Operations and transfers that were not completed.
    in_flight: usize,
    /// Who closes it then.
    closing: Option<Closing>,
}

#[derive(Clone, Copy, Debug)]
enum Closing {
    /// A CLOSE.
    Request { id: OperationId, wants_attributes: bool },
    /// The end of its session or tree connect.
    Silent,
}

impl Inner {
    pub(super) fn new(server: Arc<Server>, transport: Transport, now: u64, seed: [u8; 32]) -> Self {
        let params = server.params();
        let deadline = now.checked_add(params.setup_timeout);
        let link = Link::new(LinkId::FIRST, transport, params.credits_max, deadline);
        Self {
            server,
            link,
            others: BTreeMap::new(),
            now,
            entropy: Entropy::new(seed),
            sessions: BTreeMap::new(),
            pending: BTreeMap::new(),
            actions: VecDeque::new(),
            cleanup: Vec::new(),
            files: BTreeMap::new(),
            silent: BTreeSet::new(),
            writing: BTreeMap::new(),
            lost: BTreeMap::new(),
            chunks: Chunks::new(),
            lists: Lists::default(),
            last_link: LinkId::FIRST.0,
            next_operation: 1,
            next_handle: 1,
            next_tree: 1,
            next_async: 1,
        }
    }

    pub(super) fn params(&self) -> &Params {
        self.server.params()
    }

    /// What NEGOTIATE gave. Before it no other command comes this far.
    pub(super) fn negotiated(&self) -> Result<&Negotiated, NtStatus> {
        self.link.negotiated().ok_or(NtStatus::INVALID_PARAMETER)
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.link.dialect()
    }

    /// Connection.RDMATransformIds.
    pub(super) fn rdma_transforms(&self) -> RdmaTransforms {
        self.link.rdma_transforms()
    }

    /// Connection.MaxTransactSize.
    pub(super) fn max_transact(&self) -> u32 {
        self.link.transport.payload_max(self.params().max_transact_size)
    }

    /// What an authentication step needs.
    pub(super) fn fresh(&mut self) -> Fresh {
        Fresh::new(self.now, self.entropy.next())
    }

    /// A SessionId that is none of the client, and most probably none of another.
    pub(super) fn new_session_id(&mut self) -> SessionId {
        loop {
            let id = self.entropy.number();
            if id != 0 && id != u64::MAX && !self.sessions.contains_key(&id) {
                return SessionId(id);
            }
        }
    }

    pub(super) fn new_tree_id(&mut self) -> TreeId {
        let id = self.next_tree;
        // Neither 0 nor all ones. A session would have to connect for days to meet one that is in use.
        self.next_tree = id.checked_add(1).filter(|next| *next != u32::MAX).unwrap_or(1);
        TreeId(id)
    }

    pub(super) fn new_handle(&mut self) -> Handle {
        let id = self.next_handle;
        self.next_handle = id.saturating_add(1);
        Handle(id)
    }

    pub(super) fn new_async_id(&mut self) -> u64 {
        let id = self.next_async;
        self.next_async = id.saturating_add(1);
        id
    }

    pub(super) fn new_operation(&mut self) -> OperationId {
        let id = self.next_operation;
        self.next_operation = id.saturating_add(1);
        OperationId(id)
    }

    /// The session of a request (3.3.5.2.9).
    pub(super) fn session(&mut self, asked: &Asked) -> Result<&mut Valid, NtStatus> {
        let command = asked.header.command;
        let session = self.sessions.get_mut(&asked.session_id.0);
        match session.filter(|session| session.is_on(asked.link)) {
            Some(Session::Valid(valid)) => {
                if valid.encrypt_data && !asked.is_encrypted {
                    return Err(NtStatus::ACCESS_DENIED);
                }
                Ok(valid)
            }
            // CLOSE and LOCK are processed, and find nothing.
            Some(Session::InProgress(_)) if command == Command::CLOSE => Err(NtStatus::FILE_CLOSED),
            Some(Session::InProgress(_)) if command == Command::LOCK => Err(NtStatus::NETWORK_NAME_DELETED),
            Some(Session::InProgress(_)) => Err(NtStatus::ACCESS_DENIED),
            Some(Session::Ended(_)) | None => Err(NtStatus::USER_SESSION_DELETED),
        }
    }

    /// The tree connect of a request (3.3.5.2.11).
    pub(super) fn tree(&mut self, asked: &Asked) -> Result<Tree, NtStatus> {
        let tree = self.session(asked)?.trees.get(&asked.tree_id.0).copied();
        let tree = tree.ok_or(NtStatus::NETWORK_NAME_DELETED)?;
        let is_secret = tree.is_secret();
        if is_secret && !asked.is_encrypted { Err(NtStatus::ACCESS_DENIED) } else { Ok(tree) }
    }

    /// The file of a request, with its session and tree connect, and the channel sequence (3.3.5.2.10).
    pub(super) fn open(&mut self, asked: &Asked, named: FileId) -> Result<(FileId, &mut Open), NtStatus> {
        self.tree(asked)?;
        let tree_id = asked.tree_id;
        let file_id = asked.file_id(named)?;
        let is_behind = asked.header.flags.contains(Flags::REPLAY_OPERATION)
            && self.has_older(file_id.persistent, asked.header.channel_sequence());
        let open = self.session(asked)?.opens.get_mut(&file_id.volatile);
        let open = open.filter(|open| open.tree == tree_id && file_id.persistent == open.handle.0);
        let open = open.ok_or(NtStatus::FILE_CLOSED)?;
        let ahead = asked.header.channel_sequence().wrapping_sub(open.channel_sequence);
        let is_new = ahead <= 0x7FFF;
        if is_new {
            open.channel_sequence = asked.header.channel_sequence();
        }
        let changes = matches!(asked.header.command, Command::WRITE | Command::SET_INFO | Command::IOCTL);
        if changes && (!is_new || is_behind) {
            return Err(super::status::FILE_NOT_AVAILABLE);
        }
        Ok((file_id, open))
    }

    /// Whether Open.OutstandingPreRequestCount is not zero (3.3.5.2.10): something is under way that was asked for with another
    /// ChannelSequence.
    fn has_older(&self, handle: u64, sequence: u16) -> bool {
        self.pending.values().any(|pending| {
            pending.handle == Some(Handle(handle)) && pending.asked.header.channel_sequence() != sequence
        })
    }

    /// Something has been done with a file, whichever of its connections it was asked for on.
    pub(super) fn keep(&mut self, asked: &Asked, file_id: FileId, kept: Kept) {
        if let Some(Session::Valid(valid)) = self.sessions.get_mut(&asked.session_id.0)
            && let Some(open) = valid.opens.get_mut(&file_id.volatile)
        {
            open.keep(kept);
        }
    }

    /// Whether another session can be on this connection.
    pub(super) fn has_room_for_a_session(&self) -> bool {
        let here = self.sessions.values().filter(|session| session.is_on(self.link.id)).count();
        here.saturating_add(self.link.bindings.len()) < self.params().sessions_max
    }

    /// Whether another file can be opened on this connection.
    pub(super) fn has_room_for_a_file(&self) -> bool {
        let here = self.link.id;
        let is_here = |link, id| link == here || self.session_here(id).is_some();
        let creating = self.pending.values().filter(|pending| {
            matches!(pending.what, What::Create(_)) && is_here(pending.asked.link, pending.asked.session_id)
        });
        let open = self.files.values().filter(|file| is_here(file.link, file.session_id));
        open.count().saturating_add(creating.count()) < self.params().opens_max
    }

    /// Whether another request may wait for something that may never happen.
    pub(super) fn has_room_for_a_wait(&self) -> bool {
        let is_own = |asked: &Asked| asked.link == self.link.id && asked.async_id.is_some();
        let waiting = self.pending.values().filter(|pending| is_own(&pending.asked)).count();
        waiting < self.params().waiting_max
    }

    /// A file is open.
    pub(super) fn on_opened(&mut self, handle: Handle, asked: &Asked) {
        let (link, session_id) = (asked.link, asked.session_id);
        self.files.insert(handle, FileState { link, session_id, in_flight: 0, closing: None });
    }

    /// Keeps a request that waits.
    pub(super) fn wait(&mut self, id: OperationId, pending: Pending) {
        if let Some(state) = counted(&pending).and_then(|handle| self.files.get_mut(&handle)) {
            state.in_flight = state.in_flight.saturating_add(1);
        }
        self.pending.insert(id, pending);
    }

    /// Takes a request that waited.
    pub(super) fn take(&mut self, id: OperationId) -> Option<Pending> {
        let pending = self.pending.remove(&id)?;
        if let Some(state) = counted(&pending).and_then(|handle| self.files.get_mut(&handle)) {
            state.in_flight = state.in_flight.saturating_sub(1);
        }
        Some(pending)
    }

    /// Whether a directory is being enumerated.
    pub(super) fn lists(&self, handle: Handle) -> bool {
        self.pending.values().any(|pending| pending.is_listing(handle))
    }

    /// Begins the enumeration of a directory that has waited longest for its turn.
    pub(super) fn next_listing(&mut self, handle: Handle) -> Option<(OperationId, &mut Enumeration)> {
        let waits = |pending: &Pending| pending.is_listing(handle) && pending.waits_for == WaitsFor::Turn;
        let (id, pending) = self.pending.iter_mut().find(|(_, pending)| waits(pending))?;
        pending.waits_for = WaitsFor::File;
        let What::List(enumeration) = &mut pending.what else { return None };
        Some((*id, enumeration))
    }

    /// Closes a file for a CLOSE that waits, as soon as nothing else is done with it.
    pub(super) fn close_for(&mut self, id: OperationId, handle: Handle, wants_attributes: bool) {
        self.begin_close(handle, Closing::Request { id, wants_attributes });
    }

    fn begin_close(&mut self, handle: Handle, closing: Closing) {
        let Some(state) = self.files.get_mut(&handle) else { return };
        state.closing.get_or_insert(closing);
        // Locks that wait would keep it open.
        let locks = self.pending.iter().filter(|(_, pending)| {
            pending.handle == Some(handle) && pending.asked.header.command == Command::LOCK
        });
        let locks: Vec<_> = locks.map(|(id, _)| Action::Cancel(*id)).collect();
        locks.into_iter().for_each(|lock| self.push(lock));
        self.close_if_idle(handle);
    }

    pub(super) fn is_closing(&self, handle: Handle) -> bool {
        self.files.get(&handle).is_some_and(|file| file.closing.is_some())
    }

    /// Closes a file that is to be closed, if nothing is done with it any more.
    pub(super) fn close_if_idle(&mut self, handle: Handle) {
        let closing = match self.files.get(&handle) {
            Some(FileState { in_flight: 0, closing: Some(closing), .. }) => *closing,
            Some(_) | None => return,
        };
        self.files.remove(&handle);
        let (id, wants_attributes) = match closing {
            Closing::Request { id, wants_attributes } => {
                if let Some(pending) = self.pending.get_mut(&id) {
                    pending.waits_for = WaitsFor::File;
                }
                (id, wants_attributes)
            }
            Closing::Silent => {
                let id = self.new_operation();
                self.silent.insert(id);
                (id, false)
            }
        };
        self.push(Action::File { id, operation: Operation::Close { handle, wants_attributes } });
    }

    /// Whether this was the close of a file for nobody.
    pub(super) fn was_silent(&mut self, id: OperationId) -> bool {
        self.silent.remove(&id)
    }

    /// Whether this is the close of a file for nobody.
    pub(super) fn is_silent(&self, id: OperationId) -> bool {
        self.silent.contains(&id)
    }

    /// A transfer to the client begins.
    pub(super) fn begin_write(&mut self, id: OperationId) {
        self.writing.insert(id, self.link.id);
    }

    /// Ends a session: its files are closed, its keys stay for answers that are to be sent.
    pub(super) fn end_session(&mut self, id: SessionId) {
        match self.sessions.remove(&id.0) {
            Some(Session::Valid(valid)) => {
                let Valid { channels, opens, .. } = *valid;
                self.sessions.insert(id.0, Session::Ended(Box::new(channels)));
                self.close_all(opens.values());
            }
            Some(ended @ Session::Ended(_)) => drop(self.sessions.insert(id.0, ended)),
            Some(Session::InProgress(_)) | None => {}
        }
    }

    /// Closes files for nobody.
    pub(super) fn close_all<'a>(&mut self, opens: impl IntoIterator<Item = &'a Open>) {
        for open in opens {
            self.end_changes(open.handle);
            self.begin_close(open.handle, Closing::Silent);
        }
    }

    /// Closes a file for nobody.
    pub(super) fn close_silently(&mut self, handle: Handle) {
        self.begin_close(handle, Closing::Silent);
    }

    /// Ends the requests that wait for changes of a directory.
    pub(super) fn end_changes(&mut self, handle: Handle) {
        let own = self
            .pending
            .iter()
            .filter(|(_, pending)| pending.handle == Some(handle) && pending.waits_for == WaitsFor::Change);
        self.cleanup.extend(own.map(|(id, _)| *id));
    }
}

/// The file whose operations a request is among.
fn counted(pending: &Pending) -> Option<Handle> {
    match pending.waits_for {
        WaitsFor::File | WaitsFor::Turn | WaitsFor::Rdma | WaitsFor::Transform => pending.handle,
        WaitsFor::Others | WaitsFor::Change => None,
    }
}
