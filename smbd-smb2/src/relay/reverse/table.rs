//! Requests with a channel that were not answered yet, by their MessageId.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::relay::Reason;
use crate::relay::request::Verb;
use crate::wire::MessageId;

/// A request whose data go by RDMA.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) verb: Verb,
    /// Length, in bytes.
    pub(super) len: u32,
    /// The buffers of its data, in order.
    pub(super) buffers: Vec<u16>,
}

/// The table. It outlives interim answers: the final one has the same MessageId (3.3.4.4). Each request has a buffer at least, so
/// there are no more of them than buffers.
#[derive(Debug, Default)]
pub(super) struct Table(BTreeMap<u64, Request>);

impl Table {
    /// Adds a request.
    pub(super) fn insert(&mut self, message_id: MessageId, request: Request) -> Result<(), Reason> {
        // 3.3.1.1: an answer could not be told from the other one's, or from a break.
        if message_id == MessageId::UNSOLICITED || self.contains(message_id) {
            return Err(Reason::MessageIdReused { message_id });
        }
        self.0.insert(message_id.0, request);
        Ok(())
    }

    pub(super) fn contains(&self, message_id: MessageId) -> bool {
        self.0.contains_key(&message_id.0)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes a request, when its final answer has come.
    pub(super) fn remove(&mut self, message_id: MessageId) -> Option<Request> {
        self.0.remove(&message_id.0)
    }
}
