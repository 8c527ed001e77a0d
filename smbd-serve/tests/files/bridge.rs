//! Both ends of a connection, with memory between them that each sees as its device would: bytes on their way by RDMA are looked at, and
//! may be changed.

use std::collections::{BTreeMap, VecDeque};
use std::convert::Infallible;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use smbd_core::backend::{OutOfMemory, OutOfRange};
use smbd_core::error::CloseReason;
use smbd_core::{Access, BufferDescriptorV1, RdmaVerb, Token};
use smbd_link::link::{Ending, Event, Piece};
use smbd_link::transport::{File, Heap, Limits, Memory, RdmaLimits, Transport};

/// The server's memory, which counts the bytes that the processor copies to it and from it.
#[derive(Clone, Debug)]
pub struct Device {
    heap: Heap,
    copied: Arc<AtomicUsize>,
}

impl Memory for Device {
    fn allocate(len: u32) -> Result<Self, OutOfMemory> {
        Ok(Self { heap: Heap::allocate(len)?, copied: Arc::default() })
    }

    fn fill(&self, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        self.copied.fetch_add(bytes.len(), Ordering::Relaxed);
        self.heap.fill(offset, bytes)
    }

    fn read(&self, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        self.copied.fetch_add(out.len(), Ordering::Relaxed);
        self.heap.read(offset, out)
    }

    fn append_to(&self, offset: u32, len: u32, to: &mut Vec<u8>) -> Result<(), OutOfRange> {
        self.copied.fetch_add(len as usize, Ordering::Relaxed);
        self.heap.append_to(offset, len, to)
    }

    fn read_file(&self, file: &dyn File, at: u64, offset: u32, len: u32) -> io::Result<usize> {
        self.heap.read_file(file, at, offset, len)
    }

    fn write_file(&self, file: &dyn File, at: u64, offset: u32, len: u32) -> io::Result<usize> {
        self.heap.write_file(file, at, offset, len)
    }
}

/// What becomes of data on their way by RDMA, which way they go, and of which transfer.
pub type OnTheWay = Box<dyn FnMut(Access, usize, &mut Vec<u8>) + Send>;

/// What is between both ends.
#[derive(Default)]
pub struct Wire {
    /// Each with the token that it invalidates.
    to_client: VecDeque<(Bytes, Option<Token>)>,
    to_server: VecDeque<Bytes>,
    /// By their tokens: whose name it is, its memory, and what the server does with it.
    valid: BTreeMap<u32, (u64, Device, Access)>,
    next_token: u32,
    client: Option<Waker>,
    server: Option<Waker>,
    is_over: bool,
    pub on_the_way: Option<OnTheWay>,
    /// Counts of the server's memory that had part in transfers, one for each of them.
    used: Vec<Arc<AtomicUsize>>,
    /// All that went by RDMA.
    pub moved: Vec<(Access, Vec<u8>)>,
    /// What each registration has opened to the server when it became valid: all of its memory. Kept if somebody wants it.
    pub opened: Option<Vec<Vec<u8>>>,
}

type Shared = Arc<Mutex<Wire>>;

/// An end of the connection, whose owner has names of this type.
pub struct End<N> {
    wire: Shared,
    is_client: bool,
    names: Vec<N>,
    events: VecDeque<Event<N, Infallible>>,
    inbox: VecDeque<Bytes>,
    ended: Option<Ending<Infallible>>,
    is_told: bool,
}

/// The client's end and the server's.
pub fn bridge<C, S>() -> (End<C>, End<S>, Shared) {
    let wire = Shared::default();
    (End::new(&wire, true), End::new(&wire, false), wire)
}

impl Wire {
    /// Bytes that the processor has copied to memory of the server's transfers, and from it.
    pub fn copied(&self) -> usize {
        let mut used: Vec<_> = self.used.iter().collect();
        used.sort_by_key(|count| Arc::as_ptr(count));
        used.dedup_by_key(|count| Arc::as_ptr(count));
        used.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// Moves data between memory of the client and `data`, which has as many bytes.
    fn transfer(&mut self, access: Access, buffers: &[BufferDescriptorV1], data: &mut Vec<u8>) {
        if access == Access::Write {
            self.change(access, data);
        }
        let mut at = 0;
        for buffer in buffers {
            let (_, memory, allowed) = self.valid.get(&buffer.token.0).expect("a token that is valid");
            assert_eq!(*allowed, access);
            let len = (data.len() - at).min(buffer.length as usize);
            let (start, part) = (u32::try_from(buffer.offset).unwrap(), &mut data[at..at + len]);
            match access {
                Access::Write => memory.heap.fill(start, part).unwrap(),
                Access::Read => memory.heap.read(start, part).unwrap(),
                Access::ReadWrite => panic!("a transfer goes one way"),
            }
            at += len;
        }
        assert_eq!(at, data.len());
        if access == Access::Read {
            self.change(access, data);
        }
    }

    fn change(&mut self, access: Access, data: &mut Vec<u8>) {
        let number = self.moved.iter().filter(|(other, _)| *other == access).count();
        if let Some(change) = &mut self.on_the_way {
            change(access, number, data);
        }
        self.moved.push((access, data.clone()));
    }

    fn wake(&mut self) {
        [self.client.take(), self.server.take()].into_iter().flatten().for_each(Waker::wake);
    }
}

impl<N> End<N> {
    fn new(wire: &Shared, is_client: bool) -> Self {
        Self {
            wire: Arc::clone(wire),
            is_client,
            names: Vec::new(),
            events: VecDeque::new(),
            inbox: VecDeque::new(),
            ended: None,
            is_told: false,
        }
    }

    fn wire(&self) -> MutexGuard<'_, Wire> {
        self.wire.lock().unwrap()
    }

    fn end(&self) {
        let mut wire = self.wire();
        wire.valid.clear();
        wire.is_over = true;
        wire.wake();
    }
}

impl<N> Drop for End<N> {
    fn drop(&mut self) {
        self.end();
    }
}

impl<N: Copy + PartialEq> Transport<N> for End<N> {
    type Memory = Device;
    type Error = Infallible;

    fn limits(&self) -> Limits {
        let max_receive = if self.is_client { (1 << 20) + 4096 } else { 1 << 20 };
        let max_send = if self.is_client { 1 << 20 } else { (1 << 20) + 4096 };
        let rdma = RdmaLimits { max_read_write: 1 << 20, remote_invalidation: true };
        Limits { max_send, max_receive, rdma: Some(rdma) }
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Event<N, Infallible>> {
        let mut wire = self.wire.lock().unwrap();
        let waker = if self.is_client { &mut wire.client } else { &mut wire.server };
        *waker = Some(cx.waker().clone());
        if self.is_client {
            while let Some((message, invalidated)) = wire.to_client.pop_front() {
                if let Some(token) = invalidated {
                    let (name, ..) = wire.valid.remove(&token.0).expect("a token that is valid");
                    let name = self.names[usize::try_from(name).unwrap()];
                    self.events.push_back(Event::Invalidated { name, token });
                }
                self.inbox.push_back(message);
            }
        } else {
            self.inbox.extend(wire.to_server.drain(..));
        }
        if wire.is_over && self.ended.is_none() {
            self.ended = Some(Ok(CloseReason::PeerClosed));
        }
        if let Some(event) = self.events.pop_front() {
            return Poll::Ready(event);
        }
        match &self.ended {
            Some(ending) if !std::mem::replace(&mut self.is_told, true) => {
                Poll::Ready(Event::Ended(ending.clone()))
            }
            _ => Poll::Pending,
        }
    }

    fn try_recv(&mut self) -> Option<Piece> {
        let bytes = self.inbox.pop_front()?;
        Some(Piece { bytes: bytes.into(), remaining: 0 })
    }

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    fn send(&mut self, message: Bytes, invalidate: Option<Token>) {
        let mut wire = self.wire();
        if self.is_client {
            wire.to_server.push_back(message);
        } else {
            wire.to_client.push_back((message, invalidate));
        }
        wire.wake();
    }

    fn rdma(
        &mut self,
        name: N,
        verb: RdmaVerb,
        memory: Device,
        remote: Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) {
        assert_eq!(offset, 0);
        self.wire().used.push(Arc::clone(&memory.copied));
        let mut data = vec![0; len as usize];
        match verb {
            RdmaVerb::Read => {
                self.wire().transfer(Access::Read, &remote, &mut data);
                memory.heap.fill(0, &data).unwrap();
            }
            RdmaVerb::Write => {
                memory.heap.read(0, &mut data).unwrap();
                self.wire().transfer(Access::Write, &remote, &mut data);
            }
        }
        self.events.push_back(Event::RdmaDone { name, result: Ok(()) });
    }

    fn register(&mut self, name: N, memory: Device, access: Access) {
        self.names.push(name);
        let mut wire = self.wire.lock().unwrap();
        wire.next_token += 1;
        let (token, len) = (Token(wire.next_token), memory.heap.len());
        // Two descriptors: memory is not always in one piece.
        let first = len / 3;
        let both = [(0, first), (first.into(), len - first)];
        let descriptors =
            both.into_iter().map(|(offset, length)| BufferDescriptorV1 { offset, token, length });
        self.events.push_back(Event::Registered { name, result: Ok(descriptors.collect()) });
        if let Some(opened) = &mut wire.opened {
            let mut all = Vec::new();
            memory.heap.append_to(0, len, &mut all).unwrap();
            opened.push(all);
        }
        wire.valid.insert(token.0, ((self.names.len() - 1) as u64, memory, access));
    }

    fn deregister(&mut self, name: N) {
        let is_of = |of: &u64| self.names[usize::try_from(*of).unwrap()] == name;
        self.wire.lock().unwrap().valid.retain(|_, (of, ..)| !is_of(of));
        self.events.push_back(Event::Deregistered { name, result: Ok(()) });
    }

    fn has_messages(&self) -> bool {
        !self.inbox.is_empty()
    }

    fn ignore_messages(&mut self) {
        self.inbox.clear();
    }

    fn closed(&self) -> Option<&Ending<Infallible>> {
        self.ended.as_ref()
    }

    fn close(&mut self, _: Duration) {
        self.ended.get_or_insert(Ok(CloseReason::Local));
        self.end();
    }
}
