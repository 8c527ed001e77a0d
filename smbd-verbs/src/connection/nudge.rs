//! Makes a device read the first message of an accepted connection that it has missed
//! ([`Quirks::overlooks_first`](crate::quirks::Quirks::overlooks_first)): any later packet of the peer makes it read
//! again.
//!
//! **The own device missed it**: the peer's device answers an RDMA Read of 0 bytes; its application does not see it,
//! and it accesses no memory. This is done only if unread bytes are there. A peer whose device is about to send may be
//! siw as well, which answers a Read of 0 bytes with the data of the request that it sends at that moment
//! (`siw_activate_tx` leaves the old `sge` of a request without one, and `siw_qp_sq_proc_tx` takes it for one of its
//! own). Seen: a TERMINATE, and the connection is lost.
//!
//! **The peer's device may have missed it**: an initiator on siw whose Negotiate Request has no answer sends an RDMA
//! Write of 0 bytes. It has no response, so the failure above cannot happen. Its token is not checked (`siw_proc_write`
//! returns before that), and no application sees it. iWARP itself uses it: with MPA version 2 it means that the
//! initiator is ready (RFC 6581). This side cannot see whether the peer has read the request, so the Write may be
//! unnecessary, and is repeated if it was too early.

use std::time::Duration;

use super::{VerbsConnection, unread};
use crate::ffi::{ChainError, QueuePair};

/// `wr_id` of the nudge: no [`WrId`](smbd_core::WrId) is that low.
pub(super) const NUDGE_ID: u64 = 1;
/// How long the first message may be on its way. It follows the connection, or what it answers, within a few milliseconds.
const OVERDUE: Duration = Duration::from_millis(50);
/// What comes is read at once. What lies there for this long, nobody looks at.
const OVERLOOKED: Duration = Duration::from_millis(20);

/// What has been seen of a first message that does not come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Looks {
    /// Until the next look, if nothing has come.
    pause: Duration,
    /// Something lay unread at the last look.
    unread: bool,
    /// A nudge is with the device: there is a place on the send queue for one.
    nudging: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Look(Duration),
    Nudge,
}

impl Looks {
    fn first(&mut self) -> Duration {
        *self = Self { pause: OVERDUE, ..Self::default() };
        OVERDUE
    }

    /// When to look after this look. A peer that says nothing is looked at less and less.
    fn later(&mut self) -> Duration {
        self.pause = self.pause.saturating_mul(2);
        self.pause
    }

    /// A look: whether something lies unread now.
    fn next(&mut self, unread: bool) -> Next {
        match (std::mem::replace(&mut self.unread, unread), unread) {
            (true, true) => Next::Nudge,
            (false, true) => Next::Look(OVERLOOKED),
            (_, false) => Next::Look(self.later()),
        }
    }
}

impl VerbsConnection {
    /// The connection is up: from now on the device looks at whatever comes.
    pub(super) fn await_first(&mut self, read_depth: u16) {
        let overlooks = self.open.as_ref().is_some_and(|open| open.quirks.overlooks_first);
        let can_nudge = self.is_initiator() || read_depth > 0;
        if overlooks && can_nudge && self.first_received.is_none() {
            self.wake.set_timer(self.looks.first());
        }
    }

    /// Looks for the first message, and makes a device look that may have overlooked one.
    pub(super) fn look_for_first(&mut self) {
        if self.first_received.is_some() {
            return;
        }
        if self.is_initiator() {
            // Before it has said anything there is nothing to overlook.
            if self.counters().sends > 0 {
                self.nudge(QueuePair::chain_nudge_of_peer);
            }
            return self.wake.set_timer(self.looks.later());
        }
        let (Some(local), Some(peer)) = (self.local_addr(), self.peer_addr()) else { return };
        // Where the system does not tell, a nudge does more good than harm.
        match self.looks.next(unread::is_any(local, peer).unwrap_or(true)) {
            Next::Look(after) => self.wake.set_timer(after),
            Next::Nudge => self.nudge(QueuePair::chain_nudge),
        }
    }

    /// Only the end of an acceptor counts against the limits of a listener.
    const fn is_initiator(&self) -> bool {
        self.permit.is_none()
    }

    /// That the device cannot be asked is no news: the negotiation has a timer.
    fn nudge(&mut self, chain: impl FnOnce(&mut QueuePair, u64) -> Result<(), ChainError>) {
        // Then it goes alone.
        self.ring_chain();
        if let Some(open) = &mut self.open
            && !self.looks.nudging
            && chain(&mut open.qp, NUDGE_ID).is_ok()
        {
            self.looks.nudging = open.qp.ring_sends().is_ok();
        }
    }

    pub(super) const fn nudge_is_back(&mut self) {
        self.looks.nudging = false;
    }
}

#[cfg(test)]
mod tests {
    use super::{Looks, Next, OVERDUE, OVERLOOKED};

    #[test]
    fn only_what_lies_unread_at_two_looks_is_overlooked() {
        let mut looks = Looks::default();
        assert_eq!(looks.first(), OVERDUE);
        assert_eq!(looks.next(true), Next::Look(OVERLOOKED));
        assert_eq!(looks.next(true), Next::Nudge);

        looks.first();
        assert_eq!(looks.next(true), Next::Look(OVERLOOKED));
        assert_eq!(looks.next(false), Next::Look(2 * OVERDUE));
        assert_eq!(looks.next(true), Next::Look(OVERLOOKED));
        assert_eq!(looks.next(true), Next::Nudge);
    }

    #[test]
    fn a_peer_that_says_nothing_for_a_minute_is_looked_at_some_ten_times() {
        let mut looks = Looks::default();
        let (mut time, mut count) = (looks.first(), 0);
        while time.as_secs() < 60 {
            let Next::Look(after) = looks.next(false) else { panic!("nothing lies unread") };
            time += after;
            count += 1;
        }
        assert_eq!(count, 10);
    }
}
