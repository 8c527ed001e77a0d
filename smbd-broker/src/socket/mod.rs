//! Sockets that keep packets and carry file descriptors, and memory that both sides have.
//!
//! The one unsafe part of this crate is [`Mapping`], which owns what it maps.

mod buffer;
mod mapping;
mod outbox;
mod packets;
mod system;
#[cfg(all(test, feature = "tokio"))]
mod tests;
#[cfg(feature = "tokio")]
mod unix;

use std::io;
use std::task::{Context, Poll};

pub use buffer::PacketBuffer;
pub use mapping::Mapping;
pub(crate) use outbox::Outbox;
pub use packets::{Deadline, Packets, Wanted};
pub use system::{Credentials, connect, cookie, credentials, listen, memory, pair};
#[cfg(feature = "tokio")]
pub use unix::{UnixListener, UnixPackets};

/// A connected socket that keeps packets. Methods return at once; those that return `Pending` wake the task of `cx` later.
pub trait PacketSocket: Send + 'static {
    /// What goes with a packet.
    type Descriptor: Send;

    /// Takes the next packet, in the place of what is in `packet`, and what came with it. The end is `UnexpectedEof`.
    ///
    /// # Errors
    /// The other side is gone, or has sent a packet that is too long.
    fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
        packet: &mut PacketBuffer,
    ) -> Poll<io::Result<Vec<Self::Descriptor>>>;

    /// Sends a packet.
    ///
    /// # Errors
    /// The other side is gone.
    fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        packet: &[u8],
        descriptor: Option<&Self::Descriptor>,
    ) -> Poll<io::Result<()>>;
}
