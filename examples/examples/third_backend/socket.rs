//! A backend on a Unix stream socket: everything that `smbd_core::backend` asks for, without remote memory.
//!
//! Like iWARP it has a byte stream below: a send is complete when the socket has taken it, and a message waits in the
//! socket until there is a receive for it. Queues of posted work and the rules about the end are the core's.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::rc::Rc;
use std::time::Duration;

use smbd_core::backend::{
    Backend, BackendOp, HostMemory, OutOfMemory, OutOfRange, Payload, Push, ReceiveMemory, Request,
    TransportReports, WorkQueues,
};
use smbd_core::error::{DisconnectReason, WorkError};
use smbd_core::{Budget, Head, Input, Instant, Limits, RecvId, SendId, WrId};

/// Bytes of the length before each message.
const LENGTH: usize = size_of::<u32>();
/// How often a full socket is tried again.
const RETRY: Duration = Duration::from_millis(1);
/// EOPNOTSUPP: for registrations.
const NOT_SUPPORTED: i32 = 95;

/// Memory of the upper layer.
pub(crate) type Buffer = Rc<RefCell<Vec<u8>>>;

/// One end.
pub(crate) struct SocketBackend {
    /// `None` when the transport connection is over.
    stream: Option<UnixStream>,
    clock: Box<dyn Fn() -> Instant>,
    limits: Limits,
    queues: WorkQueues,
    link: TransportReports,
    /// What the queues have chained.
    chain: Vec<Work>,
    /// Receives without a message, with their lengths.
    receives: VecDeque<(RecvId, u32)>,
    /// Receive buffers, by slot.
    slab: Vec<Vec<u8>>,
    /// Sends that the socket has not taken in full, with the bytes left.
    sends: VecDeque<(SendId, Vec<u8>)>,
    /// What came from the socket and is no message yet, or has no receive.
    arrived: Vec<u8>,
    /// Registrations that failed.
    failed: VecDeque<Input<'static>>,
    longest: usize,
}

enum Work {
    Recv(RecvId, u32),
    Send(SendId, Vec<u8>),
    /// What a socket cannot do.
    Impossible(WrId),
}

impl SocketBackend {
    /// An end over one socket of a pair.
    pub(crate) fn new(
        stream: UnixStream,
        budget: &Budget,
        clock: impl Fn() -> Instant + 'static,
    ) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        let limits = Limits {
            read_depth: 0,
            send_queue: u16::try_from(budget.send_queue).unwrap_or(u16::MAX),
            rdma_len_max: 1,
            registration_requests: 0,
            send_with_invalidate: false,
            reads_in_order: false,
        };
        Ok(Self {
            stream: Some(stream),
            clock: Box::new(clock),
            limits,
            queues: WorkQueues::new(budget),
            link: TransportReports::default(),
            chain: Vec::new(),
            receives: VecDeque::new(),
            slab: vec![Vec::new(); budget.recv_slots as usize],
            sends: VecDeque::new(),
            arrived: Vec::new(),
            failed: VecDeque::new(),
            longest: budget.recv_buffer_len as usize,
        })
    }

    /// Waits until the socket has something, at the longest until `deadline`.
    pub(crate) fn wait(&mut self, deadline: Option<Instant>) -> io::Result<()> {
        let mut patience =
            deadline.map(|at| at.saturating_since((self.clock)()).max(Duration::from_micros(1)));
        if !self.sends.is_empty() {
            // The standard library has no poll(2), with which one would wait for both directions.
            patience = Some(patience.unwrap_or(RETRY).min(RETRY));
        }
        if self.is_full() && self.receives.is_empty() {
            // The connection has posted all it wants, and still there is a whole message more: the peer ignores credits.
            self.lose(DisconnectReason::DeviceFailed);
        }
        let Some(stream) = &self.stream else { return Ok(()) };
        stream.set_read_timeout(patience)?;
        stream.set_nonblocking(false)?;
        self.read();
        self.stream.as_ref().map_or(Ok(()), |stream| stream.set_nonblocking(true))
    }

    fn post(&mut self, request: Request, work: Work) {
        let mut push = self.queues.push(request);
        if let Push::RingDoorbell(_) = push {
            self.ring_doorbell();
            push = self.queues.push(request);
        }
        if push == Push::Chain {
            self.chain.push(work);
        }
    }

    /// Takes in what the socket has, once.
    fn read(&mut self) {
        // Messages that have no receive stay in the socket, but for those read before.
        if self.is_full() {
            return;
        }
        let Some(stream) = &mut self.stream else { return };
        let mut bytes = [0; 16 * 1024];
        match stream.read(&mut bytes) {
            Ok(0) => self.lose(DisconnectReason::PeerClosed),
            Ok(got) => self.arrived.extend_from_slice(&bytes[..got]),
            Err(error) if is_for_now(&error) => {}
            Err(error) => self.lose(reason_of(&error)),
        }
    }

    /// Gives the socket what it takes.
    fn write(&mut self) {
        while let (Some(stream), Some((id, bytes))) = (&mut self.stream, self.sends.front_mut()) {
            match stream.write(bytes) {
                Ok(taken) => drop(bytes.drain(..taken)),
                Err(error) if is_for_now(&error) => return,
                Err(error) => return self.lose(reason_of(&error)),
            }
            if bytes.is_empty() {
                // The queues know every send that is here.
                let _ = self.queues.complete(WrId::Send(*id), Ok(()));
                self.sends.pop_front();
            }
        }
    }

    fn lose(&mut self, reason: DisconnectReason) {
        self.stream = None;
        self.link.disconnected(reason);
    }

    fn is_full(&self) -> bool {
        self.arrived.len() >= LENGTH + self.longest
    }

    /// The length of the first message, if it is known.
    fn first_length(&self) -> Option<usize> {
        let length = self.arrived.first_chunk::<LENGTH>()?;
        usize::try_from(u32::from_le_bytes(*length)).ok()
    }

    /// Puts the first message into the first receive, if there are both.
    fn receive(&mut self) -> Option<Input<'static>> {
        let (length, &(id, room)) = (self.first_length()?, self.receives.front()?);
        if length > room as usize {
            // Fails the receive, and with it the connection.
            self.receives.pop_front();
            let _ = self.queues.complete(id.into(), Err(WorkError::LocalLength));
            self.arrived.clear();
            self.lose(DisconnectReason::DeviceFailed);
            return self.queues.poll();
        }
        let message = self.arrived.get(LENGTH..LENGTH + length)?.to_vec();
        self.arrived.drain(..LENGTH + length);
        self.receives.pop_front();
        self.queues.received(id).ok()?;
        let head = Head::of(&message);
        *self.slab.get_mut(usize::from(id.slot()))? = message;
        Some(Input::Received { id, head, len: u32::try_from(length).ok()?, invalidated: None })
    }

    fn disconnect(&mut self) {
        self.lose(DisconnectReason::Local);
        self.receives.clear();
        self.sends.clear();
        self.arrived.clear();
        self.queues.flush();
    }
}

impl ReceiveMemory for SocketBackend {
    fn received(&self, id: RecvId) -> &[u8] {
        self.slab.get(usize::from(id.slot())).map_or(&[], Vec::as_slice)
    }
}

impl Backend for SocketBackend {
    type Buffer = Buffer;

    fn now(&self) -> Instant {
        (self.clock)()
    }

    fn execute(&mut self, step: BackendOp<'_, Buffer>) {
        match step {
            BackendOp::PostRecv { id, len } => self.post(Request::Recv(id), Work::Recv(id, len)),
            BackendOp::PostSend { id, head, body, .. } => {
                let body = body.map_or(Vec::new(), bytes);
                let length = u32::try_from(head.as_bytes().len() + body.len()).unwrap_or(u32::MAX);
                let message = [&length.to_le_bytes(), head.as_bytes(), &body].concat();
                // Every send is reported by itself, so none needs another one's completion.
                self.post(Request::Send { id, signal: true }, Work::Send(id, message));
            }
            BackendOp::PostRdma { id, signal, .. } => {
                self.post(Request::Rdma { id, signal }, Work::Impossible(id.into()));
            }
            BackendOp::Connect | BackendOp::Accept => {
                self.ring_doorbell();
                self.link.connected(self.limits);
            }
            BackendOp::Disconnect => {
                self.ring_doorbell();
                self.disconnect();
            }
            BackendOp::Register { id, .. } | BackendOp::Deregister { id, .. } => {
                self.ring_doorbell();
                let error = WorkError::PostFailed { errno: NOT_SUPPORTED };
                self.failed.push_back(Input::Failed { id: id.into(), error });
            }
        }
    }

    fn ring_doorbell(&mut self) {
        self.queues.doorbell_rung();
        for work in std::mem::take(&mut self.chain) {
            match work {
                Work::Recv(id, len) => self.receives.push_back((id, len)),
                Work::Send(id, message) => self.sends.push_back((id, message)),
                Work::Impossible(id) => {
                    let _ = self.queues.complete(id, Err(WorkError::LocalOperation));
                }
            }
        }
        self.write();
    }

    fn next_input(&mut self) -> Option<Input<'_>> {
        self.write();
        if self.first_length().is_none_or(|length| self.arrived.len() < LENGTH + length) {
            self.read();
        }
        let told = self.failed.pop_front().or_else(|| self.link.poll_connected());
        told.or_else(|| self.queues.poll()).or_else(|| self.receive()).or_else(|| self.link.poll_end())
    }
}

impl HostMemory for SocketBackend {
    fn allocate(&mut self, len: u32) -> Result<Buffer, OutOfMemory> {
        Ok(Rc::new(RefCell::new(vec![0; len as usize])))
    }

    fn fill(&mut self, buffer: &Buffer, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        let mut buffer = buffer.borrow_mut();
        let range = range(buffer.len(), offset, bytes.len())?;
        buffer[range].copy_from_slice(bytes);
        Ok(())
    }

    fn read(&self, buffer: &Buffer, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        let buffer = buffer.borrow();
        out.copy_from_slice(&buffer[range(buffer.len(), offset, out.len())?]);
        Ok(())
    }
}

fn range(size: usize, offset: u32, len: usize) -> Result<std::ops::Range<usize>, OutOfRange> {
    let start = offset as usize;
    let end = start.checked_add(len).filter(|end| *end <= size);
    let size = u32::try_from(size).unwrap_or(u32::MAX);
    end.map(|end| start..end).ok_or(OutOfRange { offset, len: len as u64, size })
}

/// The bytes of a body; what lies outside its buffer is left out.
fn bytes(payload: Payload<'_, Buffer>) -> Vec<u8> {
    match payload {
        Payload::Copy(bytes) => bytes.to_vec(),
        Payload::InPlace(local) => {
            let buffer = local.buffer.borrow();
            let inside = range(buffer.len(), local.offset, local.len as usize);
            inside.map_or(Vec::new(), |range| buffer[range].to_vec())
        }
    }
}

/// What the socket says of an end that was none of a stream.
fn reason_of(error: &io::Error) -> DisconnectReason {
    match error.kind() {
        // A write after the peer has closed fails like this; what was to be read then is not read any more.
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => DisconnectReason::PeerAborted,
        _ => DisconnectReason::Unknown,
    }
}

/// Nothing to read or no room to write at the moment.
fn is_for_now(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}
