use thiserror::Error;

use super::ids::OwnerId;
use crate::wire::WireError;

/// Why a broker ends a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Reason {
    /// Nobody takes it.
    #[error("no owner holds its session or its client, and none is the default acceptor")]
    NoOwner,
    /// It binds a session that nobody holds, and there is no default acceptor.
    #[error(
        "SESSION_SETUP binds SessionId {session_id:#x}, which no owner holds, and none is the default acceptor (MS-SMB2 3.3.5.5)"
    )]
    UnknownSession {
        /// The session.
        session_id: u64,
    },
    /// Its owner has as many as it may have.
    #[error("{0} has as many connections as it may have")]
    OwnerIsFull(OwnerId),
    /// The client says nothing.
    #[error("the client was silent until the time for NEGOTIATE and SESSION_SETUP was over")]
    Silent,
    /// Before SESSION_SETUP there was too much.
    #[error("{len} bytes were exchanged before SESSION_SETUP, {max} are kept")]
    TooMuchBeforeSetup {
        /// How much.
        len: usize,
        /// What is kept.
        max: usize,
    },
    /// Before SESSION_SETUP there were too many messages.
    #[error("more than {max} messages were exchanged before SESSION_SETUP")]
    TooManyBeforeSetup {
        /// How many are kept.
        max: usize,
    },
    /// The client does not wait for the answer to NEGOTIATE (MS-SMB2 3.3.5.2.2).
    #[error("the client sends another request before NEGOTIATE was answered (MS-SMB2 3.3.5.2.2)")]
    SetupBeforeNegotiate,
    /// NEGOTIATE that the broker cannot answer (MS-SMB2 3.3.5.4).
    #[error(
        "NEGOTIATE cannot be answered: its Dialects have none of 3.0, 3.0.2 and 3.1.1 that owners have as well, its \
         HashAlgorithms no SHA-512, or a context comes twice (MS-SMB2 3.3.5.4)"
    )]
    NoDialect,
    /// Its owner is gone.
    #[error("its owner is gone")]
    OwnerLeft,
    /// Its owner has closed its socket.
    #[error("its owner has closed its socket")]
    SocketClosed,
    /// Its owner wants it.
    #[error("its owner disconnects")]
    Disconnected,
    /// A packet of its owner is wrong.
    #[error("its owner sent a packet that is wrong: {0}")]
    Packet(#[from] WireError),
    /// A slot that the owner does not have, or that is in use.
    #[error("its owner names slot {slot}, which is {what}")]
    Slot {
        /// The slot.
        slot: u16,
        /// What is wrong.
        what: &'static str,
    },
    /// An area that is longer than a slot.
    #[error("its owner names {len} bytes of a slot of {slot_len}")]
    Area {
        /// The area's length.
        len: u32,
        /// The slot's.
        slot_len: u32,
    },
    /// A transfer longer than was negotiated (MS-SMBD 3.1.1.1, MR-2).
    #[error("its owner wants to move {len} bytes, and MaxReadWriteSize is {max} (MS-SMBD 3.1.1.1)")]
    TransferTooLong {
        /// Its length.
        len: u64,
        /// The most.
        max: u32,
    },
    /// Too many transfers.
    #[error("its owner has more than {max} transfers under way")]
    Transfers {
        /// The most.
        max: u16,
    },
    /// A message longer than the client receives (MS-SMBD 3.1.4.2).
    #[error("its owner sends a message of {len} bytes, and MaxFragmentedSendSize is {max} (MS-SMBD 3.1.4.2)")]
    MessageTooLong {
        /// Its length.
        len: u64,
        /// The most.
        max: u32,
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
    /// Something else between the pieces of a message.
    #[error("another command has come between the pieces of a message")]
    Between,
    /// More than it was given.
    #[error("its owner has taken {count} messages, and {given} were given to it")]
    Taken {
        /// How many.
        count: u32,
        /// Those that it had not taken.
        given: usize,
    },
    /// More messages than may wait.
    #[error("its owner has more than {messages} messages or {bytes} bytes under way")]
    Sends {
        /// The most messages.
        messages: u16,
        /// The most bytes.
        bytes: u32,
    },
}
