//! Windows, in both roles, as known from its defaults (section 7), the requirements of Microsoft's own tests, and
//! captures. Its source is not public.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use smbd_core::Instant;
use smbd_core::wire::Flags;

use super::line::{Arrived, Line, ModelParams, Segment};
use super::model::Rules;

/// Send Credit Grant Timer: who has something to send and no credit for so long ends the connection.
const SEND_CREDIT_GRANT: Duration = Duration::from_secs(5);
/// Idle Connection Timer while an answer is awaited (note <3>).
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// The credits and timers of Windows.
#[derive(Debug)]
pub(super) struct Windows {
    receive_credit_max: u32,
    receive_credit_target: u32,
    /// Receives posted and not used.
    posted: u32,
    /// Those of them that were granted in no message.
    ungranted: u32,
    send_credits: u32,
    sending: VecDeque<Segment>,
    /// A message is owed that only grants.
    grant_due: bool,
    /// A message is owed because the peer asked for one.
    answer_due: bool,
    /// A message that asks for an answer is due, or the answer is.
    asking: Option<Asking>,
    idle_timer: Option<Instant>,
    credit_timer: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asking {
    Due,
    Sent,
}

impl Windows {
    pub(super) fn new(params: &ModelParams) -> Self {
        Self {
            receive_credit_max: u32::from(params.receive_credit_max),
            receive_credit_target: 0,
            posted: 0,
            ungranted: 0,
            send_credits: 0,
            sending: VecDeque::new(),
            grant_due: false,
            answer_due: false,
            asking: None,
            idle_timer: None,
            credit_timer: None,
        }
    }

    fn window(&self) -> u32 {
        self.receive_credit_target.min(self.receive_credit_max)
    }

    fn post(&mut self, line: &mut Line, count: u32) {
        let posted = line.post_receives(count);
        self.posted += posted;
        self.ungranted += posted;
    }

    fn fill(&mut self, line: &mut Line) {
        self.post(line, self.window().saturating_sub(self.posted));
    }

    /// In captures receives are granted in lumps of three quarters of what was asked for.
    fn fill_when_low(&mut self, line: &mut Line) {
        let outstanding = self.posted - self.ungranted;
        if outstanding <= self.window() / 4 {
            self.fill(line);
            self.grant_due = self.ungranted > 0;
        }
    }

    /// Grants travel alone, also between the fragments of a message (Microsoft's tests tolerate and expect it, RA-4).
    fn send_waiting(&mut self, line: &mut Line) {
        while self.send_credits > 0 {
            let owed = self.grant_due || self.answer_due || self.asking == Some(Asking::Due);
            if !owed && self.sending.is_empty() {
                break;
            }
            if self.send_credits == 1 && self.ungranted == 0 {
                // The last credit is spent on a message that grants (3.1.5.1); the tests insist.
                self.post(line, 1);
                if self.ungranted == 0 {
                    break;
                }
            }
            let segment = if owed { None } else { self.sending.pop_front() };
            self.send_one(line, segment);
        }
        let waits = self.send_credits == 0 && !self.sending.is_empty();
        self.credit_timer = match self.credit_timer {
            Some(at) if waits => Some(at),
            _ => waits.then(|| line.now.saturating_add(SEND_CREDIT_GRANT)),
        };
    }

    /// Only the idle timer asks: an answer has Flags 0 (KA-1, which the tests demand).
    fn send_one(&mut self, line: &mut Line, segment: Option<Segment>) {
        self.send_credits -= 1;
        let granted = std::mem::take(&mut self.ungranted);
        self.grant_due = false;
        self.answer_due = false;
        let mut flags = Flags::NONE;
        if self.asking == Some(Asking::Due) {
            self.asking = Some(Asking::Sent);
            flags = Flags::RESPONSE_REQUESTED;
        }
        line.send(segment, line.params.send_credit_target, granted, flags);
    }

    fn begin(&mut self, line: &mut Line, credits_requested: u16) {
        self.receive_credit_target = u32::from(credits_requested);
        self.idle_timer = Some(line.now.saturating_add(line.params.keepalive_interval));
        self.fill(line);
    }
}

impl Rules for Windows {
    fn buffers(&self, params: &ModelParams) -> u16 {
        // One beyond the maximum for the last credit.
        params.receive_credit_max + 1
    }

    fn on_request(&mut self, line: &mut Line, credits_requested: u16) -> u32 {
        self.begin(line, credits_requested);
        std::mem::take(&mut self.ungranted)
    }

    /// The first message grants what is posted here (section 4.1).
    fn on_response(&mut self, line: &mut Line, credits_requested: u16, credits_granted: u16) {
        self.send_credits = u32::from(credits_granted);
        self.begin(line, credits_requested);
    }

    fn on_data(&mut self, line: &mut Line, arrived: &Arrived<'_>) {
        let header = &arrived.header;
        self.idle_timer = Some(line.now.saturating_add(line.params.keepalive_interval));
        self.asking = None;
        self.posted -= 1;
        self.receive_credit_target = u32::from(header.credits_requested);
        self.send_credits += u32::from(header.credits_granted);
        self.answer_due |= header.flags.contains(Flags::RESPONSE_REQUESTED);
        self.fill_when_low(line);
        self.send_waiting(line);
    }

    fn send(&mut self, line: &mut Line, segments: Vec<Segment>) {
        self.sending.extend(segments);
        self.send_waiting(line);
    }

    fn deadline(&self) -> Option<Instant> {
        [self.idle_timer, self.credit_timer].into_iter().flatten().min()
    }

    fn idle_deadline(&self) -> Option<Instant> {
        self.idle_timer
    }

    fn on_time(&mut self, line: &mut Line) {
        if self.credit_timer.is_some_and(|at| at <= line.now) {
            return line.end("it had something to send and no credit for 5 s");
        }
        if self.idle_timer.is_some_and(|at| at <= line.now) {
            if self.asking.is_some() {
                return line.end("its peer did not answer a keepalive");
            }
            self.asking = Some(Asking::Due);
            // Sent or not (KA-2): the tests demand that a peer without credits is given up.
            self.idle_timer = Some(line.now.saturating_add(ANSWER_TIMEOUT));
            self.send_waiting(line);
        }
    }
}
