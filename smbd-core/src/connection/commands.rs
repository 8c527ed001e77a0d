//! Commands of the upper layer (3.1.4).

use alloc::sync::Arc;
use core::time::Duration;

use super::phase::{Cause, Phase};
use super::report::Report;
use super::{Connection, Probe};
use crate::error::{CommandError, Misuse, RdmaError, RegisterError, SendError};
use crate::{Access, BufferDescriptorV1, Fragment, Instant, MsgId, OpId, RdmaVerb, RegId, Token};

/// Answer timeout of a probe on a connection without keepalive (note <3>).
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// How to close.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Close {
    /// At once. Unfinished commands end with [`Aborted`](crate::error::Aborted).
    Abort,
    /// After all messages and RDMA operations are finished. New commands are refused with
    /// [`CommandError::Closing`].
    Flush {
        /// The deadline. Commands that are unfinished then end with [`Aborted`](crate::error::Aborted).
        until: Instant,
    },
}

impl Connection {
    /// Sends an upper-layer message of `len` bytes (3.1.4.2), 1 to
    /// [`max_fragmented_send_size`](crate::Negotiated::max_fragmented_send_size). Its last fragment invalidates the
    /// peer's token `invalidate`, if the transport can do that ([`Limits::send_with_invalidate`](crate::Limits)).
    ///
    /// Returns at once. The message is cut into fragments of MaxSendSize bytes, and each waits for a send credit of the
    /// peer. The send credit timer starts when the message is the next to leave and has no credit (3.1.5.1). A message
    /// commanded after RDMA Writes is posted behind all of them, so a server can command data and answer together. The
    /// result is [`Event::Sent`](crate::Event::Sent). `now` is the time of the command.
    ///
    /// # Errors
    /// The connection is not established or is closing, all `message_slots` are taken ([`Event::Writable`](crate::Event::Writable)
    /// reports when one is free), or the length is 0 or too long: see [`SendError`]. Nothing has changed.
    pub fn send(&mut self, now: Instant, len: u32, invalidate: Option<Token>) -> Result<MsgId, SendError> {
        self.send_with(now, len, invalidate, Report::Prompt)
    }

    /// Sends a message like [`send`](Self::send), for an upper layer that does not wait for the result, because the peer's
    /// answer says as much: it asks the device for no completion (an unsignalled send of verbs), so nobody is woken for it.
    ///
    /// [`Event::Sent`](crate::Event::Sent) comes with the completion of a later send or work request: after 32 sends at the
    /// latest, or when places are short. A failure is reported at once. On a send queue shorter than the
    /// [`Budget`](crate::Budget) asks for, whose places are shared, this is [`send`](Self::send). [`Close::Flush`] has an empty
    /// message follow, which takes a send credit; until the peer grants one, the close waits.
    ///
    /// # Errors
    /// The errors of [`send`](Self::send). Nothing has changed.
    pub fn send_unsignalled(
        &mut self,
        now: Instant,
        len: u32,
        invalidate: Option<Token>,
    ) -> Result<MsgId, SendError> {
        let report = if self.shares_queue { Report::Prompt } else { Report::Late };
        self.send_with(now, len, invalidate, report)
    }

    fn send_with(
        &mut self,
        now: Instant,
        len: u32,
        invalidate: Option<Token>,
        report: Report,
    ) -> Result<MsgId, SendError> {
        self.accepts_commands()?;
        let max = self.negotiated.map_or(0, |settled| settled.max_fragmented_send_size);
        if len == 0 {
            return Err(SendError::Empty);
        }
        if len > max {
            return Err(SendError::TooLong { len, max });
        }
        let full = CommandError::NoRoom { what: "message slots" };
        let id = self.sender.enqueue(len, invalidate, self.rdma.writes_commanded(), report).ok_or(full)?;
        self.now = self.now.max(now);
        Ok(id)
    }

    /// Transfers `len` bytes between the beginning of a local buffer and the peer's buffer that `remote` describes, from byte
    /// `offset` of it on: [`RdmaVerb::Write`] to the peer (3.1.4.5), [`RdmaVerb::Read`] from it (3.1.4.6). `len` is at most
    /// [`max_read_write_size`](crate::Negotiated::max_read_write_size) bytes.
    ///
    /// Returns at once. The operation is cut into requests at the ends of the descriptors and at the longest request of
    /// the device ([`Limits::rdma_len_max`](crate::Limits)). The result is [`Event::RdmaDone`](crate::Event::RdmaDone).
    /// An operation of 0 bytes has its result at once and accesses no memory. The backend looks up the local buffer by
    /// the returned id.
    ///
    /// # Errors
    /// The connection is not established or is closing, all `rdma_ops` are taken
    /// ([`Event::Writable`](crate::Event::Writable) reports when one is free), the range is too long or not inside the
    /// descriptors, or the connection allows no Reads: see [`RdmaError`]. Everything is checked before anything is posted;
    /// nothing has changed.
    pub fn rdma(
        &mut self,
        now: Instant,
        verb: RdmaVerb,
        len: u32,
        remote: Arc<[BufferDescriptorV1]>,
        offset: u64,
    ) -> Result<OpId, RdmaError> {
        self.rdma_with(now, verb, len, remote, offset, Report::Prompt)
    }

    /// Transfers data like [`rdma`](Self::rdma), for an upper layer that need not hear of the result before that of something
    /// later: a server of its Write before the answer that follows. No completion is asked for (an unsignalled request of
    /// verbs), so nobody is woken for it.
    ///
    /// [`Event::RdmaDone`](crate::Event::RdmaDone) comes with the completion of a later send or work request: after 32 RDMA requests
    /// at the latest, or when the places for operations or requests are all taken. A failure is reported at once. A Read is reported
    /// as by `rdma`, because nothing later says that its data are there; so is a Write on a send queue shorter than the
    /// [`Budget`](crate::Budget) asks for, whose places are shared. [`Close::Flush`] has an empty message follow, which takes a send
    /// credit; until the peer grants one, the close waits.
    ///
    /// # Errors
    /// The errors of [`rdma`](Self::rdma). Nothing has changed.
    pub fn rdma_unsignalled(
        &mut self,
        now: Instant,
        verb: RdmaVerb,
        len: u32,
        remote: Arc<[BufferDescriptorV1]>,
        offset: u64,
    ) -> Result<OpId, RdmaError> {
        self.rdma_with(now, verb, len, remote, offset, Report::Late)
    }

    fn rdma_with(
        &mut self,
        now: Instant,
        verb: RdmaVerb,
        len: u32,
        remote: Arc<[BufferDescriptorV1]>,
        offset: u64,
        report: Report,
    ) -> Result<OpId, RdmaError> {
        self.accepts_commands()?;
        let max = self.negotiated.map_or(0, |settled| settled.max_read_write_size);
        if len > max {
            return Err(RdmaError::TooLong { len, max });
        }
        if verb == RdmaVerb::Read && self.limits.read_depth == 0 {
            return Err(RdmaError::NoReadDepth);
        }
        let Some(op) = self.rdma.command(verb, len, remote, offset, report)? else {
            self.rdma.on_refused();
            return Err(CommandError::NoRoom { what: "RDMA operations" }.into());
        };
        self.now = self.now.max(now);
        // It shares the send queue from now on, or its result comes before the next send.
        self.sender.decide_again();
        if len == 0 {
            self.push_event(super::Pending::OpDone { index: op.slot() });
        }
        Ok(op)
    }

    /// Gives the peer access to a local buffer, with exactly these rights, on this connection only (3.1.4.3). The device may
    /// describe the buffer by 1 to `segments_max` segments.
    ///
    /// Returns at once. The result is [`Event::Registered`](crate::Event::Registered). After it
    /// [`live_segments`](Self::live_segments) returns the descriptors for the peer. The access ends with
    /// [`deregister`](Self::deregister), with the peer's invalidation, or with the connection.
    ///
    /// # Errors
    /// The connection is not established or is closing, all `registrations` or their segments are taken, or `segments_max` is 0
    /// or more than the send queue has room for: see [`RegisterError`]. Nothing has changed.
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
        self.sender.decide_again();
        Ok(id)
    }

    /// Ends all remote access to a registered buffer (3.1.4.4). Also needed if the peer has invalidated its tokens.
    /// Returns at once. The result is [`Event::Deregistered`](crate::Event::Deregistered); the memory is free only
    /// after it.
    ///
    /// # Errors
    /// The connection is not established or is closing; or `id` is not a valid registration, because it does not exist,
    /// is not complete, or is being deregistered: see [`RegisterError`]. Nothing has changed.
    pub fn deregister(&mut self, now: Instant, id: RegId) -> Result<(), RegisterError> {
        self.accepts_commands()?;
        if !self.registrations.deregister(id) {
            return Err(RegisterError::NotRegistered);
        }
        self.now = self.now.max(now);
        self.sender.decide_again();
        Ok(())
    }

    /// Returns the receive buffer of a fragment, in any phase. The buffer is posted and granted to the peer again.
    /// There is no result event.
    ///
    /// # Errors
    /// [`Misuse::ForeignFragment`]: the fragment belongs to another connection.
    pub fn release(&mut self, now: Instant, fragment: Fragment) -> Result<(), Misuse> {
        if self.receiver.is_posted(fragment.recv) {
            return Err(Misuse::ForeignFragment);
        }
        self.receiver.slots.release(fragment.recv.0).ok_or(Misuse::ForeignFragment)?;
        self.now = self.now.max(now);
        // A receive may come before the next send now.
        self.sender.decide_again();
        Ok(())
    }

    /// Sends a keepalive probe (SMB_DIRECT_RESPONSE_REQUESTED, 2.2.3) and measures the time until the peer's next message.
    ///
    /// Returns at once. The result is [`Event::Probed`](crate::Event::Probed), at the latest after
    /// [`Keepalive::answer_timeout`](crate::Keepalive), or after 5 s without keepalive (note <3>). An unanswered probe
    /// does not end the connection.
    ///
    /// # Errors
    /// The connection is not established or is closing, or another probe is not finished: see [`CommandError`]. Nothing
    /// has changed.
    pub fn probe(&mut self, now: Instant) -> Result<(), CommandError> {
        self.accepts_commands()?;
        if self.probe != Probe::Idle {
            return Err(CommandError::NoRoom { what: "probes" });
        }
        self.now = self.now.max(now);
        // The next message asks.
        self.sender.decide_again();
        let timeout = self.config.keepalive.map_or(PROBE_TIMEOUT, |keepalive| keepalive.answer_timeout);
        self.probe = Probe::Pending { deadline: self.now.saturating_add(timeout) };
        Ok(())
    }

    /// Ends the connection, in any phase. Returns at once. The result is [`Event::Closed`](crate::Event::Closed) after
    /// the results of all commands, or [`Event::ConnectFailed`](crate::Event::ConnectFailed) if the connection was not
    /// established; then [`Event::Drained`](crate::Event::Drained). A second call can only make it end earlier.
    pub fn close(&mut self, now: Instant, how: Close) {
        self.now = self.now.max(now);
        self.sender.decide_again();
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
