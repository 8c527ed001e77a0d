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

    /// The most bytes that the variable part of an answer may have, if the configuration allows so many.
    pub(super) fn payload_max(self, configured: u32) -> u32 {
        /// Header, body and the header of an encrypted message, for all commands.
        const AROUND: u32 = 1024;
        match self {
            Self::Tcp => configured,
            Self::Rdma { send_max } => configured.min(send_max.saturating_sub(AROUND)),
        }
    }
}
