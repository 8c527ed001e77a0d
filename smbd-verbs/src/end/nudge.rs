//! Nudging a device that has overlooked the first message of a connection that it has accepted
//! ([`Quirks::overlooks_first`](crate::quirks::Quirks::overlooks_first)): whatever comes from the peer next has it look
//! again. An RDMA Read of nothing is answered by the peer's device; its application does not see it, and none of its memory
//! is named.
//!
//! Only where something lies unread: a peer whose device is about to send may be siw as well, and that answers a Read of
//! nothing with what the request it sends at that moment names (`siw_activate_tx` leaves the old `sge` of a request without
//! one, and `siw_qp_sq_proc_tx` takes it for one of its own). Seen: a TERMINATE, and the connection is lost.

use std::time::Duration;

use super::{End, unread};

/// `wr_id` of the nudge: no [`WrId`](smbd_core::WrId) is that low, so its completion is nobody's.
const NUDGE_ID: u64 = 1;
/// How long the first message may be on its way. It follows the connection at once, or a few milliseconds later.
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
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Look(Duration),
    Nudge,
}

impl Looks {
    fn first(&mut self) -> Duration {
        *self = Self { pause: OVERDUE, unread: false };
        OVERDUE
    }

    /// A look: whether something lies unread now.
    fn next(&mut self, unread: bool) -> Next {
        match (std::mem::replace(&mut self.unread, unread), unread) {
            (true, true) => Next::Nudge,
            (false, true) => Next::Look(OVERLOOKED),
            (_, false) => {
                // A peer that says nothing is looked at less and less.
                self.pause = self.pause.saturating_mul(2);
                Next::Look(self.pause)
            }
        }
    }
}

impl End {
    /// The connection that was accepted is up: from now on the device looks at whatever comes.
    pub(super) fn await_first(&mut self, read_depth: u16) {
        let overlooks = self.open.as_ref().is_some_and(|open| open.quirks.overlooks_first);
        if overlooks && read_depth > 0 && self.first_received.is_none() {
            self.wake.set_timer(self.looks.first());
        }
    }

    /// Looks for the first message, and makes the device look if it does not.
    pub(super) fn look_for_first(&mut self) {
        if self.first_received.is_some() {
            return;
        }
        let (Some(local), Some(peer)) = (self.local_addr(), self.peer_addr()) else { return };
        // Where the system does not tell, a nudge does more good than harm.
        match self.looks.next(unread::is_any(local, peer).unwrap_or(true)) {
            Next::Look(after) => self.wake.set_timer(after),
            Next::Nudge => self.nudge(),
        }
    }

    /// That the device cannot be asked is no news: the negotiation has a timer.
    fn nudge(&mut self) {
        // Before the first message nothing else is on the send queue: it goes alone.
        if let Some(open) = &mut self.open
            && open.qp.chain_nudge(NUDGE_ID).is_ok()
        {
            let _ = open.qp.ring_sends();
        }
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
