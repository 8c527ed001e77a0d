//! The state of a connection as input of a hash, for searches over all states.

use core::hash::{Hash, Hasher};

use super::Connection;
use super::keepalive::Probe;
use super::pending::Pending;
use super::phase::{Closing, Established, Phase};
use crate::Instant;

impl Connection {
    /// Writes to `into` all state that influences what the connection does next. Two connections with the same
    /// fingerprint behave the same from `now` on, where `now` is the time last given to both. Ids are written in order
    /// of use, times by their distance from `now`; statistics are left out.
    pub fn fingerprint<H: Hasher>(&self, now: Instant, into: &mut H) {
        // Deadlines in the past are all the same: due.
        let left =
            |deadline: Instant| u64::try_from(deadline.saturating_since(now).as_nanos()).unwrap_or(u64::MAX);
        core::mem::discriminant(&self.phase).hash(into);
        match &self.phase {
            Phase::Connecting { deadline, step } => (left(*deadline), step).hash(into),
            Phase::Negotiating { deadline, request } => (left(*deadline), request).hash(into),
            Phase::Rejecting { deadline, posted, status, violation } => {
                (left(*deadline), posted, status, violation).hash(into);
            }
            Phase::Established(Established { respond, announce_by, flush }) => {
                (respond, announce_by.map(left), flush.map(left)).hash(into);
            }
            Phase::Closing(Closing { outcome, told }) => (outcome.anonymous(), told).hash(into),
            Phase::Drained => {}
        }
        self.config.hash(into);
        (self.role, self.transport, self.limits, self.negotiated, self.credits, self.answer_owed).hash(into);
        (self.receiver.posted, self.receiver.borrowed(), self.receiver.sequence).hash(into);
        self.sender.fingerprint(self.rdma.writes_posted(), into);
        self.idle.fingerprint(left).hash(into);
        match self.probe {
            Probe::Idle => 0_u64.hash(into),
            Probe::Pending { deadline } => (1_u64, left(deadline)).hash(into),
            // The time of sending is part of a report, and so of behaviour.
            Probe::Sent { at, deadline } => (2_u64, left(deadline), now.saturating_since(at)).hash(into),
            Probe::Done(result) => (3_u64, result).hash(into),
        }
        self.stall.map(left).hash(into);
        self.rdma.fingerprint(into);
        self.registrations.fingerprint(into);
        self.hash_events(into);
    }

    fn hash_events(&self, into: &mut impl Hasher) {
        self.events.len().hash(into);
        for event in self.events.iter() {
            event.anonymous().hash(into);
            match event {
                Pending::OpDone { index } => self.rdma.fingerprint_of(index, into),
                Pending::Invalidated { index, .. }
                | Pending::Registered { index }
                | Pending::Deregistered { index } => self.registrations.fingerprint_of(index, into),
                Pending::Established | Pending::Data { .. } | Pending::Sent { .. } | Pending::Probed => {}
            }
        }
    }
}

/// Hashes a set whose order is an accident of slot numbers.
pub(crate) fn hash_unordered<T: Hash>(items: impl Iterator<Item = T>, into: &mut impl Hasher) {
    let (mut sum, mut mixed, mut count) = (0_u64, 0_u64, 0_u64);
    for item in items {
        let mut hasher = Fnv(0xcbf2_9ce4_8422_2325);
        item.hash(&mut hasher);
        let hash = hasher.finish();
        sum = sum.wrapping_add(hash);
        mixed = mixed.wrapping_add(hash.rotate_left(32).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        count = count.wrapping_add(1);
    }
    (sum, mixed, count).hash(into);
}

/// FNV-1a, 64 bits.
struct Fnv(u64);

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}
