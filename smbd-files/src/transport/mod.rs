//! What carries messages to a server, as a driver needs it.

#[cfg(feature = "verbs")]
mod connector;
mod rdma;
mod tcp;

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::BytesMut;
use smbd_smb2::client::{self, Access, RegistrationId};
use smbd_smb2::wire::{BufferDescriptorV1, Token};
use thiserror::Error;

#[cfg(feature = "verbs")]
pub use connector::{Connector, DEFAULT_PORTS};
pub use rdma::{Rdma, Rest};
pub(crate) use tcp::CLOSED;
pub use tcp::{Framing, NoRdma, Tcp};

/// The memory of a transport could not be had, or does not have this range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("there is no memory of {len} bytes at {offset}")]
pub struct MemoryError {
    /// Where, in bytes.
    pub offset: u32,
    /// How many bytes.
    pub len: u32,
}

impl MemoryError {
    /// Of a range that is outside. A length that is too long for a buffer is told as the longest.
    #[must_use]
    pub fn outside(offset: u32, len: usize) -> Self {
        Self { offset, len: u32::try_from(len).unwrap_or(u32::MAX) }
    }
}

/// Memory that a server can read or write by RDMA. Clones name the same memory.
pub trait Memory: Clone + Send + Sync + 'static {
    /// New memory of `len` bytes.
    ///
    /// # Errors
    /// There is not enough.
    fn allocate(len: u32) -> Result<Self, MemoryError>;

    /// Copies `bytes` to it, from byte `offset` on.
    ///
    /// # Errors
    /// It has no such range. Nothing is copied.
    fn fill(&self, offset: u32, bytes: &[u8]) -> Result<(), MemoryError>;

    /// Copies its bytes to `out`, from byte `offset` on.
    ///
    /// # Errors
    /// It has no such range. Nothing is copied.
    fn read(&self, offset: u32, out: &mut [u8]) -> Result<(), MemoryError>;
}

/// Why a transport is over, as a text for people. Clones share it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Lost(pub Arc<str>);

impl Lost {
    /// Why it is over.
    pub fn because(why: impl std::fmt::Display) -> Self {
        Self(why.to_string().into())
    }
}

/// A message that has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// The tokens that were invalidated before it or with it (MS-SMBD 3.1.5.8).
    pub invalidated: Vec<Token>,
    /// All of it, without framing.
    pub message: BytesMut,
}

/// What came of a registration or its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Registered {
    /// The server can use the memory from now on.
    Valid(RegistrationId, Vec<BufferDescriptorV1>),
    /// The memory cannot be registered.
    Impossible(RegistrationId),
    /// The server can use the memory no longer.
    Ended(RegistrationId),
}

/// A part of some memory that is to be registered.
#[derive(Clone, Debug)]
pub struct Part<M> {
    /// The memory.
    pub memory: M,
    /// Where the part begins, in bytes.
    pub offset: u32,
    /// How long it is, in bytes.
    pub len: u32,
    /// What the server does with it.
    pub access: Access,
}

/// A connection to a server. All methods return at once; those that return `Pending` wake the task of `cx` later.
pub trait Transport {
    /// What can be registered.
    type Memory: Memory;

    /// What it carries.
    fn limits(&self) -> client::Transport;

    /// The next message.
    ///
    /// # Errors
    /// The connection has ended, and every message that came before has been taken.
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<Received, Lost>>;

    /// Moves what waits to be sent. Ready when little waits, so that more may be given to [`Self::send`].
    ///
    /// # Errors
    /// The connection has ended.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Lost>>;

    /// Sends a message that consists of these two parts. It is taken always, and waits if it has to.
    fn send(&mut self, message: [&[u8]; 2]);

    /// Gives the server access to a part of memory.
    fn register(&mut self, registration: RegistrationId, part: Part<Self::Memory>);

    /// Takes the access back.
    fn deregister(&mut self, registration: RegistrationId);

    /// What came of a registration, or its end.
    fn poll_registered(&mut self, cx: &mut Context<'_>) -> Poll<Registered>;

    /// Sends what waits for a short time, and ends the connection. Ready when it is over and the server can use no memory any more.
    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<()>;

    /// What still waits while it is closed is not sent: it has taken too long.
    fn give_up(&mut self) {}
}

/// The descriptors of a part of what `descriptors` describe; `None` if they are shorter.
#[must_use]
pub fn part_of(descriptors: &[BufferDescriptorV1], offset: u32, len: u32) -> Option<Vec<BufferDescriptorV1>> {
    let (mut skip, mut left) = (offset, len);
    let mut parts = Vec::new();
    for descriptor in descriptors {
        let skipped = skip.min(descriptor.length);
        let taken = left.min(descriptor.length.saturating_sub(skipped));
        skip = skip.saturating_sub(skipped);
        left = left.saturating_sub(taken);
        if taken > 0 {
            let offset = descriptor.offset.checked_add(skipped.into())?;
            parts.push(BufferDescriptorV1 { offset, length: taken, ..*descriptor });
        }
    }
    (left == 0).then_some(parts)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_part_is_the_same_bytes_as_in_the_whole(lengths in prop::collection::vec(1..9_u32, 1..5), offset in 0..40_u32, len in 0..40_u32) {
            let descriptors: Vec<_> = lengths.iter().zip(1..).map(|(length, token)| {
                BufferDescriptorV1 { offset: u64::from(token) * 1000, token: Token(token), length: *length }
            }).collect();
            let bytes = |descriptors: &[BufferDescriptorV1]| -> Vec<(Token, u64)> {
                let each = descriptors.iter().flat_map(|it| (0..it.length).map(|at| (it.token, it.offset + u64::from(at))));
                each.collect()
            };
            let all = bytes(&descriptors);
            let expected = all.get(offset as usize..(offset + len) as usize);
            let part = part_of(&descriptors, offset, len).map(|part| bytes(&part));
            // Nothing of it is a part wherever it is said to begin.
            prop_assert_eq!(part.as_deref(), if len == 0 { Some(&[][..]) } else { expected });
        }
    }
}
