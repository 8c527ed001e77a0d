//! Sockets that keep packets and carry other sockets and memory: with little room, closed with their last name. A packet is there when it is
//! sent, as in a socket of a host; who waits for it wakes late.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use smbd_broker::server::Pair;
use smbd_broker::socket::{PacketBuffer, PacketSocket};
use smbd_broker::wire::PACKET_MAX;

use crate::clock::Clock;
use crate::model::Chance;
use crate::slot::Slots;

/// What sockets are like.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// Packets under way and not read, in one direction.
    pub capacity: usize,
    /// The longest time until who waits for a packet wakes.
    pub late: Duration,
}

/// What goes with a packet.
#[derive(Clone, Debug)]
pub enum Passed {
    Socket(End),
    Memory(Slots),
}

/// One end of a socket. Clones are the same end, which is closed with the last of them.
#[derive(Clone)]
pub struct End(Arc<Half>);

struct Half {
    line: Arc<Line>,
    at: usize,
}

struct Line {
    number: u64,
    clock: Clock,
    manner: Manner,
    state: Mutex<State>,
    /// Ends that are open, of all sockets.
    open: Arc<AtomicUsize>,
}

struct State {
    chance: Chance,
    /// For each end, what comes to it.
    queues: [VecDeque<Packet>; 2],
    is_closed: [bool; 2],
    readers: [Option<Waker>; 2],
    writers: [Option<Waker>; 2],
}

struct Packet {
    bytes: Vec<u8>,
    passed: Option<Passed>,
}

/// Makes sockets.
#[derive(Clone, Debug)]
pub struct Sockets {
    clock: Clock,
    manner: Manner,
    numbers: Arc<AtomicUsize>,
    open: Arc<AtomicUsize>,
    seed: u64,
}

impl Sockets {
    pub fn new(clock: &Clock, manner: Manner, seed: u64) -> Self {
        Self { clock: clock.clone(), manner, numbers: Arc::default(), open: Arc::default(), seed }
    }

    /// Two ends that are connected.
    pub fn pair(&self) -> (End, End) {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed) as u64;
        let state = State {
            chance: Chance::new(self.seed ^ number.wrapping_mul(0x9E37_79B9)),
            queues: Default::default(),
            is_closed: [false; 2],
            readers: [None, None],
            writers: [None, None],
        };
        let open = Arc::clone(&self.open);
        open.fetch_add(2, Ordering::Relaxed);
        let line = Arc::new(Line {
            number,
            clock: self.clock.clone(),
            manner: self.manner,
            state: Mutex::new(state),
            open,
        });
        let end = |at| End(Arc::new(Half { line: Arc::clone(&line), at }));
        (end(0), end(1))
    }

    /// A socket for a connection of a broker.
    pub fn connection(&self) -> Pair<End> {
        let (own, theirs) = self.pair();
        let cookie = theirs.cookie();
        Pair { own, theirs: Passed::Socket(theirs), cookie }
    }

    /// Ends that are open.
    pub fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }
}

impl Line {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Passed {
    /// That of a socket.
    pub fn cookie(&self) -> Option<u64> {
        match self {
            Self::Socket(end) => Some(end.cookie()),
            Self::Memory(_) => None,
        }
    }
}

impl End {
    /// A number that no other end has.
    pub fn cookie(&self) -> u64 {
        self.0.line.number * 2 + self.0.at as u64
    }
}

impl PacketSocket for End {
    type Descriptor = Passed;

    fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
        packet: &mut PacketBuffer,
    ) -> Poll<io::Result<Vec<Passed>>> {
        let Half { line, at, .. } = &*self.0;
        let mut state = line.lock();
        let Some(first) = state.queues[*at].pop_front() else {
            if state.is_closed[1 - at] {
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            }
            state.readers[*at] = Some(cx.waker().clone());
            return Poll::Pending;
        };
        let writer = state.writers[1 - at].take();
        drop(state);
        writer.into_iter().for_each(Waker::wake);
        let len = first.bytes.len().min(PACKET_MAX + 1);
        packet.space()[..len].copy_from_slice(&first.bytes[..len]);
        if len > PACKET_MAX {
            return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
        }
        packet.filled(len);
        Poll::Ready(Ok(first.passed.into_iter().collect()))
    }

    fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        packet: &[u8],
        descriptor: Option<&Passed>,
    ) -> Poll<io::Result<()>> {
        let Half { line, at, .. } = &*self.0;
        let mut state = line.lock();
        if state.is_closed[1 - at] {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        if state.queues[1 - at].len() >= line.manner.capacity {
            state.writers[*at] = Some(cx.waker().clone());
            return Poll::Pending;
        }
        state.queues[1 - at].push_back(Packet { bytes: packet.to_vec(), passed: descriptor.cloned() });
        let late = state.chance.size(0, line.manner.late.as_nanos() as usize) as u64;
        let reader = state.readers[1 - at].take();
        drop(state);
        if let Some(reader) = reader {
            line.clock.wake_in(Duration::from_nanos(late), reader);
        }
        Poll::Ready(Ok(()))
    }
}

impl Drop for Half {
    fn drop(&mut self) {
        let Self { line, at, .. } = self;
        let mut state = line.lock();
        state.is_closed[*at] = true;
        let unread = std::mem::take(&mut state.queues[*at]);
        let wakers = [state.readers[1 - *at].take(), state.writers[1 - *at].take()];
        drop(state);
        line.open.fetch_sub(1, Ordering::Relaxed);
        wakers.into_iter().flatten().for_each(Waker::wake);
        // Ends may be among what was not read.
        drop(unread);
    }
}

impl fmt::Debug for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("End").field(&self.cookie()).finish()
    }
}
