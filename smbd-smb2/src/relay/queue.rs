//! What waits for the server: one sequence of bytes, in the order of the client's messages.
//!
//! Nothing overtakes anything. So a CANCEL waits behind the WRITE that it cancels, as does every later request for the same file,
//! tree or session, without a table of who waits for whom; and data are read from the client's memory far ahead of the server, as
//! far as there are buffers. What another order could gain is the time of one RDMA Read.

use alloc::collections::VecDeque;
use core::mem::{forget, replace};

use super::action::{BufferId, Misuse, Transfer, Way};
use super::lists::Remote;
use super::pending::Pending;
use super::request::Order;
use super::slots::Slots;
use super::step::Up;

/// The queue.
#[derive(Debug)]
pub(super) struct Queue {
    /// Bytes that are not data of WRITEs, in the order of the sequence. The first [`Self::given`] were given to the driver.
    own: VecDeque<u8>,
    given: usize,
    own_max: usize,
    /// WRITEs whose data were not all given, in their order.
    writes: VecDeque<Write>,
    /// How many of them have all their data ordered.
    ordered: usize,
    /// Bytes of `own` behind the last of them.
    behind: usize,
    /// Buffers in the order of their data.
    buffers: VecDeque<u16>,
    slots: Slots<Use>,
    buffer_len: u32,
}

/// A WRITE in the sequence.
#[derive(Debug)]
struct Write {
    /// Bytes of `own` before it.
    before: usize,
    /// Bytes of `own` that wait until they can go together with the data behind them.
    head: usize,
    /// Bytes of data that were not given.
    left: u32,
    /// Bytes of data that were not ordered, and where they are in the client's memory.
    missing: u32,
    offset: u32,
    /// Until all were ordered.
    remote: Option<Remote>,
}

/// What a buffer is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// An RDMA Read runs.
    Reading { len: u32 },
    /// Its bytes are there; the driver was given some, and has sent some of these.
    Ready { len: u32, given: u32, sent: u32 },
}

impl Queue {
    pub(super) fn new(own_max: usize, buffers: u16, buffer_len: u32) -> Self {
        Self {
            own: VecDeque::new(),
            given: 0,
            own_max,
            writes: VecDeque::new(),
            ordered: 0,
            behind: 0,
            buffers: VecDeque::new(),
            slots: Slots::new(buffers),
            buffer_len,
        }
    }

    /// Whether nothing waits.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.behind == 0 && self.writes.is_empty()
    }

    /// Whether nothing can go before the driver says that an operation has ended.
    #[inline]
    pub(super) fn is_blocked(&self) -> bool {
        match self.writes.front() {
            None => self.behind == 0,
            Some(write) => write.before == 0 && !self.is_ready() && !self.can_order(),
        }
    }

    /// How many bytes can be appended.
    #[inline]
    pub(super) fn room(&self) -> usize {
        self.own_max.saturating_sub(self.own.len())
    }

    /// Appends bytes. There has to be room for them.
    #[inline]
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.append(bytes);
        self.behind = self.behind.saturating_add(bytes.len());
    }

    /// Appends the header of direct TCP (2.1) of a message that is appended next; [`Self::set_len`] says how long it has become.
    pub(super) fn push_header(&mut self, len: u32) -> Mark {
        let mark = Mark(self.own.len());
        self.push(&len.to_be_bytes());
        mark
    }

    /// Says how long the message behind a header is. No call may have given bytes away since.
    pub(super) fn set_len(&mut self, Mark(at): Mark, len: u32) {
        let places = self.own.iter_mut().skip(at);
        places.zip(len.to_be_bytes()).for_each(|(place, byte)| *place = byte);
    }

    /// Appends a WRITE: a head, which goes together with the data, and these. There has to be room for the head.
    #[inline(always)]
    pub(super) fn push_write(&mut self, head: &[u8], order: Order, pending: &mut Pending) {
        self.append(head);
        pending.keep(order.remote.len());
        let before = replace(&mut self.behind, 0);
        let Order { len, remote } = order;
        let (head, remote) = (head.len(), Some(remote));
        self.writes.push_back(Write { before, head, left: len, missing: len, offset: 0, remote });
    }

    /// Orders data into the next free buffer.
    #[inline]
    pub(super) fn order(&mut self, pending: &mut Pending) -> Option<Transfer> {
        let write = self.writes.get_mut(self.ordered)?;
        let (len, offset) = (write.missing.min(self.buffer_len), u64::from(write.offset));
        let index = self.slots.take(Use::Reading { len })?;
        write.missing = write.missing.saturating_sub(len);
        write.offset = write.offset.saturating_add(len);
        let remote = if write.missing == 0 {
            let remote = write.remote.take()?;
            self.ordered = self.ordered.saturating_add(1);
            pending.release(remote.len());
            remote
        } else {
            write.remote.clone()?
        };
        self.buffers.push_back(index);
        Some(Transfer { buffer: BufferId { way: Way::ToServer, index }, len, remote, offset })
    }

    /// Forgets what the driver was given by the last call.
    #[inline]
    pub(super) fn drop_given(&mut self) {
        match replace(&mut self.given, 0) {
            0 => {}
            given if given == self.own.len() => self.own.clear(),
            given => drop(self.own.drain(..given.min(self.own.len()))),
        }
    }

    /// Bytes of [`Up::Queued`], or before those of [`Up::Buffer`].
    #[inline]
    pub(super) fn given(&self) -> &[u8] {
        let (front, _) = self.own.as_slices();
        front.get(..self.given).unwrap_or_default()
    }

    /// What comes next, with at most `room` bytes. Called once after [`Self::drop_given`], or until there is something.
    #[inline]
    pub(super) fn next(&mut self, room: usize) -> Option<Up> {
        if self.is_empty() { None } else { self.next_waiting(room) }
    }

    #[inline(never)]
    fn next_waiting(&mut self, room: usize) -> Option<Up> {
        if self.can_order() {
            return Some(Up::Read);
        }
        let contiguous = self.own.as_slices().0.len();
        let own = match self.writes.front_mut() {
            None => &mut self.behind,
            Some(write) if write.before > 0 => &mut write.before,
            Some(write) => {
                let index = *self.buffers.front()?;
                let Some(Use::Ready { len, given, .. }) = self.slots.get_mut(index) else { return None };
                let (offset, data) = (*given, len.saturating_sub(*given));
                // The front of a WRITE goes with its data, if these need not be cut for it.
                let fits = write.head.saturating_add(data as usize) <= room && write.head <= contiguous;
                if write.head == 0 || fits {
                    self.given = replace(&mut write.head, 0);
                    let part = data.min(u32::try_from(room).unwrap_or(u32::MAX));
                    if part == 0 {
                        return None;
                    }
                    *given = offset.saturating_add(part);
                    if *given == *len {
                        self.buffers.pop_front();
                    }
                    write.left = write.left.saturating_sub(part);
                    if write.left == 0 {
                        // All of its data were ordered: it has no list that would have to be dropped.
                        forget(self.writes.pop_front());
                        self.ordered = self.ordered.saturating_sub(1);
                    }
                    return Some(Up::Buffer { index, offset, len: part });
                }
                &mut write.head
            }
        };
        self.given = contiguous.min(*own).min(room);
        *own = own.saturating_sub(self.given);
        (self.given > 0).then_some(Up::Queued)
    }

    #[inline]
    fn append(&mut self, bytes: &[u8]) {
        grow(&mut self.own, bytes.len(), self.own_max);
        self.own.extend(bytes);
    }

    /// Whether data can be ordered, which is what comes next then.
    #[inline]
    pub(super) fn can_order(&self) -> bool {
        self.ordered < self.writes.len() && self.slots.has_free()
    }

    /// Whether the next data are in their buffer.
    #[inline]
    fn is_ready(&self) -> bool {
        let buffer = self.buffers.front().and_then(|index| self.slots.get(*index));
        matches!(buffer, Some(Use::Ready { .. }))
    }

    /// The data of an order are in their buffer.
    #[inline]
    pub(super) fn on_read(&mut self, buffer: BufferId) -> Result<(), Misuse> {
        if let Some(state) = self.slots.get_mut(buffer.index)
            && let Use::Reading { len } = *state
        {
            *state = Use::Ready { len, given: 0, sent: 0 };
            return Ok(());
        }
        Err(Misuse { event: "RdmaDone", buffer })
    }

    /// The driver has sent bytes of a buffer.
    #[inline]
    pub(super) fn on_sent(&mut self, buffer: BufferId, bytes: u32) -> Result<(), Misuse> {
        let misuse = Misuse { event: "Sent", buffer };
        match self.slots.get_mut(buffer.index) {
            Some(Use::Ready { len, given, sent }) if bytes <= given.saturating_sub(*sent) => {
                *sent = sent.saturating_add(bytes);
                if *sent == *len {
                    self.slots.free(buffer.index);
                }
                Ok(())
            }
            Some(Use::Ready { .. } | Use::Reading { .. }) | None => Err(misuse),
        }
    }
}

/// Makes room for more, without more memory than the limit says.
#[inline]
fn grow(own: &mut VecDeque<u8>, more: usize, max: usize) {
    let needed = own.len().saturating_add(more);
    if needed > own.capacity() {
        let capacity = own.capacity().saturating_mul(2).min(max).max(needed);
        own.reserve_exact(capacity.saturating_sub(own.len()));
    }
}

/// Where a header is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark(usize);
