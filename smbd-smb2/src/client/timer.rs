//! Deadlines of requests, and whether the server is there (3.2.6.1).

use smbd_core::Instant;

use super::machine::Machine;
use super::reason::{Failure, Reason};
use super::request::{Outcome, Owner, Request, Sent, Wire};
use super::table::Key;
use crate::wire::NtStatus;

impl Machine {
    /// Does what is due. Gives whether anything was.
    pub(super) fn expire(&mut self, now: Instant) -> Result<bool, Reason> {
        let heard = *self.heard.get_or_insert(now);
        if heard.saturating_add(self.config.silence_max) <= now {
            return Err(Reason::Silent(now.saturating_since(heard)));
        }
        let mut is_due = false;
        if heard.saturating_add(self.config.echo_after) <= now
            && self.negotiated.is_some()
            && !self.has_echo()
        {
            self.queue_echo();
            is_due = self.has_echo();
        }
        if self.timer.is_some_and(|timer| timer <= now) {
            is_due = true;
            let is_late = |request: &Request| request.deadline.is_some_and(|deadline| deadline <= now);
            for key in self.requests.keys(is_late) {
                self.time_out(key, now);
            }
            self.timer = self.requests.iter().filter_map(|(_, request)| request.deadline).min();
        }
        Ok(is_due)
    }

    /// When something is due next.
    pub(super) fn due(&self) -> Option<Instant> {
        let heard = self.heard?;
        let silence = heard.saturating_add(self.config.silence_max);
        let echo = heard.saturating_add(self.config.echo_after);
        let server = if self.negotiated.is_some() && !self.has_echo() { echo } else { silence };
        Some(self.timer.map_or(server, |timer| timer.min(server)))
    }

    fn time_out(&mut self, key: Key, now: Instant) {
        let Some(request) = self.requests.get_mut(key) else { return };
        request.deadline = None;
        let (owner, wire) = (request.owner, request.wire);
        match wire {
            Wire::Held => {
                let failure = Failure::Status(NtStatus::NETWORK_SESSION_EXPIRED);
                self.release(key, Outcome::failed(failure), now);
            }
            Wire::Queued => self.fail_message(key, &Failure::TimedOut, now),
            // The server need not go on with it.
            Wire::Sent(sent) => {
                // Once only: AES-GMAC would sign two messages with one nonce.
                if !sent.is_cancelled {
                    request.wire = Wire::Sent(Sent { is_cancelled: true, ..sent });
                    self.to_cancel.push_back(key);
                }
                self.release(key, Outcome::failed(Failure::TimedOut), now);
            }
            Wire::Idle | Wire::Answered => self.release(key, Outcome::failed(Failure::TimedOut), now),
        }
        if let Owner::Operation(operation) = owner {
            self.stop(operation);
        }
    }
}
