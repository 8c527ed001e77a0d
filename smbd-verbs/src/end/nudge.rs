//! Nudging a device that may have overlooked the first message of a connection that it has accepted
//! ([`Quirks::overlooks_first`](crate::quirks::Quirks::overlooks_first)): whatever comes from the peer next has it look
//! again. An RDMA Read of nothing is answered by the peer's device; its application does not see it, and none of its memory
//! is named.

use std::time::Duration;

use super::End;

/// `wr_id` of the nudge: no [`WrId`](smbd_core::WrId) is that low, so its completion is nobody's.
const NUDGE_ID: u64 = 1;
/// How long the first message may be on its way. It follows the connection at once, or a few milliseconds later.
const OVERDUE: Duration = Duration::from_millis(50);

impl End {
    /// The connection that was accepted is up: from now on the device looks at whatever comes.
    pub(super) fn await_first(&mut self, read_depth: u16) {
        let overlooks = self.open.as_ref().is_some_and(|open| open.quirks.overlooks_first);
        if overlooks && read_depth > 0 && self.first_received.is_none() {
            self.wake.set_timer(OVERDUE);
        }
    }

    /// Makes the device look, if nothing has come yet. That it cannot be asked is no news: the negotiation has a timer.
    pub(super) fn nudge(&mut self) {
        if self.first_received.is_some() {
            return;
        }
        // Before the first message nothing else is on the send queue: it goes alone.
        if let Some(open) = &mut self.open
            && open.qp.chain_nudge(NUDGE_ID).is_ok()
        {
            let _ = open.qp.ring_sends();
        }
    }
}
