//! A client with one connection.

use alloc::sync::Arc;

use super::about::About;
use super::action::{Action, Completion, LinkId, Misuse, OperationId};
use super::client::Client;
use super::config::Server;
use super::transport::Transport;

/// A connection of a server, and the client of which it is the only one. [The module](super) says what it does.
///
/// It is a [`Client`] whose numbers of connections are left out. No session can be bound to another connection, so
/// [`Params::channels_max`](super::Params::channels_max) is 1.
#[derive(Debug)]
pub struct Connection {
    client: Client,
}

impl Connection {
    /// A connection of which nothing has been received. `now` is a FILETIME: 100 ns since 1601, UTC. `seed` is from a source fit for
    /// keys, and another one for each connection.
    #[must_use]
    pub fn new(server: Arc<Server>, transport: Transport, now: u64, seed: [u8; 32]) -> Self {
        Self { client: Client::new(server, transport, now, seed) }
    }

    /// Takes a whole message of the client: [`Client::received`].
    pub fn received(&mut self, now: u64, message: &mut [u8]) {
        self.client.received(now, LinkId::FIRST, message);
    }

    /// Takes how an operation ended: [`Client::completed`].
    ///
    /// # Errors
    /// [`Misuse`]: no such operation is being carried out. After the end nothing is checked.
    pub fn completed(&mut self, now: u64, id: OperationId, completion: Completion) -> Result<(), Misuse> {
        self.client.completed(now, id, completion)
    }

    /// Says that an operation may take long: [`Client::prolong`].
    ///
    /// # Errors
    /// [`Misuse`]: no such operation is being carried out.
    pub fn prolong(&mut self, now: u64, id: OperationId) -> Result<(), Misuse> {
        self.client.prolong(now, id)
    }

    /// Takes how a transfer ended: [`Client::rdma_done`].
    ///
    /// # Errors
    /// [`Misuse`]: there is no such transfer.
    pub fn rdma_done(&mut self, now: u64, id: OperationId, is_success: bool) -> Result<(), Misuse> {
        self.client.rdma_done(now, id, is_success)
    }

    /// Signs, encrypts, verifies or decrypts data that go by RDMA: [`Client::transform`].
    ///
    /// # Errors
    /// [`Misuse`]: no such data are asked for. After the end nothing is done.
    pub fn transform(&mut self, now: u64, id: OperationId, pieces: &mut [&mut [u8]]) -> Result<(), Misuse> {
        self.client.transform(now, id, pieces)
    }

    /// Ends a session of this user: [`Client::end_session`].
    pub fn end_session(&mut self, now: u64, session_id: u64, user: &str) {
        self.client.end_session(now, session_id, user);
    }

    /// What is known of the client: for logs. Nothing after the end.
    #[must_use]
    pub fn about(&self) -> Option<About> {
        self.client.about(LinkId::FIRST)
    }

    /// When [`Self::timeout`] is to be called: a FILETIME.
    #[must_use]
    pub fn deadline(&self) -> Option<u64> {
        self.client.deadline()
    }

    /// Says what time it is. Too early, it does nothing.
    pub fn timeout(&mut self, now: u64) {
        self.client.timeout(now);
    }

    /// Says that the connection is over.
    pub fn closed(&mut self) {
        self.client.closed(LinkId::FIRST);
    }

    /// The next thing to do. After [`Action::Close`] there is nothing to do any more.
    pub fn poll(&mut self) -> Option<Action> {
        self.client.poll().map(|(_, action)| action)
    }
}
