//! A byte stream with two directions, as TCP is: it cuts anywhere, is late, takes a limited number of bytes, and ends in order or not.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use smbd_core::Instant;
use smbd_sim::loops::{Stage, Timer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::Chance;

/// What a stream is like.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// Bytes under way and not read, in one direction.
    pub capacity: usize,
    /// Bytes of one call at most.
    pub cut: usize,
    /// The longest time under way.
    pub late: Duration,
}

/// One direction.
#[derive(Debug, Default)]
pub struct Pipe {
    /// What is under way, and when it is there.
    flight: VecDeque<(Instant, VecDeque<u8>)>,
    len: usize,
    /// Nothing follows, and when that is known.
    end: Option<Instant>,
    /// It is torn down: what was under way is lost.
    is_reset: bool,
    /// Whoever reads has gone.
    is_deaf: bool,
    /// Bytes that were read.
    pub read: u64,
    /// The end was read, or the reset was read or met by a write. A write that nobody reads says only that the peer has gone: what it has
    /// sent before still comes, and its end behind that.
    pub end_seen: Option<Instant>,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Pipe {
    fn wake_reader(&mut self) {
        if let Some(waker) = self.reader.take() {
            waker.wake();
        }
    }

    fn wake_writer(&mut self) {
        if let Some(waker) = self.writer.take() {
            waker.wake();
        }
    }

    /// Tears it down.
    pub fn reset(&mut self) {
        self.is_reset = true;
        self.flight.clear();
        self.len = 0;
        self.wake_reader();
        self.wake_writer();
    }

    /// Nothing follows.
    fn finish(&mut self, now: Instant) {
        let last = self.flight.back().map_or(now, |(at, _)| now.max(*at));
        self.end.get_or_insert(last);
        self.wake_reader();
    }
}

/// One end of a stream.
pub struct End {
    stage: Stage,
    manner: Manner,
    chance: Chance,
    pub to_peer: Rc<RefCell<Pipe>>,
    pub from_peer: Rc<RefCell<Pipe>>,
    timer: Option<Timer>,
}

/// Both ends of a new stream.
pub fn stream(stage: &Stage, manner: Manner, chance: &mut Chance) -> (End, End) {
    let pipes: [Rc<RefCell<Pipe>>; 2] = [Rc::default(), Rc::default()];
    let mut end = |to: usize, from: usize| End {
        stage: stage.clone(),
        manner,
        chance: Chance::new(chance.bits()),
        to_peer: Rc::clone(&pipes[to]),
        from_peer: Rc::clone(&pipes[from]),
        timer: None,
    };
    (end(0, 1), end(1, 0))
}

fn broken(kind: io::ErrorKind) -> Poll<io::Result<usize>> {
    Poll::Ready(Err(kind.into()))
}

impl End {
    /// As `writev`: takes a part of the pieces.
    pub fn poll_write(&mut self, cx: &mut Context<'_>, pieces: &[&[u8]]) -> Poll<io::Result<usize>> {
        let now = self.stage.now();
        let mut pipe = self.to_peer.borrow_mut();
        if pipe.is_reset {
            pipe.end_seen.get_or_insert(now);
            return broken(io::ErrorKind::ConnectionReset);
        }
        if pipe.is_deaf {
            return broken(io::ErrorKind::BrokenPipe);
        }
        let len: usize = pieces.iter().map(|piece| piece.len()).sum();
        let cut = self.chance.size(1, self.manner.cut);
        let taken = len.min(self.manner.capacity.saturating_sub(pipe.len)).min(cut);
        if taken == 0 && len > 0 {
            pipe.writer = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let bytes = pieces.iter().flat_map(|piece| piece.iter().copied()).take(taken).collect();
        let late = self.chance.size(0, self.manner.late.as_nanos() as usize);
        let at = now.saturating_add(Duration::from_nanos(late as u64));
        let at = pipe.flight.back().map_or(at, |(before, _)| at.max(*before));
        pipe.flight.push_back((at, bytes));
        pipe.len += taken;
        pipe.wake_reader();
        Poll::Ready(Ok(taken))
    }

    /// As `readv`: `take` is given bytes that are there, at most `room`.
    pub fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        room: usize,
        mut take: impl FnMut(&[u8]),
    ) -> Poll<io::Result<usize>> {
        let now = self.stage.now();
        let mut pipe = self.from_peer.borrow_mut();
        if pipe.is_reset {
            pipe.end_seen.get_or_insert(now);
            return broken(io::ErrorKind::ConnectionReset);
        }
        let due = pipe.flight.front().map(|(at, _)| *at).or(pipe.end);
        match due {
            Some(at) if at <= now => {}
            due => {
                pipe.reader = Some(cx.waker().clone());
                drop(pipe);
                // Whoever is early comes back then.
                self.timer = due.map(|at| self.stage.sleep_until(at));
                if let Some(timer) = &mut self.timer {
                    let _ = Pin::new(timer).poll(cx);
                }
                return Poll::Pending;
            }
        }
        let mut left = room.min(self.chance.size(1, self.manner.cut));
        let mut read = 0;
        while let Some((at, bytes)) = pipe.flight.front_mut().filter(|(at, _)| *at <= now && left > 0) {
            let _ = at;
            let now = left.min(bytes.len());
            let taken: Vec<_> = bytes.drain(..now).collect();
            take(&taken);
            (left, read) = (left - now, read + now);
            if bytes.is_empty() {
                pipe.flight.pop_front();
            }
        }
        if read == 0 {
            pipe.end_seen.get_or_insert(now);
            return Poll::Ready(Ok(0));
        }
        pipe.len -= read;
        pipe.read += read as u64;
        pipe.wake_writer();
        Poll::Ready(Ok(read))
    }

    /// Sends no more.
    pub fn finish(&self) {
        self.to_peer.borrow_mut().finish(self.stage.now());
    }

    /// Tears both directions down.
    pub fn reset(&self) {
        self.to_peer.borrow_mut().reset();
        self.from_peer.borrow_mut().reset();
    }
}

impl AsyncRead for End {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let room = into.remaining();
        Self::poll_read(&mut self, cx, room, |bytes| into.put_slice(bytes)).map_ok(|_| ())
    }
}

impl AsyncWrite for End {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Self::poll_write(&mut self, cx, &[bytes])
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.finish();
        Poll::Ready(Ok(()))
    }
}

impl Drop for End {
    fn drop(&mut self) {
        self.finish();
        let mut from = self.from_peer.borrow_mut();
        from.is_deaf = true;
        from.wake_writer();
    }
}
