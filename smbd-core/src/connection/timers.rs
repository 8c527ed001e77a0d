//! Time: which deadline is next, and what happens when one has passed (3.1.2, 3.1.6).

use super::keepalive::Expiry;
use super::phase::{Cause, Phase};
use super::{Connection, Pending};
use crate::Instant;

impl Connection {
    /// The earliest deadline of all. Called when nothing can leave, so a message that could not is waiting for credits.
    pub(super) fn next_deadline(&mut self) -> Option<Instant> {
        let (announce_by, flush) = match &self.phase {
            Phase::Established(established) => (established.announce_by, established.flush),
            Phase::Closing(_) | Phase::Drained => return None,
            Phase::Connecting { .. } | Phase::Negotiating { .. } | Phase::Rejecting { .. } => {
                return self.negotiation_deadline();
            }
        };
        self.watch_stall();
        let rare = Instant::earliest(
            Instant::earliest(announce_by, flush),
            Instant::earliest(self.probe.deadline(), self.stall),
        );
        let idle = if self.silence_counts() { self.idle.deadline() } else { None };
        Instant::earliest(idle, rare)
    }

    /// KA-8: without a receive posted the peer has no credit and can get none, so it cannot answer. The idle timer goes
    /// on: when a receive is posted and the interval has passed, the probe is due at once, and grants it.
    const fn silence_counts(&self) -> bool {
        self.credits.posted() > 0
    }

    /// 3.1.2.1: runs until the upper layer can be told of the connection.
    pub(super) const fn negotiation_deadline(&self) -> Option<Instant> {
        match &self.phase {
            Phase::Connecting { deadline, .. }
            | Phase::Negotiating { deadline, .. }
            | Phase::Rejecting { deadline, .. } => Some(*deadline),
            Phase::Established(established) => established.announce_by,
            Phase::Closing(_) | Phase::Drained => None,
        }
    }

    /// A message without a send credit begins to wait when it could leave but for that.
    fn watch_stall(&mut self) {
        let stalled = self.credits.send() == 0 && self.sender.is_ready(self.rdma.writes_posted());
        if !stalled {
            self.stall = None;
        } else if self.stall.is_none()
            && let Some(timeout) = self.config.send_credit_timeout
        {
            self.stats.credit_stalls = self.stats.credit_stalls.saturating_add(1);
            self.stall = Some(self.now.saturating_add(timeout));
        }
    }

    #[inline(never)]
    pub(super) fn on_timeout(&mut self) {
        let now = self.now;
        let passed = |deadline: Option<Instant>| deadline.is_some_and(|deadline| deadline <= now);
        if passed(self.negotiation_deadline()) {
            // 3.1.6.1. A refusal that was not completed in time is still a refusal.
            if let Phase::Rejecting { status, violation, .. } = self.phase {
                return self.end(Cause::RejectedPeer { status, violation });
            }
            return self.end(Cause::NegotiationTimeout);
        }
        let Phase::Established(established) = &self.phase else { return };
        if passed(established.flush) {
            return self.end(Cause::Local);
        }
        if self.silence_counts() && self.idle.on_timeout(now) == Expiry::GiveUp {
            return self.end(Cause::KeepaliveTimeout);
        }
        if passed(self.stall) {
            return self.end(Cause::CreditStall);
        }
        if self.probe.on_timeout(now) {
            self.push_event(Pending::Probed);
        }
    }
}
