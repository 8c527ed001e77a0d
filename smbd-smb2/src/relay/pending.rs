//! Requests with a channel that were not answered yet, by their MessageId.

use alloc::collections::VecDeque;
use core::mem::{forget, replace};

use smbd_core::wire::BufferDescriptors;

use super::config::Params;
use super::lists::{Lists, Remote};
use super::reason::Reason;
use crate::wire::{MessageId, Token};

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
    Read { length: u32, remote: Remote },
}

/// The table. It outlives interim answers: the final one has the same MessageId (3.3.4.4).
#[derive(Debug)]
pub(super) struct Pending {
    /// In the order of their MessageIds, which is nearly that in which they come and go.
    requests: VecDeque<(MessageId, Request)>,
    /// Of READs in the table, and of WRITEs whose data are not all ordered.
    descriptors: usize,
    descriptors_max: usize,
    requests_max: u32,
    lists: Lists,
}

impl Pending {
    pub(super) const fn new(params: &Params) -> Self {
        Self {
            requests: VecDeque::new(),
            descriptors: 0,
            descriptors_max: params.descriptors_max as usize,
            requests_max: params.requests_max,
            lists: Lists::new(),
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

    /// The memory that these descriptors name.
    #[inline]
    pub(super) fn remote(&mut self, descriptors: BufferDescriptors<'_>) -> Remote {
        self.lists.list(descriptors)
    }

    /// Adds a request.
    #[inline]
    pub(super) fn insert(&mut self, message_id: MessageId, request: Request) -> Result<(), Reason> {
        let is_last = self.requests.back().is_none_or(|(last, _)| *last < message_id);
        // 3.3.1.1: the server ends the connection. An answer could not be told from the other one's, or from a break.
        let is_new = is_last || self.place(message_id).is_err();
        if !is_new || message_id == MessageId::UNSOLICITED {
            return Err(Reason::MessageIdReused { message_id });
        }
        if self.requests.len() >= self.requests_max as usize {
            return Err(Reason::TooManyRequests { max: self.requests_max });
        }
        if let Data::Read { remote, .. } = &request.data {
            self.keep(remote.len());
        }
        if is_last {
            self.requests.push_back((message_id, request));
        } else {
            let place = self.place(message_id).unwrap_or_else(|place| place);
            self.requests.insert(place, (message_id, request));
        }
        Ok(())
    }

    /// Whether a request has this MessageId.
    #[inline]
    pub(super) fn contains(&self, message_id: MessageId) -> bool {
        self.place(message_id).is_ok()
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Removes a request, when its final answer has come.
    #[inline]
    pub(super) fn remove(&mut self, message_id: MessageId) -> Option<Request> {
        // Its parts are taken one by one: moved as a whole, they would go through memory bit by bit. Then nothing is left to be dropped.
        let parts = |request: &mut Request| (request.invalidate, replace(&mut request.data, Data::None));
        let (invalidate, data) = match self.requests.front_mut()? {
            (first, request) if *first == message_id => {
                let parts = parts(request);
                forget(self.requests.pop_front());
                parts
            }
            _ => {
                let place = self.search(message_id).ok()?;
                let parts = parts(&mut self.requests.get_mut(place)?.1);
                forget(self.requests.remove(place));
                parts
            }
        };
        if let Data::Read { remote, .. } = &data {
            self.release(remote.len());
        }
        Some(Request { invalidate, data })
    }

    /// Where it is, or where it would be.
    #[inline]
    fn place(&self, message_id: MessageId) -> Result<usize, usize> {
        match self.requests.front() {
            Some((first, _)) if *first == message_id => Ok(0),
            Some(_) => self.search(message_id),
            None => Err(0),
        }
    }

    #[inline(never)]
    fn search(&self, message_id: MessageId) -> Result<usize, usize> {
        self.requests.binary_search_by_key(&message_id, |(id, _)| *id)
    }
}
