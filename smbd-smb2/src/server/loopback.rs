//! A connection over TCP and its files, in one.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use super::action::{Action, Completion, OperationId};
use super::config::Server;
use super::connection::Connection;
use super::files::{FileSystem, Files};
use super::reason::Reason;
use super::transport::Transport;

/// The only connection of its files.
const CONNECTION: u64 = 1;

/// A server with one connection over TCP, whose file system never waits: requests go in, and what they are answered comes out. For tests of
/// clients, and for examples. Whoever has more than one connection, RDMA or a file system that waits drives a [`Connection`].
///
/// The first page of this documentation has a client that talks to one.
pub struct Loopback<F: FileSystem> {
    connection: Connection,
    files: Files<F>,
    closed: Option<Reason>,
}

impl<F: FileSystem> Loopback<F> {
    /// A server that has received nothing, with the file systems of its shares, in the order of
    /// [`Params::shares`](super::Params::shares). `now` and `seed` are those of [`Connection::new`].
    #[must_use]
    pub fn new(server: Server, shares: Vec<F>, now: u64, seed: [u8; 32]) -> Self {
        let connection = Connection::new(Arc::new(server), Transport::Tcp, now, seed);
        Self { connection, files: Files::new(shares), closed: None }
    }

    /// Takes a whole message of the client. `now` is a FILETIME: 100 ns since 1601, UTC.
    pub fn received(&mut self, now: u64, message: &mut [u8]) {
        self.connection.received(now, message);
    }

    /// The next message to the client. What has to be done with files for it is done. Nothing comes after the end.
    pub fn poll(&mut self, now: u64) -> Option<Vec<u8>> {
        while let Some(action) = self.connection.poll() {
            match action {
                Action::Send { message, .. } => return Some(message.bytes().to_vec()),
                Action::File { id, operation } => {
                    match self.files.carry_out(CONNECTION, id, operation, None, now) {
                        Some(completion) => self.completed(now, id, completion),
                        // A lock that another file has. It is being carried out: nothing to refuse.
                        None => _ = self.connection.prolong(now, id),
                    }
                    for (_, id, completion) in self.files.retry() {
                        self.completed(now, id, completion);
                    }
                }
                Action::Cancel(id) => {
                    if let Some(completion) = self.files.cancel(CONNECTION, id) {
                        self.completed(now, id, completion);
                    }
                }
                Action::Close(reason) => {
                    self.files.end(CONNECTION, now);
                    self.closed = Some(reason);
                }
                // There is no RDMA over TCP, and nobody else has a session.
                Action::RdmaRead { .. }
                | Action::RdmaWrite { .. }
                | Action::Transform { .. }
                | Action::SessionReplaced { .. }
                | Action::Refused(_) => {}
            }
        }
        None
    }

    /// The connection, to end it, or to tell it what time it is.
    pub const fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// The file systems of the shares.
    #[must_use]
    pub fn shares(&self) -> &[F] {
        self.files.shares()
    }

    /// Why the server has closed the connection, if it has.
    #[must_use]
    pub const fn closed(&self) -> Option<&Reason> {
        self.closed.as_ref()
    }

    fn completed(&mut self, now: u64, id: OperationId, completion: Completion) {
        // The connection has asked for it, or has ended.
        let _ = self.connection.completed(now, id, completion);
    }
}

impl<F: FileSystem> fmt::Debug for Loopback<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Loopback").field("connection", &self.connection).finish_non_exhaustive()
    }
}
