//! The socket of an owner.

use std::collections::BTreeSet;

use super::error::BrokerError;
use crate::wire::{Answer, Call, Messages, Newcomer, Notice, Packet, Refusal, Reply, Request, WireError};

/// The calls of an owner, and what a broker tells it.
#[derive(Debug, Default)]
pub struct Calls {
    tags: u64,
    waiting: BTreeSet<u64>,
}

/// What a broker has told an owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum News {
    /// The answer to a call.
    Answer {
        /// That of the call.
        tag: u64,
        /// What came of it.
        result: Result<Reply, Refusal>,
    },
    /// A connection has come. The next file descriptor of the packet is its socket.
    New(Newcomer),
    /// A connection has gone to another owner.
    Moved {
        /// Which.
        connection: u64,
    },
    /// The broker will close this socket, because of a mistake of this owner.
    Fault {
        /// For people.
        why: String,
    },
}

impl News {
    /// Whether a file descriptor of the packet belongs to it.
    #[must_use]
    pub const fn has_descriptor(&self) -> bool {
        match self {
            Self::Answer { result: Ok(Reply::Memory(memory)), .. } => memory.count > 0,
            Self::Answer { result: Ok(Reply::Attached { .. }), .. } | Self::New(_) => true,
            Self::Answer { .. } | Self::Moved { .. } | Self::Fault { .. } => false,
        }
    }
}

impl Calls {
    /// Without calls.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The packet of a call, and its tag. With ATTACH goes the socket of the connection.
    pub fn call(&mut self, call: Call) -> (u64, Packet) {
        self.tags = self.tags.wrapping_add(1);
        let tag = self.tags;
        self.waiting.insert(tag);
        let mut packet = Packet::new();
        Request { tag, call }.write(&mut packet);
        (tag, packet)
    }

    /// What a packet tells.
    ///
    /// # Errors
    /// The broker does what it must not.
    pub fn received(&mut self, packet: &[u8]) -> Result<Vec<News>, BrokerError> {
        let mut news = Vec::new();
        for message in Messages::of(packet) {
            let message = message?;
            if let Some(Answer { tag, result }) = Answer::parse(&message)? {
                if !self.waiting.remove(&tag) {
                    return Err(BrokerError::Answer { tag });
                }
                news.push(News::Answer { tag, result });
                continue;
            }
            let value = message.kind.0.into();
            let valid = "the kind of an answer is 0x100 to 0x104, of a notice 0x200 to 0x202";
            let unknown = WireError::Value { message: "answer or notice", field: "Kind", value, valid };
            news.push(match Notice::parse(&message)?.ok_or(unknown)? {
                Notice::New(newcomer) => News::New(newcomer),
                Notice::Moved { connection } => News::Moved { connection },
                Notice::Fault { why } => News::Fault { why },
            });
        }
        Ok(news)
    }
}
