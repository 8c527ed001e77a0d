//! Clients over RDMA devices.

use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

use smbd_core::error::{CommandError, RdmaError};
use smbd_core::{Endpoint, RdmaVerb};
use smbd_link::link::{Event, Link, Owned, Piece, why};
use smbd_link::{Failure, Messages, PollReady};
use smbd_smb2::relay::BufferId;
use smbd_verbs::tokio::AsyncEnd;

use crate::pump::{Client, Memory, Operation, Order};

/// Bytes of messages that may be queued and not sent. Beyond them the client gets nothing before all are sent.
const UNSENT_MAX: usize = 1 << 20;

/// A client over an RDMA device, or over another backend that async tasks can wait for. The connection is driven by whoever polls this,
/// and only then.
pub struct Rdma<B: PollReady = AsyncEnd, C: Messages = Endpoint> {
    pub(crate) link: Owned<B, BufferId, C>,
    /// What came of buffers.
    pub(crate) told: VecDeque<Event<BufferId, <B as PollReady>::Error>>,
    /// Bytes of messages that were ordered since all were sent.
    unsent: usize,
}

impl<B: PollReady, C: Messages> Rdma<B, C> {
    /// Takes an established connection. One [in pieces](smbd_core::Endpoint::in_pieces) needs memory for some fragments of a message only.
    #[must_use]
    pub const fn new(link: Owned<B, BufferId, C>) -> Self {
        Self { link, told: VecDeque::new(), unsent: 0 }
    }

    /// The most bytes of messages that wait in it to be sent if none is longer than `answer_max`.
    #[must_use]
    pub const fn waiting_max(answer_max: u32) -> u64 {
        // Beyond the limit is one at most: it is sent before another is taken.
        (UNSENT_MAX as u64).saturating_add(answer_max as u64)
    }

    /// Finishes what was ordered for at most `within`, and then ends the connection. Waits until it is over, and returns the reason.
    pub async fn close(mut self, within: Duration) -> String {
        if let Some(link) = self.link.get_mut() {
            link.ignore_messages();
            link.close(within);
        }
        poll_fn(|cx| self.poll_over(cx)).await
    }

    fn poll_over(&mut self, cx: &mut Context<'_>) -> Poll<String> {
        self.drive(cx);
        self.link.get().and_then(Link::over).map_or(Poll::Pending, |ending| Poll::Ready(why(ending)))
    }

    /// Drives the connection, and takes what it tells.
    fn drive(&mut self, cx: &mut Context<'_>) {
        let Some(link) = self.link.get_mut() else { return };
        while let Poll::Ready(event) = link.poll_event(cx) {
            self.told.push_back(event);
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
        let Some(link) = self.link.get_mut() else { return Poll::Ready(None) };
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
        let Some(link) = self.link.get_mut() else { return Poll::Ready(()) };
        let (queued, sent) = link.messages();
        if link.waiting() == 0 && sent == queued {
            self.unsent = 0;
        }
        if self.unsent > UNSENT_MAX && link.closed().is_none() { Poll::Pending } else { link.poll_ready(cx) }
    }

    fn order(&mut self, order: Order<B::Buffer>) {
        let Some(link) = self.link.get_mut() else { return };
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

impl<B: PollReady, C: Messages> fmt::Debug for Rdma<B, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rdma").field("link", &self.link).finish_non_exhaustive()
    }
}
