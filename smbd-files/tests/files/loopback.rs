//! A transport with RDMA whose other end is a server, at once: it writes down what is asked of it, and can hold things back or be cut.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use bytes::BytesMut;
use smbd_files::transport::{self, Lost, MemoryError, Part, Received, Registered};
use smbd_smb2::client::{self, Access, Rdma, RegistrationId};
use smbd_smb2::server::{Action, Connection, OperationId, Transport};
use smbd_smb2::wire::{BufferDescriptorV1, Command, Token};

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
    static COPIES: Cell<usize> = const { Cell::new(0) };
}

/// How often this thread has copied bytes into memory of a transport, or out of it.
pub fn copies() -> usize {
    COPIES.get()
}

#[derive(Clone, Debug)]
pub struct TestMemory(Arc<Mutex<Vec<u8>>>);

impl TestMemory {
    pub fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap()
    }
}

impl transport::Memory for TestMemory {
    fn allocate(len: u32) -> Result<Self, MemoryError> {
        Ok(Self(Arc::new(Mutex::new(vec![0; len as usize]))))
    }

    fn fill(&self, offset: u32, bytes: &[u8]) -> Result<(), MemoryError> {
        COPIES.set(copies() + 1);
        let mut all = self.bytes();
        let room = all.get_mut(offset as usize..).and_then(|rest| rest.get_mut(..bytes.len()));
        room.ok_or(MemoryError::outside(offset, bytes.len()))?.copy_from_slice(bytes);
        Ok(())
    }

    fn read(&self, offset: u32, out: &mut [u8]) -> Result<(), MemoryError> {
        COPIES.set(copies() + 1);
        let all = self.bytes();
        let bytes = all.get(offset as usize..).and_then(|rest| rest.get(..out.len()));
        out.copy_from_slice(bytes.ok_or(MemoryError::outside(offset, out.len()))?);
        Ok(())
    }
}

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
    inbox: VecDeque<Received>,
    registered: VecDeque<Registered>,
    valid: BTreeMap<u32, (RegistrationId, TestMemory)>,
    next_token: u32,
    buffers: BTreeMap<OperationId, Vec<u8>>,
    is_cut: bool,
}

impl Loopback {
    pub fn new(host: &Host) -> (Self, Arc<Mutex<Seen>>) {
        Self::of_server_that_sends(1 << 20, host)
    }

    /// To a server that sends no message of more than so many bytes, which the client does not know.
    pub fn of_server_that_sends(send_max: u32, host: &Host) -> (Self, Arc<Mutex<Seen>>) {
        let seen = Arc::new(Mutex::new(Seen::default()));
        let transport = Transport::Rdma { send_max };
        let connection = Connection::new(Arc::clone(&host.server), transport, NOW, [7; 32]);
        let loopback = Self {
            seen: Arc::clone(&seen),
            host: host.clone(),
            connection,
            inbox: VecDeque::new(),
            registered: VecDeque::new(),
            valid: BTreeMap::new(),
            next_token: 1,
            buffers: BTreeMap::new(),
            is_cut: false,
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
                    let invalidated: Vec<Token> = invalidate.into_iter().collect();
                    for token in &invalidated {
                        self.valid.remove(&token.0).expect("a valid token");
                        self.note(Event::Invalidate);
                    }
                    self.inbox.push_back(Received { invalidated, message: BytesMut::from(message.bytes()) });
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
                Action::Close(_) => self.is_cut = true,
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
            let start = usize::try_from(buffer.offset).unwrap();
            part(&mut memory.bytes()[start..start + now]);
            left -= now;
        }
        assert_eq!(left, 0);
    }
}

impl transport::Transport for Loopback {
    type Memory = TestMemory;

    fn limits(&self) -> client::Transport {
        let rdma = Rdma { threshold: 4096, max_read_write: 1 << 20, invalidates: true };
        client::Transport { max_send: 1 << 20, max_receive: 1 << 20, rdma: Some(rdma) }
    }

    fn poll_receive(&mut self, _: &mut Context<'_>) -> Poll<Result<Received, Lost>> {
        match self.inbox.pop_front() {
            Some(received) => Poll::Ready(Ok(received)),
            None if self.is_cut => Poll::Ready(Err(Lost::because("somebody has cut it"))),
            // Whatever comes is the answer to something that is sent, which the driver does itself.
            None => Poll::Pending,
        }
    }

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        Poll::Ready(Ok(()))
    }

    fn send(&mut self, message: [&[u8]; 2]) {
        let mut message = message.concat();
        if message.starts_with(b"\xfeSMB") {
            self.note(Event::Send(Command(u16::from_le_bytes([message[12], message[13]]))));
        }
        let cut = self.seen().cut_after.as_mut().map(|left| {
            *left = left.saturating_sub(1);
            *left == 0
        });
        if cut == Some(true) {
            self.is_cut = true;
            self.inbox.clear();
        }
        if !self.is_cut {
            self.connection.received(NOW, &mut message);
            self.serve();
        }
    }

    fn register(&mut self, id: RegistrationId, part: Part<TestMemory>) {
        if self.seen().refuses {
            return self.registered.push_back(Registered::Impossible(id));
        }
        let token = self.next_token;
        self.next_token += 1;
        self.valid.insert(token, (id, part.memory));
        self.note(Event::Register(id, part.access));
        let descriptor =
            BufferDescriptorV1 { offset: part.offset.into(), token: Token(token), length: part.len };
        self.registered.push_back(Registered::Valid(id, vec![descriptor]));
    }

    fn deregister(&mut self, id: RegistrationId) {
        self.valid.retain(|_, (other, _)| *other != id);
        self.note(Event::Deregister(id));
        self.seen().held.push(id);
    }

    fn poll_registered(&mut self, cx: &mut Context<'_>) -> Poll<Registered> {
        if let Some(registered) = self.registered.pop_front() {
            return Poll::Ready(registered);
        }
        let mut seen = self.seen();
        seen.waker = Some(cx.waker().clone());
        match seen.held.pop() {
            Some(id) if !seen.holds => Poll::Ready(Registered::Ended(id)),
            Some(id) => {
                seen.held.push(id);
                Poll::Pending
            }
            None => Poll::Pending,
        }
    }

    fn poll_close(&mut self, _: &mut Context<'_>) -> Poll<()> {
        self.valid.clear();
        self.note(Event::Close);
        self.host.files().end(1, NOW);
        Poll::Ready(())
    }
}
