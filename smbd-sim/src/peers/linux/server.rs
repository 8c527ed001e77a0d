//! ksmbd of Linux 6.12, the acceptor.

use std::collections::VecDeque;

use smbd_core::Instant;
use smbd_core::wire::Flags;

use super::work::Work;
use crate::peers::line::{Arrived, Line, ModelParams, Segment};
use crate::peers::model::Rules;

/// What is taken for the peer's wish until its first data message says otherwise.
const RECV_CREDIT_TARGET: u32 = 10;

/// The credits of ksmbd. It has no idle timer (KA-5).
#[derive(Debug)]
pub(in crate::peers) struct LinuxServer {
    recv_credit_max: u32,
    recv_credit_target: u32,
    /// Receives that the peer may use, or will be told of.
    recv_credits: u32,
    /// Buffers that are neither posted nor held.
    avail_recvmsg: u32,
    /// Posted, not yet granted.
    new_recv_credits: u32,
    send_credits: u32,
    sending: VecDeque<Segment>,
    post_recv_credits: Work,
    /// Sends an empty message.
    send_immediate: Work,
}

impl LinuxServer {
    pub(in crate::peers) fn new(params: &ModelParams) -> Self {
        let recv_credit_max = u32::from(params.receive_credit_max);
        Self {
            recv_credit_max,
            recv_credit_target: RECV_CREDIT_TARGET,
            recv_credits: 0,
            avail_recvmsg: recv_credit_max,
            new_recv_credits: 0,
            send_credits: 0,
            sending: VecDeque::new(),
            post_recv_credits: Work::default(),
            send_immediate: Work::default(),
        }
    }

    /// Nothing is posted again before the peer has an eighth of the maximum left.
    fn post_if_required(&mut self, line: &Line) {
        let few = self.recv_credits <= self.recv_credit_max >> 3;
        if few && self.avail_recvmsg >= self.recv_credits >> 2 {
            self.post_recv_credits.queue(line.now, line.params.put_off);
        }
    }

    /// Posts every buffer there is if the peer has less than it asked for, whatever it asked for (CR-6).
    fn post_recv_credits(&mut self, line: &mut Line) {
        if self.recv_credits >= self.recv_credit_target {
            return;
        }
        let credits = line.post_receives(u32::MAX);
        self.recv_credits += credits;
        self.avail_recvmsg -= credits;
        self.new_recv_credits += credits;
        if credits > 0 {
            self.send_immediate.queue(line.now, line.params.put_off);
        }
    }

    /// Threads that wait for a send credit have one, in the order the seed decides.
    fn send_waiting(&mut self, line: &mut Line) {
        while self.send_credits > 0 {
            let empty = self.send_immediate.is_asleep();
            if empty && (line.params.work_first || self.sending.is_empty()) {
                self.send_one(line, None);
                self.send_immediate.wake(line.now, line.params.put_off);
            } else if let Some(segment) = self.sending.pop_front() {
                self.send_one(line, Some(segment));
            } else {
                return;
            }
        }
    }

    /// Looks at nothing but whether there is a credit: the last one may go with a grant of 0 (CR-4). Never asks (KA-1).
    fn send_one(&mut self, line: &mut Line, segment: Option<Segment>) {
        self.send_credits -= 1;
        let granted = std::mem::take(&mut self.new_recv_credits);
        line.send(segment, line.params.send_credit_target, granted, Flags::NONE);
    }
}

impl Rules for LinuxServer {
    fn buffers(&self, params: &ModelParams) -> u16 {
        params.receive_credit_max
    }

    /// All buffers but that of the request were posted before it came, and are granted whatever it asked for (NE-9). What is
    /// announced as MaxFragmentedSize is half of what they hold (NE-5).
    fn on_request(&mut self, line: &mut Line, _: u16) -> u32 {
        line.params.max_fragmented_recv_size = self.recv_credit_max * line.max_receive_size() / 2;
        let credits = line.post_receives(self.recv_credit_max - 1);
        self.recv_credits = credits;
        self.avail_recvmsg -= credits;
        credits
    }

    fn on_response(&mut self, _: &mut Line, _: u16, _: u16) {
        // There is no initiator in it.
    }

    fn on_data(&mut self, line: &mut Line, arrived: &Arrived<'_>) {
        let header = &arrived.header;
        self.recv_credits = self.recv_credits.saturating_sub(1);
        if header.data_length == 0 {
            self.avail_recvmsg += 1;
        }
        self.recv_credit_target = u32::from(header.credits_requested);
        self.send_credits += u32::from(header.credits_granted);
        if header.flags.contains(Flags::RESPONSE_REQUESTED) {
            self.send_immediate.queue(line.now, line.params.put_off);
        }
        self.send_waiting(line);
        self.post_if_required(line);
    }

    fn holds_receives(&self) -> bool {
        true
    }

    fn on_read(&mut self, line: &mut Line, freed: u32) {
        self.avail_recvmsg += freed;
        self.post_if_required(line);
    }

    fn send(&mut self, line: &mut Line, segments: Vec<Segment>) {
        self.sending.extend(segments);
        self.send_waiting(line);
    }

    fn deadline(&self) -> Option<Instant> {
        [self.post_recv_credits.due(), self.send_immediate.due()].into_iter().flatten().min()
    }

    fn idle_deadline(&self) -> Option<Instant> {
        None
    }

    fn on_time(&mut self, line: &mut Line) {
        if self.post_recv_credits.run(line.now) {
            self.post_recv_credits(line);
        }
        if self.send_immediate.run(line.now) {
            self.send_immediate.sleep();
            self.send_waiting(line);
        }
    }
}
