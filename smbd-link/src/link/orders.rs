//! Messages and RDMA operations that wait until the endpoint has room, in their order.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use smbd_core::{BufferDescriptorV1, RdmaVerb, Token};

/// What goes out in turn: a message behind data arrives behind them.
#[derive(Debug)]
pub(super) enum Order<M, N> {
    Send {
        payload: Bytes,
        invalidate: Option<Token>,
        /// Its completion is waited for.
        is_signalled: bool,
    },
    Rdma(Transfer<M, N>),
}

/// An RDMA operation between the beginning of a buffer and a part of the peer's.
#[derive(Debug)]
pub(super) struct Transfer<M, N> {
    pub(super) name: N,
    pub(super) verb: RdmaVerb,
    pub(super) buffer: M,
    pub(super) remote: Arc<[BufferDescriptorV1]>,
    pub(super) offset: u64,
    pub(super) len: u32,
    /// Its completion is waited for.
    pub(super) is_signalled: bool,
}

/// The orders, and the bytes of their messages.
#[derive(Debug)]
pub(super) struct Orders<M, N> {
    waiting: VecDeque<Order<M, N>>,
    bytes: usize,
}

impl<M, N> Orders<M, N> {
    pub(super) const fn new() -> Self {
        Self { waiting: VecDeque::new(), bytes: 0 }
    }

    pub(super) fn push(&mut self, order: Order<M, N>) {
        self.bytes = self.bytes.saturating_add(order.len());
        self.waiting.push_back(order);
    }

    pub(super) fn pop(&mut self) -> Option<Order<M, N>> {
        let order = self.waiting.pop_front()?;
        self.bytes = self.bytes.saturating_sub(order.len());
        Some(order)
    }

    /// Puts back what found no room.
    pub(super) fn put_back(&mut self, order: Order<M, N>) {
        self.bytes = self.bytes.saturating_add(order.len());
        self.waiting.push_front(order);
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// RDMA operations that wait.
    pub(super) fn operations(&self) -> usize {
        self.waiting.iter().filter(|order| matches!(order, Order::Rdma(_))).count()
    }

    /// Bytes of the messages that wait.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }
}

impl<M, N> Order<M, N> {
    const fn len(&self) -> usize {
        match self {
            Self::Send { payload, .. } => payload.len(),
            Self::Rdma(_) => 0,
        }
    }
}
