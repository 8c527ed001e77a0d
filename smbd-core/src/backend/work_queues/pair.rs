use super::{Push, Queue, Request, WorkQueue};
use crate::error::WorkError;
use crate::{Budget, Input, Misuse, RecvId, WrId};

/// The queues of a queue pair: two queues that are rung in poll order and break together.
#[derive(Clone, Debug)]
pub struct WorkQueues {
    recv: WorkQueue,
    send: WorkQueue,
}

impl WorkQueues {
    /// Queues with room for all that a connection of this budget can have posted.
    #[must_use]
    pub fn new(budget: &Budget) -> Self {
        Self { recv: WorkQueue::new(budget.recv_queue), send: WorkQueue::new(budget.send_queue) }
    }

    /// Lowers the depth of the send queue to what the device gave.
    pub fn limit_send(&mut self, depth: u32) {
        self.send.limit(depth);
    }

    /// The queues of one queue.
    #[must_use]
    pub const fn queue(&self, queue: Queue) -> &WorkQueue {
        match queue {
            Queue::Recv => &self.recv,
            Queue::Send => &self.send,
        }
    }

    /// Notes a request.
    pub fn push(&mut self, request: Request) -> Push {
        if let Some(queue) = self.chain()
            && queue != request.queue()
        {
            return Push::RingDoorbell(queue);
        }
        if self.queue_mut(request.queue()).push(request) {
            return Push::Chain;
        }
        self.stop();
        Push::Skip
    }

    /// The queue that has a chain to be handed over, if any.
    #[must_use]
    pub const fn chain(&self) -> Option<Queue> {
        if self.recv.chained() > 0 {
            Some(Queue::Recv)
        } else if self.send.chained() > 0 {
            Some(Queue::Send)
        } else {
            None
        }
    }

    /// The chain was handed over and the device took all of it.
    pub fn doorbell_rung(&mut self) {
        self.recv.doorbell_rung();
        self.send.doorbell_rung();
    }

    /// The chain was handed over; the device took the first `accepted` requests and refused the next with `errno`.
    pub fn doorbell_rung_until(&mut self, accepted: usize, errno: i32) {
        if let Some(queue) = self.chain() {
            self.queue_mut(queue).doorbell_rung_until(accepted, errno);
            self.stop();
        }
    }

    /// Nothing more will be posted: each id from now on is reported as flushed. What is chained stays chained.
    pub const fn stop(&mut self) {
        self.recv.stop();
        self.send.stop();
    }

    /// As [`WorkQueue::is_awaited`], of either queue.
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        self.recv.is_awaited() || self.send.is_awaited()
    }

    /// Whether nothing more will be posted. What breaks one queue stops both.
    #[must_use]
    pub const fn is_broken(&self) -> bool {
        self.send.is_broken()
    }

    /// The device reports a completion; of a receive only if it failed.
    ///
    /// # Errors
    /// As [`WorkQueue::complete`].
    pub fn complete(&mut self, id: WrId, result: Result<(), WorkError>) -> Result<(), Misuse> {
        match id {
            WrId::Recv(_) => self.recv.complete(id, result),
            WrId::Send(_) | WrId::Rdma(_) | WrId::Reg(_) => self.send.complete(id, result),
        }
    }

    /// A posted receive took a message; the backend writes the input.
    ///
    /// # Errors
    /// As [`WorkQueue::take`].
    pub fn received(&mut self, id: RecvId) -> Result<(), Misuse> {
        self.recv.take(id.into())
    }

    /// As [`WorkQueue::flush`], for both queues.
    pub fn flush(&mut self) {
        self.recv.flush();
        self.send.flush();
    }

    /// As [`WorkQueue::drained`], for both queues.
    pub fn drained(&mut self) {
        self.recv.drained();
        self.send.drained();
    }

    /// As [`WorkQueue::poll`], sends first.
    pub fn poll(&mut self) -> Option<Input<'static>> {
        self.send.poll().or_else(|| self.recv.poll())
    }

    const fn queue_mut(&mut self, queue: Queue) -> &mut WorkQueue {
        match queue {
            Queue::Recv => &mut self.recv,
            Queue::Send => &mut self.send,
        }
    }
}
