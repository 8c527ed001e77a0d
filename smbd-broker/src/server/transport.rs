//! What the transport is given, in its order, and what comes of it.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use smbd_link::Failure;
use smbd_link::handles::{Operation, PollReady, Sender};

use super::hub::{Transfer, TransportOrder};
use super::system::Boxed;
use crate::broker::TransferId;
use crate::wire::Direction;

/// The orders of a connection.
pub(super) struct Transport<B: PollReady> {
    sender: Sender<B>,
    queue: VecDeque<TransportOrder<B::Buffer>>,
    /// What the connection is about to take.
    queueing: Option<Boxed<Taken<B>>>,
    running: Vec<Running<B>>,
}

/// What came of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Done {
    Sent,
    Transfer(TransferId, bool),
}

enum Taken<B: PollReady> {
    /// A message, if the connection has not ended.
    Message(bool),
    Transfer(Running<B>),
}

/// A transfer that the connection has taken, as far as it did.
struct Running<B: PollReady> {
    id: TransferId,
    operations: Vec<Operation<B>>,
    is_success: bool,
}

impl<B> Transport<B>
where
    B: PollReady + 'static,
    B::Buffer: Send + Sync,
    <B as PollReady>::Error: Send + Sync,
{
    pub(super) const fn new(sender: Sender<B>) -> Self {
        Self { sender, queue: VecDeque::new(), queueing: None, running: Vec::new() }
    }

    pub(super) fn order(&mut self, order: TransportOrder<B::Buffer>) {
        self.queue.push_back(order);
    }

    /// Whether the connection has taken all.
    pub(super) fn is_taken(&self) -> bool {
        self.queue.is_empty() && self.queueing.is_none()
    }

    /// What the connection has not taken is not given to it any more. Its transfers have failed.
    pub(super) fn drop_queue(&mut self) -> Vec<TransferId> {
        let transfer = |order: TransportOrder<B::Buffer>| match order {
            TransportOrder::Transfer(transfer) => Some(transfer.id),
            TransportOrder::Send { .. } => None,
        };
        std::mem::take(&mut self.queue).into_iter().filter_map(transfer).collect()
    }

    /// Goes on, and returns what came of an order.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Done> {
        loop {
            if let Some(queueing) = &mut self.queueing {
                if let Poll::Ready(taken) = queueing.as_mut().poll(cx) {
                    self.queueing = None;
                    match taken {
                        Taken::Message(true) => return Poll::Ready(Done::Sent),
                        // Its end is told.
                        Taken::Message(false) => {}
                        Taken::Transfer(running) => self.running.push(running),
                    }
                    continue;
                }
            } else if let Some(order) = self.queue.pop_front() {
                self.queueing = Some(self.give(order));
                continue;
            }
            return self.poll_running(cx);
        }
    }

    fn poll_running(&mut self, cx: &mut Context<'_>) -> Poll<Done> {
        for (at, running) in self.running.iter_mut().enumerate() {
            running.operations.retain_mut(|operation| match Pin::new(operation).poll(cx) {
                Poll::Ready(result) => {
                    running.is_success &= result.is_ok();
                    false
                }
                Poll::Pending => true,
            });
            if running.operations.is_empty() {
                let Running { id, is_success, .. } = self.running.swap_remove(at);
                return Poll::Ready(Done::Transfer(id, is_success));
            }
        }
        Poll::Pending
    }

    fn give(&self, order: TransportOrder<B::Buffer>) -> Boxed<Taken<B>> {
        let sender = self.sender.clone();
        match order {
            TransportOrder::Send { message, invalidate } => Box::pin(async move {
                let sent = match invalidate {
                    Some(token) => sender.send_invalidating(message, token).await,
                    None => sender.send(message).await,
                };
                Taken::Message(sent.is_ok())
            }),
            TransportOrder::Transfer(transfer) => {
                Box::pin(async move { Taken::Transfer(start(&sender, transfer).await) })
            }
        }
    }
}

/// Gives the connection all pieces of a transfer.
async fn start<B>(sender: &Sender<B>, transfer: Transfer<B::Buffer>) -> Running<B>
where
    B: PollReady,
{
    let Transfer { id, direction, pieces, remote, mut offset } = transfer;
    let mut running = Running { id, operations: Vec::with_capacity(pieces.len()), is_success: true };
    for (memory, len) in pieces {
        let started: Result<_, Failure<_>> = match direction {
            Direction::Read => sender.start_rdma_read(&memory, &remote, offset, len).await,
            Direction::Write => sender.start_rdma_write(&memory, &remote, offset, len).await,
        };
        match started {
            Ok(operation) => running.operations.push(operation),
            Err(_) => {
                running.is_success = false;
                break;
            }
        }
        offset = offset.saturating_add(len.into());
    }
    running
}
