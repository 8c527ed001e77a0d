//! Sending: the queue of upper-layer messages and their cutting into fragments (3.1.5.1, 3.1.5.4).

use core::hash::{Hash, Hasher};
use core::num::NonZeroU16;

use super::fingerprint::hash_unordered;
use super::report::{Report, SIGNAL_EVERY};
use crate::id::Slot;
use crate::table::{Ring, Slots};
use crate::wire::DATA_OFFSET;
use crate::{Body, Config, MsgId, SendId, Token};

/// An upper-layer message that has not left completely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Message {
    len: u32,
    invalidate: Option<Token>,
    /// RDMA Writes commanded before it: it leaves when that many are posted.
    after_writes: u32,
    report: Report,
}

/// A send with the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InFlight {
    /// Position in the order of posting.
    number: u32,
    pub(crate) carries: Carries,
}

/// What a send in flight carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carries {
    /// A negotiation message, or one without data.
    Control,
    /// The acceptor's failure response: the connection ends when it is gone.
    Refusal,
    /// A fragment that is not the last.
    Fragment,
    /// The last fragment of a message: its completion is the message's.
    Last(MsgId),
}

/// What is known of the next action until something happens. It could be decided again each time: each variant is here because it saves 3 %
/// or more of a whole operation (docs/benchmarks.md, "Kept for speed").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// It has to be decided.
    Undecided,
    /// A fragment like the one before, this number of times.
    Run(NonZeroU16),
    /// The message that was commanded while the connection was idle.
    Message,
    /// `Wait`.
    Rest(Rest),
}

/// Nothing can leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rest {
    /// Nothing waits for a place or a credit either: a message that is commanded then is the first to leave, and a completion of a send
    /// changes nothing.
    pub(crate) idle: bool,
    /// `Wait` has been returned. If not, the receive in reserve was before it, which makes nothing leave.
    pub(crate) told: bool,
}

impl Plan {
    /// A run of so many fragments, if there are any.
    const fn run(fragments: u16) -> Self {
        match NonZeroU16::new(fragments) {
            Some(fragments) => Self::Run(fragments),
            None => Self::Undecided,
        }
    }
}

/// The next piece of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) body: Body,
    /// RemainingDataLength.
    pub(crate) remaining: u32,
    /// TX-6: on the last segment, so that the peer loses the registration together with the complete message.
    pub(crate) invalidate: Option<Token>,
    /// Belongs to a message of more than one fragment.
    pub(crate) fragmented: bool,
    pub(crate) report: Report,
}

impl Piece {
    pub(crate) const fn carries(&self) -> Carries {
        if self.remaining == 0 { Carries::Last(self.body.msg) } else { Carries::Fragment }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Sender {
    pub(crate) in_flight: Slots<InFlight>,
    /// Number of the next send.
    next_send: u32,
    queue: Ring<Message>,
    /// Bytes of the first message that have left; above 0 a sequence is open and nothing may come between (TX-4).
    sent_of_first: u32,
    /// Number of the first message.
    first: MsgId,
    /// Most payload in one message: Connection.MaxSendSize - 24.
    payload_max: u32,
    /// Sends since the last one that asked for a completion.
    since_signal: u8,
    /// One of them is to be reported promptly.
    owes_report: bool,
    pub(crate) plan: Plan,
    /// A `send` was refused for want of room.
    refused: bool,
}

impl Sender {
    pub(crate) const SLOT_BYTES: u64 = Slots::<InFlight>::SLOT_BYTES;
    pub(crate) const MESSAGE_BYTES: u64 = size_of::<Message>() as u64;

    pub(crate) fn new(config: &Config) -> Self {
        let filler = Message { len: 0, invalidate: None, after_writes: 0, report: Report::Prompt };
        Self {
            in_flight: Slots::new(config.send_slots),
            next_send: 0,
            queue: Ring::new(usize::from(config.message_slots), filler),
            sent_of_first: 0,
            first: MsgId(0),
            payload_max: 0,
            since_signal: 0,
            owes_report: false,
            plan: Plan::Undecided,
            refused: false,
        }
    }

    pub(crate) const fn set_max_send_size(&mut self, max_send_size: u32) {
        self.payload_max = max_send_size.saturating_sub(DATA_OFFSET);
    }

    /// `None` if the queue is full.
    pub(crate) fn enqueue(
        &mut self,
        len: u32,
        invalidate: Option<Token>,
        after_writes: u32,
        report: Report,
    ) -> Option<MsgId> {
        let queued = u32::try_from(self.queue.len()).unwrap_or(u32::MAX);
        if self.queue.push(Message { len, invalidate, after_writes, report }) {
            // A run goes on: what it is of is before.
            self.plan = match self.plan {
                Plan::Rest(Rest { idle: true, told: true }) => Plan::Message,
                run @ Plan::Run(_) => run,
                Plan::Undecided | Plan::Message | Plan::Rest(_) => Plan::Undecided,
            };
            return Some(MsgId(self.first.0.wrapping_add(queued)));
        }
        self.refused = true;
        None
    }

    /// Whether there is room again after a refusal.
    pub(crate) const fn is_writable(&self) -> bool {
        self.refused && !self.queue.is_full()
    }

    /// True once when there is.
    pub(crate) fn take_writable(&mut self) -> bool {
        self.is_writable() && core::mem::take(&mut self.refused)
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether the first message waits for nothing but credits and a place in the send queue.
    pub(crate) fn is_ready(&self, writes_posted: u32) -> bool {
        self.queue.front().is_some_and(|message| {
            // Both counters wrap; the difference is small.
            writes_posted.wrapping_sub(message.after_writes) < u32::MAX / 2
        })
    }

    /// Cuts the next fragment off the first message.
    pub(crate) fn cut(&mut self) -> Option<Piece> {
        let message = self.queue.front()?;
        let offset = self.sent_of_first;
        // What has left is a part of it.
        let left = message.len.wrapping_sub(offset);
        let len = left.min(self.payload_max);
        let remaining = left.wrapping_sub(len);
        let body = Body { msg: self.first, offset, len };
        let (fragmented, report) = (len != message.len, message.report);
        let piece = if remaining == 0 {
            let invalidate = message.invalidate;
            self.sent_of_first = 0;
            self.pop();
            Piece { body, remaining, invalidate, fragmented, report }
        } else {
            self.sent_of_first = offset.wrapping_add(len);
            Piece { body, remaining, invalidate: None, fragmented, report }
        };
        Some(piece)
    }

    /// Plans a run, of at most `max` fragments: none of them asks for a completion or takes the last place.
    #[inline]
    pub(crate) fn plan_run(&mut self, max: u32) {
        let unsignalled = SIGNAL_EVERY.saturating_sub(1).saturating_sub(self.since_signal);
        let places = self.in_flight.free().saturating_sub(1).min(unsignalled.into());
        let most = u16::try_from(max).unwrap_or(u16::MAX);
        self.plan = Plan::run(most.min(places));
    }

    /// Something happened: what was decided for the next actions may be otherwise now.
    #[inline(always)]
    pub(crate) const fn decide_again(&mut self) {
        self.plan = Plan::Undecided;
    }

    /// The same, but what happened only gives back places.
    #[inline(always)]
    pub(crate) const fn decide_again_unless_idle(&mut self) {
        if !matches!(self.plan, Plan::Rest(Rest { idle: true, told: true })) {
            self.plan = Plan::Undecided;
        }
    }

    /// A fragment of the run has been posted.
    #[inline(always)]
    const fn step(&mut self) {
        if let Plan::Run(fragments) = self.plan {
            self.plan = Plan::run(fragments.get().wrapping_sub(1));
        }
    }

    /// Cuts and posts the next fragment of the run, if that is in the middle of a message.
    #[inline]
    pub(crate) fn post_middle(&mut self) -> Option<(SendId, Body, u32)> {
        let (offset, len) = (self.sent_of_first, self.payload_max);
        let end = offset.wrapping_add(len);
        let left = self.queue.front()?.len;
        if offset == 0 || left <= end {
            return None;
        }
        let id = self.post(Carries::Fragment)?;
        self.sent_of_first = end;
        self.step();
        // Its message was counted with what it asks for when it began.
        self.since_signal = self.since_signal.wrapping_add(1);
        Some((id, Body { msg: self.first, offset, len }, left.wrapping_sub(end)))
    }

    /// Cuts and posts the next fragment of the run, where a message begins or ends. `None` if the run ends here.
    #[inline]
    pub(crate) fn post_edge(&mut self) -> Option<(SendId, Piece)> {
        if self.ends_run() {
            return None;
        }
        let piece = self.cut()?;
        let id = self.post(piece.carries())?;
        self.count(piece.report);
        self.step();
        Some((id, piece))
    }

    /// Whether the next fragment is the last one for now, invalidates a token, or makes room that somebody waits for.
    #[inline]
    fn ends_run(&self) -> bool {
        self.queue.front().is_none_or(|message| {
            message.len.wrapping_sub(self.sent_of_first) <= self.payload_max
                && (self.queue.len() < 2 || message.invalidate.is_some() || self.refused)
        })
    }

    fn pop(&mut self) -> Option<MsgId> {
        self.queue.pop()?;
        let id = self.first;
        self.first = MsgId(id.0.wrapping_add(1));
        Some(id)
    }

    fn count(&mut self, report: Report) {
        self.since_signal = self.since_signal.wrapping_add(1);
        self.owes_report |= report == Report::Prompt;
    }

    /// Counts the send about to leave. Whether it asks for a completion, which is that of all before it.
    pub(crate) fn wants_signal(&mut self, report: Report, last_for_now: bool) -> bool {
        self.count(report);
        last_for_now && self.owes_report || self.since_signal >= SIGNAL_EVERY
    }

    /// The send about to leave asks for a completion.
    pub(crate) const fn on_signal(&mut self) {
        self.since_signal = 0;
        self.owes_report = false;
    }

    /// Whether all messages have left, but no completion was asked for with the last of them.
    pub(crate) fn is_silent(&self) -> bool {
        self.queue.is_empty() && self.since_signal > 0 && !self.in_flight.is_empty()
    }

    /// Takes the oldest message without a result out of the records, when the connection is over.
    pub(crate) fn abort_one(&mut self) -> Option<MsgId> {
        // Those in flight were sent before those in the queue; numbers wrap, distances from the queue's do not.
        let first = self.first;
        let oldest = self
            .in_flight
            .iter_mut()
            .filter_map(
                |(_, send)| if let Carries::Last(msg) = send.carries { Some((msg, send)) } else { None },
            )
            .max_by_key(|(msg, _)| first.0.wrapping_sub(msg.0));
        match oldest {
            Some((msg, send)) => {
                send.carries = Carries::Control;
                Some(msg)
            }
            None => self.pop(),
        }
    }

    /// Takes a place among the sends in flight; `None` if there is none.
    pub(crate) fn post(&mut self, carries: Carries) -> Option<SendId> {
        let slot = self.in_flight.acquire(InFlight { number: self.next_send, carries })?;
        self.next_send = self.next_send.wrapping_add(1);
        Some(SendId(slot))
    }

    pub(crate) fn complete(&mut self, slot: Slot) -> Option<Carries> {
        self.in_flight.release(slot).map(|send| send.carries)
    }

    /// Numbers of messages and sends are names; only distances matter.
    pub(crate) fn fingerprint(&self, writes_posted: u32, into: &mut impl Hasher) {
        for message in self.queue.iter() {
            let after_writes = message.after_writes.wrapping_sub(writes_posted);
            (message.len, message.invalidate, after_writes, message.report).hash(into);
        }
        (self.queue.len(), self.sent_of_first, self.refused, self.payload_max).hash(into);
        (self.since_signal, self.owes_report).hash(into);
        let sends = self.in_flight.iter().map(|(_, send)| {
            let kind = match send.carries {
                Carries::Control => None,
                Carries::Refusal => Some(0),
                Carries::Fragment => Some(1),
                Carries::Last(_) => Some(2),
            };
            (kind, self.next_send.wrapping_sub(send.number))
        });
        hash_unordered(sends, into);
    }
}

#[cfg(test)]
mod tests;
