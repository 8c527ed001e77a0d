//! What carries the messages.

/// What carries the messages of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Direct TCP: no channel.
    Tcp,
    /// SMB Direct.
    Rdma {
        /// The longest message that the client can receive, in bytes: its MaxFragmentedSize (MS-SMBD 2.2.1).
        send_max: u32,
    },
}

impl Transport {
    /// Whether data of READ and WRITE can go by RDMA.
    #[must_use]
    pub const fn is_rdma(self) -> bool {
        match self {
            Self::Tcp => false,
            Self::Rdma { .. } => true,
        }
    }

    /// The longest message that can be sent, in bytes.
    pub(super) const fn message_max(self) -> u32 {
        match self {
            // The length of direct TCP has three bytes (2.1).
            Self::Tcp => 0xFF_FFFF,
            Self::Rdma { send_max } => send_max,
        }
    }

    /// The most bytes that the variable part of an answer may have, if the configuration allows so many.
    pub(super) fn payload_max(self, configured: u32) -> u32 {
        /// Header, the fixed part of a body and the header of an encrypted message, for all commands. A client that asks for as much as
        /// it can receive leaves as much room.
        const AROUND: u32 = 256;
        match self {
            Self::Tcp => configured,
            Self::Rdma { send_max } => configured.min(send_max.saturating_sub(AROUND)),
        }
    }
}
