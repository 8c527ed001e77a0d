//! What comes next.

use smbd_core::Instant;

use super::arrived::{Arrived, Progress};
use super::ids::OperationId;
use super::machine::{Machine, Running, Step};
use super::operation::Kind;
use super::reason::{Failure, Reason, Refused};
use super::request::{Outcome, Request, Wire};
use super::table::Key;

impl Machine {
    /// What is to be done next: first what waits for nothing, then what arrived, one element after the other.
    pub(super) fn poll(&mut self, now: Instant, arrived: &mut Arrived<'_>) -> Step {
        match self.step(now, arrived) {
            Ok(step) => step,
            Err(reason) => {
                self.close(reason);
                self.ended(arrived)
            }
        }
    }

    fn step(&mut self, now: Instant, arrived: &mut Arrived<'_>) -> Result<Step, Reason> {
        if self.end.is_some() {
            return Ok(self.ended(arrived));
        }
        loop {
            if let Some(step) = self.next_deregistration() {
                return Ok(step);
            }
            if !self.to_check.is_empty()
                && let Some(step) = self.next_check()
            {
                return Ok(step);
            }
            if let Some(step) = self.tell() {
                return Ok(step);
            }
            if let Some(step) = self.next_registration() {
                return Ok(step);
            }
            if let Some(step) = self.send(now)? {
                return Ok(step);
            }
            match self.take(now, arrived)? {
                Some(Some(step)) => return Ok(step),
                Some(None) => {}
                None => {
                    let is_more = !self.finished.is_empty()
                        || !self.to_deregister.is_empty()
                        || !self.to_check.is_empty()
                        || !self.to_register.is_empty();
                    if !self.expire(now)? && !is_more {
                        return Ok(Step::Idle(self.due()));
                    }
                }
            }
        }
    }

    /// The next result.
    fn tell(&mut self) -> Option<Step> {
        let key = self.finished.pop_front()?;
        match self.operations.remove(key) {
            Some(Running { kind: Kind::Finished(result), .. }) => Some(Step::Done(OperationId(key), result)),
            _ => None,
        }
    }

    /// What follows the end: its reason, and the results of all operations.
    fn ended(&mut self, arrived: &mut Arrived<'_>) -> Step {
        arrived.progress = Progress::Taken;
        match &mut self.end {
            Some(end) if !end.is_told => {
                end.is_told = true;
                Step::Close
            }
            _ => self.next_check().or_else(|| self.tell()).unwrap_or(Step::Idle(None)),
        }
    }

    /// 3.2.4.24
    pub(super) fn cancel_operation(&mut self, operation: Key, now: Instant) -> Result<(), Refused> {
        let running = self.operations.get(operation).ok_or(Refused::Unknown("the operation"))?;
        if matches!(running.kind, Kind::Finished(_)) || self.end.is_some() {
            return Err(Refused::Unknown("the operation"));
        }
        self.stop(operation);
        for key in self.requests_of(operation) {
            let is_in_compound = self.is_in_compound(key);
            let Some(request) = self.requests.get_mut(key) else { continue };
            match &mut request.wire {
                Wire::Sent(sent) if !sent.is_cancelled => {
                    sent.is_cancelled = true;
                    self.to_cancel.push_back(key);
                }
                Wire::Sent(_) | Wire::Answered => {}
                Wire::Held | Wire::Idle | Wire::Queued if is_in_compound => {}
                Wire::Held | Wire::Idle | Wire::Queued => {
                    self.queue.retain(|queued| *queued != key);
                    self.release(key, Outcome::Failed(Failure::Cancelled), now);
                }
            }
        }
        Ok(())
    }

    fn is_in_compound(&self, key: Key) -> bool {
        self.requests.get(key).is_some_and(|request| request.next.is_some())
            || self.requests.iter().any(|(_, request): (_, &Request)| request.next == Some(key))
    }
}
