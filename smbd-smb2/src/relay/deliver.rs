//! Data of a READ on their way to the client's memory, and the answer behind them.

use super::action::{BufferId, Placement, Transfer, Way};
use super::incoming::Incoming;
use super::lists::Remote;
use super::request::ANSWER_LEN;
use super::shared::{Shared, add};
use super::slots::Slots;
use super::step::Down;

/// What a buffer is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// Data are put into it.
    Filling,
    /// An RDMA Write runs.
    Writing,
}

/// An answer whose data go by RDMA.
#[derive(Debug)]
pub(super) struct Delivery {
    /// Until all data were ordered to be written.
    remote: Option<Remote>,
    /// Bytes before the data, which are not needed.
    front: usize,
    /// Bytes of data that have not come.
    data: u32,
    filling: Option<Filling>,
    /// Bytes of data that were ordered to be written.
    written: u64,
    /// Bytes of the answer that have gone.
    answered: u8,
    /// Bytes of the element behind the data.
    rest: usize,
}

/// A buffer with data in it.
#[derive(Clone, Copy, Debug)]
struct Filling {
    index: u16,
    len: u32,
}

/// The parts of an element, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    pub(super) front: usize,
    pub(super) data: u32,
    pub(super) rest: usize,
}

impl Delivery {
    pub(super) const fn new(remote: Option<Remote>, Parts { front, data, rest }: Parts) -> Self {
        Self { remote, front, data, filling: None, written: 0, answered: 0, rest }
    }

    /// Whether it waits for bytes of the server only.
    #[inline]
    pub(super) fn is_waiting(&self, buffer_len: u32) -> bool {
        self.front > 0 || (self.data > 0 && self.filling.is_some_and(|filling| filling.len < buffer_len))
    }

    /// What is to be done next.
    #[inline]
    pub(super) fn step(
        &mut self,
        incoming: &mut Incoming,
        server: &mut &[u8],
        room: usize,
        slots: &mut Slots<Use>,
        buffer_len: u32,
    ) -> Option<Down> {
        while self.front > 0 {
            let skipped = incoming.take(server, self.front).len();
            if skipped == 0 {
                return None;
            }
            self.front = self.front.saturating_sub(skipped);
        }
        let Filling { index, len: offset } = match self.filling {
            Some(filling) => filling,
            None if self.data == 0 => return self.answer_next(room),
            // 3.1.4.5 of MS-SMBD: memory of the client is written to from the beginning of a buffer.
            None => match slots.take(Use::Filling) {
                Some(index) => Filling { index, len: 0 },
                None => return None,
            },
        };
        self.filling = Some(Filling { index, len: offset });
        if offset == buffer_len || self.data == 0 {
            let is_last = self.data == 0 && room >= ANSWER_LEN;
            return Some(Down::Write { index, len: offset, is_last });
        }
        let max = buffer_len.saturating_sub(offset).min(self.data);
        match u32::try_from(incoming.available(server, max as usize)).unwrap_or(max) {
            0 => None,
            len => Some(Down::Store { index, offset, len }),
        }
    }

    /// Orders data to be written: [`Down::Write`].
    #[inline]
    pub(super) fn write(
        &mut self,
        index: u16,
        len: u32,
        slots: &mut Slots<Use>,
        shared: &mut Shared,
    ) -> Option<Transfer> {
        let remote = if self.data == 0 { self.remote.take()? } else { self.remote.clone()? };
        let offset = self.written;
        if let Some(state) = slots.get_mut(index) {
            *state = Use::Writing;
        }
        self.filling = None;
        self.written = offset.saturating_add(len.into());
        add(&mut shared.statistics.bytes.rdma_write, len.into());
        Some(Transfer { buffer: BufferId { way: Way::ToClient, index }, len, remote, offset })
    }

    /// Bytes are put into a buffer: [`Down::Store`].
    #[inline]
    pub(super) fn store(&mut self, index: u16, offset: u32, len: u32) {
        self.data = self.data.saturating_sub(len);
        self.filling = Some(Filling { index, len: offset.saturating_add(len) });
    }

    /// The answer goes, up to this byte: [`Down::Answer`]. If all has gone: how many bytes of the element are left.
    #[inline]
    pub(super) const fn answer(&mut self, end: u8) -> Option<usize> {
        self.answered = end;
        if (end as usize) < ANSWER_LEN { None } else { Some(self.rest) }
    }

    /// Where the next bytes of the stream can be put at once.
    #[inline]
    pub(super) fn placement(
        &mut self,
        incoming: &Incoming,
        slots: &mut Slots<Use>,
        buffer_len: u32,
    ) -> Option<Placement> {
        if self.front > 0 || self.data == 0 || !incoming.is_in_stream() {
            return None;
        }
        let filling = match self.filling {
            Some(filling) => filling,
            None => Filling { index: slots.take(Use::Filling)?, len: 0 },
        };
        self.filling = Some(filling);
        let len = buffer_len.saturating_sub(filling.len).min(self.data);
        let buffer = BufferId { way: Way::ToClient, index: filling.index };
        (len > 0).then_some(Placement { buffer, offset: filling.len, len, is_last: len == self.data })
    }

    /// Bytes were put there. Whether they can have been.
    #[inline]
    pub(super) fn on_placed(
        &mut self,
        incoming: &mut Incoming,
        index: u16,
        len: u32,
        buffer_len: u32,
    ) -> bool {
        let Some(filling) = self.filling.filter(|filling| filling.index == index) else { return false };
        let max = buffer_len.saturating_sub(filling.len).min(self.data);
        if self.front > 0 || len > max || !incoming.is_in_stream() {
            return false;
        }
        incoming.pass_by(len as usize);
        self.data = self.data.saturating_sub(len);
        self.filling = Some(Filling { len: filling.len.saturating_add(len), ..filling });
        true
    }

    #[inline]
    fn answer_next(&self, room: usize) -> Option<Down> {
        let (start, room) = (self.answered, u8::try_from(room).unwrap_or(u8::MAX));
        match start.saturating_add(room).min(ANSWER_LEN as u8) {
            end if end == start => None,
            end => Some(Down::Answer { start, end }),
        }
    }
}
