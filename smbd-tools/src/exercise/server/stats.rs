//! Counters of a server, and the values that count against its limits.

use thiserror::Error;

use super::Limits;

/// The client sent more messages to be returned than it received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "the client does not receive what it asked for: {messages} messages of {bytes} bytes wait for it, {max_messages} \
     messages of {max_bytes} bytes may"
)]
pub struct Overrun {
    /// Messages that waited, including the last one.
    pub messages: u64,
    /// Its bytes.
    pub bytes: u64,
    /// [`Limits::backlog_messages`].
    pub max_messages: u32,
    /// [`Limits::backlog`].
    pub max_bytes: u64,
}

/// Counters of a server, for one connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerStats {
    /// Ordinary messages returned.
    pub returned: u64,
    /// Their bytes.
    pub returned_bytes: u64,
    /// Ordinary messages counted.
    pub counted: u64,
    /// Their bytes.
    pub counted_bytes: u64,
    /// Messages sent by [`Request::Source`](super::super::Request::Source).
    pub sourced: u64,
    /// Their bytes.
    pub sourced_bytes: u64,
    /// Requests received.
    pub requests: u64,
    /// Requests and messages answered with a failure.
    pub failures: u64,
    /// Finished RDMA Reads from the client.
    pub reads: u64,
    /// Finished RDMA Writes to the client.
    pub writes: u64,
    /// Bytes of both.
    pub rdma_bytes: u64,
    /// Tokens of offered buffers that the client invalidated.
    pub invalidated: u64,
    /// Largest number of bytes that waited to be sent at the same time.
    pub backlog_max: u64,
}

/// What waits to be sent or done.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Held {
    pub(super) messages: u64,
    pub(super) bytes: u64,
}

impl Held {
    pub(super) const fn with(self, bytes: u64) -> Self {
        Self { messages: self.messages.saturating_add(1), bytes: self.bytes.saturating_add(bytes) }
    }

    pub(super) const fn without(self, bytes: u64) -> Self {
        Self { messages: self.messages.saturating_sub(1), bytes: self.bytes.saturating_sub(bytes) }
    }

    pub(super) fn check(self, limits: &Limits) -> Result<(), Overrun> {
        if self.messages <= u64::from(limits.backlog_messages) && self.bytes <= limits.backlog {
            return Ok(());
        }
        Err(Overrun {
            messages: self.messages,
            bytes: self.bytes,
            max_messages: limits.backlog_messages,
            max_bytes: limits.backlog,
        })
    }

    /// Whether half of the backlog is free: what the server makes up itself leaves the other half to the client.
    pub(super) const fn is_light(self, limits: &Limits) -> bool {
        self.messages < limits.backlog_messages as u64 / 2 && self.bytes < limits.backlog / 2
    }
}
