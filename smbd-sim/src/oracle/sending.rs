//! Messages from the command to its result, and the fragments between.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

use smbd_core::wire::{DATA_OFFSET, DataTransfer, Flags};
use smbd_core::{Body, Head, MsgId, Token};

use super::law::{Law, Verdicts};

#[derive(Clone, Copy, Debug)]
struct Message {
    len: u32,
    invalidate: Option<Token>,
    after_writes: u64,
    unsignalled: bool,
    gone: bool,
    told: bool,
}

/// What a send carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Carries {
    Control,
    Fragment,
    Last(u32),
}

/// A send about to leave.
pub(super) struct Leaving<'a> {
    pub(super) head: &'a Head,
    pub(super) body: Option<Body>,
    pub(super) invalidate: Option<Token>,
    pub(super) signal: bool,
    pub(super) solicit: bool,
}

/// The upper layer's messages of one side.
#[derive(Clone, Debug)]
pub(super) struct Sending {
    slots: u16,
    solicit: bool,
    credits_requested: u16,
    pub(super) max_send_size: u32,
    messages: VecDeque<Message>,
    /// Number of the first of them, and of the one that leaves next.
    first: u32,
    next: u32,
    /// Bytes of the next one that have left.
    offset: u32,
    untold: u32,
    /// The last send has asked for no completion.
    silent: bool,
    /// A send whose result is waited for has asked for none, nor has one behind it.
    owes_signal: bool,
}

impl Sending {
    pub(super) fn new(config: &smbd_core::Config) -> Self {
        Self {
            slots: config.message_slots,
            solicit: config.solicit,
            credits_requested: config.send_credit_target,
            max_send_size: 0,
            messages: VecDeque::new(),
            first: 0,
            next: 0,
            offset: 0,
            untold: 0,
            silent: false,
            owes_signal: false,
        }
    }

    fn queued(&self) -> u32 {
        self.first.wrapping_add(u32::try_from(self.messages.len()).unwrap_or(0)).wrapping_sub(self.next)
    }

    pub(super) fn is_full(&self) -> bool {
        self.queued() >= u32::from(self.slots)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queued() == 0
    }

    /// Messages without a result.
    pub(super) const fn untold(&self) -> u32 {
        self.untold
    }

    pub(super) const fn is_open(&self) -> bool {
        self.offset > 0
    }

    /// Whether no completion was asked for with the last of all messages.
    pub(super) fn is_silent(&self) -> bool {
        self.silent && self.is_empty()
    }

    /// Whether a completion is missing that is waited for.
    pub(super) const fn owes_signal(&self) -> bool {
        self.owes_signal
    }

    fn message(&mut self, number: u32) -> Option<&mut Message> {
        self.messages.get_mut(number.wrapping_sub(self.first) as usize)
    }

    /// Whether the next message waits for credits only.
    pub(super) fn is_ready(&self, writes_posted: u64) -> bool {
        let at = self.next.wrapping_sub(self.first) as usize;
        self.messages.get(at).is_some_and(|m| m.after_writes <= writes_posted)
    }

    pub(super) fn on_command(
        &mut self,
        id: MsgId,
        len: u32,
        (invalidate, unsignalled): (Option<Token>, bool),
        after_writes: u64,
        v: &mut Verdicts,
    ) {
        let expected = self.first.wrapping_add(u32::try_from(self.messages.len()).unwrap_or(0));
        v.check(Law::Commands, id.sequence() == expected, move || {
            format!("{id:?} given out, expected msg{expected}")
        });
        v.check(Law::Memory, !self.is_full(), || format!("{id:?} taken with {} queued", self.slots));
        let message = Message { len, invalidate, after_writes, unsignalled, gone: false, told: false };
        self.messages.push_back(message);
        self.untold += 1;
    }

    /// A data message leaves. Returns what it carries.
    pub(super) fn on_post(
        &mut self,
        header: &DataTransfer,
        send: &Leaving<'_>,
        invalidates: bool,
        writes_posted: u64,
        v: &mut Verdicts,
    ) -> Carries {
        let next = self.next;
        let is_waited_for =
            send.body.is_none() || self.message(next).is_some_and(|message| !message.unsignalled);
        self.silent = !send.signal;
        self.owes_signal = !send.signal && (self.owes_signal || is_waited_for);
        let bytes = send.head.as_bytes();
        let reserved = bytes.get(6..8) == Some(&[0, 0])
            && bytes.get(20..).is_some_and(|pad| pad.iter().all(|b| *b == 0));
        let flags = header.flags.0 & !Flags::RESPONSE_REQUESTED.0 == 0;
        let requested = header.credits_requested == self.credits_requested;
        v.check(Law::Wire, reserved && flags && requested, move || format!("fields of {header:?}"));
        let Some(body) = send.body else {
            let empty =
                header.data_offset == 0 && header.data_length == 0 && bytes.len() == DataTransfer::LEN;
            v.check(Law::Wire, empty && header.remaining_data_length == 0, move || {
                format!("empty message {header:?}")
            });
            v.check(Law::Fragments, !self.is_open(), || "an empty message inside a sequence".to_owned());
            let plain = send.invalidate.is_none() && !send.solicit;
            v.check(Law::Tokens, plain, || "an empty message invalidates or solicits".to_owned());
            return Carries::Control;
        };
        let framed = header.data_offset == DATA_OFFSET && header.data_length == body.len && bytes.len() == 24;
        v.check(Law::Wire, framed, move || format!("data message {header:?} with {body:?}"));
        let max = self.max_send_size;
        v.check(Law::Wire, body.len.saturating_add(DATA_OFFSET) <= max, move || {
            format!("{} bytes of data, MaxSendSize is {max}", body.len)
        });
        self.on_fragment(header.remaining_data_length, body, send, invalidates, writes_posted, v)
    }

    fn on_fragment(
        &mut self,
        remaining: u32,
        body: Body,
        send: &Leaving<'_>,
        invalidates: bool,
        writes_posted: u64,
        v: &mut Verdicts,
    ) -> Carries {
        let (next, offset, payload) = (self.next, self.offset, self.max_send_size - DATA_OFFSET);
        let solicits = self.solicit;
        let Some(message) = self.message(next).copied() else {
            v.fail(Law::Fragments, format!("{body:?} of no message"));
            return Carries::Control;
        };
        let left = message.len - offset;
        let exact = body.msg.sequence() == next
            && body.offset == offset
            && body.len == left.min(payload)
            && remaining == left - left.min(payload);
        v.check(Law::Fragments, exact, move || {
            format!("{body:?} with {remaining} remaining, next is msg{next} at {offset} of {}", message.len)
        });
        v.check(Law::Rdma, message.after_writes <= writes_posted, move || {
            format!("{body:?} left before the RDMA Writes commanded before it")
        });
        let last = remaining == 0;
        let invalidate = if last && invalidates { message.invalidate } else { None };
        v.check(Law::Tokens, send.invalidate == invalidate, move || {
            format!("{body:?} invalidates {:?}, expected {invalidate:?}", send.invalidate)
        });
        v.check(Law::Wire, send.solicit == (solicits && last), move || {
            format!("{body:?} solicit {}", send.solicit)
        });
        if last {
            self.next = next.wrapping_add(1);
            self.offset = 0;
            Carries::Last(next)
        } else {
            self.offset = offset.saturating_add(body.len);
            Carries::Fragment
        }
    }

    /// What can influence a verdict. Numbers of messages are names; only distances matter.
    pub(super) fn fingerprint(&self, writes_posted: u64, into: &mut impl Hasher) {
        (self.max_send_size, self.next.wrapping_sub(self.first), self.offset, self.untold).hash(into);
        (self.silent, self.owes_signal).hash(into);
        for m in &self.messages {
            let after_writes = m.after_writes.wrapping_sub(writes_posted);
            (m.len, m.invalidate, after_writes, m.unsignalled, m.gone, m.told).hash(into);
        }
    }

    /// What a send carries, its message by the distance from the oldest one in the records.
    pub(super) const fn relative(&self, carries: Carries) -> Carries {
        match carries {
            Carries::Last(number) => Carries::Last(number.wrapping_sub(self.first)),
            Carries::Control | Carries::Fragment => carries,
        }
    }

    /// A send is complete.
    pub(super) fn on_complete(&mut self, carries: Carries, ok: bool) {
        if let Carries::Last(number) = carries
            && let Some(message) = self.message(number)
        {
            message.gone = ok;
        }
    }

    /// The result of a message.
    pub(super) fn on_result(&mut self, msg: MsgId, ok: bool, v: &mut Verdicts) {
        let number = msg.sequence();
        let Some(message) = self.message(number) else {
            return v.fail(Law::Results, format!("a result for {msg:?}, which has one or never was"));
        };
        let (gone, told) = (message.gone, std::mem::replace(&mut message.told, true));
        v.check(Law::Results, !told, move || format!("a second result for {msg:?}"));
        v.check(Law::Results, gone || !ok, move || {
            format!("{msg:?} sent, but its last send is not complete")
        });
        self.untold = self.untold.saturating_sub(u32::from(!told));
        while self.messages.front().is_some_and(|m| m.told) {
            self.messages.pop_front();
            if self.next == self.first {
                self.next = self.next.wrapping_add(1);
            }
            self.first = self.first.wrapping_add(1);
        }
    }
}
