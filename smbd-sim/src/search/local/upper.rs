//! The upper layer of a searched connection: its position in its script, and what it has received.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use smbd_core::{BufferDescriptorV1, Event, Fragment, Instant, RegId};

use crate::search::setup::Do;
use crate::search::wire::Payload;

#[derive(Clone, Debug)]
pub(super) struct Upper {
    script: Arc<[Do]>,
    at: usize,
    /// Messages the peer sends in all.
    expected: usize,
    pub(super) established: bool,
    /// The end was told: no commands any more.
    pub(super) over: bool,
    /// A command was refused for want of room.
    pub(super) blocked: bool,
    /// Commands without a result.
    open: u32,
    /// Results that were errors.
    failed: u32,
    /// Of its messages, by their numbers: lengths, and the buffers they tell of.
    pub(super) sent: Vec<(u32, Option<BufferDescriptorV1>)>,
    /// Whole messages of the peer, and bytes of the one that is incomplete.
    received: (usize, u32),
    pub(super) held: VecDeque<Held>,
    /// The buffer the peer told of.
    pub(super) learned: Option<BufferDescriptorV1>,
    pub(super) registration: Option<RegId>,
    pub(super) alarm: Option<Instant>,
}

/// A fragment the upper layer has. Each clone of a connection takes it back once.
#[derive(Debug)]
pub(super) struct Held(pub(super) Fragment);

impl Clone for Held {
    fn clone(&self) -> Self {
        Self(self.0.duplicate())
    }
}

impl Upper {
    pub(super) fn new(script: Arc<[Do]>, expected: usize) -> Self {
        Self {
            script,
            at: 0,
            expected,
            established: false,
            over: false,
            blocked: false,
            open: 0,
            failed: 0,
            sent: Vec::new(),
            received: (0, 0),
            held: VecDeque::new(),
            learned: None,
            registration: None,
            alarm: None,
        }
    }

    /// The command it may give now.
    pub(super) fn next(&self) -> Option<Do> {
        let command = *self.script.get(self.at)?;
        let waits = match command {
            Do::Received(_) | Do::Answered => true,
            Do::Rdma(_) | Do::Send { invalidates: true, .. } => self.learned.is_none(),
            Do::Deregister | Do::Send { tells: true, .. } => self.registration.is_none(),
            Do::Send { .. } | Do::Register(_) | Do::Probe | Do::Sleep(_) | Do::Flush | Do::Abort => false,
        };
        (self.established && !self.over && !self.blocked && self.alarm.is_none() && !waits).then_some(command)
    }

    /// A command was taken; `answers`: its result is to come.
    pub(super) fn commanded(&mut self, answers: bool) {
        self.at += 1;
        self.open += u32::from(answers);
        self.move_on();
    }

    /// Without a buffer nothing is left but to close.
    fn give_up(&mut self) {
        let close = self.script.iter().position(|command| matches!(command, Do::Flush | Do::Abort));
        self.at = close.unwrap_or(self.script.len());
    }

    fn closes(&self) -> bool {
        self.script.iter().any(|command| matches!(command, Do::Flush | Do::Abort))
    }

    /// Passes what it waits for no longer.
    pub(super) fn move_on(&mut self) {
        while let Some(command) = self.script.get(self.at) {
            let passed = match command {
                Do::Received(count) => self.received.0 >= *count,
                Do::Answered => self.open == 0,
                _ => false,
            };
            if !passed {
                return;
            }
            self.at += 1;
        }
    }

    /// A fragment is handed up that holds `payload`. What is wrong with that?
    pub(super) fn take(&mut self, fragment: &Fragment, payload: Payload) -> Result<(), String> {
        let (whole, bytes) = self.received;
        let remaining = payload.total - payload.offset - payload.len;
        let right = payload.msg as usize == whole
            && payload.offset == bytes
            && fragment.range() == (24..24 + payload.len as usize)
            && fragment.remaining() == remaining
            && fragment.is_first() == (payload.offset == 0);
        if !right {
            return Err(format!(
                "{payload:?} handed up as {fragment:?}, due was byte {bytes} of message {whole}"
            ));
        }
        self.received = if remaining == 0 { (whole + 1, 0) } else { (whole, bytes + payload.len) };
        if remaining == 0 && payload.tells.is_some() {
            self.learned = payload.tells;
        }
        self.move_on();
        Ok(())
    }

    /// Anything but data.
    pub(super) fn on_event(&mut self, event: &Event) {
        let ok = match event {
            Event::Established(_) => {
                self.established = true;
                return self.move_on();
            }
            Event::Closed(_) | Event::ConnectFailed(_) => {
                self.over = true;
                self.alarm = None;
                return;
            }
            Event::Writable => {
                self.blocked = false;
                return;
            }
            // A peer that has all it wants may close before it is known here that it has it.
            Event::Sent { result, .. } => result.is_ok() || !self.closes(),
            Event::RdmaDone { result, .. } => result.is_ok() || !self.closes(),
            Event::Registered { id, result } => {
                self.registration = result.is_ok().then_some(*id);
                if result.is_err() {
                    self.give_up();
                }
                result.is_ok()
            }
            Event::Deregistered { result, .. } => {
                self.registration = None;
                result.is_ok()
            }
            Event::Probed(result) => result.is_ok(),
            Event::Data(_) | Event::Invalidated { .. } | Event::Drained => return,
        };
        self.open = self.open.saturating_sub(1);
        self.failed += u32::from(!ok);
        self.move_on();
    }

    /// Everything was done, with success, and everything has come.
    pub(super) fn is_complete(&self) -> bool {
        let done = self.at == self.script.len() && self.open == 0 && self.failed == 0;
        done && self.received == (self.expected, 0)
    }

    /// What is missing, if it is not complete.
    pub(super) fn missing(&self) -> String {
        format!(
            "{} of {} commands given, {} without a result, {} failed; {} of {} messages received",
            self.at,
            self.script.len(),
            self.open,
            self.failed,
            self.received.0,
            self.expected
        )
    }

    /// All that can matter, without names.
    pub(super) fn fingerprint(&self, now: Instant, into: &mut impl Hasher) {
        (self.at, self.established, self.over, self.blocked, self.open, self.failed).hash(into);
        (&self.sent, self.received, self.held.len(), self.learned, self.registration.is_some()).hash(into);
        self.alarm.map(|at| at.saturating_since(now)).hash(into);
    }
}
