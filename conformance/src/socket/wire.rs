//! Bytes to and from the socket.

use std::io;
use std::mem;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};

use super::address::Stream;
use super::frame::Frame;

/// Bytes read at a time.
const PIECE: usize = 1 << 16;
/// Memory kept for bytes that come or leave.
const KEPT: usize = 1 << 18;

/// What reading brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Brought {
    Bytes,
    Nothing,
    /// The peer has closed its side.
    Closed,
    /// The socket failed: it was reset.
    Failed,
}

/// One socket, and the bytes that wait on either side of it.
#[derive(Debug, Default)]
pub(super) struct Wire {
    /// `None` when nothing comes or leaves any more.
    socket: Option<OwnedFd>,
    arrived: Vec<u8>,
    leaving: Vec<u8>,
    /// Bytes of `leaving` that the socket has taken.
    taken: usize,
    /// Bytes that the socket had taken before those in `leaving`.
    before: u64,
    /// Nothing is queued any more; when all is written, the peer is told by the end of the stream.
    is_ending: bool,
}

impl Wire {
    pub(super) fn over(stream: Stream) -> io::Result<Self> {
        Ok(Self { socket: Some(stream.nonblocking()?), ..Self::default() })
    }

    /// Queues a frame. Where the frame ends in the stream, in bytes.
    pub(super) fn queue(&mut self, frame: &Frame<'_>) -> u64 {
        if self.socket.is_some() && !self.is_ending {
            frame.encode(&mut self.leaving);
        }
        self.before + self.leaving.len() as u64
    }

    /// Bytes of the stream that the socket has taken.
    pub(super) fn handed(&self) -> u64 {
        self.before + self.taken as u64
    }

    /// Bytes that the socket has not taken.
    pub(super) fn waiting(&self) -> usize {
        self.leaving.len() - self.taken
    }

    /// Nothing is queued any more.
    pub(super) fn end(&mut self) {
        self.is_ending = true;
        self.write();
    }

    /// Nothing comes or leaves any more.
    pub(super) fn close(&mut self) {
        self.socket = None;
        self.leaving.clear();
        self.taken = 0;
    }

    /// Gives the socket what it takes.
    pub(super) fn write(&mut self) {
        while let Some(socket) = &self.socket {
            if self.waiting() == 0 {
                break;
            }
            match send(socket, &self.leaving[self.taken..], SendFlags::NOSIGNAL) {
                Ok(taken) => self.taken += taken,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                // The end is found by reading, behind what came before it.
                Err(_) => {
                    self.is_ending = true;
                    break;
                }
            }
        }
        self.before += self.taken as u64;
        self.leaving.clear();
        self.leaving.shrink_to(KEPT);
        self.taken = 0;
        if let Some(socket) = self.socket.as_ref().filter(|_| self.is_ending) {
            // It may be over already.
            let _ = shutdown(socket, Shutdown::Write);
        }
    }

    /// Takes in what the socket has, once.
    pub(super) fn read(&mut self) -> Brought {
        let Some(socket) = &self.socket else { return Brought::Nothing };
        let begin = self.arrived.len();
        self.arrived.resize(begin + PIECE, 0);
        let got = loop {
            match recv(socket, &mut self.arrived[begin..], RecvFlags::empty()) {
                Err(Errno::INTR) => {}
                got => break got.map(|(got, _)| got),
            }
        };
        self.arrived.truncate(begin + got.unwrap_or(0));
        match got {
            Ok(0) => Brought::Closed,
            Ok(_) => Brought::Bytes,
            Err(Errno::AGAIN) => Brought::Nothing,
            Err(_) => Brought::Failed,
        }
    }

    /// Bytes that came and are no frame yet. They have to be [put back](Self::put_back).
    pub(super) fn take_arrived(&mut self) -> Vec<u8> {
        mem::take(&mut self.arrived)
    }

    /// Puts bytes back of which the first `used` have been looked at.
    pub(super) fn put_back(&mut self, mut bytes: Vec<u8>, used: usize) {
        bytes.drain(..used);
        bytes.shrink_to(KEPT);
        self.arrived = bytes;
    }

    /// Forgets what came.
    pub(super) fn discard(&mut self) {
        self.arrived.clear();
    }

    /// The socket, and what is to be waited for there.
    pub(super) fn awaits(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        let socket = self.socket.as_ref()?;
        let out = if self.waiting() > 0 { PollFlags::OUT } else { PollFlags::empty() };
        Some((socket.as_fd(), PollFlags::IN | out))
    }
}
