use std::collections::VecDeque;
use std::time::Duration;

use smbd_core::Instant;

use crate::Rng;
use crate::nic::{Packet, Reply};

/// How long things take on the wire. Order is kept in each direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    /// Least time in one direction.
    pub least: Duration,
    /// Greatest time; the seed draws between the two.
    pub most: Duration,
}

impl Latency {
    /// Always the same.
    #[must_use]
    pub const fn of(time: Duration) -> Self {
        Self { least: time, most: time }
    }

    /// The same as it is drawn for each packet.
    pub(super) fn delay(self) -> Delay {
        let nanos = |d: Duration| u64::try_from(d.as_nanos()).unwrap_or(u64::MAX);
        Delay { least: nanos(self.least), most: nanos(self.most) }
    }
}

/// A time on the wire, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delay {
    least: u64,
    most: u64,
}

impl Delay {
    fn draw(self, rng: &mut Rng) -> u64 {
        if self.least >= self.most { self.least } else { rng.between(self.least, self.most) }
    }
}

/// One direction of a link: first in, first out.
#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) packets: VecDeque<(Instant, Packet)>,
    pub(crate) replies: VecDeque<(Instant, Reply)>,
    /// When the last thing sent arrives: nothing sent later comes earlier.
    last: Instant,
}

impl Wire {
    pub(super) const fn new() -> Self {
        Self { packets: VecDeque::new(), replies: VecDeque::new(), last: Instant::ORIGIN }
    }

    /// When something sent now arrives.
    pub(super) fn arrival(&mut self, now: Instant, delay: Delay, rng: &mut Rng) -> Instant {
        let at = Instant::from_nanos(now.as_nanos().saturating_add(delay.draw(rng)));
        self.last = self.last.max(at);
        self.last
    }

    pub(super) fn send(&mut self, at: Instant, packet: Packet) {
        self.packets.push_back((at, packet));
    }

    pub(super) fn reply(&mut self, at: Instant, reply: Reply) {
        // Acknowledgements that arrive together are one.
        if let Reply::Ack { upto } = reply
            && let Some((last_at, Reply::Ack { upto: last })) = self.replies.back_mut()
            && *last_at == at
        {
            *last = upto;
        } else {
            self.replies.push_back((at, reply));
        }
    }
}
