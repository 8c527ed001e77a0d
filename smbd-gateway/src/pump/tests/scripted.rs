//! A transport whose messages, memory and end a test decides.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use smbd_core::backend::{OutOfMemory, OutOfRange};
use smbd_core::error::{Aborted, OpError, RegistrationError, WorkError};
use smbd_core::{Access, RdmaVerb};
use smbd_link::link::{Ending, Event, Piece};
use smbd_link::transport::{Heap, Limits, Memory, Transport};
use smbd_smb2::relay::BufferId;
use smbd_smb2::wire::{BufferDescriptorV1, Token};
use thiserror::Error;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Orders that wait before no more should be given.
pub(super) const ORDERS_MAX: usize = 8;

/// The poll that sends a message, and that of the turn behind it, in which nothing moves.
const QUIET: u32 = 2;

/// Memory that is not zero at first.
#[derive(Clone, Debug)]
pub(super) struct Used(pub(super) Heap);

impl Memory for Used {
    fn allocate(len: u32) -> Result<Self, OutOfMemory> {
        let heap = Heap::allocate(len)?;
        heap.fill(0, &vec![0xEE; len as usize]).unwrap();
        Ok(Self(heap))
    }

    fn fill(&self, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        self.0.fill(offset, bytes)
    }

    fn read(&self, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        self.0.read(offset, out)
    }
}

/// What the peer has got, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Got {
    Message(Vec<u8>, Option<Token>),
    Data(Vec<u8>),
}

/// What the peer may access, by token.
pub(super) type Open = Arc<Mutex<BTreeMap<Token, (Used, Access)>>>;

/// The peer's end in a test.
pub(super) struct Hand {
    pub(super) messages: Option<UnboundedSender<Piece>>,
    pub(super) got: UnboundedReceiver<Got>,
    /// Bytes of messages that the pump has taken.
    pub(super) taken: Arc<AtomicUsize>,
    /// What the peer's tokens name.
    pub(super) memory: Arc<Mutex<BTreeMap<Token, Vec<u8>>>>,
    /// What tokens of the pump name.
    pub(super) open: Open,
    /// Whether orders wait for ever.
    pub(super) is_stuck: Arc<AtomicBool>,
    /// Whether orders wait for the second poll. Nobody is woken for it.
    pub(super) is_slow: Arc<AtomicBool>,
    /// What comes when the connection is polled for the second time after a message was sent. It wakes nobody.
    pub(super) next: Arc<Mutex<Option<Piece>>>,
}

impl Hand {
    /// Sends a message in fragments of this size.
    pub(super) fn send(&self, message: Vec<u8>, size: usize) {
        let mut rest = Bytes::from(message);
        while !rest.is_empty() {
            let bytes = rest.split_to(size.min(rest.len()));
            self.say(&bytes, u32::try_from(rest.len()).unwrap());
        }
    }

    /// Sends a piece of a message of which so many bytes follow.
    pub(super) fn say(&self, piece: &[u8], remaining: u32) {
        let piece = Piece { bytes: piece.into(), remaining };
        self.messages.as_ref().unwrap().send(piece).unwrap();
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("it left")]
pub(super) struct Left;

enum Order {
    Send(Bytes, Option<Token>),
    Rdma { name: BufferId, verb: RdmaVerb, memory: Used, remote: Arc<[BufferDescriptorV1]>, at: (u64, u32) },
}

/// The peer's end in a pump. What is ordered is done when the connection is polled.
pub(super) struct Scripted {
    pieces: UnboundedReceiver<Piece>,
    inbox: VecDeque<Piece>,
    taken: Arc<AtomicUsize>,
    got: UnboundedSender<Got>,
    memory: Arc<Mutex<BTreeMap<Token, Vec<u8>>>>,
    open: Open,
    tokens: BTreeMap<BufferId, Token>,
    next: u32,
    orders: VecDeque<Order>,
    events: VecDeque<Event<BufferId, Left>>,
    ending: Option<Ending<Left>>,
    is_told: bool,
    /// Whether the device refuses registrations.
    pub(super) is_full: bool,
    is_stuck: Arc<AtomicBool>,
    is_slow: Arc<AtomicBool>,
    /// Orders have waited for a poll.
    has_waited: bool,
    next_piece: Arc<Mutex<Option<Piece>>>,
    /// Polls since a message was sent.
    quiet: u32,
    /// Whether it ends only when no order waits.
    pub(super) stays_with_orders: bool,
}

pub(super) fn peer() -> (Hand, Scripted) {
    let (send, pieces) = unbounded_channel();
    let (got, receive) = unbounded_channel();
    let scripted = Scripted {
        pieces,
        inbox: VecDeque::new(),
        taken: Arc::default(),
        got,
        memory: Arc::default(),
        open: Open::default(),
        tokens: BTreeMap::new(),
        next: 1,
        orders: VecDeque::new(),
        events: VecDeque::new(),
        ending: None,
        is_told: false,
        is_full: false,
        is_stuck: Arc::default(),
        is_slow: Arc::default(),
        has_waited: false,
        next_piece: Arc::default(),
        quiet: 0,
        stays_with_orders: false,
    };
    let hand = Hand {
        messages: Some(send),
        got: receive,
        taken: Arc::clone(&scripted.taken),
        memory: Arc::clone(&scripted.memory),
        open: Arc::clone(&scripted.open),
        is_stuck: Arc::clone(&scripted.is_stuck),
        is_slow: Arc::clone(&scripted.is_slow),
        next: Arc::clone(&scripted.next_piece),
    };
    (hand, scripted)
}

impl Scripted {
    fn carry_out(&mut self, order: Order) {
        // A test that looks no more is not told.
        match order {
            Order::Send(message, invalidate) => {
                self.quiet = 0;
                let _ = self.got.send(Got::Message(message.to_vec(), invalidate));
            }
            Order::Rdma { name, verb, memory, remote, at } => {
                let is_success = self.transfer(verb, &memory, &remote, at);
                let result = if is_success { Ok(()) } else { Err(OpError::Aborted(Aborted).into()) };
                self.events.push_back(Event::RdmaDone { name, result });
            }
        }
    }

    /// Whether that is in the peer's memory.
    fn transfer(
        &self,
        verb: RdmaVerb,
        memory: &Used,
        remote: &[BufferDescriptorV1],
        (offset, len): (u64, u32),
    ) -> bool {
        let mut regions = self.memory.lock().unwrap();
        let region = match remote {
            [descriptor] => regions.get_mut(&descriptor.token),
            _ => None,
        };
        let place = region.and_then(|region| region.get_mut(offset as usize..)?.get_mut(..len as usize));
        if verb == RdmaVerb::Read {
            return place.map(|bytes| memory.fill(0, bytes).unwrap()).is_some();
        }
        let mut data = vec![0; len as usize];
        memory.read(0, &mut data).unwrap();
        let is_there = place.map(|bytes| bytes.copy_from_slice(&data)).is_some();
        let _ = self.got.send(Got::Data(data));
        is_there
    }
}

impl Transport<BufferId> for Scripted {
    type Memory = Used;
    type Error = Left;

    fn limits(&self) -> Limits {
        Limits { max_send: u32::MAX, max_receive: u32::MAX, rdma: None }
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Event<BufferId, Left>> {
        let is_slow = self.is_slow.load(Ordering::Relaxed) && !self.orders.is_empty();
        self.has_waited = is_slow && !self.has_waited;
        while !self.has_waited
            && !self.is_stuck.load(Ordering::Relaxed)
            && let Some(order) = self.orders.pop_front()
        {
            self.carry_out(order);
        }
        self.quiet += 1;
        if self.quiet == QUIET {
            self.inbox.extend(self.next_piece.lock().unwrap().take());
        }
        let stays = self.stays_with_orders && !self.orders.is_empty();
        if self.inbox.is_empty() && self.ending.is_none() && !stays {
            match self.pieces.poll_recv(cx) {
                Poll::Ready(Some(piece)) => self.inbox.push_back(piece),
                Poll::Ready(None) => self.ending = Some(Err(smbd_link::Failure::Backend(Left))),
                Poll::Pending => {}
            }
        }
        if let Some(event) = self.events.pop_front() {
            return Poll::Ready(event);
        }
        match &self.ending {
            Some(ending) if !self.is_told => {
                self.is_told = true;
                Poll::Ready(Event::Ended(ending.clone()))
            }
            _ => Poll::Pending,
        }
    }

    fn try_recv(&mut self) -> Option<Piece> {
        let piece = self.inbox.pop_front()?;
        self.taken.fetch_add(piece.bytes.len(), Ordering::Relaxed);
        Some(piece)
    }

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<()> {
        if self.orders.len() < ORDERS_MAX { Poll::Ready(()) } else { Poll::Pending }
    }

    fn send(&mut self, message: Bytes, invalidate: Option<Token>) {
        self.orders.push_back(Order::Send(message, invalidate));
    }

    fn rdma(
        &mut self,
        name: BufferId,
        verb: RdmaVerb,
        memory: Used,
        remote: Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) {
        self.orders.push_back(Order::Rdma { name, verb, memory, remote, at: (offset, len) });
    }

    fn register(&mut self, name: BufferId, memory: Used, access: Access) {
        if self.is_full {
            let result = Err(RegistrationError::Work(WorkError::PostFailed { errno: 12 }).into());
            return self.events.push_back(Event::Registered { name, result });
        }
        let (token, length) = (Token(self.next), memory.0.len());
        self.next += 1;
        self.tokens.insert(name, token);
        self.open.lock().unwrap().insert(token, (memory, access));
        let descriptor = BufferDescriptorV1 { offset: 0, token, length };
        self.events.push_back(Event::Registered { name, result: Ok([descriptor].into()) });
    }

    fn deregister(&mut self, name: BufferId) {
        let token = self.tokens.remove(&name).expect("it was registered");
        self.open.lock().unwrap().remove(&token);
        self.events.push_back(Event::Deregistered { name, result: Ok(()) });
    }

    fn waiting(&self) -> usize {
        self.orders.len()
    }

    fn waiting_bytes(&self) -> usize {
        0
    }

    fn unsent(&self) -> u64 {
        0
    }

    fn keep(&mut self, _: usize, _: usize) {}

    fn has_messages(&self) -> bool {
        !self.inbox.is_empty()
    }

    fn ignore_messages(&mut self) {
        self.inbox.clear();
    }

    fn closed(&self) -> Option<&Ending<Left>> {
        self.ending.as_ref()
    }

    fn close(&mut self, _: Duration) {}

    fn drop_orders(&mut self) {
        self.orders.clear();
    }
}
