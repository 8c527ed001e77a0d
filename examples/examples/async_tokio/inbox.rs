//! Messages on their way to the program.

use std::collections::VecDeque;

use bytes::Bytes;
use tokio::sync::mpsc;

/// Bytes that may wait for the program.
const BYTES_MAX: usize = 4 << 20;

/// Received messages that the program has not asked for.
#[derive(Debug)]
pub(super) struct Inbox {
    program: mpsc::Sender<Bytes>,
    waiting: VecDeque<Bytes>,
    bytes: usize,
}

impl Inbox {
    pub(super) fn new(program: mpsc::Sender<Bytes>) -> Self {
        Self { program, waiting: VecDeque::new(), bytes: 0 }
    }

    pub(super) fn push(&mut self, message: Bytes) {
        self.bytes += message.len();
        self.waiting.push_back(message);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether nothing more should be read. Credits do not come in then either: sends that need one wait too.
    pub(super) fn is_full(&self) -> bool {
        self.bytes >= BYTES_MAX
    }

    /// Gives the program the next message, once it has a place for it. Dropping the future gives nothing.
    pub(super) async fn hand_over(&mut self) {
        let Ok(place) = self.program.reserve().await else {
            // The program wants no more messages.
            self.waiting.clear();
            self.bytes = 0;
            return;
        };
        if let Some(message) = self.waiting.pop_front() {
            self.bytes -= message.len();
            place.send(message);
        }
    }
}
