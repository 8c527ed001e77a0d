//! The state of a connection, and what all commands do with it.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem::replace;

use super::action::{Action, Handle, Operation, OperationId};
use super::chain::Asked;
use super::config::{Params, Server};
use super::entropy::Entropy;
use super::negotiated::{Negotiated, Phase};
use super::pending::{Pending, WaitsFor, What};
use super::session::{Open, Session, Tree, Valid};
use super::transport::Transport;
use super::window::Window;
use crate::security::{Fresh, RdmaTransforms};
use crate::wire::{Command, Dialect, FileId, NtStatus, SessionId, TreeId};

/// All that is known of a connection.
#[derive(Debug)]
pub(super) struct Inner {
    pub(super) server: Arc<Server>,
    pub(super) transport: Transport,
    /// The time of the last event: a FILETIME.
    pub(super) now: u64,
    pub(super) entropy: Entropy,
    pub(super) phase: Phase,
    pub(super) window: Window,
    /// Connection.SessionTable.
    pub(super) sessions: BTreeMap<u64, Session>,
    /// Connection.RequestList, without those that are being looked at.
    pub(super) pending: BTreeMap<OperationId, Pending>,
    pub(super) actions: VecDeque<Action>,
    /// Requests that waited for changes of a directory that is closed: they are answered as soon as nothing else is done.
    pub(super) cleanup: Vec<OperationId>,
    /// Whether a message was encrypted.
    pub(super) was_encrypted: bool,
    /// When somebody has to have logged in; nothing when somebody has.
    pub(super) deadline: Option<u64>,
    /// Files that the driver has open.
    files: BTreeMap<Handle, FileState>,
    /// Files that are being closed for nobody.
    silent: BTreeSet<OperationId>,
    /// Transfers to the client that were not completed.
    writing: BTreeSet<OperationId>,
    next_operation: u64,
    next_handle: u64,
    next_tree: u32,
    next_async: u64,
}

/// What is done with a file.
#[derive(Debug, Default)]
struct FileState {
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
        let (window, deadline) = (Window::new(params.credits_max), now.checked_add(params.setup_timeout));
        Self {
            server,
            transport,
            now,
            entropy: Entropy::new(seed),
            phase: Phase::Start,
            window,
            sessions: BTreeMap::new(),
            pending: BTreeMap::new(),
            actions: VecDeque::new(),
            cleanup: Vec::new(),
            was_encrypted: false,
            deadline,
            files: BTreeMap::new(),
            silent: BTreeSet::new(),
            writing: BTreeSet::new(),
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
        match &self.phase {
            Phase::Negotiated(negotiated) => Ok(negotiated),
            Phase::Start | Phase::Smb1Answered => Err(NtStatus::INVALID_PARAMETER),
        }
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.negotiated().map(|negotiated| negotiated.dialect).unwrap_or_default()
    }

    /// Connection.RDMATransformIds.
    pub(super) fn rdma_transforms(&self) -> RdmaTransforms {
        self.negotiated().map(|negotiated| negotiated.rdma_transforms).unwrap_or_default()
    }

    /// Connection.MaxTransactSize.
    pub(super) fn max_transact(&self) -> u32 {
        self.transport.payload_max(self.params().max_transact_size)
    }

    /// What an authentication step needs.
    pub(super) fn fresh(&mut self) -> Fresh {
        Fresh::new(self.now, self.entropy.next())
    }

    /// A SessionId that is none of the connection, and most probably none of another.
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
        match self.sessions.get_mut(&asked.session_id.0) {
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
        let open = self.session(asked)?.opens.get_mut(&file_id.volatile);
        let open = open.filter(|open| open.tree == tree_id && file_id.persistent == open.handle.0);
        let open = open.ok_or(NtStatus::FILE_CLOSED)?;
        let behind = asked.header.channel_sequence().wrapping_sub(open.channel_sequence);
        if behind <= 0x7FFF {
            open.channel_sequence = asked.header.channel_sequence();
        } else if matches!(asked.header.command, Command::WRITE | Command::SET_INFO | Command::IOCTL) {
            return Err(super::status::FILE_NOT_AVAILABLE);
        }
        Ok((file_id, open))
    }

    /// Whether another file can be opened.
    pub(super) fn has_room_for_a_file(&self) -> bool {
        let creating =
            self.pending.values().filter(|pending| matches!(pending.what, What::Create(_))).count();
        self.files.len().saturating_add(creating) < self.params().opens_max
    }

    /// Whether another request may wait for something that may never happen.
    pub(super) fn has_room_for_a_wait(&self) -> bool {
        let waiting = self.pending.values().filter(|pending| pending.asked.async_id.is_some()).count();
        waiting < self.params().waiting_max
    }

    /// A file is open.
    pub(super) fn on_opened(&mut self, handle: Handle) {
        self.files.insert(handle, FileState::default());
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
        self.actions.extend(locks);
        self.close_if_idle(handle);
    }

    /// Closes a file that is to be closed, if nothing is done with it any more.
    pub(super) fn close_if_idle(&mut self, handle: Handle) {
        let closing = match self.files.get(&handle) {
            Some(FileState { in_flight: 0, closing: Some(closing) }) => *closing,
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
        self.actions.push_back(Action::File { id, operation: Operation::Close { handle, wants_attributes } });
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
        self.writing.insert(id);
    }

    /// Whether this was a transfer to the client, which is over.
    pub(super) fn was_writing(&mut self, id: OperationId) -> bool {
        self.writing.remove(&id)
    }

    /// Ends a session: its files are closed, its keys stay for answers that are to be sent.
    pub(super) fn end_session(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(&id.0) else { return };
        match replace(session, Session::Ended(Box::new(None))) {
            Session::Valid(valid) => {
                self.keep_keys(id, valid.keys);
                self.close_all(valid.opens.values());
            }
            Session::Ended(keys) => self.keep_keys(id, *keys),
            Session::InProgress(_) => {}
        }
    }

    fn keep_keys(&mut self, id: SessionId, keys: Option<crate::security::SessionKeys>) {
        self.sessions.insert(id.0, Session::Ended(Box::new(keys)));
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

    /// Forgets sessions that are over and have no answer left to be sent.
    pub(super) fn forget_ended(&mut self) {
        let pending = &self.pending;
        self.sessions.retain(|id, session| {
            let is_needed = || pending.values().any(|pending| pending.asked.session_id.0 == *id);
            !session.is_ended() || is_needed()
        });
    }

    /// Without anybody who has logged in, there is not for ever for somebody to do so.
    pub(super) fn limit_idleness(&mut self) {
        let has_user = self.sessions.values().any(|session| session.valid().is_some());
        if !has_user && self.deadline.is_none() {
            self.deadline = self.now.checked_add(self.params().setup_timeout);
        }
    }
}

/// The file whose operations a request is among.
fn counted(pending: &Pending) -> Option<Handle> {
    match pending.waits_for {
        WaitsFor::File | WaitsFor::Rdma | WaitsFor::Transform => pending.handle,
        WaitsFor::Others | WaitsFor::Change => None,
    }
}
