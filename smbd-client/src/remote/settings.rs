//! What is wanted of a connection, and what it came to.

use std::fmt;
use std::time::Duration;

use smbd_smb2::client::{Params, Protection};
use smbd_smb2::security::RdmaTransforms;
use smbd_smb2::wire::{Cipher, Dialect, SigningAlgorithm};

/// What is wanted of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The server's name, as users know it.
    pub server: String,
    /// Whether all messages behind the login are encrypted, whatever the server wants. Data go by RDMA then if the server can encrypt
    /// them for it.
    pub encrypt: bool,
    /// Whether all messages are signed, whatever the server wants. Data go by RDMA then if the server can sign them for it.
    pub sign: bool,
    /// Whether a user whom the server lets in as a guest may go on: then nothing is signed or encrypted, and nobody knows who the server is.
    pub guest: bool,
    /// Ciphers that are offered in 3.1.1, the preferred one first.
    pub ciphers: Vec<Cipher>,
    /// Signing algorithms that are offered in 3.1.1, the preferred one first.
    pub signing: Vec<SigningAlgorithm>,
    /// Transforms that are offered for data that go by RDMA in signed and encrypted sessions (MS-SMB2 2.2.3.1.6). What goes by RDMA
    /// without one is neither signed nor encrypted, and only in sessions that are not.
    pub rdma_transforms: RdmaTransforms,
    /// Transfers of more bytes than this go by RDMA over SMB Direct, as far as they can. `None`: all go in messages.
    pub rdma_threshold: Option<u32>,
    /// The lowest dialect that is offered: 3.0, 3.0.2 or 3.1.1. The first two know AES-128-CCM only.
    pub min_dialect: Dialect,
    /// The highest dialect that is offered.
    pub max_dialect: Dialect,
    /// How many buffers of [`PIECE_MAX`] bytes there are at most for data that go by RDMA. With none left, transfers wait.
    pub buffers: u16,
    /// Whether [`Session::key`](super::Session::key) has the key of a session, for who reads a capture of it.
    pub keeps_keys: bool,
    /// How long a request may wait for its answer, NEGOTIATE included; four times as long if the server says that it works on it.
    pub timeout: Duration,
    /// How many connections a session may have: 1 to [`CHANNELS_MAX`]; others count as the nearest. With more than one, a connection
    /// on which the server says nothing is given up after 20 seconds.
    pub channels: u16,
    /// Whether data go over TCP only while the session has no connection over SMB Direct. Otherwise all connections share them: each is
    /// handed what it has least of.
    pub rdma_first: bool,
}

/// The most connections of a session.
pub const CHANNELS_MAX: u16 = 8;

/// Commands that may wait for the driver of a connection.
pub(super) const COMMANDS: usize = 32;

impl Settings {
    /// How many connections a session may have besides its first.
    pub(super) fn others(&self) -> u16 {
        self.channels.clamp(1, CHANNELS_MAX).saturating_sub(1)
    }

    /// For a server of this name; nothing is required of it.
    #[must_use]
    pub fn new(server: &str) -> Self {
        let Params { ciphers, signing, .. } = Params::default();
        Self {
            server: server.into(),
            encrypt: false,
            sign: false,
            guest: false,
            ciphers,
            signing,
            rdma_transforms: RdmaTransforms::ALL,
            rdma_threshold: Some(4096),
            min_dialect: Dialect::SMB_3_0,
            max_dialect: Dialect::SMB_3_1_1,
            buffers: 32,
            keeps_keys: false,
            timeout: Duration::from_secs(60),
            channels: 1,
            rdma_first: false,
        }
    }
}

/// The most bytes of one READ or WRITE.
pub const PIECE_MAX: u32 = 1 << 20;

/// How data go to and from a share, and how they are protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// By RDMA, between the memory of both sides.
    Rdma(Protection),
    /// In messages over SMB Direct, because RDMA cannot be used.
    RdmaMessages(Protection),
    /// In messages over TCP.
    Tcp(Protection),
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rdma(Protection::None) => "rdma",
            Self::Rdma(Protection::Signed) => "rdma signed",
            Self::Rdma(Protection::Encrypted) => "rdma encrypted",
            Self::RdmaMessages(Protection::None) => "rdma messages",
            Self::RdmaMessages(Protection::Signed) => "rdma messages signed",
            Self::RdmaMessages(Protection::Encrypted) => "rdma messages encrypted",
            Self::Tcp(Protection::None) => "plain",
            Self::Tcp(Protection::Signed) => "tcp signed",
            Self::Tcp(Protection::Encrypted) => "tcp encrypted",
        })
    }
}
