//! Inputs whose event is told at once, without the queue of events: whoever drives a connection has it before the next input, and
//! polls no action for it.
//!
//! It does what `handle` and `poll_action` do, and is beside them because each of its three inputs saves more than 3 % of a whole operation
//! (docs/benchmarks.md, "Kept for speed").

use super::Connection;
use super::phase::Phase;
use super::send::Carries;
use crate::{Event, Input, Instant, Misuse};

impl Connection {
    /// Does what [`handle`](Self::handle) does, and returns what [`poll_action`](Self::poll_action) would tell next. `None` if nothing follows, if
    /// an event waits that is before it, or if it is none of the frequent ones.
    #[inline(always)]
    pub(crate) fn notice(&mut self, now: Instant, input: Input<'_>) -> Result<Option<Event>, Misuse> {
        if let Input::Received { id, ref head, len, invalidated: None } = input
            && self.tells_at_once()
            && let Some(header) = self.plain_data(id, head, len)
        {
            self.now = self.now.max(now);
            self.sender.decide_again();
            self.receiver.mark_borrowed(id.0);
            return Ok(Some(self.accepted(id, header).event()));
        }
        if let Input::Sent { id } = input
            && self.tells_at_once()
        {
            self.now = self.now.max(now);
            // Whoever waits for nothing does not wait for a place.
            self.sender.decide_again_unless_idle();
            let carries = self.sender.complete(id.0).ok_or(Self::unknown(id))?;
            let Carries::Last(msg) = carries else { return Ok(None) };
            return Ok(Some(Event::Sent { msg, result: Ok(()) }));
        }
        if let Input::RdmaDone { id } = input
            && self.tells_at_once()
        {
            self.now = self.now.max(now);
            self.sender.decide_again();
            let ended = self.rdma.complete(id, Ok(())).ok_or(Self::unknown(id))?;
            let Some((op, result)) = ended.and_then(|index| self.rdma.tell(index)) else { return Ok(None) };
            debug_assert!(result.is_ok(), "a request that failed would have ended the connection");
            return Ok(Some(Event::RdmaDone { op, result: Ok(()) }));
        }
        self.handle(now, input).map(|()| None)
    }

    /// Whether the event of an input would be the next action.
    #[inline(always)]
    fn tells_at_once(&self) -> bool {
        matches!(&self.phase, Phase::Established(established) if established.is_announced())
            && !self.has_event()
    }
}
