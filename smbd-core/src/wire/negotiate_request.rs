//! Negotiate Request (2.2.1): the first message of a connection, sent by the initiator.

use super::WireError;
use super::layout::layout;
use super::words::{Word, first_half, pair, second_half, words, words_mut};

layout! { "Negotiate Request", "2.2.1":
    MIN_VERSION = "MinVersion" at 0..2;
    MAX_VERSION = "MaxVersion" at 2..4;
    RESERVED = "Reserved" at 4..6;
    CREDITS_REQUESTED = "CreditsRequested" at 6..8;
    PREFERRED_SEND_SIZE = "PreferredSendSize" at 8..12;
    MAX_RECEIVE_SIZE = "MaxReceiveSize" at 12..16;
    MAX_FRAGMENTED_SIZE = "MaxFragmentedSize" at 16..20;
}

/// A Negotiate Request (2.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NegotiateRequest {
    /// Lowest version that the sender supports.
    pub min_version: u16,
    /// Highest version that the sender supports.
    pub max_version: u16,
    /// Send credits that the sender requests.
    pub credits_requested: u16,
    /// Longest message that the sender wants to send, in bytes.
    pub preferred_send_size: u32,
    /// Longest message that the sender receives, in bytes.
    pub max_receive_size: u32,
    /// Longest upper-layer message that the sender receives, in bytes.
    pub max_fragmented_size: u32,
}

impl NegotiateRequest {
    /// Size of the message in bytes.
    pub const LEN: usize = 20;

    /// Reads the message at the beginning of `bytes`, and ignores what follows it.
    ///
    /// # Errors
    /// [`WireError::Truncated`] if there are fewer than [`Self::LEN`] bytes.
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        NegotiateRequestView::new(bytes).map(Self::from)
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
            pair(0, self.credits_requested),
            self.preferred_send_size.to_le_bytes(),
            self.max_receive_size.to_le_bytes(),
            self.max_fragmented_size.to_le_bytes(),
        ];
        Ok(Self::LEN)
    }
}

impl From<NegotiateRequestView<'_>> for NegotiateRequest {
    fn from(view: NegotiateRequestView<'_>) -> Self {
        Self {
            min_version: view.min_version(),
            max_version: view.max_version(),
            credits_requested: view.credits_requested(),
            preferred_send_size: view.preferred_send_size(),
            max_receive_size: view.max_receive_size(),
            max_fragmented_size: view.max_fragmented_size(),
        }
    }
}

/// A view of a Negotiate Request (2.2.1): the length is checked, nothing is copied.
#[derive(Clone, Copy, Debug)]
pub struct NegotiateRequestView<'a> {
    words: &'a [Word; 5],
}

impl<'a> NegotiateRequestView<'a> {
    /// The message at the beginning of `bytes`.
    ///
    /// # Errors
    /// [`WireError::Truncated`] if there are fewer than [`NegotiateRequest::LEN`] bytes.
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

    /// `CreditsRequested`.
    #[must_use]
    pub const fn credits_requested(&self) -> u16 {
        second_half(self.words[1])
    }

    /// `PreferredSendSize`, in bytes.
    #[must_use]
    pub const fn preferred_send_size(&self) -> u32 {
        u32::from_le_bytes(self.words[2])
    }

    /// `MaxReceiveSize`, in bytes.
    #[must_use]
    pub const fn max_receive_size(&self) -> u32 {
        u32::from_le_bytes(self.words[3])
    }

    /// `MaxFragmentedSize`, in bytes.
    #[must_use]
    pub const fn max_fragmented_size(&self) -> u32 {
        u32::from_le_bytes(self.words[4])
    }
}
