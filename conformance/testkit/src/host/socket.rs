//! Sockets that keep packets and carry other sockets and memory: with little room, closed with their last name. A packet is there when it is
//! sent, as in a socket of a host; who waits for it wakes late.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use smbd_broker::client::{SlotFile, SlotMemory};
use smbd_broker::server::Pair;
use smbd_broker::socket::{PacketBuffer, PacketSocket};
use smbd_broker::wire::PACKET_MAX;

use crate::Chance;

/// A clock of a run. Clones are the same one.
pub trait Alarm: Clone + Send + Sync + 'static {
    /// Wakes somebody later.
    fn wake_in(&self, time: Duration, waker: Waker);
}

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
pub enum Passed<C: Alarm, S> {
    /// The end of a socket.
    Socket(End<C, S>),
    /// Slots.
    Memory(Arc<[S]>),
}

/// One end of a socket. Clones are the same end, which is closed with the last of them.
pub struct End<C: Alarm, S>(Arc<Half<C, S>>);

struct Half<C: Alarm, S> {
    line: Arc<Line<C, S>>,
    at: usize,
}

struct Line<C: Alarm, S> {
    number: u64,
    clock: C,
    manner: Manner,
    state: Mutex<State<C, S>>,
    /// Ends that are open, of all sockets.
    open: Arc<AtomicUsize>,
}

struct State<C: Alarm, S> {
    chance: Chance,
    /// For each end, what comes to it.
    queues: [VecDeque<Packet<C, S>>; 2],
    is_closed: [bool; 2],
    readers: [Option<Waker>; 2],
    writers: [Option<Waker>; 2],
}

struct Packet<C: Alarm, S> {
    bytes: Vec<u8>,
    passed: Option<Passed<C, S>>,
}

/// Makes sockets.
#[derive(Clone, Debug)]
pub struct Sockets<C> {
    clock: C,
    manner: Manner,
    numbers: Arc<AtomicUsize>,
    open: Arc<AtomicUsize>,
    seed: u64,
}

impl<C: Alarm> Sockets<C> {
    /// Sockets like this, by the chance of a seed.
    pub fn new(clock: &C, manner: Manner, seed: u64) -> Self {
        Self { clock: clock.clone(), manner, numbers: Arc::default(), open: Arc::default(), seed }
    }

    /// Two ends that are connected.
    pub fn pair<S>(&self) -> (End<C, S>, End<C, S>) {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed) as u64;
        let state = State {
            chance: Chance::new(self.seed ^ number.wrapping_mul(0x9E37_79B9)),
            queues: [VecDeque::new(), VecDeque::new()],
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
    pub fn connection<S: Clone + Send + Sync + 'static>(&self) -> Pair<End<C, S>> {
        let (own, theirs) = self.pair();
        let cookie = theirs.cookie();
        Pair { own, theirs: Passed::Socket(theirs), cookie }
    }

    /// Ends that are open.
    pub fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }
}

impl<C: Alarm, S> Line<C, S> {
    fn lock(&self) -> MutexGuard<'_, State<C, S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C: Alarm, S> Passed<C, S> {
    /// That of a socket.
    pub fn cookie(&self) -> Option<u64> {
        match self {
            Self::Socket(end) => Some(end.cookie()),
            Self::Memory(_) => None,
        }
    }
}

impl<C: Alarm, S: SlotMemory + Clone + Send + Sync + 'static> SlotFile for Passed<C, S> {
    type Slot = S;

    fn slot(&self, at: u64, len: u32) -> io::Result<S> {
        let Self::Memory(slots) = self else { return Err(io::ErrorKind::InvalidInput.into()) };
        let at = usize::try_from(at / u64::from(len.max(1))).unwrap_or(usize::MAX);
        slots.get(at).cloned().ok_or_else(|| io::ErrorKind::InvalidInput.into())
    }
}

impl<C: Alarm, S> Clone for End<C, S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<C: Alarm, S> End<C, S> {
    /// A number that no other end has.
    pub fn cookie(&self) -> u64 {
        self.0.line.number * 2 + self.0.at as u64
    }
}

impl<C: Alarm, S: Clone + Send + Sync + 'static> PacketSocket for End<C, S> {
    type Descriptor = Passed<C, S>;

    fn poll_receive(
        &mut self,
        cx: &mut Context<'_>,
        packet: &mut PacketBuffer,
    ) -> Poll<io::Result<Vec<Self::Descriptor>>> {
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
        descriptor: Option<&Self::Descriptor>,
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

impl<C: Alarm, S> Drop for Half<C, S> {
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

impl<C: Alarm, S> fmt::Debug for End<C, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("End").field(&self.cookie()).finish()
    }
}
