//! What is between the two devices of a pair: plain data.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::task::Waker;

use smbd_core::{BufferDescriptorV1, RdmaVerb, RecvId, SendId, Token, WrId};
use smbd_link::transport::Heap;

use crate::slab::Completion;

/// Both devices. Nobody waits for the lock: all is in one thread.
pub type Cable = Arc<Mutex<[End; 2]>>;

/// What one of the devices has.
#[derive(Default)]
pub struct End {
    pub posted: VecDeque<RecvId>,
    pub completions: VecDeque<Completion>,
    /// Messages that have come, and vectors for others.
    pub packets: VecDeque<Packet>,
    pub spare: Vec<Vec<u8>>,
    /// What the peer may access.
    pub memory: Vec<(Token, Heap)>,
    /// Data on their way.
    pub moved: Vec<u8>,
    pub waker: Option<Waker>,
}

/// A message on its way.
pub struct Packet {
    pub bytes: Vec<u8>,
    pub invalidate: Option<Token>,
}

/// A work request in a chain.
pub enum Chained {
    Recv(RecvId),
    Send {
        id: SendId,
        is_signalled: bool,
        len: usize,
        invalidate: Option<Token>,
    },
    Rdma {
        id: WrId,
        is_signalled: bool,
        verb: RdmaVerb,
        local: Heap,
        offset: u32,
        remote: BufferDescriptorV1,
    },
}
