//! The server's side of a connection, as a pump needs it.

use std::task::{Context, Poll};

use bytes::Bytes;
use smbd_core::Access;
use smbd_link::handles::Piece;
use smbd_smb2::relay::BufferId;
use smbd_smb2::relay::reverse::Event;

use crate::pump::client::Memory;

/// A server over SMB Direct. All methods return at once; those that return `Pending` wake the task of `cx` later.
pub trait Peer {
    /// What its device can access.
    type Memory: Memory;

    /// The next piece of its messages; `None` when the connection has ended and there is no other.
    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Piece>>;

    /// Ready when the connection has ended, with the reason as a text, and from then on.
    fn poll_ended(&mut self, cx: &mut Context<'_>) -> Poll<String>;

    /// Ready when another message is taken.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()>;

    /// Sends a message. To be called after [`poll_ready`](Self::poll_ready) was ready, once. One to a connection that has ended is lost.
    fn send(&mut self, message: Bytes);

    /// Gives the server access to all of a buffer, with exactly this right.
    fn register(&mut self, buffer: BufferId, memory: Self::Memory, access: Access);

    /// Ends the server's access to a buffer, also if the server has invalidated its token.
    fn deregister(&mut self, buffer: BufferId);

    /// What a registration, or its end, has come to: [`Event::Registered`], [`Event::Deregistered`] or [`Event::Failed`].
    fn poll_done(&mut self, cx: &mut Context<'_>) -> Poll<Event>;
}
