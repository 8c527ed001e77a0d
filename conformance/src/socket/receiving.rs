//! The receive queue of an end, and its buffers.

use std::collections::VecDeque;

use smbd_core::RecvId;

/// Receives that are posted, their buffers, and how many the peer was told of.
#[derive(Debug)]
pub(super) struct Receiving {
    posted: VecDeque<(RecvId, u32)>,
    /// Receives at the back of `posted` that the peer was not told of.
    unannounced: usize,
    /// By slot.
    buffers: Vec<Vec<u8>>,
}

impl Receiving {
    pub(super) fn new(slots: u32) -> Self {
        Self { posted: VecDeque::new(), unannounced: 0, buffers: vec![Vec::new(); slots as usize] }
    }

    pub(super) fn post(&mut self, id: RecvId, len: u32) {
        self.posted.push_back((id, len));
        self.unannounced += 1;
    }

    /// Receives of one length that the peer was not told of: how many, and their length.
    pub(super) fn next_unannounced(&mut self) -> Option<(u32, u32)> {
        let mut unannounced = self.posted.range(self.posted.len() - self.unannounced..).map(|(_, len)| *len);
        let length = unannounced.next()?;
        let count = 1 + unannounced.take_while(|len| *len == length).count();
        self.unannounced -= count;
        Some((u32::try_from(count).unwrap_or(u32::MAX), length))
    }

    pub(super) fn message(&self, id: RecvId) -> &[u8] {
        self.buffers.get(usize::from(id.slot())).map_or(&[], Vec::as_slice)
    }

    pub(super) fn drain(&mut self) -> impl Iterator<Item = RecvId> + use<> {
        self.unannounced = 0;
        std::mem::take(&mut self.posted).into_iter().map(|(id, _)| id)
    }

    /// The receive that takes the next message, unless the peer was not told of it.
    pub(super) fn take(&mut self) -> Option<(RecvId, u32)> {
        if self.posted.len() == self.unannounced { None } else { self.posted.pop_front() }
    }

    /// Keeps a message in the buffer of the receive that took it.
    pub(super) fn keep(&mut self, id: RecvId, message: &[u8]) {
        if let Some(buffer) = self.buffers.get_mut(usize::from(id.slot())) {
            buffer.clear();
            buffer.extend_from_slice(message);
        }
    }
}
