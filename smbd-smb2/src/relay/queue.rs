//! What waits for the server: one sequence of bytes, in the order of the client's messages.
//!
//! Nothing overtakes anything. So a CANCEL waits behind the WRITE that it cancels, as does every later request for the same file,
//! tree or session, without a table of who waits for whom; and data are read from the client's memory far ahead of the server, as
//! far as there are buffers. What another order could gain is the time of one RDMA Read.

use alloc::collections::VecDeque;

use super::action::{BufferId, Misuse, Transfer, Way};
use super::pending::Pending;
use super::request::Order;
use super::slots::Slots;

/// The queue.
#[derive(Debug)]
pub(super) struct Queue {
    /// Bytes that are not data of WRITEs.
    own: VecDeque<u8>,
    /// How many of them were given to the driver by the last call.
    given: usize,
    own_max: usize,
    segments: VecDeque<Segment>,
    /// WRITEs whose data are not all ordered yet.
    orders: VecDeque<Reading>,
    /// Buffers in the order of their data.
    buffers: VecDeque<u16>,
    slots: Slots<Use>,
    buffer_len: u32,
}

/// A run of the sequence, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Segment {
    /// Of `own`.
    Own(usize),
    /// The same, but it waits until it can go together with the data behind it.
    Head(usize),
    /// Data of a WRITE.
    Data(usize),
}

#[derive(Debug)]
struct Reading {
    order: Order,
    /// Bytes that were ordered.
    at: u32,
}

/// What a buffer is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// An RDMA Read runs.
    Reading { len: u32 },
    /// Its bytes are there; the driver was given some, and has sent some of these.
    Ready { len: u32, given: u32, sent: u32 },
}

/// What goes to the server next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Bytes that are in [`Queue::given`] until the next call.
    Own,
    /// Bytes of a buffer.
    Buffer { index: u16, offset: u32, len: u32 },
}

impl Queue {
    pub(super) fn new(own_max: usize, buffers: u16, buffer_len: u32) -> Self {
        Self {
            own: VecDeque::new(),
            given: 0,
            own_max,
            segments: VecDeque::new(),
            orders: VecDeque::new(),
            buffers: VecDeque::new(),
            slots: Slots::new(buffers),
            buffer_len,
        }
    }

    /// Whether nothing waits.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// How many bytes can be appended.
    #[inline]
    pub(super) fn room(&self) -> usize {
        self.own_max.saturating_sub(self.own.len())
    }

    /// Appends bytes. There has to be room for them.
    #[inline]
    pub(super) fn push(&mut self, bytes: &[u8]) {
        grow(&mut self.own, bytes.len(), self.own_max);
        self.own.extend(bytes);
        match self.segments.back_mut() {
            Some(Segment::Own(len)) => *len = len.saturating_add(bytes.len()),
            _ if bytes.is_empty() => {}
            Some(Segment::Head(_) | Segment::Data(_)) | None => {
                self.segments.push_back(Segment::Own(bytes.len()));
            }
        }
    }

    /// Appends the front of a message whose data are appended next. There has to be room for it.
    pub(super) fn push_head(&mut self, bytes: &[u8]) {
        grow(&mut self.own, bytes.len(), self.own_max);
        self.own.extend(bytes);
        self.segments.push_back(Segment::Head(bytes.len()));
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

    /// Appends data of a WRITE.
    pub(super) fn push_data(&mut self, order: Order, pending: &mut Pending) {
        pending.keep(order.remote.len());
        self.segments.push_back(Segment::Data(order.len as usize));
        self.orders.push_back(Reading { order, at: 0 });
    }

    /// Orders data into the next free buffer.
    #[inline]
    pub(super) fn order(&mut self, pending: &mut Pending) -> Option<Transfer> {
        let reading = self.orders.front_mut()?;
        let len = reading.order.len.saturating_sub(reading.at).min(self.buffer_len);
        let index = self.slots.take(Use::Reading { len })?;
        let (remote, offset) = (reading.order.remote.clone(), u64::from(reading.at));
        reading.at = reading.at.saturating_add(len);
        if reading.at >= reading.order.len {
            pending.release(remote.len());
            if let Some(over) = self.orders.pop_front() {
                pending.reuse(over.order.remote);
            }
        }
        self.buffers.push_back(index);
        Some(Transfer { buffer: BufferId { way: Way::ToServer, index }, len, remote, offset })
    }

    /// Forgets what the driver was given by the last call.
    #[inline]
    pub(super) fn drop_given(&mut self) {
        self.own.drain(..self.given.min(self.own.len()));
        self.given = 0;
    }

    /// What [`Next::Own`] stands for.
    #[inline]
    pub(super) fn given(&self) -> &[u8] {
        let (front, _) = self.own.as_slices();
        front.get(..self.given).unwrap_or_default()
    }

    /// The next bytes, at most `room`. Called once after [`Self::drop_given`].
    #[inline]
    pub(super) fn next(&mut self, room: usize) -> Option<Next> {
        let (next, len, left) = match *self.segments.front()? {
            Segment::Own(left) => {
                let len = self.give_own(left, room);
                (Next::Own, len, Segment::Own(left.saturating_sub(len)))
            }
            Segment::Head(left) => {
                let Some(Use::Ready { .. }) = self.slots.get(*self.buffers.front()?) else { return None };
                let len = self.give_own(left, room);
                (Next::Own, len, Segment::Head(left.saturating_sub(len)))
            }
            Segment::Data(left) => {
                let (next, len) = self.next_of_buffer(room)?;
                (next, len, Segment::Data(left.saturating_sub(len)))
            }
        };
        if len == 0 {
            return None;
        }
        match left {
            Segment::Own(0) | Segment::Head(0) | Segment::Data(0) => _ = self.segments.pop_front(),
            Segment::Own(_) | Segment::Head(_) | Segment::Data(_) => {
                if let Some(front) = self.segments.front_mut() {
                    *front = left;
                }
            }
        }
        Some(next)
    }

    #[inline]
    fn give_own(&mut self, left: usize, room: usize) -> usize {
        self.given = self.own.as_slices().0.len().min(left).min(room);
        self.given
    }

    #[inline]
    fn next_of_buffer(&mut self, room: usize) -> Option<(Next, usize)> {
        let index = *self.buffers.front()?;
        let Some(Use::Ready { len, given, .. }) = self.slots.get_mut(index) else { return None };
        let offset = *given;
        let part = len.saturating_sub(offset).min(u32::try_from(room).unwrap_or(u32::MAX));
        *given = offset.saturating_add(part);
        if *given == *len {
            self.buffers.pop_front();
        }
        Some((Next::Buffer { index, offset, len: part }, part as usize))
    }

    /// The data of an order are in their buffer.
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
