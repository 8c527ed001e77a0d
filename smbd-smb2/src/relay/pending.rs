//! Requests with a channel that were not answered yet, by their MessageId.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;

use super::config::Params;
use super::reason::Reason;
use crate::wire::{BufferDescriptorV1, MessageId, Token};

/// What has to be done with the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// The first descriptor's token, if the client wants it invalidated.
    pub(super) invalidate: Option<Token>,
    pub(super) data: Data,
}

/// Where the data of the answer go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Data {
    /// There are none: a WRITE, or a request that the server was made to refuse.
    None,
    /// To the client's memory.
    Read { length: u32, remote: Arc<[BufferDescriptorV1]> },
}

/// The table. It outlives interim answers: the final one has the same MessageId (3.3.4.4).
#[derive(Debug)]
pub(super) struct Pending {
    requests: BTreeMap<u64, Request>,
    /// Of READs in the table, and of WRITEs whose data are not all ordered.
    descriptors: usize,
    descriptors_max: usize,
    requests_max: u32,
}

impl Pending {
    pub(super) const fn new(params: &Params) -> Self {
        Self {
            requests: BTreeMap::new(),
            descriptors: 0,
            descriptors_max: params.descriptors_max as usize,
            requests_max: params.requests_max,
        }
    }

    /// Whether so many more descriptors can be kept.
    pub(super) const fn has_room(&self, descriptors: usize) -> bool {
        self.descriptors.saturating_add(descriptors) <= self.descriptors_max
    }

    /// Counts descriptors that are kept elsewhere.
    pub(super) const fn keep(&mut self, descriptors: usize) {
        self.descriptors = self.descriptors.saturating_add(descriptors);
    }

    /// Takes back [`Self::keep`].
    pub(super) const fn release(&mut self, descriptors: usize) {
        self.descriptors = self.descriptors.saturating_sub(descriptors);
    }

    /// Adds a request.
    pub(super) fn insert(&mut self, message_id: MessageId, request: Request) -> Result<(), Reason> {
        // 3.3.1.1: the server ends the connection. An answer could not be told from the other one's, or from a break.
        if message_id == MessageId::UNSOLICITED || self.requests.contains_key(&message_id.0) {
            return Err(Reason::MessageIdReused { message_id });
        }
        if self.requests.len() >= self.requests_max as usize {
            return Err(Reason::TooManyRequests { max: self.requests_max });
        }
        if let Data::Read { remote, .. } = &request.data {
            self.keep(remote.len());
        }
        self.requests.insert(message_id.0, request);
        Ok(())
    }

    /// Whether a request has this MessageId.
    pub(super) fn contains(&self, message_id: MessageId) -> bool {
        self.requests.contains_key(&message_id.0)
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Removes a request, when its final answer has come.
    pub(super) fn remove(&mut self, message_id: MessageId) -> Option<Request> {
        let request = self.requests.remove(&message_id.0)?;
        if let Data::Read { remote, .. } = &request.data {
            self.release(remote.len());
        }
        Some(request)
    }
}
