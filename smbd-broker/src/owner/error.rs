//! What can be wrong.

use thiserror::Error;

use crate::wire::WireError;

/// A broker does what it must not. The socket has to be closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum BrokerError {
    /// A packet is wrong.
    #[error("a packet of the broker is wrong: {0}")]
    Wire(#[from] WireError),
    /// An answer to nothing, or a second one.
    #[error("the broker answers call {tag}, which waits for no answer")]
    Answer {
        /// Its tag.
        tag: u64,
    },
    /// The result of nothing, or a second one.
    #[error("the broker says that transfer {tag} has ended, which is not under way")]
    Transfer {
        /// Its tag.
        tag: u64,
    },
    /// More messages than were sent.
    #[error("the broker has sent {count} messages more, and {waiting} were waiting")]
    Sent {
        /// What it says.
        count: u32,
        /// What it was given.
        waiting: usize,
    },
    /// Pieces that do not fit together.
    #[error(
        "a piece of a message says that {remaining} bytes are behind it, and {expected} bytes were left before it"
    )]
    Pieces {
        /// What it says.
        remaining: u32,
        /// What the last one said.
        expected: u32,
    },
    /// A message longer than any connection receives.
    #[error("a message has {len} bytes, at most {max} were agreed on")]
    TooLong {
        /// Its length.
        len: u64,
        /// The most.
        max: u32,
    },
    /// Something behind the last event.
    #[error("the broker tells more of a connection that has ended")]
    AfterEnd,
}

/// A message was not taken. Nothing has changed by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SendError {
    /// It is empty.
    #[error("a message has at least 1 byte")]
    Empty,
    /// It is too long for the client.
    #[error("the message has {len} bytes, and MaxFragmentedSendSize is {max} (MS-SMBD 3.1.4.2)")]
    TooLong {
        /// Its length.
        len: usize,
        /// The most.
        max: u32,
    },
    /// As many are under way as may be. [`Sent`](super::Happened::Sent) makes room.
    #[error("as many messages wait to be sent as may wait")]
    Full,
    /// The connection has ended.
    #[error("the connection has ended")]
    Lost,
}

/// A transfer was not taken. Nothing has changed by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum TransferError {
    /// It has no byte, no slot or no descriptor, or too many.
    #[error("a transfer has 1 to 64 slots and 1 to 4095 descriptors, not {areas} and {descriptors}")]
    Shape {
        /// Its slots.
        areas: usize,
        /// Its descriptors.
        descriptors: usize,
    },
    /// It is longer than was negotiated.
    #[error("the transfer has {len} bytes, and MaxReadWriteSize is {max} (MS-SMBD 3.1.1.1)")]
    TooLong {
        /// Its length.
        len: u64,
        /// The most.
        max: u32,
    },
    /// As many are under way as may be. [`Done`](super::Happened::Done) makes room.
    #[error("as many transfers are under way as may be")]
    Full,
    /// The connection has ended.
    #[error("the connection has ended")]
    Lost,
}
