//! Deadlines of requests, and whether the server is there (3.2.6.1).

use smbd_core::Instant;

use super::machine::{Machine, Task};
use super::reason::{Failure, Fatal, Reason};
use super::request::{Outcome, Owner, Sent, Wire};
use super::table::Key;
use crate::wire::NtStatus;

impl Machine {
    /// Does what is due; if nothing is, says when something may be.
    pub(super) fn expire(&mut self, now: Instant) -> Result<Option<Instant>, Fatal> {
        match self.timer {
            Some(timer) if now < timer => Ok(Some(timer)),
            _ => self.look(now),
        }
    }

    /// Looks at all deadlines.
    #[inline(never)]
    fn look(&mut self, now: Instant) -> Result<Option<Instant>, Fatal> {
        let heard = *self.heard.get_or_insert(now);
        let silence = heard.saturating_add(self.config.silence_max);
        if silence <= now {
            return Err(Reason::Silent(now.saturating_since(heard)).into());
        }
        let asks = self.negotiated.is_some() && !self.has_echo();
        let due = if asks { heard.saturating_add(self.config.echo_after) } else { silence };
        let mut is_due = false;
        if due <= now {
            self.queue_echo();
            is_due = self.has_echo();
        }
        for key in self.requests.keys(|request| request.deadline.is_some_and(|deadline| deadline <= now)) {
            // Nothing else begins before it is answered.
            if self.requests.get(key).is_some_and(|request| request.owner == Owner::Negotiate) {
                return Err(Reason::NotNegotiated(self.config.timeout).into());
            }
            is_due = true;
            self.time_out(key, now);
        }
        let deadlines = self.requests.iter().filter_map(|(_, request)| request.deadline);
        let due = deadlines.fold(due, Instant::min);
        self.timer = Some(due);
        Ok((!is_due).then_some(due))
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
                    self.tasks.push_back(Task::Cancel(key));
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
