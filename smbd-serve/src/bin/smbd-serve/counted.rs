//! A transport whose bytes are counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use smbd_core::{Access, BufferDescriptorV1, RdmaVerb, Token};
use smbd_link::link::{Ending, Event, Piece};
use smbd_link::transport::{Limits, Past, Transport};

use crate::counters::{Counters, Traffic};

/// A transport whose bytes are counted, for itself and among those of all.
#[derive(Debug)]
pub(crate) struct Counted<T> {
    pub(crate) transport: T,
    pub(crate) own: Arc<Traffic>,
    pub(crate) all: Arc<Counters>,
}

impl<T> Counted<T> {
    fn add(&self, of: impl Fn(&Traffic) -> &AtomicU64, bytes: usize) {
        for traffic in [&*self.own, &self.all.traffic] {
            of(traffic).fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }
}

impl<N, T: Transport<N>> Transport<N> for Counted<T> {
    type Memory = T::Memory;
    type Error = T::Error;

    fn limits(&self) -> Limits {
        self.transport.limits()
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Event<N, T::Error>> {
        self.transport.poll_event(cx)
    }

    fn try_recv(&mut self) -> Option<Piece> {
        let piece = self.transport.try_recv()?;
        self.add(|traffic| &traffic.messages_in, piece.bytes.len());
        Some(piece)
    }

    fn try_past(&mut self) -> Option<Past> {
        self.transport.try_past()
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.transport.poll_ready(cx)
    }

    fn send(&mut self, message: Bytes, invalidate: Option<Token>) {
        self.add(|traffic| &traffic.messages_out, message.len());
        self.transport.send(message, invalidate);
    }

    fn send_unsignalled(&mut self, message: Bytes, invalidate: Option<Token>) {
        self.add(|traffic| &traffic.messages_out, message.len());
        self.transport.send_unsignalled(message, invalidate);
    }

    fn rdma(
        &mut self,
        name: N,
        verb: RdmaVerb,
        memory: T::Memory,
        remote: Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) {
        let is_read = matches!(verb, RdmaVerb::Read);
        self.add(|traffic| if is_read { &traffic.rdma_in } else { &traffic.rdma_out }, len as usize);
        self.transport.rdma(name, verb, memory, remote, offset, len);
    }

    fn write_ahead(
        &mut self,
        name: N,
        memory: T::Memory,
        remote: Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) {
        self.add(|traffic| &traffic.rdma_out, len as usize);
        self.transport.write_ahead(name, memory, remote, offset, len);
    }

    fn register(&mut self, name: N, memory: T::Memory, access: Access) {
        self.transport.register(name, memory, access);
    }

    fn deregister(&mut self, name: N) {
        self.transport.deregister(name);
    }

    fn waiting(&self) -> usize {
        self.transport.waiting()
    }

    fn waiting_bytes(&self) -> usize {
        self.transport.waiting_bytes()
    }

    fn unsent(&self) -> u64 {
        self.transport.unsent()
    }

    fn keep(&mut self, messages: usize, bytes: usize) {
        self.transport.keep(messages, bytes);
    }

    fn has_messages(&self) -> bool {
        self.transport.has_messages()
    }

    fn ignore_messages(&mut self) {
        self.transport.ignore_messages();
    }

    fn closed(&self) -> Option<&Ending<T::Error>> {
        self.transport.closed()
    }

    fn close(&mut self, within: Duration) {
        self.transport.close(within);
    }

    fn drop_orders(&mut self) {
        self.transport.drop_orders();
    }

    fn leave(&mut self) {
        self.transport.leave();
    }
}
