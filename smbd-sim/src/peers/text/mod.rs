//! The two texts: MS-SMBD of 2018 (v12), and of 2021 (DOC-4), literally, or with CR-1 and CR-2 repaired.
//!
//! | | 2018 | 2021 | repaired |
//! |---|---|---|---|
//! | first grant of the initiator (3.1.5.7) | lost (CR-1) | lost (CR-1) | in the first message, as in section 4.1 |
//! | credits of a receive that was posted again (3.1.5.8) | lost (CR-2) | in the message made for them | as 2021 |
//! | credit processing (3.1.5.1) | once, before the loop | for each message that grants nothing yet | the same |
//!
//! Everything else is the same in both, and as written: an answer to every message (CR-3), the early return that makes
//! the last credit useless (CR-4), a stopped queue that only a grant restarts (CR-9), and responses that request a
//! response (KA-1).

mod credits;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use smbd_core::Instant;
use smbd_core::wire::Flags;

use super::line::{Arrived, Line, ModelParams, Posting, Segment};
use super::model::Rules;
use credits::Credits;

/// "An implementation-specific value" of the Idle Connection Timer while an answer is awaited (3.1.5.1, note <3>).
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// Which text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edition {
    V2018,
    V2021,
}

/// Connection.KeepaliveRequested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KeepaliveRequested {
    None,
    Pending,
    Sent,
}

/// A Data Transfer message in Connection.SendQueue.
#[derive(Clone, Copy, Debug)]
struct Message {
    credits_granted: u32,
    segment: Option<Segment>,
}

const EMPTY: Message = Message { credits_granted: 0, segment: None };

/// The variables of 3.1.1.1 that concern sending.
#[derive(Debug)]
pub(super) struct Text {
    edition: Edition,
    credits: Credits,
    send_queue: VecDeque<Message>,
    send_immediate: bool,
    keepalive_requested: KeepaliveRequested,
    idle_connection_timer: Option<Instant>,
}

impl Text {
    pub(super) fn new(edition: Edition, repaired: bool, params: &ModelParams) -> Self {
        Self {
            edition,
            credits: Credits::new(repaired, params),
            send_queue: VecDeque::new(),
            send_immediate: false,
            keepalive_requested: KeepaliveRequested::None,
            idle_connection_timer: None,
        }
    }

    /// 3.1.5.9.
    fn manage_credits(&mut self, line: &mut Line) -> u32 {
        let queued = !self.send_queue.is_empty();
        self.credits.manage(queued, |count| line.post_receives(count))
    }

    /// 3.1.5.1: the new messages first, then as many as there are credits for.
    fn send_messages(&mut self, line: &mut Line, new: impl IntoIterator<Item = Message>) {
        self.send_queue.extend(new);
        if self.send_queue.is_empty() && self.send_immediate {
            self.send_queue.push_back(EMPTY);
        }
        match self.edition {
            Edition::V2018 => self.send_as_2018(line),
            Edition::V2021 => self.send_as_2021(line),
        }
    }

    /// 3.1.5.1 of 2018. Credits that were made with nothing in the queue are lost (CR-7).
    fn send_as_2018(&mut self, line: &mut Line) {
        let mut new = self.manage_credits(line);
        if !self.send_queue.is_empty() {
            new += self.credits.take_kept();
        }
        if let Some(first) = self.send_queue.front_mut() {
            first.credits_granted += new;
        }
        while let Some(message) = self.send_queue.front().copied() {
            if self.credits.send_credits == 0 {
                break;
            }
            if self.credits.send_credits == 1 && message.credits_granted == 0 {
                let new = self.manage_credits(line);
                if new == 0 {
                    break;
                }
                if let Some(first) = self.send_queue.front_mut() {
                    first.credits_granted += new;
                }
            }
            self.send_first(line);
        }
        if self.send_queue.is_empty() {
            self.send_immediate = false;
        }
    }

    /// 3.1.5.1 of 2021.
    fn send_as_2021(&mut self, line: &mut Line) {
        while let Some(message) = self.send_queue.front().copied() {
            if self.credits.send_credits == 0 {
                break;
            }
            let mut granted = message.credits_granted;
            if granted == 0 {
                granted = self.manage_credits(line) + self.credits.take_kept();
                if let Some(first) = self.send_queue.front_mut() {
                    first.credits_granted = granted;
                }
            }
            if self.credits.send_credits == 1 && granted == 0 {
                break;
            }
            self.send_first(line);
        }
        self.send_immediate = false;
    }

    /// The rest of the list in 3.1.5.1.
    fn send_first(&mut self, line: &mut Line) {
        let Some(message) = self.send_queue.pop_front() else { return };
        self.credits.send_credits -= 1;
        let mut flags = Flags::NONE;
        if self.keepalive_requested == KeepaliveRequested::Pending {
            flags = Flags::RESPONSE_REQUESTED;
            self.keepalive_requested = KeepaliveRequested::Sent;
            self.idle_connection_timer = Some(line.now.saturating_add(ANSWER_TIMEOUT));
        }
        let requested = line.params.send_credit_target;
        line.send(message.segment, requested, message.credits_granted, flags);
    }

    fn retrigger(&mut self, line: &Line) {
        self.idle_connection_timer = Some(line.now.saturating_add(line.params.keepalive_interval));
    }
}

impl Rules for Text {
    fn buffers(&self, params: &ModelParams) -> u16 {
        // Twice the maximum, since the text lets it come to almost that (CR-6), and one for the last credit.
        let all = if params.posting == Posting::Most { 2 } else { 1 } * params.receive_credit_max;
        all.saturating_add(2)
    }

    fn on_request(&mut self, line: &mut Line, credits_requested: u16) -> u32 {
        self.credits.receive_credit_target = u32::from(credits_requested);
        self.manage_credits(line);
        self.retrigger(line);
        // 3.1.5.3
        self.credits.receive_credits
    }

    fn on_response(&mut self, line: &mut Line, credits_requested: u16, credits_granted: u16) {
        self.credits.receive_credit_target = u32::from(credits_requested);
        self.credits.send_credits = u32::from(credits_granted);
        // CR-1: nobody looks at what this returns.
        let new = self.manage_credits(line);
        self.credits.keep_if_repaired(new);
        self.retrigger(line);
    }

    fn on_data(&mut self, line: &mut Line, arrived: &Arrived<'_>) {
        // 3.1.5.5
        self.retrigger(line);
        self.keepalive_requested = KeepaliveRequested::None;
        // 3.1.5.8
        self.credits.receive_credits = self.credits.receive_credits.saturating_sub(1);
        if self.send_queue.is_empty() {
            let new = self.manage_credits(line);
            if new > 0 {
                match self.edition {
                    // CR-2: 3.1.5.1 asks 3.1.5.9 again, which has nothing more to give.
                    Edition::V2018 => {
                        self.credits.keep_if_repaired(new);
                        self.send_immediate = true;
                        self.send_messages(line, []);
                    }
                    Edition::V2021 => self.send_messages(line, [Message { credits_granted: new, ..EMPTY }]),
                }
            }
        }
        self.credits.receive_credit_target = u32::from(arrived.header.credits_requested);
        if arrived.header.flags.contains(Flags::RESPONSE_REQUESTED) {
            self.keepalive_requested = KeepaliveRequested::Pending;
            self.send_immediate = true;
            self.send_messages(line, []);
        }
        let granted = u32::from(arrived.header.credits_granted);
        if granted > 0 {
            self.credits.send_credits += granted;
            if !self.send_queue.is_empty() {
                self.send_messages(line, []);
            }
        }
    }

    fn send(&mut self, line: &mut Line, segments: Vec<Segment>) {
        let messages = segments.into_iter().map(|segment| Message { segment: Some(segment), ..EMPTY });
        self.send_messages(line, messages);
    }

    fn deadline(&self) -> Option<Instant> {
        self.idle_connection_timer
    }

    fn idle_deadline(&self) -> Option<Instant> {
        self.idle_connection_timer
    }

    /// 3.1.6.2. The timer is set again when the message is sent, and not before (KA-2).
    fn on_time(&mut self, line: &mut Line) {
        self.idle_connection_timer = None;
        if self.keepalive_requested != KeepaliveRequested::None {
            return line.end("its peer did not answer a keepalive");
        }
        self.keepalive_requested = KeepaliveRequested::Pending;
        let empty = self.send_queue.is_empty().then_some(EMPTY);
        self.send_messages(line, empty);
    }
}
