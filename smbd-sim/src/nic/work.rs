use smbd_core::{BufferDescriptorV1, Head, RdmaVerb, RecvId, Token, WrId};

use crate::memory::Range;

/// A receive in the queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecvWork {
    pub(super) id: RecvId,
    pub(super) len: u32,
}

/// A work request for the send queue.
#[derive(Debug)]
pub struct SendWork {
    /// Its name.
    pub id: WrId,
    /// What to do.
    pub operation: Operation,
    /// Whether a completion is asked for.
    pub signal: bool,
}

/// The bytes of a message behind its head.
#[derive(Debug, Default)]
pub enum Body {
    /// None.
    #[default]
    None,
    /// Memory of the host, which the device uses until the completion.
    InPlace(Range),
    /// A copy, which the device keeps.
    Copied(Vec<u8>),
}

/// What a work request of the send queue does.
#[derive(Debug)]
pub enum Operation {
    /// Send a message.
    Send {
        /// Its first bytes.
        head: Head,
        /// The rest.
        body: Body,
        /// The peer's token to invalidate.
        invalidate: Option<Token>,
    },
    /// RDMA Read or Write.
    Rdma {
        /// Which.
        verb: RdmaVerb,
        /// Local memory, as long as `remote`.
        local: Range,
        /// The peer's memory.
        remote: BufferDescriptorV1,
    },
    /// Bind a memory window: its token was enabled when this is posted, and works from now on.
    Bind,
    /// Invalidate a memory window.
    Invalidate(Token),
}

/// A work request was not taken: an error number of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PostError(pub i32);
