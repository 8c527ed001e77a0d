//! Why a relay ends a connection, and why it lets a server refuse a request.

use thiserror::Error;

use crate::wire::{Command, MessageId, WireError};

/// Why a connection is closed. The text says what to do about it, where something can be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Reason {
    /// The client's connection has ended.
    #[error("the client's connection has ended")]
    ClientEnded,
    /// The server's connection has ended.
    #[error("the server's connection has ended")]
    ServerEnded,
    /// An RDMA operation failed. The client's memory or its connection is gone.
    #[error("an RDMA operation failed")]
    RdmaFailed,
    /// A READ or WRITE is signed and has a channel: its data cannot go by RDMA without another signature, and a client that gets
    /// them in the answer reads 0 bytes.
    #[error(
        "{command} {message_id} is signed and has an RDMA channel; to use RDMA, do not require signing at the client"
    )]
    SignedChannel {
        /// READ or WRITE.
        command: Command,
        /// Its MessageId.
        message_id: MessageId,
    },
    /// A compound has an element that is signed, and one that has to be rewritten or sent on its own.
    #[error("a compound has a signed element {message_id} beside a READ or WRITE with an RDMA channel")]
    SignedInCompound {
        /// The signed element.
        message_id: MessageId,
    },
    /// The elements of a compound with a READ or WRITE with a channel cannot be told apart.
    #[error("a compound with an RDMA channel is broken: {0}")]
    BrokenCompound(WireError),
    /// The elements of a client's message cannot be told apart, so a server may see a channel in it.
    #[error("a message of the client is broken: {0}")]
    BrokenMessage(WireError),
    /// A compound is too long to be looked through before its first byte leaves, and an element with a channel came late in it.
    #[error("a compound of {len} bytes has an RDMA channel, and such a one can have {max} bytes at most")]
    CompoundTooLong {
        /// Its length in bytes.
        len: u32,
        /// The limit in bytes.
        max: u32,
    },
    /// A message of the client is longer than direct TCP can carry (2.1).
    #[error("a message of the client has {len} bytes, and direct TCP carries {max} at most (2.1)")]
    RequestTooLarge {
        /// Its length in bytes.
        len: u64,
        /// The limit in bytes.
        max: u32,
    },
    /// A message of the server is longer than the client receives.
    #[error(
        "a message of the server has {len} bytes, and the client receives {max} at most; \
         what is encrypted can be signed too, or read in smaller pieces (Linux: sign,seal or rsize=131072)"
    )]
    AnswerTooLarge {
        /// Its length in bytes.
        len: u32,
        /// The limit in bytes.
        max: u32,
    },
    /// The server's bytes are not a sequence of messages (2.1).
    #[error(
        "the server's next message has 0x{header:08x} as its header, which is not that of direct TCP (2.1)"
    )]
    Framing {
        /// The four bytes, the first one highest.
        header: u32,
    },
    /// The client's bytes are not a sequence of messages (2.1).
    #[error(
        "the client's next message has 0x{header:08x} as its header, which is not that of direct TCP (2.1)"
    )]
    ClientFraming {
        /// The four bytes, the first one highest.
        header: u32,
    },
    /// A message that does not go by RDMA is longer than the server receives over SMB Direct (MS-SMBD 3.1.4.2).
    #[error(
        "a message of the client has {len} bytes, and the server receives {max} at most over SMB Direct (MS-SMBD 3.1.4.2); \
         longer ones go by RDMA, but not what is signed, encrypted or compounded: write smaller pieces (Linux: wsize=65536), \
         or require neither signing nor encryption"
    )]
    AboveMaxFragmentedSize {
        /// Its length in bytes.
        len: u32,
        /// The server's MaxFragmentedSize in bytes.
        max: u32,
    },
    /// A client over TCP sends a READ or WRITE with an RDMA channel: the server would use memory that the client has chosen.
    #[error("{command} {message_id} has an RDMA channel, and came over TCP (3.3.5.12, 3.3.5.13)")]
    ChannelOverTcp {
        /// READ or WRITE.
        command: Command,
        /// Its MessageId.
        message_id: MessageId,
    },
    /// Memory could not be registered, or a registration not be ended.
    #[error(
        "memory could not be registered with the device, or its registration not be ended; is the limit of locked memory too \
         low (ulimit -l)?"
    )]
    RegistrationFailed,
    /// The answer to a READ with a channel has data in the message, and says that data came by RDMA as well (3.3.5.12).
    #[error("the answer to READ {message_id} has data of its own, and DataRemaining is not 0 (3.3.5.12)")]
    DataTwice {
        /// Its MessageId.
        message_id: MessageId,
    },
    /// The answer to a READ cannot be read.
    #[error("the answer to a READ cannot be read: {0}")]
    BrokenAnswer(WireError),
    /// The answer to a READ has more data than were asked for (3.3.5.12).
    #[error("the answer to READ {message_id} has {len} bytes, and {asked} were asked for (3.3.5.12)")]
    TooMuchData {
        /// Its MessageId.
        message_id: MessageId,
        /// Bytes in the answer.
        len: u32,
        /// Bytes asked for.
        asked: u32,
    },
    /// The answer to a READ with a channel is signed, although the request was not (3.3.4.1.1).
    #[error("the answer to READ {message_id} is signed, and its request was not (3.3.4.1.1)")]
    SignedAnswer {
        /// Its MessageId.
        message_id: MessageId,
    },
    /// A request with a channel has a MessageId that another one has which was not answered yet, or that no request has (3.3.1.1).
    #[error("{message_id} is the MessageId of two requests at once, or of none (3.3.1.1)")]
    MessageIdReused {
        /// The MessageId.
        message_id: MessageId,
    },
    /// More requests with a channel are unanswered than any server gives credits for.
    #[error("{max} requests with an RDMA channel are unanswered")]
    TooManyRequests {
        /// The limit.
        max: u32,
    },
}

/// Why a READ or WRITE with a channel is forwarded in a form that the server refuses with STATUS_INVALID_PARAMETER. Answering it
/// without the server would leave a hole among the server's MessageIds (3.3.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// Its body, or what its fields point to, is not inside of it.
    Malformed,
    /// A channel other than RDMA_V1 and, in 3.0.2 and 3.1.1, RDMA_V1_INVALIDATE (3.3.5.12, 3.3.5.13).
    UnknownChannel,
    /// A transfer of 0 bytes (3.3.5.12, 3.3.5.13).
    Empty,
    /// A WRITE with data, or with an offset of data, beside its channel (3.3.5.13).
    InlineData,
    /// No descriptor (3.3.5.12, 3.3.5.13).
    NoDescriptors,
    /// The last descriptor is not complete.
    RaggedDescriptors,
    /// The first descriptor of a WRITE has no bytes (3.3.5.13).
    EmptyDescriptor,
    /// A descriptor's end is not an address.
    DescriptorWraps,
    /// The descriptors are shorter than the transfer.
    ShortDescriptors,
    /// The transfer is longer than MaxReadWriteSize (MS-SMBD 3.1.4.5).
    AboveMaxReadWriteSize,
    /// With the data of its WRITEs the message would be too long for direct TCP (2.1), or it has more descriptors than are kept.
    TooLong,
    /// The table of descriptors is full.
    TableFull,
}

impl Refusal {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Malformed,
        Self::UnknownChannel,
        Self::Empty,
        Self::InlineData,
        Self::NoDescriptors,
        Self::RaggedDescriptors,
        Self::EmptyDescriptor,
        Self::DescriptorWraps,
        Self::ShortDescriptors,
        Self::AboveMaxReadWriteSize,
        Self::TooLong,
        Self::TableFull,
    ];
}

impl core::fmt::Display for Refusal {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Malformed => "malformed",
            Self::UnknownChannel => "unknown channel",
            Self::Empty => "empty",
            Self::InlineData => "inline data",
            Self::NoDescriptors => "no descriptors",
            Self::RaggedDescriptors => "ragged descriptors",
            Self::EmptyDescriptor => "empty descriptor",
            Self::DescriptorWraps => "descriptor wraps",
            Self::ShortDescriptors => "short descriptors",
            Self::AboveMaxReadWriteSize => "above MaxReadWriteSize",
            Self::TooLong => "too long",
            Self::TableFull => "table full",
        })
    }
}
