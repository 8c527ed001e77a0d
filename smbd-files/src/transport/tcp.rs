//! Direct TCP (MS-SMB2 2.1): each message behind its length.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use smbd_smb2::client::{self, RegistrationId};
use smbd_smb2::wire::KEEP_ALIVE;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::{Lost, Memory, MemoryError, Part, Received, Registered, Transport};

/// Bytes of the header: a zero, and the length in three.
const HEADER: usize = 4;
/// The most bytes of a message that the header can tell.
const LENGTH_MAX: u32 = 0xFF_FFFF;
/// The longest message that a server may send here, in bytes: a piece of a READ and what is around it.
const RECEIVE_MAX: u32 = 2 << 20;
/// How a stream ends in order.
pub(crate) const CLOSED: &str = "the other side has closed the connection";
/// Bytes of a message for which memory is taken before any of them has come.
const STEP: usize = 64 << 10;
/// Bytes of memory that may wait to be sent before no more should be given.
const WAITING_MAX: usize = 1 << 20;
/// Bytes that a message takes besides its vector: its place in the queue, what counts its owners, and what an allocator adds to both.
const OF_MESSAGE: usize = 128;

/// What is wrong with a stream from a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Framing {
    /// The first byte of a message's header is not zero.
    #[error("StreamProtocolLength begins with 0x{got:02x}, expected 0x00 (2.1)")]
    Type {
        /// It.
        got: u8,
    },
    /// A message is longer than what is received here.
    #[error("StreamProtocolLength is {got}, and messages have {max} bytes at most here (2.1)")]
    TooLong {
        /// Its length in bytes.
        got: u32,
        /// The most bytes.
        max: u32,
    },
    /// The stream ends within a message.
    #[error("the stream ends within a message, of which {missing} bytes are missing (2.1)")]
    Cut {
        /// How many bytes, as far as is known.
        missing: usize,
    },
}

/// A server over a stream, or a client.
#[derive(Debug)]
pub struct Tcp<S = TcpStream> {
    stream: S,
    receive_max: u32,
    /// What has come of a header, and then what has come of its message.
    header: [u8; HEADER],
    header_len: usize,
    /// The message that is coming: how many bytes of it are there, and how many it has.
    message: BytesMut,
    filled: usize,
    expected: Option<usize>,
    outbox: VecDeque<Waiting>,
    /// Bytes of memory that `outbox` holds, less those that were sent.
    waiting: usize,
    lost: Option<Lost>,
}

/// A message, or its header, that waits to be sent.
#[derive(Debug)]
struct Waiting {
    /// What is left to be sent.
    bytes: Bytes,
    /// Bytes of memory that are held until all is sent, besides those that are sent.
    besides: usize,
}

impl Tcp<TcpStream> {
    /// Wraps a stream of TCP. Messages leave at once from now on (TCP_NODELAY).
    ///
    /// # Errors
    /// The system does not set the option.
    pub fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self::over(stream))
    }
}

impl<S> Tcp<S> {
    /// Over any stream of bytes.
    pub fn over(stream: S) -> Self {
        Self {
            stream,
            receive_max: RECEIVE_MAX,
            header: [0; HEADER],
            header_len: 0,
            message: BytesMut::new(),
            filled: 0,
            expected: None,
            outbox: VecDeque::new(),
            waiting: 0,
            lost: None,
        }
    }
}

impl<S> Tcp<S> {
    /// With messages of so many bytes at most that are received, 16 MiB less one at most.
    #[must_use]
    pub fn receiving(self, receive_max: u32) -> Self {
        Self { receive_max: receive_max.min(LENGTH_MAX), ..self }
    }

    /// Sends the bytes of a vector from `start` on, without copying them.
    pub(crate) fn send_owned(&mut self, mut message: Vec<u8>, start: usize) {
        let (len, held) = (message.len().saturating_sub(start), message.capacity());
        // Nobody sends more than the limits say.
        let header = u32::try_from(len).unwrap_or(LENGTH_MAX).to_be_bytes();
        let front = start.checked_sub(HEADER).and_then(|at| message.get_mut(at..start));
        let start = match front {
            Some(front) => {
                front.copy_from_slice(&header);
                start.saturating_sub(HEADER)
            }
            None => {
                self.queue(Bytes::copy_from_slice(&header), HEADER);
                start
            }
        };
        let mut message = Bytes::from(message);
        message.advance(start.min(message.len()));
        self.queue(message, held);
    }

    /// Puts bytes behind all others, which hold so many bytes of memory.
    fn queue(&mut self, bytes: Bytes, held: usize) {
        let held = held.saturating_add(OF_MESSAGE);
        self.waiting = self.waiting.saturating_add(held);
        let besides = held.saturating_sub(bytes.len());
        self.outbox.push_back(Waiting { bytes, besides });
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> Tcp<S> {
    fn poll_message(&mut self, cx: &mut Context<'_>) -> Poll<Result<BytesMut, Lost>> {
        loop {
            let Some(expected) = self.expected else {
                let room = self.header.get_mut(self.header_len..).unwrap_or_default();
                let got = ready!(read(&mut self.stream, cx, room))?;
                if got == 0 && self.header_len == 0 {
                    return Poll::Ready(Err(Lost::because(CLOSED)));
                }
                self.header_len = self.header_len.saturating_add(got);
                if got == 0 {
                    let missing = HEADER.saturating_sub(self.header_len);
                    return Poll::Ready(Err(Lost::because(Framing::Cut { missing })));
                }
                if self.header == KEEP_ALIVE && self.header_len == HEADER {
                    self.header_len = 0;
                } else if self.header_len == HEADER {
                    self.expected = Some(length(self.header, self.receive_max).map_err(Lost::because)?);
                }
                continue;
            };
            if self.filled == expected {
                (self.header_len, self.filled, self.expected) = (0, 0, None);
                return Poll::Ready(Ok(self.message.split()));
            }
            // Memory is taken as the message comes, and never for what is only promised.
            let room = expected.min(self.filled.saturating_add(STEP));
            if self.message.len() < room {
                self.message.resize(room, 0);
            }
            let got =
                ready!(read(&mut self.stream, cx, self.message.get_mut(self.filled..).unwrap_or_default()))?;
            if got == 0 {
                let missing = expected.saturating_sub(self.filled);
                return Poll::Ready(Err(Lost::because(Framing::Cut { missing })));
            }
            self.filled = self.filled.saturating_add(got);
        }
    }

    /// Writes what waits; ready when nothing waits.
    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        while let Some(first) = self.outbox.front_mut() {
            if first.bytes.is_empty() {
                self.waiting = self.waiting.saturating_sub(first.besides);
                self.outbox.pop_front();
                continue;
            }
            let sent =
                ready!(Pin::new(&mut self.stream).poll_write(cx, &first.bytes)).map_err(Lost::because)?;
            if sent == 0 {
                return Poll::Ready(Err(Lost::because("the connection takes no more bytes")));
            }
            first.bytes.advance(sent);
            self.waiting = self.waiting.saturating_sub(sent);
        }
        Pin::new(&mut self.stream).poll_flush(cx).map_err(Lost::because)
    }
}

/// The length of the message behind this header.
fn length(header: [u8; HEADER], max: u32) -> Result<usize, Framing> {
    let [got, ..] = header;
    if got != 0 {
        return Err(Framing::Type { got });
    }
    let got = u32::from_be_bytes(header);
    usize::try_from(got).ok().filter(|_| got <= max).ok_or(Framing::TooLong { got, max })
}

fn read(
    stream: &mut (impl AsyncRead + Unpin),
    cx: &mut Context<'_>,
    room: &mut [u8],
) -> Poll<Result<usize, Lost>> {
    let mut read = ReadBuf::new(room);
    ready!(Pin::new(stream).poll_read(cx, &mut read)).map_err(Lost::because)?;
    Poll::Ready(Ok(read.filled().len()))
}

impl<S: AsyncRead + AsyncWrite + Unpin> Transport for Tcp<S> {
    type Memory = NoRdma;

    fn limits(&self) -> client::Transport {
        client::Transport { max_send: LENGTH_MAX, max_receive: self.receive_max, rdma: None }
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<Received, Lost>> {
        if let Some(lost) = &self.lost {
            return Poll::Ready(Err(lost.clone()));
        }
        let message = ready!(self.poll_message(cx));
        self.lost = message.as_ref().err().cloned();
        Poll::Ready(message.map(|message| Received { invalidated: Vec::new(), message }))
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Lost>> {
        match self.poll_flush(cx) {
            Poll::Pending if self.waiting < WAITING_MAX => Poll::Ready(Ok(())),
            other => other,
        }
    }

    fn send(&mut self, message: [&[u8]; 2]) {
        let len = message.iter().map(|part| part.len()).fold(0, usize::saturating_add);
        let mut framed = BytesMut::with_capacity(len.saturating_add(HEADER));
        // A client never sends more than the limits say.
        framed.extend_from_slice(&u32::try_from(len).unwrap_or(LENGTH_MAX).to_be_bytes());
        for part in message {
            framed.extend_from_slice(part);
        }
        let held = framed.capacity();
        self.queue(framed.freeze(), held);
    }

    fn register(&mut self, _: RegistrationId, Part { memory: NoRdma(never), .. }: Part<NoRdma>) {
        match never {}
    }

    fn deregister(&mut self, _: RegistrationId) {}

    fn poll_registered(&mut self, _: &mut Context<'_>) -> Poll<Registered> {
        Poll::Pending
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.lost.is_none() {
            let flushed = ready!(self.poll_flush(cx));
            if flushed.is_ok() {
                // Whether the other side still hears of it makes no difference.
                let _ = ready!(Pin::new(&mut self.stream).poll_shutdown(cx));
            }
        }
        Poll::Ready(())
    }

    fn give_up(&mut self) {
        self.outbox.clear();
        self.waiting = 0;
    }
}

/// Memory that there is none of: over TCP nothing goes by RDMA.
#[derive(Clone, Copy, Debug)]
pub struct NoRdma(Infallible);

impl Memory for NoRdma {
    fn allocate(len: u32) -> Result<Self, MemoryError> {
        Err(MemoryError { offset: 0, len })
    }

    fn fill(&self, _: u32, _: &[u8]) -> Result<(), MemoryError> {
        match self.0 {}
    }

    fn read(&self, _: u32, _: &mut [u8]) -> Result<(), MemoryError> {
        match self.0 {}
    }
}
