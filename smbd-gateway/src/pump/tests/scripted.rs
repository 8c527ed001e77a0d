//! A client whose messages, memory and end a test decides.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use smbd_core::backend::{OutOfMemory, OutOfRange};
use smbd_link::handles::Piece;
use smbd_smb2::relay::BufferId;
use smbd_smb2::wire::Token;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::pump::{Client, Memory, Operation, Order};

/// Plain memory.
#[derive(Clone, Debug)]
pub(super) struct Heap(Arc<Mutex<Vec<u8>>>);

impl Memory for Heap {
    fn allocate(len: u32) -> Result<Self, OutOfMemory> {
        Ok(Self(Arc::new(Mutex::new(vec![0; len as usize]))))
    }

    fn fill(&self, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        self.0.lock().unwrap()[offset as usize..][..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn read(&self, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        out.copy_from_slice(&self.0.lock().unwrap()[offset as usize..][..out.len()]);
        Ok(())
    }
}

/// What a client has got, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Got {
    Message(Vec<u8>, Option<Token>),
    Data(Vec<u8>),
}

/// The client's end in a test.
pub(super) struct Hand {
    pub(super) messages: Option<UnboundedSender<Piece>>,
    pub(super) got: UnboundedReceiver<Got>,
    /// Bytes of messages that the pump has taken.
    pub(super) taken: Arc<AtomicUsize>,
    /// What its tokens name.
    pub(super) memory: Arc<Mutex<BTreeMap<Token, Vec<u8>>>>,
}

impl Hand {
    /// Sends a message in fragments of this size.
    pub(super) fn send(&self, message: Vec<u8>, size: usize) {
        let mut rest = Bytes::from(message);
        while !rest.is_empty() {
            let bytes = rest.split_to(size.min(rest.len()));
            let remaining = u32::try_from(rest.len()).unwrap();
            self.messages.as_ref().unwrap().send(Piece { bytes, remaining }).unwrap();
        }
    }
}

/// The client's end in a pump. RDMA operations are done when they are ordered.
pub(super) struct Scripted {
    messages: UnboundedReceiver<Piece>,
    taken: Arc<AtomicUsize>,
    got: UnboundedSender<Got>,
    memory: Arc<Mutex<BTreeMap<Token, Vec<u8>>>>,
    done: VecDeque<(BufferId, bool)>,
    has_ended: bool,
}

pub(super) fn client() -> (Hand, Scripted) {
    let (send, messages) = unbounded_channel();
    let (got, receive) = unbounded_channel();
    let memory = Arc::new(Mutex::new(BTreeMap::new()));
    let taken = Arc::default();
    let hand =
        Hand { messages: Some(send), got: receive, taken: Arc::clone(&taken), memory: Arc::clone(&memory) };
    (hand, Scripted { messages, taken, got, memory, done: VecDeque::new(), has_ended: false })
}

impl Scripted {
    /// The place in the client's memory; `None` if the operation is not inside.
    fn access(&mut self, operation: &Operation<Heap>, each: impl FnOnce(&mut [u8])) -> bool {
        let [descriptor] = &operation.remote[..] else { return false };
        let mut memory = self.memory.lock().unwrap();
        let Some(region) = memory.get_mut(&descriptor.token) else { return false };
        let place =
            region.get_mut(operation.offset as usize..).and_then(|r| r.get_mut(..operation.len as usize));
        place.map(each).is_some()
    }
}

impl Client for Scripted {
    type Memory = Heap;

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Piece>> {
        let piece = self.messages.poll_recv(cx);
        self.has_ended |= matches!(piece, Poll::Ready(None));
        if let Poll::Ready(Some(piece)) = &piece {
            self.taken.fetch_add(piece.bytes.len(), Ordering::Relaxed);
        }
        piece
    }

    fn poll_ended(&mut self, _: &mut Context<'_>) -> Poll<String> {
        if self.has_ended { Poll::Ready("it left".into()) } else { Poll::Pending }
    }

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    fn order(&mut self, order: Order<Heap>) {
        let got = match order {
            Order::Send { message, invalidate } => Some(Got::Message(message.to_vec(), invalidate)),
            Order::Read(operation) => {
                let to = operation.memory.clone();
                let is_success = self.access(&operation, |bytes| to.fill(0, bytes).unwrap());
                self.done.push_back((operation.buffer, is_success));
                None
            }
            Order::Write(operation) => {
                let mut data = vec![0; operation.len as usize];
                operation.memory.read(0, &mut data).unwrap();
                let is_success = self.access(&operation, |bytes| bytes.copy_from_slice(&data));
                self.done.push_back((operation.buffer, is_success));
                Some(Got::Data(data))
            }
        };
        // A test that looks no more is not told.
        got.map(|got| self.got.send(got));
    }

    fn poll_done(&mut self, _: &mut Context<'_>) -> Poll<(BufferId, bool)> {
        self.done.pop_front().map_or(Poll::Pending, Poll::Ready)
    }
}
