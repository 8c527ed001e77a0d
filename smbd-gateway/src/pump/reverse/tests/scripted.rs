//! A server whose messages, memory and end a test decides.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use smbd_core::Access;
use smbd_core::backend::{OutOfMemory, OutOfRange};
use smbd_link::handles::Piece;
use smbd_smb2::relay::BufferId;
use smbd_smb2::relay::reverse::Event;
use smbd_smb2::wire::{BufferDescriptorV1, Token};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::pump::client::Memory;
use crate::pump::reverse::Peer;

/// Plain memory, which is not empty at first.
#[derive(Clone, Debug)]
pub(super) struct Heap(Arc<Mutex<Vec<u8>>>);

impl Memory for Heap {
    fn allocate(len: u32) -> Result<Self, OutOfMemory> {
        Ok(Self(Arc::new(Mutex::new(vec![0xEE; len as usize]))))
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

/// What the server may access, by token.
pub(super) type Open = Arc<Mutex<BTreeMap<Token, (Heap, Access)>>>;

/// The server's end in a test.
pub(super) struct Hand {
    pub(super) messages: Option<UnboundedSender<Piece>>,
    pub(super) got: UnboundedReceiver<Bytes>,
    pub(super) open: Open,
}

/// The server's end in a pump. Registrations begin and end when that is ordered.
pub(super) struct Scripted {
    messages: UnboundedReceiver<Piece>,
    got: UnboundedSender<Bytes>,
    open: Open,
    tokens: BTreeMap<BufferId, Token>,
    next: u32,
    done: VecDeque<Event>,
    has_ended: bool,
    /// Whether the device refuses.
    is_full: bool,
}

pub(super) fn server(is_full: bool) -> (Hand, Scripted) {
    let (send, messages) = unbounded_channel();
    let (got, receive) = unbounded_channel();
    let open = Open::default();
    let hand = Hand { messages: Some(send), got: receive, open: Arc::clone(&open) };
    let (tokens, done) = (BTreeMap::new(), VecDeque::new());
    (hand, Scripted { messages, got, open, tokens, next: 1, done, has_ended: false, is_full })
}

impl Hand {
    /// Sends a piece of a message of which so many bytes follow.
    pub(super) fn say(&self, piece: &[u8], remaining: u32) {
        self.messages.as_ref().unwrap().send(Piece { bytes: piece.to_vec().into(), remaining }).unwrap();
    }
}

impl Peer for Scripted {
    type Memory = Heap;

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Piece>> {
        let piece = self.messages.poll_recv(cx);
        self.has_ended |= matches!(piece, Poll::Ready(None));
        piece
    }

    fn poll_ended(&mut self, _: &mut Context<'_>) -> Poll<String> {
        if self.has_ended { Poll::Ready("it left".into()) } else { Poll::Pending }
    }

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    fn send(&mut self, message: Bytes) {
        // A test that looks no more is not told.
        let _ = self.got.send(message);
    }

    fn register(&mut self, buffer: BufferId, memory: Heap, access: Access) {
        if self.is_full {
            return self.done.push_back(Event::Failed { buffer });
        }
        let (token, length) = (Token(self.next), memory.0.lock().unwrap().len() as u32);
        self.next += 1;
        self.tokens.insert(buffer, token);
        self.open.lock().unwrap().insert(token, (memory, access));
        let descriptor = BufferDescriptorV1 { offset: 0, token, length };
        self.done.push_back(Event::Registered { buffer, descriptor });
    }

    fn deregister(&mut self, buffer: BufferId) {
        let token = self.tokens.remove(&buffer).expect("it was registered");
        self.open.lock().unwrap().remove(&token);
        self.done.push_back(Event::Deregistered { buffer });
    }

    fn poll_done(&mut self, _: &mut Context<'_>) -> Poll<Event> {
        self.done.pop_front().map_or(Poll::Pending, Poll::Ready)
    }
}
