//! Messages that were taken from the broker and wait for the owner.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use smbd_link::link::Options;
use smbd_link::transport::Past;

use crate::wire::Age;

/// Messages that are taken from the broker before the owner takes those before them.
const AHEAD_MAX: usize = 1;

/// Messages that were taken from the broker.
#[derive(Default)]
pub(super) struct Inbox {
    ahead: VecDeque<Arrived>,
    /// Messages, and their bytes, that the owner has taken and keeps.
    kept: (usize, usize),
    /// Messages are not wanted any more.
    is_deaf: bool,
}

enum Arrived {
    New(BytesMut),
    Past(Past),
}

impl Inbox {
    /// Whether another message is to be taken from the broker.
    pub(super) fn wants(&self) -> bool {
        // Those of a link.
        let Options { messages_max, bytes_max, .. } = Options::default();
        let has_room = self.kept.0 < messages_max && self.kept.1 < bytes_max;
        self.is_deaf || has_room && self.ahead.len() < AHEAD_MAX
    }

    pub(super) fn push(&mut self, age: Age, bytes: Vec<u8>) {
        if !self.is_deaf {
            let bytes = Bytes::from(bytes);
            self.ahead.push_back(match age {
                // Of one owner, so nothing is copied.
                Age::New => Arrived::New(bytes.into()),
                Age::PastRequest => Arrived::Past(Past::Request(bytes)),
                Age::PastResponse => Arrived::Past(Past::Response(bytes)),
            });
        }
    }

    /// The next message, if it is no past one.
    pub(super) fn pop_new(&mut self) -> Option<BytesMut> {
        match self.ahead.pop_front()? {
            Arrived::New(bytes) => Some(bytes),
            past @ Arrived::Past(_) => {
                self.ahead.push_front(past);
                None
            }
        }
    }

    /// The next message, if it is a past one.
    pub(super) fn pop_past(&mut self) -> Option<Past> {
        match self.ahead.pop_front()? {
            Arrived::Past(past) => Some(past),
            new @ Arrived::New(_) => {
                self.ahead.push_front(new);
                None
            }
        }
    }

    pub(super) fn has_new(&self) -> bool {
        self.ahead.iter().any(|arrived| matches!(arrived, Arrived::New(_)))
    }

    pub(super) const fn keep(&mut self, messages: usize, bytes: usize) {
        self.kept = (messages, bytes);
    }

    /// Takes no message any more, and drops those that wait.
    pub(super) fn ignore(&mut self) {
        self.is_deaf = true;
        self.ahead.clear();
    }
}
