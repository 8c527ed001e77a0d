//! The common knowledge of both upper layers of a run: the messages under way and their content.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use smbd_core::{BufferDescriptorV1, Fragment};

use crate::{Rng, Side};

/// Longest message and longest RDMA buffer of a workload, in bytes.
pub const CONTENT_MAX: u32 = 256 * 1024;
const KEYS: u32 = 64 * 1024;

/// Content is a window into one block of noise: another key, another window.
fn noise() -> &'static [u8] {
    static NOISE: OnceLock<Vec<u8>> = OnceLock::new();
    NOISE.get_or_init(|| {
        let mut rng = Rng::new(0x006e_6f69_7365);
        (0..(KEYS + CONTENT_MAX) / 8).flat_map(|_| rng.bits().to_le_bytes()).collect()
    })
}

/// The bytes from `offset` on of the content with a key.
#[must_use]
pub fn content(key: u16, offset: u32, len: u32) -> &'static [u8] {
    let start = usize::from(key) + offset as usize;
    noise().get(start..start + len as usize).unwrap_or(&[])
}

/// What a message means.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Asks for an answer.
    Request {
        /// Number of the task.
        task: u32,
        /// Memory of the sender that the task is about.
        remote: Option<Arc<[BufferDescriptorV1]>>,
    },
    /// The answer.
    Response {
        /// Number of the task.
        task: u32,
    },
    /// Asks for nothing.
    Notice {
        /// Its number.
        number: u32,
    },
}

/// A message under way.
#[derive(Clone, Debug)]
pub struct QueuedMessage {
    /// What it means.
    pub kind: Kind,
    /// Its length in bytes.
    pub len: u32,
    /// Which bytes it has.
    pub key: u16,
}

/// How much a run has carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Messages delivered.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// RDMA operations done.
    pub operations: u64,
    /// Bytes they moved.
    pub operation_bytes: u64,
    /// Valid registrations.
    pub registrations: u64,
    /// Probes answered.
    pub probes: u64,
    /// Commands that made no sense and were refused.
    pub senseless: u64,
    /// Fragments held back for a while.
    pub held: u64,
    /// Comparisons of received bytes, of bytes moved by RDMA.
    pub compared: [u64; 2],
}

/// Both directions of one connection.
#[derive(Debug, Default)]
pub struct Workload {
    under_way: [VecDeque<QueuedMessage>; 2],
    /// Bytes had of the first queued, by receiver.
    had: [u32; 2],
    /// Counts.
    pub carried: Carried,
    /// The first thing that was wrong: of a message, or of RDMA.
    pub wrong: Option<(Side, Wrong)>,
}

/// What was wrong with bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// Of a message.
    Message(String),
    /// Moved by RDMA.
    Rdma(String),
}

impl Workload {
    /// `side` has sent a queued.
    pub fn sent(&mut self, side: Side, queued: QueuedMessage) {
        self.under_way[side.index()].push_back(queued);
    }

    /// Letters of `side` that have not arrived.
    #[must_use]
    pub fn under_way(&self, side: Side) -> usize {
        self.under_way[side.index()].len()
    }

    /// A piece of a message came to `side`. The queued, if it is complete.
    pub fn received(&mut self, side: Side, fragment: &Fragment, bytes: &[u8]) -> Option<QueuedMessage> {
        let had = self.had[side.index()];
        self.carried.compared[0] += 1;
        let Some(queued) = self.under_way[side.peer().index()].front() else {
            self.wrong(side, Wrong::Message(format!("{fragment:?} of no message")));
            return None;
        };
        let left = queued.len - had;
        let placed = fragment.is_first() == (had == 0)
            && fragment.len() <= left
            && fragment.remaining() == left - fragment.len();
        if !placed || bytes != content(queued.key, had, fragment.len()) {
            let what = format!("{fragment:?}, {had} bytes had of {queued:?}, placed right: {placed}");
            self.wrong(side, Wrong::Message(what));
        }
        if fragment.is_last() {
            self.had[side.index()] = 0;
            let queued = self.under_way[side.peer().index()].pop_front()?;
            self.carried.messages += 1;
            self.carried.bytes += u64::from(queued.len);
            return Some(queued);
        }
        self.had[side.index()] = had.saturating_add(fragment.len());
        None
    }

    /// A whole message came to `side`: the queued.
    pub fn received_whole(&mut self, side: Side, bytes: &[u8]) -> Option<QueuedMessage> {
        self.carried.compared[0] += 1;
        let Some(queued) = self.under_way[side.peer().index()].pop_front() else {
            self.wrong(side, Wrong::Message(format!("{} bytes of no message", bytes.len())));
            return None;
        };
        if bytes != content(queued.key, 0, queued.len) {
            let what = format!("{} bytes that are not those of {queued:?}", bytes.len());
            self.wrong(side, Wrong::Message(what));
        }
        self.carried.messages += 1;
        self.carried.bytes += u64::from(queued.len);
        Some(queued)
    }

    /// A message was held where it lay: it has to be what it was when it came.
    pub fn held(&mut self, side: Side, queued: &QueuedMessage, bytes: &[u8]) {
        if bytes != content(queued.key, 0, queued.len) {
            self.wrong(side, Wrong::Message(format!("{queued:?} changed while it was borrowed")));
        }
    }

    /// Bytes moved by RDMA: `got` has to be the content of `key` from its beginning.
    pub fn moved(&mut self, side: Side, what: &str, key: u16, got: &[u8]) {
        let len = u32::try_from(got.len()).unwrap_or(u32::MAX);
        self.carried.compared[1] += 1;
        if got != content(key, 0, len) {
            let first = got.iter().zip(content(key, 0, len)).position(|(a, b)| a != b);
            self.wrong(side, Wrong::Rdma(format!("{what}: {len} bytes, wrong from {first:?} on")));
        }
    }

    fn wrong(&mut self, side: Side, wrong: Wrong) {
        self.wrong.get_or_insert((side, wrong));
    }

    /// The connection is over: queued_messages that have not arrived, by sender.
    pub fn lost(&mut self) -> [VecDeque<QueuedMessage>; 2] {
        self.had = [0; 2];
        std::mem::take(&mut self.under_way)
    }
}
