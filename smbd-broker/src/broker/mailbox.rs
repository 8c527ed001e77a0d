//! What is to be told on the socket of a connection.

use std::collections::VecDeque;

use crate::wire::{Age, Event, PIECE_MAX, Packet};

/// Events, put together in as few packets as they fit in.
#[derive(Debug)]
pub(super) struct Mailbox {
    packets: VecDeque<Packet>,
    /// Messages that the transport has taken, and their bytes.
    sent: u32,
    sent_len: u64,
}

impl Mailbox {
    pub(super) const fn new() -> Self {
        Self { packets: VecDeque::new(), sent: 0, sent_len: 0 }
    }

    pub(super) fn push(&mut self, event: &Event<'_>) {
        if matches!(event, Event::Lost { .. }) {
            // Nothing comes behind it.
            self.count_sent();
        }
        if !self.packets.back().is_some_and(|packet| packet.has_room(event.body_len())) {
            self.packets.push_back(Packet::new());
        }
        if let Some(packet) = self.packets.back_mut() {
            event.write(packet);
        }
    }

    /// A message, in pieces.
    pub(super) fn push_message(&mut self, age: Age, message: &[u8]) {
        let mut remaining = message.len();
        for bytes in message.chunks(PIECE_MAX) {
            remaining = remaining.saturating_sub(bytes.len());
            let remaining = u32::try_from(remaining).unwrap_or(u32::MAX);
            self.push(&Event::Received { age, remaining, bytes });
        }
    }

    /// The transport has taken a message. Returns how many nobody was told of, and their bytes.
    pub(super) fn push_sent(&mut self, len: u32) -> (u32, u64) {
        self.sent = self.sent.saturating_add(1);
        self.sent_len = self.sent_len.saturating_add(len.into());
        (self.sent, self.sent_len)
    }

    pub(super) fn pop(&mut self) -> Option<Packet> {
        self.count_sent();
        self.packets.pop_front()
    }

    fn count_sent(&mut self) {
        if self.sent > 0 {
            let count = std::mem::take(&mut self.sent);
            self.sent_len = 0;
            self.push(&Event::Sent { count });
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new();
    }
}
