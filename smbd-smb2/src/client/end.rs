//! The end of a connection: what is under way ends too.

use super::machine::{End, Machine, Task};
use super::reason::{Failure, Reason};
use super::request::{Owner, Request, Wire};
use super::table::Key;

impl Machine {
    /// The connection ends. Operations whose memory the server may still use wait for [`Self::drained`].
    pub(super) fn close(&mut self, reason: Reason) {
        if self.end.is_some() {
            return;
        }
        self.end = Some(End { reason, is_told: false });
        self.timer = None;
        // What is in memory is looked at when it is back.
        self.tasks.retain(|task| !matches!(task, Task::Check(_)));
        for operation in self.operations.keys(|_| true) {
            let holds = self.requests.iter().any(|(_, request)| {
                request.memory.is_given() && request.owner == Owner::Operation(operation)
            });
            if !holds {
                self.finish(operation, Err(self.closed(operation)));
            }
        }
    }

    /// How an operation fails that the end of the connection ends.
    fn closed(&self, operation: Key) -> Failure {
        let is_single = self.operations.get(operation).is_some_and(|running| running.kind.is_single());
        let was_sent = |request: &Request| !matches!(request.wire, Wire::Idle | Wire::Queued);
        let mut own =
            self.requests.iter().filter(|(_, request)| request.owner == Owner::Operation(operation));
        if is_single && own.all(|(_, request)| !was_sent(request)) {
            Failure::Unsent
        } else {
            Failure::Closed
        }
    }

    /// The transport connection is over, and no memory is registered any more.
    pub(super) fn drained(&mut self) {
        self.close(Reason::TransportEnded);
        if let Some(end) = &mut self.end {
            end.is_told = true;
        }
        self.check_all();
        for operation in self.operations.keys(|_| true) {
            self.finish(operation, Err(Failure::Closed));
        }
    }
}
