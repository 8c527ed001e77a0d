//! Packets that wait to be sent.

use std::collections::VecDeque;

use crate::wire::Packet;

/// A packet of so many bytes is put to the one before it: what that copies is less than what a packet costs both sides.
const JOINED_MAX: usize = 16 << 10;

/// Packets that wait to be sent, in as few as their messages fit in: each one is a call of the system here, and wakes the other side.
#[derive(Debug, Default)]
pub(crate) struct Outbox(VecDeque<Packet>);

impl Outbox {
    pub(crate) const fn new() -> Self {
        Self(VecDeque::new())
    }

    /// Puts a packet behind all others.
    pub(crate) fn push(&mut self, packet: Packet) {
        let is_short = packet.bytes().len() <= JOINED_MAX;
        if !is_short || !self.0.back_mut().is_some_and(|last| last.join(&packet)) {
            self.0.push_back(packet);
        }
    }

    /// The next one. It stays until [`sent`](Self::sent).
    pub(crate) fn next(&self) -> Option<&Packet> {
        self.0.front()
    }

    /// It was sent.
    pub(crate) fn sent(&mut self) {
        self.0.pop_front();
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::{JOINED_MAX, Outbox};
    use crate::wire::{Event, Messages, PACKET_MAX, PIECE_MAX, Packet};

    fn received(len: usize) -> Packet {
        let mut packet = Packet::new();
        Event::Received { age: crate::wire::Age::New, remaining: 0, bytes: &vec![7; len] }.write(&mut packet);
        packet
    }

    /// The messages of each packet.
    fn sent(mut outbox: Outbox) -> Vec<usize> {
        let mut counts = Vec::new();
        while let Some(packet) = outbox.next() {
            assert!(packet.bytes().len() <= PACKET_MAX);
            counts.push(Messages::of(packet.bytes()).map(Result::unwrap).count());
            outbox.sent();
        }
        counts
    }

    #[test]
    fn messages_of_short_packets_leave_together_and_in_their_order() {
        let mut outbox = Outbox::new();
        for len in 1..=9 {
            outbox.push(received(len));
        }
        let lens = Messages::of(outbox.next().unwrap().bytes()).map(|message| message.unwrap().body.len());
        assert!(lens.eq((1..=9).map(|len| received(len).bytes().len() - 16)));
        assert_eq!(sent(outbox), [9]);
    }

    #[test]
    fn a_packet_that_is_full_or_long_is_left_as_it_is() {
        let mut outbox = Outbox::new();
        // Both fit into one packet, but the second one is long.
        for len in [1, JOINED_MAX, JOINED_MAX - 24] {
            outbox.push(received(len));
        }
        assert_eq!(sent(outbox), [1, 2]);
        let mut outbox = Outbox::new();
        outbox.push(received(PIECE_MAX));
        for _ in 0..4 {
            outbox.push(received(JOINED_MAX - 24));
        }
        // Less than 96 KiB, and no more.
        assert_eq!(sent(outbox), [2, 3]);
    }
}
