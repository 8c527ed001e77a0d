//! What a server allows.

/// Bounds of a [`Server`](super::Server), for one connection. Those of the connection's own configuration come on top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest ordinary message in bytes, returned or sourced.
    pub message: u32,
    /// Longest buffer in bytes, of an offer or a transfer.
    pub buffer: u32,
    /// Bytes of all buffers at the same time.
    pub buffers: u64,
    /// Messages and transfers that wait to be sent or done.
    pub backlog_messages: u32,
    /// Their bytes. A client that lets more pile up, because it sends without receiving, is disconnected: see
    /// [`Overrun`](super::Overrun).
    pub backlog: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message: 1 << 20,
            buffer: 8 << 20,
            buffers: 64 << 20,
            backlog_messages: 4096,
            backlog: 16 << 20,
        }
    }
}
