//! Sorts the packets of one sender by their packet sequence numbers (PSN, 24 bits).

use std::collections::BTreeMap;

use crate::decode::HELD_MAX;

const PSN_BITS: u32 = 24;
/// Packets that wait for an earlier one.
const HELD_PACKETS_MAX: usize = 4096;

/// What becomes of an offered packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Offered {
    /// It waits to be popped.
    Queued,
    /// Its number was there before.
    Repeated,
}

/// The next in order.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Popped<T> {
    /// A packet.
    Packet(T),
    /// Packets that did not come.
    Lost(u64),
}

/// Reorders packets; numbers are kept in 64 bits so that they never wrap.
#[derive(Debug)]
pub(super) struct Order<T> {
    /// The number expected next.
    next: Option<u64>,
    /// Numbers that may be skipped, because how many the last request took is not known.
    slack: u64,
    held: BTreeMap<u64, (usize, T)>,
    held_bytes: usize,
}

impl<T> Order<T> {
    /// `first` is the number of the first packet, when known.
    pub(super) fn new(first: Option<u32>) -> Self {
        // One whole round up, so that older numbers stay positive.
        let next = first.map(|psn| (1 << PSN_BITS) + u64::from(psn));
        Self { next, slack: 0, held: BTreeMap::new(), held_bytes: 0 }
    }

    /// Distance from the expected number, `None` before the first packet.
    pub(super) fn distance(&self, psn: u32) -> Option<i64> {
        let next = self.next?;
        let shift = u32::BITS - PSN_BITS;
        let difference = psn.wrapping_sub((next & 0xff_ffff) as u32) << shift;
        Some(i64::from(difference.cast_signed() >> shift))
    }

    pub(super) fn offer(&mut self, psn: u32, bytes: usize, packet: T) -> Offered {
        let next = *self.next.get_or_insert((1 << PSN_BITS) + u64::from(psn));
        let Some(number) = self.distance(psn).and_then(|distance| next.checked_add_signed(distance)) else {
            return Offered::Repeated;
        };
        if number < next || self.held.contains_key(&number) {
            return Offered::Repeated;
        }
        self.held_bytes += bytes;
        self.held.insert(number, (bytes, packet));
        Offered::Queued
    }

    /// The next packet. With `flush` nothing is waited for.
    pub(super) fn pop(&mut self, flush: bool) -> Option<Popped<T>> {
        let next = self.next?;
        let first = *self.held.first_key_value()?.0;
        let full = self.held.len() > HELD_PACKETS_MAX || self.held_bytes > HELD_MAX;
        if first > next + self.slack {
            if !(flush || full) {
                return None;
            }
            self.next = Some(first);
            self.slack = 0;
            return Some(Popped::Lost(first - next));
        }
        let (_, (bytes, packet)) = self.held.pop_first()?;
        self.held_bytes -= bytes;
        self.next = Some(first + 1);
        self.slack = 0;
        Some(Popped::Packet(packet))
    }

    /// The packet just popped took `more` further numbers, and up to `slack` beyond.
    pub(super) fn took(&mut self, more: u64, slack: u64) {
        self.next = self.next.map(|next| next + more);
        self.slack = slack;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(order: &mut Order<u32>, flush: bool) -> Vec<Popped<u32>> {
        std::iter::from_fn(|| order.pop(flush)).collect()
    }

    #[test]
    fn packets_come_out_in_order_across_the_wrap_of_the_sequence_number() {
        let mut order = Order::new(Some(0xff_fffe));
        for psn in [0, 0xff_ffff, 0xff_fffe, 1] {
            assert_eq!(order.offer(psn, 1, psn), Offered::Queued);
        }
        let expected = [0xff_fffe, 0xff_ffff, 0, 1].map(Popped::Packet);
        assert_eq!(drain(&mut order, false), expected);
        assert_eq!(order.offer(0xff_ffff, 1, 9), Offered::Repeated);
    }

    #[test]
    fn a_gap_is_waited_for_until_the_end_and_then_reported() {
        let mut order = Order::new(Some(10));
        order.offer(10, 1, 10);
        order.offer(13, 1, 13);
        assert_eq!(drain(&mut order, false), [Popped::Packet(10)]);
        assert_eq!(drain(&mut order, true), [Popped::Lost(2), Popped::Packet(13)]);
    }

    #[test]
    fn a_gap_is_given_up_when_too_much_waits() {
        let mut order = Order::new(Some(0));
        order.offer(1, HELD_MAX, 1);
        assert_eq!(order.pop(false), None);
        order.offer(2, 1, 2);
        assert_eq!(order.pop(false), Some(Popped::Lost(1)));
        assert_eq!(order.pop(false), Some(Popped::Packet(1)));
    }

    #[test]
    fn a_read_request_takes_the_numbers_of_its_responses() {
        let mut order = Order::new(Some(5));
        order.offer(5, 1, 5);
        order.pop(false);
        order.took(3, 0);
        assert_eq!(order.offer(7, 1, 7), Offered::Repeated, "a read repeated in the middle");
        order.offer(9, 1, 9);
        assert_eq!(order.pop(false), Some(Popped::Packet(9)));
        order.took(0, 4);
        order.offer(13, 1, 13);
        assert_eq!(order.pop(false), Some(Popped::Packet(13)), "path MTU not known");
    }
}
