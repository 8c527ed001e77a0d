//! A transport with RDMA whose other end is a server, at once: it writes down what is asked of it, and can hold things back or be cut.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use smbd_core::backend::{OutOfMemory, OutOfRange};
use smbd_core::error::CloseReason;
use smbd_core::{Access, RdmaVerb};
use smbd_link::Failure;
use smbd_link::link::{self, Ending, Piece};
use smbd_link::transport::{Heap, Limits, Memory, RdmaLimits, Transport};
use smbd_smb2::client::RegistrationId;
use smbd_smb2::server::{Action, Connection, OperationId};
use smbd_smb2::wire::{BufferDescriptorV1, Command, Token};
use thiserror::Error;

use super::server::{Host, NOW};

/// What the driver asked for, or what the server did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    Register(RegistrationId, Access),
    /// A message whose first element is in the clear, with its command.
    Send(Command),
    Invalidate,
    Deregister(RegistrationId),
    Close,
}

thread_local! {
    static COPIED: Cell<usize> = const { Cell::new(0) };
}

/// Bytes that this thread has copied into memory of a transport, or out of it.
pub fn copied() -> usize {
    COPIED.get()
}

#[derive(Clone, Debug)]
pub struct TestMemory(Heap);

impl Memory for TestMemory {
    fn allocate(len: u32) -> Result<Self, OutOfMemory> {
        Heap::allocate(len).map(Self)
    }

    fn fill(&self, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        COPIED.set(copied() + bytes.len());
        self.0.fill(offset, bytes)
    }

    fn read(&self, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        COPIED.set(copied() + out.len());
        self.0.read(offset, out)
    }
}

/// Somebody has cut the connection.
#[derive(Clone, Copy, Debug, Error)]
#[error("somebody has cut it")]
pub struct Cut;

/// What a test sees and changes.
#[derive(Default)]
pub struct Seen {
    pub journal: Vec<Event>,
    /// Registrations that the server could use now, at most at one time, and how many there were.
    pub valid: usize,
    pub most: usize,
    /// Nothing is said of registrations that end.
    pub holds: bool,
    /// Registrations fail.
    pub refuses: bool,
    /// So many messages are sent before the connection is cut.
    pub cut_after: Option<usize>,
    held: Vec<RegistrationId>,
    waker: Option<Waker>,
}

impl Seen {
    /// Says what was held back.
    pub fn release(&mut self) {
        self.holds = false;
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

pub struct Loopback {
    seen: Arc<Mutex<Seen>>,
    host: Host,
    connection: Connection,
    inbox: VecDeque<Bytes>,
    events: VecDeque<link::Event<RegistrationId, Cut>>,
    valid: BTreeMap<u32, (RegistrationId, TestMemory)>,
    next_token: u32,
    buffers: BTreeMap<OperationId, Vec<u8>>,
    ended: Option<Ending<Cut>>,
    is_told: bool,
}

impl Loopback {
    pub fn new(host: &Host) -> (Self, Arc<Mutex<Seen>>) {
        Self::of_server_that_sends(1 << 20, host)
    }

    /// To a server that sends no message of more than so many bytes, which the client does not know.
    pub fn of_server_that_sends(send_max: u32, host: &Host) -> (Self, Arc<Mutex<Seen>>) {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let transport = smbd_smb2::server::Transport::Rdma { send_max };
        let connection = Connection::new(Arc::clone(&host.server), transport, NOW, [7; 32]);
        let loopback = Self {
            seen: Arc::clone(&seen),
            host: host.clone(),
            connection,
            inbox: VecDeque::new(),
            events: VecDeque::new(),
            valid: BTreeMap::new(),
            next_token: 1,
            buffers: BTreeMap::new(),
            ended: None,
            is_told: false,
        };
        (loopback, seen)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }

    fn note(&self, event: Event) {
        let mut seen = self.seen();
        seen.journal.push(event);
        seen.valid = self.valid.len();
        seen.most = seen.most.max(self.valid.len());
    }

    /// Does what the server says.
    fn serve(&mut self) {
        while let Some(action) = self.connection.poll() {
            match action {
                Action::Send { message, invalidate } => {
                    if let Some(token) = invalidate {
                        let (name, _) = self.valid.remove(&token.0).expect("a valid token");
                        self.note(Event::Invalidate);
                        self.events.push_back(link::Event::Invalidated { name, token });
                    }
                    self.inbox.push_back(Bytes::copy_from_slice(message.bytes()));
                }
                Action::RdmaRead { id, buffers, len } => {
                    let mut data = Vec::new();
                    self.each(&buffers, len, |memory| data.extend_from_slice(memory));
                    self.buffers.insert(id, data);
                    self.connection.rdma_done(NOW, id, true).unwrap();
                }
                Action::RdmaWrite { id, buffers, len } => {
                    let data = self.buffers.remove(&id).unwrap();
                    let mut left = &data[..];
                    self.each(&buffers, len, |memory| {
                        let (now, later) = left.split_at(memory.len());
                        memory.copy_from_slice(now);
                        left = later;
                    });
                    self.connection.rdma_done(NOW, id, true).unwrap();
                }
                Action::File { id, operation } => {
                    let mut buffer = self.buffers.remove(&id).unwrap_or_default();
                    let mut files = self.host.files();
                    let done =
                        files.carry_out(1, id, operation, Some(&mut buffer), NOW).expect("nobody locks");
                    self.buffers.insert(id, buffer);
                    self.connection.completed(NOW, id, done).unwrap();
                }
                Action::Close(_) => self.ended = Some(Err(Failure::Backend(Cut))),
                other => panic!("{other:?}"),
            }
        }
    }

    /// The first `len` bytes of memory that the client has registered.
    fn each(&self, buffers: &[BufferDescriptorV1], len: u32, mut part: impl FnMut(&mut [u8])) {
        let mut left = len as usize;
        for buffer in buffers {
            let (_, memory) = self.valid.get(&buffer.token.0).expect("a token that is valid");
            let now = left.min(buffer.length as usize);
            let offset = u32::try_from(buffer.offset).unwrap();
            // The device copies nothing.
            let mut bytes = vec![0; now];
            memory.0.read(offset, &mut bytes).unwrap();
            part(&mut bytes);
            memory.0.fill(offset, &bytes).unwrap();
            left -= now;
        }
        assert_eq!(left, 0);
    }
}

impl Transport<RegistrationId> for Loopback {
    type Memory = TestMemory;
    type Error = Cut;

    fn limits(&self) -> Limits {
        let rdma = RdmaLimits { max_read_write: 1 << 20, remote_invalidation: true };
        Limits { max_send: 1 << 20, max_receive: 1 << 20, rdma: Some(rdma) }
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<link::Event<RegistrationId, Cut>> {
        if let Some(event) = self.events.pop_front() {
            return Poll::Ready(event);
        }
        let held = {
            let mut seen = self.seen();
            seen.waker = Some(cx.waker().clone());
            if seen.holds { None } else { seen.held.pop() }
        };
        if let Some(name) = held {
            return Poll::Ready(link::Event::Deregistered { name, result: Ok(()) });
        }
        match &self.ended {
            Some(ending) if !self.is_told => {
                self.is_told = true;
                let ending = ending.clone();
                self.valid.clear();
                self.note(Event::Close);
                self.host.files().end(1, NOW);
                Poll::Ready(link::Event::Ended(ending))
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

    fn send(&mut self, message: Bytes, _: Option<Token>) {
        let mut message = message.to_vec();
        if message.starts_with(b"\xfeSMB") {
            self.note(Event::Send(Command(u16::from_le_bytes([message[12], message[13]]))));
        }
        let cut = self.seen().cut_after.as_mut().map(|left| {
            *left = left.saturating_sub(1);
            *left == 0
        });
        if cut == Some(true) {
            self.ended = Some(Err(Failure::Backend(Cut)));
            self.inbox.clear();
        }
        if self.ended.is_none() {
            self.connection.received(NOW, &mut message);
            self.serve();
        }
    }

    fn rdma(
        &mut self,
        _: RegistrationId,
        _: RdmaVerb,
        _: TestMemory,
        _: Arc<[BufferDescriptorV1]>,
        _: u64,
        _: u32,
    ) {
        panic!("a client does no RDMA");
    }

    fn register(&mut self, name: RegistrationId, memory: TestMemory, access: Access) {
        let result = if self.seen().refuses {
            Err(Failure::Backend(Cut))
        } else {
            let (token, length) = (Token(self.next_token), memory.0.len());
            self.next_token += 1;
            self.valid.insert(token.0, (name, memory));
            self.note(Event::Register(name, access));
            Ok([BufferDescriptorV1 { offset: 0, token, length }].into())
        };
        self.events.push_back(link::Event::Registered { name, result });
    }

    fn deregister(&mut self, name: RegistrationId) {
        self.valid.retain(|_, (other, _)| *other != name);
        self.note(Event::Deregister(name));
        self.seen().held.push(name);
    }

    fn has_messages(&self) -> bool {
        !self.inbox.is_empty()
    }

    fn ignore_messages(&mut self) {
        self.inbox.clear();
    }

    fn closed(&self) -> Option<&Ending<Cut>> {
        self.ended.as_ref()
    }

    fn close(&mut self, _: Duration) {
        self.ended.get_or_insert(Ok(CloseReason::Local));
    }
}
