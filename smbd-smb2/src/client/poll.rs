//! What comes next.

use alloc::boxed::Box;

use smbd_core::Instant;

use super::arrived::{Arrived, Progress};
use super::ids::OperationId;
use super::machine::{Machine, Step, Task};
use super::operation::Stored;
use super::output::{Output, Reply};
use super::reason::{Failure, Fatal, Refused};
use super::request::{Outcome, Wire};
use super::table::Key;

impl Machine {
    /// If nothing is to be done but to look at what arrives: when something may be.
    pub(super) fn idle_until(&self, now: Instant) -> Option<Instant> {
        if self.tasks.is_empty() && self.queue.is_empty() {
            self.timer.filter(|timer| now < *timer)
        } else {
            None
        }
    }

    /// What is to be done next: first what waits for nothing, then what arrived, one element after the other.
    pub(super) fn poll(&mut self, now: Instant, arrived: &mut Arrived<'_>) -> Step {
        match self.step(now, arrived) {
            Ok(step) => step,
            Err(Fatal(reason)) => {
                self.close(*reason);
                self.ended(arrived)
            }
        }
    }

    fn step(&mut self, now: Instant, arrived: &mut Arrived<'_>) -> Result<Step, Fatal> {
        if self.end.is_some() {
            return Ok(self.ended(arrived));
        }
        loop {
            while let Some(task) = self.tasks.pop_front() {
                if let Some(step) = self.carry_out(task)? {
                    return Ok(step);
                }
            }
            if !self.queue.is_empty()
                && let Some(step) = self.send(now)?
            {
                return Ok(step);
            }
            if !arrived.is_taken() {
                if let Some(step) = self.take(now, arrived)? {
                    return Ok(step);
                }
            } else if let Some(due) = self.expire(now)?
                && self.tasks.is_empty()
            {
                return Ok(Step::Idle(Some(due)));
            }
        }
    }

    fn carry_out(&mut self, task: Task) -> Result<Option<Step>, Fatal> {
        match task {
            Task::Register(key) => Ok(self.register(key)),
            Task::Deregister(key) => Ok(self.deregister(key)),
            Task::Check(key) => Ok(self.next_check(key)),
            Task::Cancel(key) => self.cancel(key),
            Task::Tell(operation) => Ok(Some(Step::Done(operation))),
        }
    }

    /// The result of an operation that is first among the tasks.
    pub(super) fn first_result(&self) -> Option<Key> {
        match self.tasks.first() {
            Some(Task::Tell(operation)) if self.end.is_none() => Some(operation),
            _ => None,
        }
    }

    /// Tells it.
    #[inline(never)]
    pub(super) fn tell_first(&mut self, operation: Key) -> Output<'static> {
        self.tasks.pop_front();
        self.done(operation)
    }

    /// An operation has ended.
    pub(super) fn done(&mut self, operation: Key) -> Output<'static> {
        let result = self.operations.end(operation, |running| running.result.take());
        let operation = OperationId(operation);
        match result.flatten() {
            Some(Ok(Stored::Read(count))) => {
                Output::Done { operation, result: Ok(Reply::Read(count)), error: None }
            }
            Some(Ok(Stored::Written(count))) => {
                Output::Done { operation, result: Ok(Reply::Written(count)), error: None }
            }
            other => rare(operation, other),
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
            _ => self.next_result().unwrap_or(Step::Idle(None)),
        }
    }

    fn next_result(&mut self) -> Option<Step> {
        while let Some(task) = self.tasks.pop_front() {
            match task {
                Task::Tell(operation) => return Some(Step::Done(operation)),
                Task::Check(key) => return self.next_check(key).or_else(|| self.next_result()),
                Task::Register(_) | Task::Deregister(_) | Task::Cancel(_) => {}
            }
        }
        None
    }

    /// 3.2.4.24
    pub(super) fn cancel_operation(&mut self, operation: Key, now: Instant) -> Result<(), Refused> {
        let running = self.operations.get(operation).ok_or(Refused::Unknown("the operation"))?;
        if running.result.is_some() || self.end.is_some() {
            return Err(Refused::Unknown("the operation"));
        }
        self.stop(operation);
        for key in self.requests_of(operation) {
            let is_in_compound = self.is_in_compound(key);
            let Some(request) = self.requests.get_mut(key) else { continue };
            match &mut request.wire {
                Wire::Sent(sent) if !sent.is_cancelled => {
                    sent.is_cancelled = true;
                    self.tasks.push_back(Task::Cancel(key));
                }
                Wire::Sent(_) | Wire::Answered => {}
                Wire::Held | Wire::Idle | Wire::Queued if is_in_compound => {}
                Wire::Held | Wire::Idle | Wire::Queued => {
                    self.queue.retain(|queued| *queued != key);
                    self.release(key, Outcome::failed(Failure::Cancelled), now);
                }
            }
        }
        Ok(())
    }

    fn is_in_compound(&self, key: Key) -> bool {
        self.requests.get(key).is_some_and(|request| request.next.is_some())
            || self.requests.iter().any(|(_, request)| request.next == Some(key))
    }
}

/// Any other result than that of a READ or WRITE.
#[inline(never)]
fn rare(operation: OperationId, result: Option<Result<Stored, Box<Failure>>>) -> Output<'static> {
    let result = match result {
        Some(Ok(stored)) => Ok(stored.reply()),
        Some(Err(failure)) => Err(*failure),
        None => Err(Failure::Closed),
    };
    Output::Done { operation, result, error: None }
}
