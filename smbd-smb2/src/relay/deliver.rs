//! Data of a READ on their way to the client's memory, and the answer behind them.

use alloc::sync::Arc;

use super::action::{BufferId, Placement, Transfer, Way};
use super::incoming::{Incoming, Taken};
use super::request::ANSWER_LEN;
use super::shared::{Shared, add};
use super::slots::Slots;
use super::step::{Progress, Step, ToClient};
use crate::wire::{BufferDescriptorV1, Token};

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
    remote: Arc<[BufferDescriptorV1]>,
    /// Bytes before the data, which are not needed.
    front: usize,
    /// Bytes of data that have not come.
    data: u32,
    filling: Option<Filling>,
    /// Bytes of data that were ordered to be written.
    written: u64,
    answer: [u8; ANSWER_LEN],
    /// Bytes of the answer that have gone.
    answered: usize,
    invalidate: Option<Token>,
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
    pub(super) const fn new(
        remote: Arc<[BufferDescriptorV1]>,
        invalidate: Option<Token>,
        answer: [u8; ANSWER_LEN],
        Parts { front, data, rest }: Parts,
    ) -> Self {
        Self { remote, front, data, filling: None, written: 0, answer, answered: 0, invalidate, rest }
    }

    /// If all has gone: how many bytes of the element are left.
    pub(super) const fn is_over(&self) -> Option<usize> {
        if self.answered < ANSWER_LEN { None } else { Some(self.rest) }
    }

    /// Where the data go.
    pub(super) fn remote(&self) -> Arc<[BufferDescriptorV1]> {
        Arc::clone(&self.remote)
    }

    /// Bytes of the answer.
    pub(super) fn answer(&self, start: usize, end: usize) -> &[u8] {
        self.answer.get(start..end).unwrap_or_default()
    }

    /// Goes on.
    #[inline]
    pub(super) fn step<'a>(
        &mut self,
        incoming: &mut Incoming,
        server: &mut &'a [u8],
        room: usize,
        slots: &mut Slots<Use>,
        shared: &mut Shared,
        out: &mut Option<Step<'a>>,
    ) -> Progress {
        if self.front > 0 {
            let skipped = incoming.take(server, self.front).len();
            self.front = self.front.saturating_sub(skipped);
            if self.front > 0 {
                return if skipped == 0 { Progress::Blocked } else { Progress::Moved };
            }
        }
        if self.filling.is_none() && self.data > 0 {
            // 3.1.4.5 of MS-SMBD: memory of the client is written to from the beginning of a buffer.
            let Some(index) = slots.take(Use::Filling) else { return Progress::Blocked };
            self.filling = Some(Filling { index, len: 0 });
        }
        let buffer_len = shared.config.params().buffer_len;
        match self.filling {
            Some(Filling { index, len }) if len == buffer_len || self.data == 0 => {
                if let Some(state) = slots.get_mut(index) {
                    *state = Use::Writing;
                }
                self.filling = None;
                let buffer = BufferId { way: Way::ToClient, index };
                let transfer = Transfer { buffer, len, remote: self.remote.clone(), offset: self.written };
                self.written = self.written.saturating_add(len.into());
                add(&mut shared.statistics.bytes.rdma_write, len.into());
                *out = Some(Step::RdmaWrite(transfer));
                Progress::Stepped
            }
            Some(filling) => self.store(filling, buffer_len, incoming, server, out),
            None => self.answer_next(room, shared, out),
        }
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
    fn store<'a>(
        &mut self,
        filling: Filling,
        buffer_len: u32,
        incoming: &mut Incoming,
        server: &mut &'a [u8],
        out: &mut Option<Step<'a>>,
    ) -> Progress {
        let max = buffer_len.saturating_sub(filling.len).min(self.data);
        let taken = incoming.take(server, max as usize);
        let len = u32::try_from(taken.len()).unwrap_or(u32::MAX);
        let bytes = match taken {
            Taken::Held(0) | Taken::Stream([]) => return Progress::Blocked,
            Taken::Held(len) => ToClient::Held(len),
            Taken::Stream(bytes) => ToClient::Stream(bytes),
        };
        self.data = self.data.saturating_sub(len);
        self.filling = Some(Filling { len: filling.len.saturating_add(len), ..filling });
        *out = Some(Step::Store { index: filling.index, offset: filling.len, bytes });
        Progress::Stepped
    }

    #[inline]
    fn answer_next<'a>(&mut self, room: usize, shared: &mut Shared, out: &mut Option<Step<'a>>) -> Progress {
        let (start, end) = (self.answered, self.answered.saturating_add(room).min(ANSWER_LEN));
        if start == end {
            return Progress::Blocked;
        }
        self.answered = end;
        add(&mut shared.statistics.bytes.to_client, end.saturating_sub(start) as u64);
        let remaining = u32::try_from(ANSWER_LEN.saturating_sub(end)).unwrap_or_default();
        let (bytes, invalidate) = (ToClient::Answer { start, end }, self.invalidate);
        *out = Some(Step::ToClient { bytes, remaining, invalidate });
        Progress::Stepped
    }
}
