//! Inputs whose event is told at once, without the queue of events: whoever drives a connection has it before the next input, and
//! polls no action for it.
//!
//! Each does what [`Connection::handle`] does, and returns what [`Connection::poll_action`] would tell next. It returns `None` if
//! nothing follows, or if an event waits that is before it.

use super::Connection;
use super::phase::Phase;
use super::send::Carries;
use crate::{Fragment, Head, Input, Instant, Misuse, MsgId, OpId, RdmaId, RecvId, SendId, Token};

impl Connection {
    #[inline(always)]
    pub(crate) fn received(
        &mut self,
        now: Instant,
        id: RecvId,
        head: Head,
        len: u32,
        invalidated: Option<Token>,
    ) -> Result<Option<Fragment>, Misuse> {
        if self.tells_at_once()
            && invalidated.is_none()
            && let Some(header) = self.plain_data(id, &head, len)
        {
            self.now = self.now.max(now);
            self.sender.decide_again();
            self.receiver.mark_borrowed(id.0);
            return Ok(Some(self.accepted(id, header).fragment()));
        }
        self.handle(now, Input::Received { id, head, len, invalidated }).map(|()| None)
    }

    #[inline(always)]
    pub(crate) fn sent(&mut self, now: Instant, id: SendId) -> Result<Option<MsgId>, Misuse> {
        if !self.tells_at_once() {
            return self.handle(now, Input::Sent { id }).map(|()| None);
        }
        self.now = self.now.max(now);
        // Whoever waits for nothing does not wait for a place.
        self.sender.decide_again_unless_idle();
        match self.sender.complete(id.0).ok_or(Self::unknown(id))? {
            Carries::Last(msg) => Ok(Some(msg)),
            // There is no refusal on an established connection.
            Carries::Fragment | Carries::Control | Carries::Refusal => Ok(None),
        }
    }

    #[inline(always)]
    pub(crate) fn rdma_done(&mut self, now: Instant, id: RdmaId) -> Result<Option<OpId>, Misuse> {
        if !self.tells_at_once() {
            return self.handle(now, Input::RdmaDone { id }).map(|()| None);
        }
        self.now = self.now.max(now);
        self.sender.decide_again();
        if !self.rdma.is_outstanding(id) {
            return Err(Self::unknown(id));
        }
        let ended = self.rdma.complete(id, Ok(())).and_then(|index| self.rdma.tell(index));
        debug_assert!(
            ended.is_none_or(|(_, result)| result.is_ok()),
            "its other requests would have ended it"
        );
        Ok(ended.map(|(op, _)| op))
    }

    /// Whether the event of an input would be the next action.
    #[inline(always)]
    fn tells_at_once(&self) -> bool {
        matches!(&self.phase, Phase::Established(established) if established.is_announced())
            && !self.has_event()
    }
}
