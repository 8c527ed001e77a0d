//! A connection of a client, as those see it who look after the server.

use std::future::poll_fn;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use smbd_link::time::within;
use smbd_smb2::server::{About, ConnectionId, Refused};
use tokio::sync::{oneshot, watch};

use super::surroundings::Surroundings;
use crate::link::Link;

/// How long what was ordered may still take when a connection ends.
const CLOSE_WITHIN: Duration = Duration::from_secs(2);

/// How long of that messages may take that the transport has.
const LEAVE_WITHIN: Duration = Duration::from_secs(1);

/// What went between a client and the server on a connection, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Of messages from the client.
    pub messages_in: u64,
    /// Of messages to the client.
    pub messages_out: u64,
    /// Read from the client's memory.
    pub rdma_in: u64,
    /// Written to the client's memory.
    pub rdma_out: u64,
}

/// What a client did on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// What is known of it.
    pub about: About,
    /// What went there and back.
    pub counts: Counts,
}

/// How a connection ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// Why, as a text for people.
    pub why: String,
    /// What the client did, as far as it was known.
    pub seen: Option<Seen>,
}

/// What happens on a connection, for logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum News<'a> {
    /// It is one of this client: what [`Host::open_count_of`](crate::Host::open_count_of) takes. The first of all news.
    Client(ConnectionId),
    /// It has its first session.
    LoggedIn(&'a About),
    /// The server has refused a login, or all dialects of the client.
    Refused(&'a Refused),
    /// Bytes went on it.
    Moved(Moved, u64),
}

/// How bytes went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// In a message from the client.
    MessageIn,
    /// In a message to the client.
    MessageOut,
    /// By RDMA from the client's memory.
    RdmaIn,
    /// By RDMA to the client's memory.
    RdmaOut,
}

/// Is told of them.
pub(super) type Tell = Box<dyn FnMut(News<'_>) + Send>;

/// What comes first on a connection: NEGOTIATE, if its client is in order.
pub(super) enum First {
    Message(BytesMut),
    /// Another process has answered it.
    Past(Bytes),
}

impl First {
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Message(message) => message,
            Self::Past(request) => request,
        }
    }
}

/// A connection whose first message has come.
pub(super) struct Newcomer<A> {
    pub(super) around: A,
    pub(super) link: Box<dyn Link + Send>,
    pub(super) first: First,
    pub(super) news: Tell,
    pub(super) ended: oneshot::Sender<End>,
}

/// A connection that is served.
pub(super) struct Member<A> {
    pub(super) around: A,
    pub(super) link: Box<dyn Link + Send>,
    counts: Counts,
    /// Why it is lost, if it is.
    pub(super) why: Option<String>,
    about: Option<About>,
    news: Tell,
    pub(super) ended: oneshot::Sender<End>,
}

impl<A: Surroundings> Member<A> {
    /// A connection of this client that is taken, and its first message.
    pub(super) fn new(client: ConnectionId, newcomer: Newcomer<A>) -> (Self, First) {
        let Newcomer { around, link, first, mut news, ended } = newcomer;
        news(News::Client(client));
        (Self { around, link, counts: Counts::default(), why: None, about: None, news, ended }, first)
    }

    /// Tells of a session as soon as there is one.
    pub(super) fn look(&mut self, about: Option<About>) {
        let had_user = self.about.as_ref().is_some_and(|about| about.user.is_some());
        let Some(about) = about else { return };
        if !had_user && about.user.is_some() {
            (self.news)(News::LoggedIn(&about));
        }
        // What it was stays known when its sessions have ended.
        if !had_user || about.user.is_some() {
            self.about = Some(about);
        }
    }

    /// Counts bytes, and tells of them.
    pub(super) fn moved(&mut self, how: Moved, bytes: usize) {
        let counts = &mut self.counts;
        let count = match how {
            Moved::MessageIn => &mut counts.messages_in,
            Moved::MessageOut => &mut counts.messages_out,
            Moved::RdmaIn => &mut counts.rdma_in,
            Moved::RdmaOut => &mut counts.rdma_out,
        };
        *count = count.saturating_add(bytes as u64);
        (self.news)(News::Moved(how, bytes as u64));
    }

    /// Tells of what was refused.
    pub(super) fn refused(&mut self, refused: &Refused) {
        (self.news)(News::Refused(refused));
    }

    /// Sends what was said last, and ends the connection.
    pub(super) async fn close(&mut self) {
        close(&self.around, &mut *self.link).await;
    }

    /// Tells whoever waits for the end.
    pub(super) fn tell(self, why: String) {
        let Self { link, counts, about, ended, .. } = self;
        drop(link);
        // Nobody may wait any more.
        let _ = ended.send(End { why, seen: about.map(|about| Seen { about, counts }) });
    }
}

/// Ends a connection. What was said last leaves first: why a client is refused, for example.
pub(super) async fn close(around: &impl Surroundings, link: &mut (dyn Link + Send)) {
    let _ = within(around, CLOSE_WITHIN, poll_fn(|cx| link.poll_idle(cx))).await;
    let _ = within(around, CLOSE_WITHIN, poll_fn(|cx| link.poll_close(LEAVE_WITHIN, cx))).await;
}

/// Returns when the server is told to end.
pub(super) async fn stopped(stop: &mut watch::Receiver<bool>) {
    if stop.wait_for(|stops| *stops).await.is_err() {
        // Nobody can say so any more.
        std::future::pending::<()>().await;
    }
}
