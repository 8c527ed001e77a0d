use super::{Push, Queue, Request, WorkQueue};
use crate::error::WorkError;
use crate::{Budget, Input, Misuse, RecvId, WrId};

/// The two work queues of a queue pair. Their doorbells are rung in poll order, and a refused post stops both.
#[derive(Clone, Debug)]
pub struct WorkQueues {
    recv: WorkQueue,
    send: WorkQueue,
}

impl WorkQueues {
    /// Work queues with room for everything that a connection of this budget can have posted.
    #[must_use]
    pub fn new(budget: &Budget) -> Self {
        Self { recv: WorkQueue::new(budget.recv_queue), send: WorkQueue::new(budget.send_queue) }
    }

    /// Lowers the depth of the send queue to what the device gave.
    pub fn limit_send(&mut self, depth: u32) {
        self.send.limit(depth);
    }

    /// One of the two work queues.
    #[must_use]
    pub const fn queue(&self, queue: Queue) -> &WorkQueue {
        match queue {
            Queue::Recv => &self.recv,
            Queue::Send => &self.send,
        }
    }

    /// Records a request. The result says whether to post it.
    #[inline]
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

    /// The queue with a chain; `None` without a chain.
    #[must_use]
    #[inline]
    pub const fn chain(&self) -> Option<Queue> {
        if self.recv.chained() > 0 {
            Some(Queue::Recv)
        } else if self.send.chained() > 0 {
            Some(Queue::Send)
        } else {
            None
        }
    }

    /// Reports that the chain was handed over and the device took all of it.
    #[inline]
    pub fn doorbell_rung(&mut self) {
        self.recv.doorbell_rung();
        self.send.doorbell_rung();
    }

    /// Reports that the chain was handed over, and that the device took the first `accepted` requests and refused the
    /// next with `errno`.
    pub fn doorbell_rung_until(&mut self, accepted: usize, errno: i32) {
        if let Some(queue) = self.chain() {
            self.queue_mut(queue).doorbell_rung_until(accepted, errno);
            self.stop();
        }
    }

    /// Reports that nothing more is posted. Each id that is pushed from now on is reported as flushed. What is chained
    /// stays chained.
    pub const fn stop(&mut self) {
        self.recv.stop();
        self.send.stop();
    }

    /// As [`WorkQueue::is_awaited`], of either queue.
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        self.recv.is_awaited() || self.send.is_awaited()
    }

    /// Whether nothing more is posted. A failure of one queue stops both.
    #[must_use]
    pub const fn is_broken(&self) -> bool {
        self.send.is_broken()
    }

    /// Reports a completion of the device. For a receive only if it failed; otherwise call
    /// [`received`](Self::received).
    ///
    /// # Errors
    /// As [`WorkQueue::complete`].
    #[inline]
    pub fn complete(&mut self, id: WrId, result: Result<(), WorkError>) -> Result<(), Misuse> {
        match id {
            WrId::Recv(_) => self.recv.complete(id, result),
            WrId::Send(_) | WrId::Rdma(_) | WrId::Reg(_) => self.send.complete(id, result),
        }
    }

    /// Reports that a posted receive took a message. The backend itself makes the [`Input::Received`].
    ///
    /// # Errors
    /// As [`WorkQueue::take`].
    #[inline]
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

    /// As [`WorkQueue::poll`], the send queue first.
    #[inline]
    pub fn poll(&mut self) -> Option<Input<'static>> {
        match self.send.poll() {
            None => self.recv.poll(),
            input => input,
        }
    }

    #[inline]
    const fn queue_mut(&mut self, queue: Queue) -> &mut WorkQueue {
        match queue {
            Queue::Recv => &mut self.recv,
            Queue::Send => &mut self.send,
        }
    }
}
