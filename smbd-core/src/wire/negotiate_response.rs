//! Negotiate Response (2.2.2): the second message of a connection, sent by the acceptor.

use super::layout::layout;
use super::words::{Word, first_half, pair, second_half, words, words_mut};
use super::{NtStatus, PROTOCOL_VERSION, WireError};

layout! { "Negotiate Response", "2.2.2":
    MIN_VERSION = "MinVersion" at 0..2;
    MAX_VERSION = "MaxVersion" at 2..4;
    NEGOTIATED_VERSION = "NegotiatedVersion" at 4..6;
    RESERVED = "Reserved" at 6..8;
    CREDITS_REQUESTED = "CreditsRequested" at 8..10;
    CREDITS_GRANTED = "CreditsGranted" at 10..12;
    STATUS = "Status" at 12..16;
    MAX_READ_WRITE_SIZE = "MaxReadWriteSize" at 16..20;
    PREFERRED_SEND_SIZE = "PreferredSendSize" at 20..24;
    MAX_RECEIVE_SIZE = "MaxReceiveSize" at 24..28;
    MAX_FRAGMENTED_SIZE = "MaxFragmentedSize" at 28..32;
}

/// A Negotiate Response (2.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NegotiateResponse {
    /// Lowest version that the sender supports.
    pub min_version: u16,
    /// Highest version that the sender supports.
    pub max_version: u16,
    /// The version that the acceptor chose; 0 in a failure.
    pub negotiated_version: u16,
    /// Send credits that the sender requests.
    pub credits_requested: u16,
    /// Send credits that the sender grants.
    pub credits_granted: u16,
    /// Whether the negotiation succeeded: `STATUS_SUCCESS`, or the reason.
    pub status: NtStatus,
    /// Longest RDMA operation for one upper-layer read or write, in bytes.
    pub max_read_write_size: u32,
    /// Longest message that the sender sends, in bytes.
    pub preferred_send_size: u32,
    /// Longest message that the sender receives, in bytes.
    pub max_receive_size: u32,
    /// Longest upper-layer message that the sender receives, in bytes.
    pub max_fragmented_size: u32,
}

impl NegotiateResponse {
    /// Size of the message in bytes.
    pub const LEN: usize = 32;

    /// A response with a failure: the versions of this implementation, the status, and zeros (3.1.5.6).
    #[must_use]
    pub const fn failure(status: NtStatus) -> Self {
        Self {
            min_version: PROTOCOL_VERSION,
            max_version: PROTOCOL_VERSION,
            negotiated_version: 0,
            credits_requested: 0,
            credits_granted: 0,
            status,
            max_read_write_size: 0,
            preferred_send_size: 0,
            max_receive_size: 0,
            max_fragmented_size: 0,
        }
    }

    /// Reads the message at the beginning of `bytes`, and ignores what follows it.
    ///
    /// # Errors
    /// [`WireError::Truncated`] if there are fewer than [`Self::LEN`] bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        NegotiateResponseView::new(bytes).map(Self::from)
    }

    /// Writes the message to the beginning of `out` and returns its size in bytes.
    ///
    /// # Errors
    /// [`WireError::NoRoom`] if `out` is shorter than [`Self::LEN`]. Nothing is written then.
    pub fn encode(&self, out: &mut [u8]) -> Result<usize, WireError> {
        let got = out.len();
        let Some(words) = words_mut(out) else { return Err(LAYOUT.no_room(Self::LEN, got)) };
        *words = [
            pair(self.min_version, self.max_version),
            pair(self.negotiated_version, 0),
            pair(self.credits_requested, self.credits_granted),
            self.status.0.to_le_bytes(),
            self.max_read_write_size.to_le_bytes(),
            self.preferred_send_size.to_le_bytes(),
            self.max_receive_size.to_le_bytes(),
            self.max_fragmented_size.to_le_bytes(),
        ];
        Ok(Self::LEN)
    }
}

impl From<NegotiateResponseView<'_>> for NegotiateResponse {
    fn from(view: NegotiateResponseView<'_>) -> Self {
        Self {
            min_version: view.min_version(),
            max_version: view.max_version(),
            negotiated_version: view.negotiated_version(),
            credits_requested: view.credits_requested(),
            credits_granted: view.credits_granted(),
            status: view.status(),
            max_read_write_size: view.max_read_write_size(),
            preferred_send_size: view.preferred_send_size(),
            max_receive_size: view.max_receive_size(),
            max_fragmented_size: view.max_fragmented_size(),
        }
    }
}

/// A view of a Negotiate Response (2.2.2): the length is checked, nothing is copied.
#[derive(Clone, Copy, Debug)]
pub struct NegotiateResponseView<'a> {
    words: &'a [Word; 8],
}

impl<'a> NegotiateResponseView<'a> {
    /// The message at the beginning of `bytes`.
    ///
    /// # Errors
    /// [`WireError::Truncated`] if there are fewer than [`NegotiateResponse::LEN`] bytes.
    pub fn new(bytes: &'a [u8]) -> Result<Self, WireError> {
        match words(bytes) {
            Some(words) => Ok(Self { words }),
            None => Err(LAYOUT.truncated(0, bytes.len())),
        }
    }

    /// `MinVersion`.
    #[must_use]
    pub const fn min_version(&self) -> u16 {
        first_half(self.words[0])
    }

    /// `MaxVersion`.
    #[must_use]
    pub const fn max_version(&self) -> u16 {
        second_half(self.words[0])
    }

    /// `NegotiatedVersion`.
    #[must_use]
    pub const fn negotiated_version(&self) -> u16 {
        first_half(self.words[1])
    }

    /// `CreditsRequested`.
    #[must_use]
    pub const fn credits_requested(&self) -> u16 {
        first_half(self.words[2])
    }

    /// `CreditsGranted`.
    #[must_use]
    pub const fn credits_granted(&self) -> u16 {
        second_half(self.words[2])
    }

    /// `Status`.
    #[must_use]
    pub const fn status(&self) -> NtStatus {
        NtStatus(u32::from_le_bytes(self.words[3]))
    }

    /// `MaxReadWriteSize`, in bytes.
    #[must_use]
    pub const fn max_read_write_size(&self) -> u32 {
        u32::from_le_bytes(self.words[4])
    }

    /// `PreferredSendSize`, in bytes.
    #[must_use]
    pub const fn preferred_send_size(&self) -> u32 {
        u32::from_le_bytes(self.words[5])
    }

    /// `MaxReceiveSize`, in bytes.
    #[must_use]
    pub const fn max_receive_size(&self) -> u32 {
        u32::from_le_bytes(self.words[6])
    }

    /// `MaxFragmentedSize`, in bytes.
    #[must_use]
    pub const fn max_fragmented_size(&self) -> u32 {
        u32::from_le_bytes(self.words[7])
    }
}
