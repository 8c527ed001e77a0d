//! A link over a backend is a transport.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use smbd_core::{Access, BufferDescriptorV1, RdmaVerb, Token};

use super::{Limits, Memory, RdmaLimits, Transport};
use crate::link::{Ending, Event, Link, Owned, Piece};
use crate::{Messages, PollReady};

// One that was left has told its end.
impl<B, N, C> Transport<N> for Owned<B, N, C>
where
    B: PollReady<Buffer: Memory>,
    N: Copy + PartialEq,
    C: Messages,
{
    type Memory = B::Buffer;
    type Error = <B as PollReady>::Error;

    fn limits(&self) -> Limits {
        let negotiated = self.get().and_then(|link| link.machine().endpoint().connection().negotiated());
        Limits {
            max_send: negotiated.map_or(0, |it| it.max_fragmented_send_size),
            max_receive: negotiated.map_or(0, |it| it.max_fragmented_recv_size),
            rdma: negotiated.map(|it| RdmaLimits {
                max_read_write: it.max_read_write_size,
                remote_invalidation: self.remote_invalidation(),
            }),
        }
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Event<N, Self::Error>> {
        self.get_mut().map_or(Poll::Pending, |link| link.poll_event(cx))
    }

    fn try_recv(&mut self) -> Option<Piece> {
        self.get_mut()?.try_recv()
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.get_mut().map_or(Poll::Ready(()), |link| link.poll_ready(cx))
    }

    fn send(&mut self, message: Bytes, invalidate: Option<Token>) {
        if let Some(link) = self.get_mut() {
            link.send(message, invalidate);
        }
    }

    fn send_unsignalled(&mut self, message: Bytes, invalidate: Option<Token>) {
        if let Some(link) = self.get_mut() {
            link.send_unsignalled(message, invalidate);
        }
    }

    fn rdma(
        &mut self,
        name: N,
        verb: RdmaVerb,
        memory: B::Buffer,
        remote: Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) {
        if let Some(link) = self.get_mut() {
            link.rdma(name, verb, memory, remote, offset, len);
        }
    }

    fn write_ahead(
        &mut self,
        name: N,
        memory: B::Buffer,
        remote: Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) {
        if let Some(link) = self.get_mut() {
            link.write_ahead(name, memory, remote, offset, len);
        }
    }

    fn register(&mut self, name: N, memory: B::Buffer, access: Access) {
        if let Some(link) = self.get_mut() {
            link.register(name, memory, access);
        }
    }

    fn deregister(&mut self, name: N) {
        if let Some(link) = self.get_mut() {
            link.deregister(name);
        }
    }

    fn waiting(&self) -> usize {
        self.get().map_or(0, Link::waiting)
    }

    fn waiting_bytes(&self) -> usize {
        self.get().map_or(0, Link::waiting_bytes)
    }

    fn unsent(&self) -> u64 {
        let (queued, sent) = self.get().map_or((0, 0), Link::messages);
        queued.saturating_sub(sent)
    }

    fn keep(&mut self, messages: usize, bytes: usize) {
        if let Some(link) = self.get_mut() {
            link.keep(messages, bytes);
        }
    }

    fn has_messages(&self) -> bool {
        self.get().is_some_and(Link::has_messages)
    }

    fn ignore_messages(&mut self) {
        if let Some(link) = self.get_mut() {
            link.ignore_messages();
        }
    }

    fn closed(&self) -> Option<&Ending<Self::Error>> {
        self.get().and_then(Link::closed)
    }

    fn close(&mut self, within: Duration) {
        if let Some(link) = self.get_mut() {
            link.close(within);
        }
    }

    fn drop_orders(&mut self) {
        if let Some(link) = self.get_mut() {
            link.drop_orders();
        }
    }

    fn leave(&mut self) {
        Self::leave(self);
    }
}
