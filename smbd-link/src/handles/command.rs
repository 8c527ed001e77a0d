//! Commands of the handles for the driver.

use std::mem;
use std::sync::Arc;
use std::time::Duration;
use std::vec::Vec;

use ::tokio::sync::oneshot;
use bytes::Bytes;

use super::shared::Shared;
use crate::{Failure, Registration};
use smbd_core::{Access, BufferDescriptorV1, RdmaVerb, Token};

/// The channel for the result of a command.
pub(super) type Answer<T, E> = oneshot::Sender<Result<T, Failure<E>>>;

#[derive(Debug)]
pub(super) enum Command<M, E> {
    Send { payload: Bytes, invalidate: Option<Token> },
    Flush(Answer<(), E>),
    Rdma { transfer: Transfer<M>, answer: Answer<(), E> },
    Register { buffer: M, access: Access, answer: Answer<Offer<E>, E> },
    Deregister { name: u64, answer: Answer<(), E> },
    Probe(Answer<Duration, E>),
}

/// An RDMA operation.
#[derive(Debug)]
pub(super) struct Transfer<M> {
    pub(super) verb: RdmaVerb,
    pub(super) buffer: M,
    pub(super) remote: Arc<[BufferDescriptorV1]>,
    pub(super) offset: u64,
    pub(super) len: u32,
}

/// A registration on its way to its caller. Dropping it unclaimed makes the driver deregister it.
#[derive(Debug)]
pub(super) struct Offer<E> {
    name: u64,
    descriptors: Vec<BufferDescriptorV1>,
    /// `None` once it was claimed.
    shared: Option<Arc<Shared<E>>>,
}

impl<E> Offer<E> {
    pub(super) const fn new(name: u64, descriptors: Vec<BufferDescriptorV1>, shared: Arc<Shared<E>>) -> Self {
        Self { name, descriptors, shared: Some(shared) }
    }

    pub(super) fn claim(mut self) -> Registration {
        self.shared = None;
        Registration { name: self.name, descriptors: mem::take(&mut self.descriptors) }
    }
}

impl<E> Drop for Offer<E> {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.take() {
            shared.wish(|wishes| wishes.unclaimed.push(self.name));
        }
    }
}
