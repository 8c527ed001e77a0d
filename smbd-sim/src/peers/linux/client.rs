//! cifs of Linux 6.12, the initiator.

use std::collections::VecDeque;

use smbd_core::Instant;
use smbd_core::wire::Flags;

use super::work::{KeepAlive, Work};
use crate::peers::line::{Arrived, Line, ModelParams, Segment};
use crate::peers::model::Rules;

/// The credits and timers of cifs.
#[derive(Debug)]
pub(in crate::peers) struct LinuxClient {
    /// What the peer last asked for.
    receive_credit_target: u32,
    /// What the peer was granted and has not used.
    receive_credits: u32,
    /// Posted, not yet granted. Goes out with whatever leaves next, so the first grant is not lost (CR-1).
    new_credits_offered: u32,
    send_credits: u32,
    /// Sends that are not complete: at most as many as credits are asked for.
    send_pending: u32,
    sending: VecDeque<Segment>,
    /// Posts receives and may send an empty message.
    post_credits: Work,
    keep_alive: KeepAlive,
    /// Set anew by each send, not by what is received (KA-4).
    idle_timer: Option<Instant>,
    /// A keepalive response waits for a send credit.
    alive_due: bool,
}

impl LinuxClient {
    pub(in crate::peers) fn new() -> Self {
        Self {
            receive_credit_target: 0,
            receive_credits: 0,
            new_credits_offered: 0,
            send_credits: 0,
            send_pending: 0,
            sending: VecDeque::new(),
            post_credits: Work::default(),
            keep_alive: KeepAlive::None,
            idle_timer: None,
            alive_due: false,
        }
    }

    fn queue_work(&mut self, line: &Line) {
        self.post_credits.queue(line.now, line.params.put_off);
    }

    /// Posts every buffer there is as soon as the peer has less than it asked for, whatever it asked for (CR-6); tells it with
    /// an empty message if more than one is missing (CR-3).
    fn post_credits(&mut self, line: &mut Line) {
        if self.receive_credit_target > self.receive_credits {
            self.new_credits_offered += line.post_receives(u32::MAX);
        }
        if self.receive_credits + 1 < self.receive_credit_target {
            self.post_credits.sleep();
        }
    }

    /// Threads that wait for a send credit have one, in the order the seed decides.
    fn send_waiting(&mut self, line: &mut Line) {
        let most = u32::from(line.params.send_credit_target);
        while self.send_credits > 0 && self.send_pending < most {
            let work_waits = self.post_credits.is_asleep();
            if std::mem::take(&mut self.alive_due) {
                self.send_one(line, None);
            } else if work_waits && (line.params.work_first || self.sending.is_empty()) {
                self.send_one(line, None);
                self.post_credits.wake(line.now, line.params.put_off);
            } else if let Some(segment) = self.sending.pop_front() {
                self.send_one(line, Some(segment));
            } else {
                return;
            }
        }
    }

    /// Looks at nothing but whether there is a credit: the last one may go with a grant of 0 (CR-4).
    fn send_one(&mut self, line: &mut Line, segment: Option<Segment>) {
        self.send_credits -= 1;
        self.send_pending += 1;
        let granted = std::mem::take(&mut self.new_credits_offered);
        self.receive_credits += granted;
        let mut flags = Flags::NONE;
        if self.keep_alive == KeepAlive::Pending {
            // Also in an answer (KA-1).
            flags = Flags::RESPONSE_REQUESTED;
            self.keep_alive = KeepAlive::Sent;
        }
        line.send(segment, line.params.send_credit_target, granted, flags);
        self.idle_timer = Some(line.now.saturating_add(line.params.keepalive_interval));
    }

    fn on_idle(&mut self, line: &mut Line) {
        if self.keep_alive != KeepAlive::None {
            return line
                .end("it was asked for a keepalive response and had no reason to send anything (KA-5)");
        }
        // A keepalive response that asks for none.
        self.idle_timer = Some(line.now.saturating_add(line.params.keepalive_interval));
        self.alive_due = true;
        self.send_waiting(line);
    }
}

impl Rules for LinuxClient {
    fn buffers(&self, params: &ModelParams) -> u16 {
        params.receive_credit_max
    }

    fn on_request(&mut self, _: &mut Line, _: u16) -> u32 {
        // There is no acceptor in it.
        0
    }

    /// The response's buffer is free again, which is what starts the work: an empty message grants all there is.
    fn on_response(&mut self, line: &mut Line, credits_requested: u16, credits_granted: u16) {
        self.receive_credit_target = u32::from(credits_requested);
        self.send_credits = u32::from(credits_granted);
        self.idle_timer = Some(line.now.saturating_add(line.params.keepalive_interval));
        self.queue_work(line);
    }

    fn on_data(&mut self, line: &mut Line, arrived: &Arrived<'_>) {
        let header = &arrived.header;
        self.receive_credits = self.receive_credits.saturating_sub(1);
        self.receive_credit_target = u32::from(header.credits_requested);
        self.send_credits += u32::from(header.credits_granted);
        let asked = header.flags.contains(Flags::RESPONSE_REQUESTED);
        self.keep_alive = if asked { KeepAlive::Pending } else { KeepAlive::None };
        if header.data_length == 0 {
            self.queue_work(line);
        }
        self.send_waiting(line);
    }

    fn holds_receives(&self) -> bool {
        true
    }

    fn on_read(&mut self, line: &mut Line, _: u32) {
        self.queue_work(line);
    }

    fn send(&mut self, line: &mut Line, segments: Vec<Segment>) {
        self.sending.extend(segments);
        self.send_waiting(line);
    }

    fn on_sent(&mut self, line: &mut Line) {
        // The Negotiate Request is not among them.
        self.send_pending = self.send_pending.saturating_sub(1);
        self.send_waiting(line);
    }

    fn deadline(&self) -> Option<Instant> {
        [self.post_credits.due(), self.idle_timer].into_iter().flatten().min()
    }

    fn idle_deadline(&self) -> Option<Instant> {
        self.idle_timer
    }

    fn on_time(&mut self, line: &mut Line) {
        if self.post_credits.run(line.now) {
            self.post_credits(line);
            self.send_waiting(line);
        }
        if self.idle_timer.is_some_and(|at| at <= line.now) {
            self.on_idle(line);
        }
    }
}
