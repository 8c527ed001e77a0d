//! Clients over RDMA devices.

use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use smbd_link::Failure;
use smbd_link::handles::{self, Connection, Piece, PollReady, Receiver, Sender};
use smbd_smb2::relay::BufferId;
use smbd_verbs::tokio::AsyncEnd;

use crate::pump::{Client, Memory, Operation, Order};

/// Bytes of messages that may be queued and not sent. Beyond them the client gets nothing before all are sent.
const UNSENT_MAX: usize = 1 << 20;

type Running<B> = handles::Operation<B>;
type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// A client over an RDMA device, or over another backend that async tasks can wait for.
pub struct Rdma<B: PollReady = AsyncEnd> {
    sender: Sender<B>,
    receiver: Receiver<B>,
    /// The order that waits for room.
    queueing: Option<Boxed<Queued<B>>>,
    operations: Vec<(BufferId, Running<B>)>,
    unsent: usize,
    ended: Ended,
}

enum Ended {
    NotYet(Boxed<String>),
    Because(String),
}

/// An order that the connection has taken, or has not because it ended.
enum Queued<B: PollReady> {
    Message,
    Operation(BufferId, Result<Running<B>, Failure<<B as PollReady>::Error>>),
}

impl<B> Rdma<B>
where
    B: PollReady + 'static,
    B::Buffer: Memory + Sync,
    <B as PollReady>::Error: Send + Sync,
{
    /// Wraps an established connection. One [in pieces](smbd_link::handles::Options::in_pieces) needs memory for some
    /// fragments of a message only.
    #[must_use]
    pub fn new(connection: Connection<B>) -> Self {
        let (sender, receiver) = connection.split();
        let of_end = sender.clone();
        let ended: Boxed<String> = Box::pin(async move {
            match of_end.ended().await {
                Ok(reason) => reason.to_string(),
                Err(failure) => failure.to_string(),
            }
        });
        let ended = Ended::NotYet(ended);
        Self { sender, receiver, queueing: None, operations: Vec::new(), unsent: 0, ended }
    }

    /// The most bytes of messages that wait in it to be sent if none is longer than `answer_max`.
    #[must_use]
    pub const fn waiting_max(answer_max: u32) -> u64 {
        // Beyond the limit is one at most: it is sent before another is taken.
        (UNSENT_MAX as u64).saturating_add(answer_max as u64)
    }

    /// A handle of the connection.
    #[must_use]
    pub fn sender(&self) -> Sender<B> {
        self.sender.clone()
    }
}

impl<B> Client for Rdma<B>
where
    B: PollReady + 'static,
    B::Buffer: Memory + Sync,
    <B as PollReady>::Error: Send + Sync,
{
    type Memory = B::Buffer;

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Piece>> {
        // The task stays registered when this future is dropped, and nothing is lost with it.
        pin!(self.receiver.recv_piece()).poll(cx).map(Result::ok)
    }

    fn poll_ended(&mut self, cx: &mut Context<'_>) -> Poll<String> {
        if let Ended::NotYet(ended) = &mut self.ended {
            let Poll::Ready(why) = ended.as_mut().poll(cx) else { return Poll::Pending };
            self.ended = Ended::Because(why);
        }
        match &self.ended {
            Ended::Because(why) => Poll::Ready(why.clone()),
            Ended::NotYet(_) => Poll::Pending,
        }
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(queueing) = &mut self.queueing else { return Poll::Ready(()) };
        let Poll::Ready(queued) = queueing.as_mut().poll(cx) else { return Poll::Pending };
        self.queueing = None;
        // Of one that was refused because the connection has ended, no result is due: the end follows.
        if let Queued::Operation(buffer, Ok(running)) = queued {
            self.operations.push((buffer, running));
        }
        Poll::Ready(())
    }

    fn order(&mut self, order: Order<B::Buffer>) {
        let sender = self.sender.clone();
        self.queueing = Some(match order {
            Order::Send { message, invalidate } => {
                self.unsent = self.unsent.saturating_add(message.len());
                let must_flush = self.unsent > UNSENT_MAX;
                if must_flush {
                    self.unsent = 0;
                }
                Box::pin(async move {
                    let sent = match invalidate {
                        Some(token) => sender.send_invalidating(message, token).await,
                        None => sender.send(message).await,
                    };
                    if sent.is_ok() && must_flush {
                        // A failure is the end of the connection, which is told.
                        let _ = sender.flush().await;
                    }
                    Queued::Message
                })
            }
            Order::Read(Operation { buffer, memory, remote, offset, len }) => Box::pin(async move {
                Queued::Operation(buffer, sender.start_rdma_read(&memory, &remote, offset, len).await)
            }),
            Order::Write(Operation { buffer, memory, remote, offset, len }) => Box::pin(async move {
                Queued::Operation(buffer, sender.start_rdma_write(&memory, &remote, offset, len).await)
            }),
        });
    }

    fn poll_done(&mut self, cx: &mut Context<'_>) -> Poll<(BufferId, bool)> {
        let done = self.operations.iter_mut().enumerate().find_map(|(at, (_, running))| {
            match Pin::new(running).poll(cx) {
                Poll::Ready(result) => Some((at, result.is_ok())),
                Poll::Pending => None,
            }
        });
        let Some((at, is_success)) = done else { return Poll::Pending };
        let (buffer, _) = self.operations.swap_remove(at);
        Poll::Ready((buffer, is_success))
    }
}

impl<B: PollReady> fmt::Debug for Rdma<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rdma").field("sender", &self.sender).finish_non_exhaustive()
    }
}
