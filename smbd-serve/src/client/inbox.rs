//! News for the task of a client, from threads, other clients, and connections that come later.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use smbd_smb2::server::{Completion, Done, OperationId};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::member::Newcomer;
use crate::link::Data;

/// Connections of a client that may wait to be taken by its task, which takes them at once unless it waits for a broker. Others are
/// refused.
pub(super) const JOINING_MAX: usize = 64;

/// The number of replaced sessions that may wait for a client's task. Other clients replace them. A client whose task takes none is
/// ended, because it could keep a session that is replaced.
pub(super) const REPLACED_MAX: usize = 1024;

/// News for a client's task.
pub(super) enum Told<A> {
    Completed(Completed),
    /// The user has another session, of another client, which replaces this one.
    Replaced {
        session_id: u64,
        user: Arc<str>,
    },
    /// More than [`REPLACED_MAX`] sessions were replaced. Told once.
    Overrun,
    /// Another connection of the client.
    Joined(Box<Newcomer<A>>),
}

/// An operation of a client has ended. Its task hears of each operation once. There are at most as many operations as credits of the client's
/// connections, and requests that wait (`Params::waiting_max`): that is the limit of what waits for the task.
#[derive(Debug)]
pub(super) struct Completed {
    pub(super) id: OperationId,
    pub(super) completion: Completion,
    /// The memory that the operation has read to, for RDMA.
    pub(super) data: Option<Data>,
}

impl Completed {
    /// An operation whose data go by RDMA, if there are some, to or from this memory.
    pub(super) fn new(id: OperationId, completion: Completion, data: Option<Data>) -> Self {
        let data = data.filter(|_| matches!(completion, Ok(Done::Count(_))));
        Self { id, completion, data }
    }
}

/// How many of those that are limited wait.
#[derive(Debug, Default)]
struct Waiting {
    replaced: AtomicUsize,
    joining: AtomicUsize,
}

/// The sending side of a client's inbox.
pub(super) struct Teller<A> {
    tell: UnboundedSender<Told<A>>,
    waiting: Arc<Waiting>,
}

impl<A> Clone for Teller<A> {
    fn clone(&self) -> Self {
        Self { tell: self.tell.clone(), waiting: Arc::clone(&self.waiting) }
    }
}

/// Why a connection is not given to a client.
pub(super) enum NotJoined<A> {
    /// [`JOINING_MAX`] others wait.
    Full(Box<Newcomer<A>>),
    /// The client no longer has a task.
    Gone(Box<Newcomer<A>>),
}

impl<A> Teller<A> {
    /// Reports the end of an operation. A client that has left hears of nothing.
    pub(super) fn completed(&self, completed: Completed) {
        // It is about to leave.
        let _ = self.tell.send(Told::Completed(completed));
    }

    /// Reports that a session is replaced.
    pub(super) fn replaced(&self, session_id: u64, user: Arc<str>) {
        let told = match self.waiting.replaced.fetch_add(1, Ordering::Relaxed) {
            ..REPLACED_MAX => Told::Replaced { session_id, user },
            REPLACED_MAX => Told::Overrun,
            // It is told, and ends.
            _ => return,
        };
        let _ = self.tell.send(told);
    }

    /// Gives the client another connection.
    pub(super) fn joined(&self, newcomer: Box<Newcomer<A>>) -> Result<(), NotJoined<A>> {
        let joining = &self.waiting.joining;
        if joining.fetch_add(1, Ordering::Relaxed) >= JOINING_MAX {
            joining.fetch_sub(1, Ordering::Relaxed);
            return Err(NotJoined::Full(newcomer));
        }
        self.tell.send(Told::Joined(newcomer)).map_err(|refused| match refused.0 {
            Told::Joined(newcomer) => NotJoined::Gone(newcomer),
            Told::Completed(_) | Told::Replaced { .. } | Told::Overrun => unreachable!("it was a newcomer"),
        })
    }
}

/// News that the task has not looked at yet.
pub(super) struct Inbox<A> {
    told: UnboundedReceiver<Told<A>>,
    waiting: Arc<Waiting>,
}

/// An inbox, and its sending side.
pub(super) fn inbox<A>() -> (Teller<A>, Inbox<A>) {
    let ((tell, told), waiting) = (unbounded_channel(), Arc::<Waiting>::default());
    (Teller { tell, waiting: Arc::clone(&waiting) }, Inbox { told, waiting })
}

impl<A> Inbox<A> {
    /// The next news; `None` if no sender is left.
    pub(super) fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Option<Told<A>>> {
        self.told.poll_recv(cx).map(|told| self.taken(told))
    }

    /// The next news, if some waits.
    pub(super) fn try_recv(&mut self) -> Option<Told<A>> {
        let told = self.told.try_recv().ok();
        self.taken(told)
    }

    /// Waits for the next news.
    pub(super) async fn recv(&mut self) -> Option<Told<A>> {
        let told = self.told.recv().await;
        self.taken(told)
    }

    /// Makes room for another one.
    fn taken(&self, told: Option<Told<A>>) -> Option<Told<A>> {
        let counted = match &told {
            Some(Told::Replaced { .. }) => &self.waiting.replaced,
            Some(Told::Joined(_)) => &self.waiting.joining,
            Some(Told::Completed(_) | Told::Overrun) | None => return told,
        };
        counted.fetch_sub(1, Ordering::Relaxed);
        told
    }
}
