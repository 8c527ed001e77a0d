use alloc::collections::VecDeque;
use core::fmt;

use bytes::Bytes;

use crate::{Config, MsgId};

/// The bytes of messages that are not sent yet. Messages are numbered in order and end nearly in order.
pub(super) struct Outgoing {
    /// Number of the front message.
    first: u32,
    messages: VecDeque<Option<Bytes>>,
}

impl Outgoing {
    pub(super) fn new(config: &Config) -> Self {
        // Those waiting, and those of which all is posted.
        let room = usize::from(config.message_slots).saturating_add(usize::from(config.send_slots));
        Self { first: 0, messages: VecDeque::with_capacity(room) }
    }

    /// `msg` follows the last message that was put.
    pub(super) fn put(&mut self, msg: MsgId, payload: Bytes) {
        if self.messages.is_empty() {
            self.first = msg.sequence();
        }
        debug_assert_eq!(self.index(msg), Some(self.messages.len()), "messages are numbered in order");
        self.messages.push_back(Some(payload));
    }

    #[inline]
    pub(super) fn get(&self, msg: MsgId) -> Option<&Bytes> {
        self.messages.get(self.index(msg)?)?.as_ref()
    }

    #[inline]
    pub(super) fn take(&mut self, msg: MsgId) -> Option<Bytes> {
        // Mostly it is the first.
        if msg.sequence() != self.first {
            return self.take_behind(msg);
        }
        let payload = self.messages.pop_front()?;
        self.first = self.first.wrapping_add(1);
        if let Some(None) = self.messages.front() {
            self.drop_taken();
        }
        payload
    }

    #[cold]
    #[inline(never)]
    fn take_behind(&mut self, msg: MsgId) -> Option<Bytes> {
        let index = self.index(msg)?;
        self.messages.get_mut(index)?.take()
    }

    /// Forgets those in front that were taken.
    #[cold]
    #[inline(never)]
    fn drop_taken(&mut self) {
        while let Some(None) = self.messages.front() {
            self.messages.pop_front();
            self.first = self.first.wrapping_add(1);
        }
    }

    #[inline]
    fn index(&self, msg: MsgId) -> Option<usize> {
        usize::try_from(msg.sequence().wrapping_sub(self.first)).ok()
    }
}

impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (messages, bytes) =
            self.messages.iter().flatten().fold((0_usize, 0_usize), |(messages, bytes), payload| {
                (messages.saturating_add(1), bytes.saturating_add(payload.len()))
            });
        write!(f, "{messages} messages of {bytes} bytes")
    }
}

#[cfg(test)]
mod tests;
