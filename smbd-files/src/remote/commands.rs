//! What handles ask for, begun and answered.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use smbd_core::Instant;
use smbd_smb2::client::{self, BufferId, Client, DataPart, Failure, OperationId, SessionHandle};
use smbd_smb2::security::Credentials;
use tokio::sync::{mpsc, oneshot};

use super::answer::Done;
use super::command::{Command, Reply};
use super::handle::Ended;
use super::pool::Pool;
use super::running::Running;
use super::settings::Settings;
use crate::Error;
use crate::drive::Upper;
use crate::transport::{Lost, Memory};

/// The commands of a connection.
pub(super) struct Commands<M> {
    pub(super) asked: mpsc::Receiver<Command>,
    /// A command that waits for room.
    pub(super) next: Option<Command>,
    pub(super) running: BTreeMap<OperationId, Running>,
    pub(super) pool: Pool<M>,
    /// Who is logged in, for when a session expires.
    pub(super) users: BTreeMap<SessionHandle, Credentials>,
    pub(super) server: String,
    pub(super) limits: client::Transport,
    ended: Ended,
}

impl<M: Memory> Commands<M> {
    pub(super) fn new(
        asked: mpsc::Receiver<Command>,
        limits: client::Transport,
        settings: &Settings,
        ended: Ended,
    ) -> Self {
        Self {
            asked,
            next: None,
            running: BTreeMap::new(),
            pool: Pool::new(settings.buffers),
            users: BTreeMap::new(),
            server: settings.server.clone(),
            limits,
            ended,
        }
    }

    pub(super) fn why_ended(&self) -> Arc<str> {
        self.ended.get().cloned().unwrap_or_else(|| "it was closed".into())
    }
}

impl<M: Memory> Upper for Commands<M> {
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
    }

    fn ended(&mut self, why: &Lost) {
        // It is said once.
        let _ = self.ended.set(Arc::clone(&why.0));
    }

    fn poll_over(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.asked.close();
        let waiting = std::mem::take(&mut self.running).into_values().map(|running| running.answer);
        let next = self.next.take().map(|command| command.answer);
        for answer in waiting.chain(next) {
            refuse(answer, self.why_ended());
        }
        while let Some(command) = ready!(self.asked.poll_recv(cx)) {
            refuse(command.answer, self.why_ended());
        }
        Poll::Ready(())
    }
}

/// Tells somebody that the connection is over.
fn refuse(answer: oneshot::Sender<Result<Reply, Error>>, why: Arc<str>) {
    // Whoever asked may have gone.
    let _ = answer.send(Err(Error::Ended(why)));
}
