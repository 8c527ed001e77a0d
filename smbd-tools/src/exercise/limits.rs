//! Limits of a server.

/// Bounds of a [`Server`](super::Server), for one connection. The bounds of the connection's configuration apply, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Longest ordinary message in bytes, returned or sent by `Source`.
    pub message: u32,
    /// Longest buffer in bytes, of an offer or a transfer.
    pub buffer: u32,
    /// Most bytes of all buffers at the same time.
    pub buffers: u64,
    /// Most messages and RDMA operations that wait to be sent or finished.
    pub backlog_messages: u32,
    /// Most bytes of them. A client that sends without receiving, so that more wait, is disconnected: see
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
