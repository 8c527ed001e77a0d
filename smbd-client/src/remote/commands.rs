//! What handles ask for, begun and answered.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use smbd_core::Instant;
use smbd_core::endpoint::Chunks;
use smbd_smb2::client::{
    self, BufferId, Client, DataPart, Failure, OperationId, SessionHandle, TreeExport, TreeHandle,
};
use smbd_smb2::security::Credentials;
use smbd_smb2::wire::SessionId;

use super::answer::Done;
use super::channels::{Command, Inlet};
use super::later::Later;
use super::pool::Pool;
use super::running::Running;
use super::settings::Settings;
use super::surroundings::Surroundings;
use crate::Error;
use crate::Lost;
use crate::drive::Upper;
use smbd_link::transport::Memory;

/// The commands of a connection.
pub(super) struct Commands<M, S: Surroundings> {
    pub(super) inlet: Inlet,
    pub(super) surroundings: S,
    /// A command that waits for room.
    pub(super) next: Option<Command>,
    /// Commands that wait for the server.
    pub(super) later: Later<S>,
    pub(super) running: BTreeMap<OperationId, Running>,
    pub(super) pool: Pool<M>,
    /// Data of callers' memory that go in messages.
    pub(super) chunks: Chunks,
    /// The sessions of this connection, by their names, and who has logged in here, for when one expires.
    pub(super) sessions: BTreeMap<SessionId, SessionHandle>,
    pub(super) users: BTreeMap<SessionHandle, Credentials>,
    pub(super) trees: BTreeMap<TreeExport, TreeHandle>,
    /// How many lost connections the client was told of, by session.
    pub(super) sequences: BTreeMap<SessionId, u16>,
    pub(super) server: String,
    pub(super) limits: client::Transport,
}

impl<M: Memory + Clone, S: Surroundings> Commands<M, S> {
    pub(super) fn new(inlet: Inlet, limits: client::Transport, settings: &Settings, surroundings: S) -> Self {
        Self {
            inlet,
            next: None,
            later: Later::new(surroundings.clone()),
            surroundings,
            running: BTreeMap::new(),
            pool: Pool::new(settings.buffers),
            chunks: Chunks::new(),
            sessions: BTreeMap::new(),
            users: BTreeMap::new(),
            trees: BTreeMap::new(),
            sequences: BTreeMap::new(),
            server: settings.server.clone(),
            limits,
        }
    }

    pub(super) fn why_ended(&self) -> Arc<str> {
        self.inlet.ended.get().cloned().unwrap_or_else(|| "it was closed".into())
    }
}

impl<M: Memory + Clone, S: Surroundings> Upper for Commands<M, S> {
    type Memory = M;
    type Kept = Result<Done, Error>;

    fn begin(&mut self, client: &mut Client, now: Instant, cx: &mut Context<'_>) -> Result<bool, Lost> {
        self.begin_next(client, now, cx)
    }

    fn memory(&self, buffer: BufferId) -> Option<&M> {
        self.pool.memory(buffer)
    }

    fn plain(&self, part: &DataPart) -> Option<&[u8]> {
        self.pool.plain(part.buffer, part.offset, part.len)
    }

    fn checked(&mut self, part: &DataPart, data: Vec<u8>) {
        self.pool.checked(part.buffer, part.offset, data);
    }

    fn data(&mut self, operation: OperationId, offset: u64, data: &[u8]) {
        if let Some(running) = self.running.get_mut(&operation) {
            running.take(offset, data);
        }
    }

    fn keep(&mut self, _: OperationId, result: Result<client::Reply<'_>, Failure>) -> Self::Kept {
        result.map_err(Error::from).and_then(Done::of)
    }

    fn done(&mut self, client: &Client, operation: OperationId, kept: Self::Kept) {
        self.answer(client, operation, kept);
    }

    fn expired(&mut self, client: &mut Client, now: Instant, session: SessionHandle) -> Result<(), Lost> {
        self.authenticate(client, now, session)
    }

    fn session_ended(&mut self, session: SessionHandle) {
        self.users.remove(&session);
        self.sessions.retain(|_, other| *other != session);
    }

    fn taken(&mut self, message: &[u8]) {
        self.surroundings.taken(message);
    }

    fn ended(&mut self, why: &Lost) {
        // It is said once.
        let _ = self.inlet.ended.set(Arc::clone(&why.0));
    }

    fn poll_over(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let why = self.why_ended();
        self.inlet.asked.close();
        self.inlet.moved.close();
        for (_, running) in std::mem::take(&mut self.running) {
            running.command.go_on(true, Arc::clone(&why));
        }
        let waiting = self.next.take().into_iter().chain(self.later.take_all());
        waiting.for_each(|command| command.go_on(false, Arc::clone(&why)));
        while let Poll::Ready(Some(command)) = self.inlet.moved.poll_recv(cx) {
            command.go_on(false, Arc::clone(&why));
        }
        while let Some(command) = ready!(self.inlet.asked.poll_recv(cx)) {
            command.go_on(false, Arc::clone(&why));
        }
        Poll::Ready(())
    }
}
