//! The engine of Linux 7.3, which cifs and ksmbd share.

use std::collections::VecDeque;
use std::time::Duration;

use smbd_core::Instant;
use smbd_core::wire::Flags;

use super::work::{KeepAlive, Work};
use crate::peers::line::{Arrived, Line, ModelParams, Segment};
use crate::peers::model::Rules;

/// How long it waits for the answer to a probe.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// A message that a thread is about to send.
#[derive(Clone, Copy, Debug)]
enum Next {
    Empty,
    Fragment(Segment),
}

/// The credits and timers of both roles.
#[derive(Debug)]
pub(in crate::peers) struct LinuxEngine {
    recv_credit_max: u32,
    /// What the peer last asked for, and no more than the maximum.
    target: u32,
    /// What the peer was granted and has not used.
    granted: u32,
    /// Posted, not yet granted.
    available: u32,
    posted: u32,
    send_credits: u32,
    /// Sends that are not complete: at most as many as credits are asked for.
    pending: u32,
    sending: VecDeque<Segment>,
    /// A message keeps the right to send until its last fragment: nothing comes in between.
    is_within_message: bool,
    /// The last credit is spent on this, as soon as there is something to grant with it, or another credit.
    last: Option<Next>,
    refill: Work,
    /// Sends an empty message.
    immediate: Work,
    keep_alive: KeepAlive,
    /// Set anew by each message that comes.
    idle_timer: Option<Instant>,
}

impl LinuxEngine {
    pub(in crate::peers) fn new(params: &ModelParams) -> Self {
        Self {
            recv_credit_max: u32::from(params.receive_credit_max),
            target: 0,
            granted: 0,
            available: 0,
            posted: 0,
            send_credits: 0,
            pending: 0,
            sending: VecDeque::new(),
            is_within_message: false,
            last: None,
            refill: Work::default(),
            immediate: Work::default(),
            keep_alive: KeepAlive::None,
            idle_timer: None,
        }
    }

    fn aims_at(&mut self, credits_requested: u16) {
        self.target = u32::from(credits_requested).min(self.recv_credit_max);
    }

    /// Posts what is missing of the target, counted by what is posted and not by what the peer has: a peer whose messages are read one by
    /// one misses one receive each time, so it is told of none (row 53 of docs/known-bugs.md). Returns whether it is to be told.
    fn refill(&mut self, line: &mut Line) -> bool {
        let missing = self.target.saturating_sub(self.posted);
        let posted = line.post_receives(missing);
        self.posted += posted;
        self.available += posted;
        posted > 0 && (missing != 1 || self.target == 1)
    }

    /// CreditsGranted of the next message: never more than the peer has asked for.
    fn grant(&mut self) -> u32 {
        let granted = self.available.min(self.target.saturating_sub(self.granted));
        self.available -= granted;
        self.granted += granted;
        granted
    }

    /// Threads that want to send have their turns, in the order the seed decides.
    fn send_waiting(&mut self, line: &mut Line) {
        let most = u32::from(line.params.send_credit_target);
        loop {
            if let Some(next) = self.last {
                if self.send_credits == 0 && self.available == 0 {
                    return;
                }
                self.last = None;
                self.send_one(line, next);
            }
            if self.pending >= most || self.send_credits == 0 {
                return;
            }
            let Some(next) = self.next(line) else { return };
            self.send_credits -= 1;
            // The peer has no credit, and would get none: this thread waits.
            if self.send_credits == 0 && self.granted == 0 && self.available == 0 {
                self.last = Some(next);
                self.refill.queue(line.now, line.params.put_off);
            } else {
                self.send_one(line, next);
            }
        }
    }

    fn next(&mut self, line: &Line) -> Option<Next> {
        let empty = self.immediate.is_asleep() && !self.is_within_message;
        if empty && (line.params.work_first || self.sending.is_empty()) {
            return Some(Next::Empty);
        }
        let segment = self.sending.pop_front()?;
        self.is_within_message = segment.remaining > 0;
        Some(Next::Fragment(segment))
    }

    fn send_one(&mut self, line: &mut Line, next: Next) {
        let granted = self.grant();
        let mut flags = Flags::NONE;
        if self.keep_alive == KeepAlive::Pending {
            flags = Flags::RESPONSE_REQUESTED;
            self.keep_alive = KeepAlive::Sent;
            self.idle_timer = Some(line.now.saturating_add(ANSWER_TIMEOUT));
        }
        let segment = match next {
            Next::Empty => None,
            Next::Fragment(segment) => Some(segment),
        };
        self.pending += 1;
        line.send(segment, line.params.send_credit_target, granted, flags);
        if segment.is_none() {
            self.immediate.wake(line.now, line.params.put_off);
        }
    }

    fn hears(&mut self, line: &Line) {
        self.keep_alive = KeepAlive::None;
        self.idle_timer = Some(line.now.saturating_add(line.params.keepalive_interval));
    }

    fn on_idle(&mut self, line: &mut Line) {
        if self.keep_alive != KeepAlive::None {
            return line.end("its peer did not answer a keepalive");
        }
        self.keep_alive = KeepAlive::Pending;
        self.idle_timer = Some(line.now.saturating_add(ANSWER_TIMEOUT));
        self.immediate.queue(line.now, line.params.put_off);
    }
}

impl Rules for LinuxEngine {
    fn buffers(&self, params: &ModelParams) -> u16 {
        params.receive_credit_max
    }

    /// Grants what was asked for, as far as it has receives. MaxFragmentedSize is half of what they hold (NE-5).
    fn on_request(&mut self, line: &mut Line, credits_requested: u16) -> u32 {
        self.hears(line);
        line.params.max_fragmented_recv_size = self.recv_credit_max * line.max_receive_size() / 2;
        self.aims_at(credits_requested);
        self.refill(line);
        self.grant()
    }

    /// Posts receives, and grants them with its first message.
    fn on_response(&mut self, line: &mut Line, credits_requested: u16, credits_granted: u16) {
        self.hears(line);
        self.aims_at(credits_requested);
        self.send_credits = u32::from(credits_granted);
        self.refill(line);
    }

    fn on_data(&mut self, line: &mut Line, arrived: &Arrived<'_>) {
        let header = &arrived.header;
        self.hears(line);
        self.posted -= 1;
        // A message without a credit is taken (CR-10).
        self.granted = self.granted.saturating_sub(1);
        let target = self.target;
        self.aims_at(header.credits_requested);
        self.send_credits += u32::from(header.credits_granted);
        if header.flags.contains(Flags::RESPONSE_REQUESTED) {
            self.immediate.queue(line.now, line.params.put_off);
        }
        if header.data_length == 0 || self.granted <= self.target / 4 || self.target > target {
            self.refill.queue(line.now, line.params.put_off);
        }
        self.send_waiting(line);
    }

    fn holds_receives(&self) -> bool {
        true
    }

    fn on_read(&mut self, line: &mut Line, _: u32) {
        self.refill.queue(line.now, line.params.put_off);
    }

    fn send(&mut self, line: &mut Line, segments: Vec<Segment>) {
        self.sending.extend(segments);
        self.send_waiting(line);
    }

    fn on_sent(&mut self, line: &mut Line) {
        // The messages of the negotiation are not among them.
        self.pending = self.pending.saturating_sub(1);
        self.send_waiting(line);
    }

    fn deadline(&self) -> Option<Instant> {
        [self.refill.due(), self.immediate.due(), self.idle_timer].into_iter().flatten().min()
    }

    fn idle_deadline(&self) -> Option<Instant> {
        self.idle_timer
    }

    fn on_time(&mut self, line: &mut Line) {
        if self.refill.run(line.now) {
            if self.refill(line) {
                self.immediate.queue(line.now, line.params.put_off);
            }
            self.send_waiting(line);
        }
        if self.immediate.run(line.now) {
            self.immediate.sleep();
            self.send_waiting(line);
        }
        if self.idle_timer.is_some_and(|at| at <= line.now) {
            self.on_idle(line);
        }
    }
}
