//! Commands of the handles for the driver.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use ::tokio::sync::oneshot;
use bytes::Bytes;

use super::shared::Shared;
use crate::{Failure, PollReady, Registration};
use smbd_core::{Access, BufferDescriptorV1, RdmaVerb, Token};

/// The channel for the result of a command. If it is dropped, the connection has ended.
pub(super) type Answer<T, E> = oneshot::Sender<Result<T, Failure<E>>>;

pub(super) enum Command<B: PollReady> {
    Send {
        payload: Bytes,
        invalidate: Option<Token>,
    },
    Flush(Answer<(), B::Error>),
    Rdma {
        verb: RdmaVerb,
        buffer: B::Buffer,
        remote: Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
        answer: Answer<(), B::Error>,
    },
    Register {
        buffer: B::Buffer,
        access: Access,
        answer: Answer<Offer, B::Error>,
    },
    Deregister {
        name: u64,
        answer: Answer<(), B::Error>,
    },
    Probe(Answer<Duration, B::Error>),
}

/// A registration on its way to its caller. If it is dropped before it is claimed, the driver deregisters it.
pub(super) struct Offer {
    registration: Registration,
    /// `None` when it was claimed.
    shared: Option<Arc<Shared>>,
}

impl Offer {
    pub(super) const fn new(registration: Registration, shared: Arc<Shared>) -> Self {
        Self { registration, shared: Some(shared) }
    }

    pub(super) fn claim(mut self) -> Registration {
        self.shared = None;
        let Registration { name, descriptors } = &mut self.registration;
        Registration { name: *name, descriptors: mem::take(descriptors) }
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        if let Some(shared) = &self.shared {
            shared.wish(|state| state.unclaimed.push(self.registration.name));
        }
    }
}
