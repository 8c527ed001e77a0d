//! What the transport is given, in its order, and what comes of it.

use std::collections::VecDeque;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use smbd_core::RdmaVerb;
use smbd_link::link::{Event, Link, Owned, why};
use smbd_link::{Messages, PollReady};

use super::hub::{Transfer, TransportOrder};
use crate::broker::TransferId;
use crate::wire::Direction;

/// A connection, which its task drives.
pub(super) struct Transport<B: PollReady, C: Messages> {
    link: Owned<B, TransferId, C>,
    running: Vec<Running>,
    done: VecDeque<Done>,
    /// Messages of which it was told that the connection has taken them.
    told: u64,
}

/// What came of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Done {
    /// The connection has taken a message.
    Sent,
    Transfer(TransferId, bool),
}

/// A transfer, in pieces.
struct Running {
    id: TransferId,
    left: usize,
    is_success: bool,
}

impl<B: PollReady, C: Messages> Transport<B, C> {
    pub(super) const fn new(link: Owned<B, TransferId, C>) -> Self {
        Self { link, running: Vec::new(), done: VecDeque::new(), told: 0 }
    }

    pub(super) fn order(&mut self, order: TransportOrder<B::Buffer>) {
        let Some(link) = self.link.get_mut() else { return };
        match order {
            TransportOrder::Send { message, invalidate } => link.send(message, invalidate),
            TransportOrder::Transfer(Transfer { id, direction, pieces, remote, mut offset }) => {
                if pieces.is_empty() {
                    self.done.push_back(Done::Transfer(id, true));
                } else {
                    self.running.push(Running { id, left: pieces.len(), is_success: true });
                }
                let verb = match direction {
                    Direction::Read => RdmaVerb::Read,
                    Direction::Write => RdmaVerb::Write,
                };
                for (memory, len) in pieces {
                    link.rdma(id, verb, memory, remote.clone(), offset, len);
                    offset = offset.saturating_add(len.into());
                }
            }
        }
    }

    /// Whether the connection has taken all.
    pub(super) fn is_taken(&self) -> bool {
        self.link.get().is_none_or(|link| link.waiting() == 0)
    }

    /// Drives the connection, and takes what it tells.
    fn drive(&mut self, cx: &mut Context<'_>) {
        let Some(link) = self.link.get_mut() else { return };
        while let Poll::Ready(event) = link.poll_event(cx) {
            let Event::RdmaDone { name, result } = event else { continue };
            let named = self.running.iter().position(|running| running.id == name);
            let Some((at, running)) = named.and_then(|at| Some((at, self.running.get_mut(at)?))) else {
                continue;
            };
            running.left = running.left.saturating_sub(1);
            running.is_success &= result.is_ok();
            if running.left == 0 {
                let Running { id, is_success, .. } = self.running.swap_remove(at);
                self.done.push_back(Done::Transfer(id, is_success));
            }
        }
    }

    /// Goes on, and returns what came of an order.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Done> {
        self.drive(cx);
        if let Some(link) = self.link.get()
            && self.told < link.messages().0
        {
            self.told = self.told.saturating_add(1);
            return Poll::Ready(Done::Sent);
        }
        self.done.pop_front().map_or(Poll::Pending, Poll::Ready)
    }

    /// A message that has come.
    pub(super) fn receive(&mut self) -> Option<Bytes> {
        self.link.get_mut()?.try_recv().map(|piece| piece.bytes.freeze())
    }

    /// Ends the connection within this time. What it has not taken is not given to it any more.
    pub(super) fn close(&mut self, within: Duration) {
        if let Some(link) = self.link.get_mut() {
            link.drop_orders();
            link.close(within);
        }
    }

    /// How it ended, once it is over.
    pub(super) fn poll_over(&mut self, cx: &mut Context<'_>) -> Poll<String> {
        self.drive(cx);
        self.link.get().and_then(Link::over).map_or(Poll::Pending, |ending| Poll::Ready(why(ending)))
    }

    /// Nobody has a use for it any more.
    pub(super) fn leave(&mut self) {
        self.link.leave();
    }
}
