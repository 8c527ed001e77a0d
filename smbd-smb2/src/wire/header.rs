//! The SMB2 header (2.2.1), at the beginning of every element of a message.

use super::body::CommandBody;
use super::command::Command;
use super::error::WireError;
use super::id::{MessageId, SessionId, TreeId};
use super::layout::layout;
use super::names::flags;
use super::reader;
use super::status::NtStatus;
use super::writer::Writer;

/// ProtocolId of a message that is neither encrypted nor compressed.
pub const PROTOCOL_ID: [u8; 4] = *b"\xfeSMB";

/// Size of the header in bytes.
pub const LEN: usize = 64;

flags! {
    /// Flags of the header (2.2.1.2). The priority is a number of three bits; see [`Header::priority`].
    pub struct Flags(u32) {
        SERVER_TO_REDIR = 0x0000_0001 "SERVER_TO_REDIR",
        ASYNC_COMMAND = 0x0000_0002 "ASYNC_COMMAND",
        RELATED_OPERATIONS = 0x0000_0004 "RELATED_OPERATIONS",
        SIGNED = 0x0000_0008 "SIGNED",
        DFS_OPERATIONS = 0x1000_0000 "DFS_OPERATIONS",
        REPLAY_OPERATION = 0x2000_0000 "REPLAY_OPERATION",
    }
}

layout! {
    /// Fields of the header (2.2.1).
    pub mod field: "SMB2 header", "2.2.1", from 0;
    PROTOCOL_ID: [u8; 4] = "ProtocolId" at 0;
    STRUCTURE_SIZE: u16 = "StructureSize" at 4;
    CREDIT_CHARGE: u16 = "CreditCharge" at 6;
    STATUS: NtStatus = "(ChannelSequence,Reserved)/Status" at 8;
    COMMAND: Command = "Command" at 12;
    CREDITS: u16 = "CreditRequest/CreditResponse" at 14;
    FLAGS: Flags = "Flags" at 16;
    NEXT_COMMAND: u32 = "NextCommand" at 20;
    MESSAGE_ID: MessageId = "MessageId" at 24;
    PROCESS_ID: u32 = "Reserved" at 32;
    TREE_ID: TreeId = "TreeId" at 36;
    SESSION_ID: SessionId = "SessionId" at 40;
    SIGNATURE: [u8; 16] = "Signature" at 48;
}

layout! {
    /// The field that the header of an asynchronous command has in the place of `Reserved` and `TreeId` (2.2.1.1).
    pub mod async_field: "SMB2 header", "2.2.1.1", from 0;
    ASYNC_ID: u64 = "AsyncId" at 32;
}

/// What the header has between MessageId and SessionId. SMB2_FLAGS_ASYNC_COMMAND says which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// The header of 2.2.1.2.
    Sync {
        /// A reserved field, which clients fill with the id of a process.
        process_id: u32,
        /// The tree connect.
        tree_id: TreeId,
    },
    /// The header of 2.2.1.1: an answer to a request that is carried out later, or the CANCEL of one.
    Async {
        /// By which the server names the request.
        async_id: u64,
    },
}

impl Default for Target {
    fn default() -> Self {
        Self::Sync { process_id: 0, tree_id: TreeId::NONE }
    }
}

/// An SMB2 header (2.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Credits that the request consumes.
    pub credit_charge: u16,
    /// The status of a response. In a request of SMB 3.x the channel sequence: [`Self::channel_sequence`].
    pub status: NtStatus,
    /// What is to be done, or was.
    pub command: Command,
    /// Credits that the client asks for, or that the server grants.
    pub credits: u16,
    /// Flags. When the header is written, SMB2_FLAGS_ASYNC_COMMAND is that of [`Self::target`].
    pub flags: Flags,
    /// Where the header of the next element begins, in bytes from the beginning of this one; 0 in the last element.
    pub next_command: u32,
    /// By which a response is matched with its request.
    pub message_id: MessageId,
    /// The tree connect, or the id of an asynchronous command.
    pub target: Target,
    /// The session.
    pub session_id: SessionId,
    /// The signature; zeros without SMB2_FLAGS_SIGNED.
    pub signature: [u8; 16],
}

impl Header {
    /// The header of a message of this kind: a request for one credit that charges one.
    #[must_use]
    pub fn request<M: CommandBody>(message_id: u64) -> Self {
        Self {
            credit_charge: 1,
            credits: 1,
            command: M::COMMAND,
            flags: Flags::NONE.with(Flags::SERVER_TO_REDIR, M::IS_RESPONSE),
            message_id: MessageId(message_id),
            ..Self::default()
        }
    }

    /// The header of the answer to a request with this header, as 3.3.4.1 and 3.3.4.4 have it: unsigned, not yet part of a
    /// compound, with the credits that the request asks for.
    #[must_use]
    pub fn response(&self, status: NtStatus) -> Self {
        Self {
            status,
            flags: self.flags.with(Flags::SERVER_TO_REDIR, true).with(Flags::SIGNED, false),
            next_command: 0,
            signature: [0; 16],
            ..*self
        }
    }

    /// Reads the header at the beginning of an element.
    ///
    /// # Errors
    /// Fewer than [`LEN`] bytes, another ProtocolId than [`PROTOCOL_ID`], or a StructureSize other than 64.
    pub fn parse(element: &[u8]) -> Result<Self, WireError> {
        field::LAYOUT.check(element)?;
        // Of a length that is known, so that no field is looked for in vain.
        let Some(element) = element.first_chunk::<LEN>() else {
            return Err(field::SIGNATURE.truncated(element.len()));
        };
        reader::protocol(element, &field::PROTOCOL_ID, PROTOCOL_ID)?;
        field::STRUCTURE_SIZE.expect(element, 64)?;
        let flags = field::FLAGS.get(element)?;
        Ok(Self {
            credit_charge: field::CREDIT_CHARGE.get(element)?,
            status: field::STATUS.get(element)?,
            command: field::COMMAND.get(element)?,
            credits: field::CREDITS.get(element)?,
            flags,
            next_command: field::NEXT_COMMAND.get(element)?,
            message_id: field::MESSAGE_ID.get(element)?,
            target: if flags.contains(Flags::ASYNC_COMMAND) {
                Target::Async { async_id: async_field::ASYNC_ID.get(element)? }
            } else {
                Target::Sync {
                    process_id: field::PROCESS_ID.get(element)?,
                    tree_id: field::TREE_ID.get(element)?,
                }
            },
            session_id: field::SESSION_ID.get(element)?,
            signature: field::SIGNATURE.get(element)?,
        })
    }

    /// Appends the header.
    #[inline]
    pub(super) fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        let header = &mut [0; LEN];
        self.fill(header)?;
        out.append(header);
        Ok(())
    }

    /// Writes the header over zeros.
    #[inline(always)]
    pub(crate) fn fill(&self, header: &mut [u8; LEN]) -> Result<(), WireError> {
        field::PROTOCOL_ID.set(header, PROTOCOL_ID)?;
        field::STRUCTURE_SIZE.set_size(header, LEN)?;
        field::CREDIT_CHARGE.set(header, self.credit_charge)?;
        field::STATUS.set(header, self.status)?;
        field::COMMAND.set(header, self.command)?;
        field::CREDITS.set(header, self.credits)?;
        field::FLAGS.set(header, self.flags.with(Flags::ASYNC_COMMAND, self.async_id().is_some()))?;
        field::NEXT_COMMAND.set(header, self.next_command)?;
        field::MESSAGE_ID.set(header, self.message_id)?;
        match self.target {
            Target::Sync { process_id, tree_id } => {
                field::PROCESS_ID.set(header, process_id)?;
                field::TREE_ID.set(header, tree_id)?;
            }
            Target::Async { async_id } => async_field::ASYNC_ID.set(header, async_id)?,
        }
        field::SESSION_ID.set(header, self.session_id)?;
        field::SIGNATURE.set(header, self.signature)
    }

    /// Whether a server sends it.
    #[must_use]
    pub const fn is_response(&self) -> bool {
        self.flags.contains(Flags::SERVER_TO_REDIR)
    }

    /// Whether it is part of a chain whose elements use the session, tree and file of the one before (3.2.4.1.4).
    #[must_use]
    pub const fn is_related(&self) -> bool {
        self.flags.contains(Flags::RELATED_OPERATIONS)
    }

    /// ChannelSequence of a request of SMB 3.x.
    #[must_use]
    pub const fn channel_sequence(&self) -> u16 {
        let [low, high, ..] = self.status.0.to_le_bytes();
        u16::from_le_bytes([low, high])
    }

    /// The tree connect, if the header has one.
    #[must_use]
    pub const fn tree_id(&self) -> Option<TreeId> {
        match self.target {
            Target::Sync { tree_id, .. } => Some(tree_id),
            Target::Async { .. } => None,
        }
    }

    /// The id of an asynchronous command, if the header has one.
    #[must_use]
    pub const fn async_id(&self) -> Option<u64> {
        match self.target {
            Target::Sync { .. } => None,
            Target::Async { async_id } => Some(async_id),
        }
    }

    /// The priority, 0 to 7, which SMB 3.1.1 has.
    #[must_use]
    pub const fn priority(&self) -> u8 {
        let [low, ..] = self.flags.0.to_le_bytes();
        (low >> 4) & 7
    }

    /// As an element of a chain that uses session, tree and file of the one before (3.2.4.1.4). The first element is not related.
    #[must_use]
    pub fn related(self) -> Self {
        Self {
            flags: self.flags.with(Flags::RELATED_OPERATIONS, true),
            target: Target::Sync { process_id: 0, tree_id: TreeId::RELATED },
            session_id: SessionId::RELATED,
            ..self
        }
    }
}
