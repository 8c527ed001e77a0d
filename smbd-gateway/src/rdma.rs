//! Clients over RDMA devices.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

use smbd_core::error::{CommandError, RdmaError};
use smbd_core::{Endpoint, Negotiated, RdmaVerb};
use smbd_link::link::{Event, Link, Options, Piece, Rest};
use smbd_link::{Failure, Messages, PollReady};
use smbd_smb2::relay::BufferId;
use smbd_verbs::tokio::AsyncEnd;

use crate::pump::{Client, Memory, Operation, Order};

/// Bytes of messages that may be queued and not sent. Beyond them the client gets nothing before all are sent.
const UNSENT_MAX: usize = 1 << 20;

type FailureOf<B> = Failure<<B as PollReady>::Error>;

/// A client over an RDMA device, or over another backend that async tasks can wait for. The connection is driven by whoever polls this,
/// and only then.
pub struct Rdma<B: PollReady = AsyncEnd, C: Messages = Endpoint> {
    /// `None` when it was left.
    pub(crate) link: Option<Link<B, BufferId, C>>,
    /// What came of buffers.
    pub(crate) told: VecDeque<Event<BufferId, <B as PollReady>::Error>>,
    /// Bytes of messages that were ordered since all were sent.
    unsent: usize,
    /// Why it is over.
    ended: Option<String>,
    leave: fn(Rest<B, BufferId, C>),
}

impl<B: PollReady, C: Messages> Rdma<B, C> {
    /// Establishes a connection over a new backend, with a new machine: an [`Endpoint`], or a wrapper of one. Waits until that is done, and
    /// returns the negotiated values as well. One
    /// [in pieces](Endpoint::in_pieces) needs memory for some fragments of a message only. What is left of it in the end goes to `leave`.
    ///
    /// # Cancel safety
    /// If the future is dropped, the connection ends.
    ///
    /// # Errors
    /// [`Failure::Connect`]: it is not established. [`Failure::Backend`]: the backend fails. [`Failure::Drive`]: a fault of this side.
    pub async fn establish(
        machine: C,
        backend: B,
        options: Options,
        leave: fn(Rest<B, BufferId, C>),
    ) -> Result<(Self, Negotiated), FailureOf<B>> {
        let (link, negotiated) = Link::new(machine, backend, options).established(leave).await?;
        let link = Some(link);
        Ok((Self { link, told: VecDeque::new(), unsent: 0, ended: None, leave }, negotiated))
    }

    /// The most bytes of messages that wait in it to be sent if none is longer than `answer_max`.
    #[must_use]
    pub const fn waiting_max(answer_max: u32) -> u64 {
        // Beyond the limit is one at most: it is sent before another is taken.
        (UNSENT_MAX as u64).saturating_add(answer_max as u64)
    }

    /// Finishes what was ordered for at most `within`, and then ends the connection. Waits until it is over, and returns the reason.
    pub async fn close(mut self, within: Duration) -> String {
        if let Some(link) = &mut self.link {
            link.ignore_messages();
            link.close(within);
        }
        poll_fn(|cx| self.poll_over(cx)).await
    }

    fn poll_over(&mut self, cx: &mut Context<'_>) -> Poll<String> {
        self.drive(cx);
        self.ended.clone().map_or(Poll::Pending, Poll::Ready)
    }

    /// Drives the connection, and takes what it tells.
    fn drive(&mut self, cx: &mut Context<'_>) {
        let Some(link) = &mut self.link else { return };
        while let Poll::Ready(event) = link.poll_event(cx) {
            match event {
                Event::Ended(Ok(reason)) => self.ended = Some(reason.to_string()),
                Event::Ended(Err(failure)) => self.ended = Some(failure.to_string()),
                event => self.told.push_back(event),
            }
        }
    }

    /// What has come of a buffer.
    pub(crate) fn poll_told(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Event<BufferId, <B as PollReady>::Error>> {
        self.drive(cx);
        self.told.pop_front().map_or(Poll::Pending, Poll::Ready)
    }
}

impl<B: PollReady, C: Messages> Client for Rdma<B, C>
where
    B::Buffer: Memory,
{
    type Memory = B::Buffer;

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Option<Piece>> {
        self.drive(cx);
        let Some(link) = &mut self.link else { return Poll::Ready(None) };
        match link.try_recv() {
            Some(piece) => Poll::Ready(Some(piece)),
            None if link.closed().is_some() => Poll::Ready(None),
            None => Poll::Pending,
        }
    }

    fn poll_ended(&mut self, cx: &mut Context<'_>) -> Poll<String> {
        self.poll_over(cx)
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.unsent > UNSENT_MAX {
            self.drive(cx);
        }
        let Some(link) = &mut self.link else { return Poll::Ready(()) };
        let (queued, sent) = link.messages();
        if link.waiting() == 0 && sent == queued {
            self.unsent = 0;
        }
        if self.unsent > UNSENT_MAX && link.closed().is_none() { Poll::Pending } else { link.poll_ready(cx) }
    }

    fn order(&mut self, order: Order<B::Buffer>) {
        let Some(link) = &mut self.link else { return };
        let (verb, Operation { buffer, memory, remote, offset, len }) = match order {
            Order::Send { message, invalidate } => {
                self.unsent = self.unsent.saturating_add(message.len());
                return link.send(message, invalidate);
            }
            Order::Read(operation) => (RdmaVerb::Read, operation),
            Order::Write(operation) => (RdmaVerb::Write, operation),
        };
        link.rdma(buffer, verb, memory, remote, offset, len);
    }

    fn poll_done(&mut self, cx: &mut Context<'_>) -> Poll<(BufferId, bool)> {
        loop {
            match self.poll_told(cx) {
                // Of one that was refused because the connection has ended, no result is due: the end follows.
                Poll::Ready(Event::RdmaDone {
                    result: Err(Failure::Rdma(RdmaError::Command(CommandError::Closing))),
                    ..
                }) => {}
                Poll::Ready(Event::RdmaDone { name, result }) => return Poll::Ready((name, result.is_ok())),
                Poll::Ready(_) => {}
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl<B: PollReady, C: Messages> Drop for Rdma<B, C> {
    fn drop(&mut self) {
        if let Some(link) = self.link.take() {
            (self.leave)(link.into_rest());
        }
    }
}

impl<B: PollReady, C: Messages> fmt::Debug for Rdma<B, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rdma").field("link", &self.link).finish_non_exhaustive()
    }
}
