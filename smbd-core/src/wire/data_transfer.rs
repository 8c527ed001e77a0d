//! Data Transfer (2.2.3): every message after the negotiation.

use core::ops::BitOr;

use super::WireError;
use super::layout::layout;
use super::words::{Word, first_half, pair, second_half, words, words_mut};

layout! { "Data Transfer", "2.2.3":
    CREDITS_REQUESTED = "CreditsRequested" at 0..2;
    CREDITS_GRANTED = "CreditsGranted" at 2..4;
    FLAGS = "Flags" at 4..6;
    RESERVED = "Reserved" at 6..8;
    REMAINING_DATA_LENGTH = "RemainingDataLength" at 8..12;
    DATA_OFFSET = "DataOffset" at 12..16;
    DATA_LENGTH = "DataLength" at 16..20;
}

/// `DataOffset` of every message with payload that this crate sends, in bytes: the first multiple of 8 behind the
/// header.
pub const DATA_OFFSET: u32 = 24;

/// Size in bytes of the header with the padding before a payload at [`DATA_OFFSET`].
pub const HEADER_LEN_PADDED: usize = 24;

/// The `Flags` of a Data Transfer message (2.2.3). Parsing and encoding keep undefined bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u16);

impl Flags {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// `SMB_DIRECT_RESPONSE_REQUESTED`: the peer has to send a message promptly.
    pub const RESPONSE_REQUESTED: Self = Self(0x0001);

    /// Whether all bits of `other` are set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The bits that 2.2.3 does not define.
    #[must_use]
    pub const fn unknown(self) -> u16 {
        self.0 & !Self::RESPONSE_REQUESTED.0
    }
}

impl BitOr for Flags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The header of a Data Transfer message (2.2.3). `Default` is all zero: no data, no grant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DataTransfer {
    /// Send credits that the sender requests to hold in total.
    pub credits_requested: u16,
    /// Send credits that the sender grants in addition to earlier ones.
    pub credits_granted: u16,
    /// Flags.
    pub flags: Flags,
    /// Bytes of the upper-layer message that follow in later messages.
    pub remaining_data_length: u32,
    /// Offset of the payload from the beginning of the header, in bytes; 0 without payload.
    pub data_offset: u32,
    /// Bytes of the upper-layer message in this message.
    pub data_length: u32,
}

impl DataTransfer {
    /// Size of the header in bytes, without padding.
    pub const LEN: usize = 20;

    /// Reads the header at the beginning of `bytes`, and ignores what follows it.
    ///
    /// # Errors
    /// [`WireError::Truncated`] if there are fewer than [`Self::LEN`] bytes.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        DataTransferView::new(bytes).map(Self::from)
    }

    /// Size in bytes of the result of [`encode`](Self::encode): [`HEADER_LEN_PADDED`] if the payload begins
    /// there, else [`Self::LEN`].
    #[must_use]
    #[inline]
    pub const fn encoded_len(&self) -> usize {
        if self.data_offset == DATA_OFFSET { HEADER_LEN_PADDED } else { Self::LEN }
    }

    /// Writes the header to the beginning of `out`, with zero padding if the payload begins at [`DATA_OFFSET`]. Returns
    /// the number of bytes written ([`encoded_len`](Self::encoded_len)).
    ///
    /// # Errors
    /// [`WireError::NoRoom`] if `out` is shorter than that. Nothing is written then.
    #[inline]
    pub fn encode(&self, out: &mut [u8]) -> Result<usize, WireError> {
        let (got, needed) = (out.len(), self.encoded_len());
        // The padding first, so that nothing is written if there is no room for it.
        if needed == HEADER_LEN_PADDED {
            let Some(words) = words_mut::<6>(out) else { return Err(LAYOUT.no_room(needed, got)) };
            words[5] = [0; 4];
        }
        let Some(words) = words_mut(out) else { return Err(LAYOUT.no_room(needed, got)) };
        *words = [
            pair(self.credits_requested, self.credits_granted),
            pair(self.flags.0, 0),
            self.remaining_data_length.to_le_bytes(),
            self.data_offset.to_le_bytes(),
            self.data_length.to_le_bytes(),
        ];
        Ok(needed)
    }
}

impl From<DataTransferView<'_>> for DataTransfer {
    #[inline]
    fn from(view: DataTransferView<'_>) -> Self {
        Self {
            credits_requested: view.credits_requested(),
            credits_granted: view.credits_granted(),
            flags: view.flags(),
            remaining_data_length: view.remaining_data_length(),
            data_offset: view.data_offset(),
            data_length: view.data_length(),
        }
    }
}

/// A view of the header of a Data Transfer message (2.2.3): the length is checked, nothing is copied.
#[derive(Clone, Copy, Debug)]
pub struct DataTransferView<'a> {
    words: &'a [Word; 5],
}

impl<'a> DataTransferView<'a> {
    /// The header at the beginning of `bytes`.
    ///
    /// # Errors
    /// [`WireError::Truncated`] if there are fewer than [`DataTransfer::LEN`] bytes.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Result<Self, WireError> {
        match Self::get(bytes) {
            Some(view) => Ok(view),
            None => Err(LAYOUT.truncated(0, bytes.len())),
        }
    }

    /// The same without a reason.
    #[inline]
    pub(crate) fn get(bytes: &'a [u8]) -> Option<Self> {
        words(bytes).map(|words| Self { words })
    }

    /// `CreditsRequested`.
    #[must_use]
    #[inline]
    pub const fn credits_requested(&self) -> u16 {
        first_half(self.words[0])
    }

    /// `CreditsGranted`.
    #[must_use]
    #[inline]
    pub const fn credits_granted(&self) -> u16 {
        second_half(self.words[0])
    }

    /// `Flags`.
    #[must_use]
    #[inline]
    pub const fn flags(&self) -> Flags {
        Flags(first_half(self.words[1]))
    }

    /// `RemainingDataLength`, in bytes.
    #[must_use]
    #[inline]
    pub const fn remaining_data_length(&self) -> u32 {
        u32::from_le_bytes(self.words[2])
    }

    /// `DataOffset`, in bytes.
    #[must_use]
    #[inline]
    pub const fn data_offset(&self) -> u32 {
        u32::from_le_bytes(self.words[3])
    }

    /// `DataLength`, in bytes.
    #[must_use]
    #[inline]
    pub const fn data_length(&self) -> u32 {
        u32::from_le_bytes(self.words[4])
    }
}
