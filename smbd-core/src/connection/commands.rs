//! What the upper layer wants (3.1.4).

use alloc::sync::Arc;
use core::time::Duration;

use super::phase::{Cause, Phase};
use super::{Connection, Probe};
use crate::error::{CommandError, Misuse, RdmaError, RegisterError, SendError};
use crate::{Access, BufferDescriptorV1, Fragment, Instant, MsgId, OpId, RdmaVerb, RegId, Token};

/// Answer timeout of a probe on a connection without keepalive (note <3>).
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// How to close.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Close {
    /// At once: what is not finished ends as aborted.
    Abort,
    /// In good order: take nothing new, finish messages and RDMA operations, at the latest at `until`.
    Flush {
        /// Then what is not finished ends as aborted.
        until: Instant,
    },
}

impl Connection {
    /// Sends an upper-layer message of `len` bytes, with an optional token to invalidate at the peer (3.1.4.2).
    /// It is cut into fragments as credits come in. One commanded after RDMA Writes is posted after all of them, so a
    /// server queues data and answer together. Ends in [`Event::Sent`](crate::Event::Sent).
    ///
    /// # Errors
    /// Nothing has changed; see [`SendError`].
    pub fn send(&mut self, now: Instant, len: u32, invalidate: Option<Token>) -> Result<MsgId, SendError> {
        self.accepts_commands()?;
        let max = self.negotiated.map_or(0, |settled| settled.max_fragmented_send_size);
        if len == 0 {
            return Err(SendError::Empty);
        }
        if len > max {
            return Err(SendError::TooLong { len, max });
        }
        let full = CommandError::NoRoom { what: "message slots" };
        let id = self.sender.enqueue(len, invalidate, self.rdma.writes_commanded()).ok_or(full)?;
        self.now = self.now.max(now);
        Ok(id)
    }

    /// Moves `len` bytes between a local buffer and the peer's buffer that `remote` describes, beginning at `offset`
    /// of it (3.1.4.5, 3.1.4.6). Ends in [`Event::RdmaDone`](crate::Event::RdmaDone); with a length of 0 at once.
    ///
    /// # Errors
    /// Everything is checked before anything is posted; nothing has changed. See [`RdmaError`].
    pub fn rdma(
        &mut self,
        now: Instant,
        verb: RdmaVerb,
        len: u32,
        remote: Arc<[BufferDescriptorV1]>,
        offset: u64,
    ) -> Result<OpId, RdmaError> {
        self.accepts_commands()?;
        let max = self.negotiated.map_or(0, |settled| settled.max_read_write_size);
        if len > max {
            return Err(RdmaError::TooLong { len, max });
        }
        if verb == RdmaVerb::Read && self.limits.read_depth == 0 {
            return Err(RdmaError::NoReadDepth);
        }
        let Some(op) = self.rdma.command(verb, len, remote, offset)? else {
            self.rdma.on_refused();
            return Err(CommandError::NoRoom { what: "RDMA operations" }.into());
        };
        self.now = self.now.max(now);
        // It shares the send queue from now on, or its result comes before the next send.
        self.sender.end_run();
        if len == 0 {
            self.push_event(super::Pending::OpDone { index: op.slot() });
        }
        Ok(op)
    }

    /// Lets the peer access a local buffer, with exactly these rights, on this connection only (3.1.4.3). It may come
    /// out as up to `segments_max` segments. Ends in [`Event::Registered`](crate::Event::Registered).
    ///
    /// # Errors
    /// Nothing has changed; see [`RegisterError`].
    pub fn register(
        &mut self,
        now: Instant,
        access: Access,
        segments_max: u16,
    ) -> Result<RegId, RegisterError> {
        self.accepts_commands()?;
        // One place of the send queue is left for a send.
        let queue = self.limits.send_queue.saturating_sub(1).min(self.config.registration_slots);
        let by_queue = queue.checked_div(self.limits.registration_requests).unwrap_or(u16::MAX);
        let max = self.registrations.segments_max().min(by_queue);
        if !(1..=max).contains(&segments_max) {
            return Err(RegisterError::Segments { segments: segments_max, max });
        }
        let full = CommandError::NoRoom { what: "registrations or segments" };
        let id = self.registrations.register(access, segments_max).ok_or(full)?;
        self.now = self.now.max(now);
        self.sender.end_run();
        Ok(id)
    }

    /// Ends all remote access to a registered buffer (3.1.4.4), also if the peer has invalidated some or all of its
    /// tokens. Ends in [`Event::Deregistered`](crate::Event::Deregistered).
    ///
    /// # Errors
    /// Nothing has changed; see [`RegisterError`].
    pub fn deregister(&mut self, now: Instant, id: RegId) -> Result<(), RegisterError> {
        self.accepts_commands()?;
        if !self.registrations.deregister(id) {
            return Err(RegisterError::NotRegistered);
        }
        self.now = self.now.max(now);
        self.sender.end_run();
        Ok(())
    }

    /// Gives the receive buffer of a fragment back, in any phase. May let a message out that waited for a buffer.
    ///
    /// # Errors
    /// The fragment is not of this connection.
    pub fn release(&mut self, now: Instant, fragment: Fragment) -> Result<(), Misuse> {
        if self.receiver.is_posted(fragment.recv) {
            return Err(Misuse::ForeignFragment);
        }
        self.receiver.slots.release(fragment.recv.0).ok_or(Misuse::ForeignFragment)?;
        self.now = self.now.max(now);
        // A receive may come before the next send now.
        self.sender.end_run();
        Ok(())
    }

    /// Asks the peer for a message, whatever it is, and reports how long it took. One at a time; an unanswered probe
    /// does not end the connection. Ends in [`Event::Probed`](crate::Event::Probed).
    ///
    /// # Errors
    /// Nothing has changed; see [`CommandError`].
    pub fn probe(&mut self, now: Instant) -> Result<(), CommandError> {
        self.accepts_commands()?;
        if self.probe != Probe::Idle {
            return Err(CommandError::NoRoom { what: "probes" });
        }
        self.now = self.now.max(now);
        // The next message asks.
        self.sender.end_run();
        let timeout = self.config.keepalive.map_or(PROBE_TIMEOUT, |keepalive| keepalive.answer_timeout);
        self.probe = Probe::Pending { deadline: self.now.saturating_add(timeout) };
        Ok(())
    }

    /// Ends the connection. Before it is established the one result is
    /// [`ConnectFailed`](crate::Event::ConnectFailed). A second call may only make it end earlier.
    pub fn close(&mut self, now: Instant, how: Close) {
        self.now = self.now.max(now);
        match (&mut self.phase, how) {
            (Phase::Established(established), Close::Flush { until }) if established.is_announced() => {
                established.flush = Some(established.flush.map_or(until, |earlier| earlier.min(until)));
            }
            _ => self.end(Cause::Local),
        }
    }

    const fn accepts_commands(&self) -> Result<(), CommandError> {
        match &self.phase {
            Phase::Established(established) if established.flush.is_some() => Err(CommandError::Closing),
            Phase::Established(established) if established.is_announced() => Ok(()),
            Phase::Closing(_) | Phase::Drained => Err(CommandError::Closing),
            Phase::Established(_)
            | Phase::Connecting { .. }
            | Phase::Negotiating { .. }
            | Phase::Rejecting { .. } => Err(CommandError::NotEstablished),
        }
    }
}
