use thiserror::Error;

use crate::Token;

/// A rule that the peer broke, with the offending values. It ends the connection. Sizes and offsets are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum Violation {
    /// A message shorter than its fixed fields.
    #[error("message of {got} bytes, at least {needed} needed ({section})")]
    ShortMessage {
        /// Bytes needed.
        needed: u32,
        /// Bytes received.
        got: u32,
        /// The section that requires the length.
        section: &'static str,
    },
    /// A message longer than the negotiated MaxReceiveSize, or than the receive posted for it.
    #[error("message of {got} bytes, MaxReceiveSize is {max} (3.1.5.8)")]
    LongMessage {
        /// Connection.MaxReceiveSize.
        max: u32,
        /// Bytes received.
        got: u32,
    },
    /// The initiator received a message before it had sent its Negotiate Request (2.2).
    #[error("message before the Negotiate Request was sent (2.2)")]
    BeforeRequest,
    /// The peer's versions do not include 0x0100 (3.1.5.6).
    #[error("versions 0x{min:04x} to 0x{max:04x} do not include 0x0100 (3.1.5.6)")]
    Version {
        /// MinVersion.
        min: u16,
        /// MaxVersion.
        max: u16,
    },
    /// The acceptor chose a version other than 0x0100 (3.1.5.7).
    #[error("NegotiatedVersion 0x{got:04x} is not 0x0100 (3.1.5.7)")]
    NegotiatedVersion {
        /// NegotiatedVersion.
        got: u16,
    },
    /// CreditsRequested 0 in any message.
    #[error("CreditsRequested is 0 ({section})")]
    CreditsRequestedZero {
        /// The section that checks the field.
        section: &'static str,
    },
    /// CreditsGranted 0 in a Negotiate Response (3.1.5.7).
    #[error("CreditsGranted is 0 (3.1.5.7)")]
    CreditsGrantedZero,
    /// MaxReceiveSize below 128.
    #[error("MaxReceiveSize {got} is below 128 ({section})")]
    MaxReceiveSize {
        /// MaxReceiveSize.
        got: u32,
        /// The section that checks the field.
        section: &'static str,
    },
    /// MaxFragmentedSize below 131,072.
    #[error("MaxFragmentedSize {got} is below 131072 ({section})")]
    MaxFragmentedSize {
        /// MaxFragmentedSize.
        got: u32,
        /// The section that checks the field.
        section: &'static str,
    },
    /// PreferredSendSize of a Negotiate Response above the own MaxReceiveSize, or of a Negotiate Request above
    /// [`Params::reject_preferred_send_size_above`](crate::Params::reject_preferred_send_size_above).
    #[error("PreferredSendSize {got} is above {max} ({section})")]
    PreferredSendSize {
        /// The own MaxReceiveSize, or the configured maximum.
        max: u32,
        /// PreferredSendSize.
        got: u32,
        /// The section that checks the field.
        section: &'static str,
    },
    /// PreferredSendSize 0, refused in strict mode only (NE-3).
    #[error("PreferredSendSize is 0 (2.2.1, strict mode)")]
    PreferredSendSizeZero,
    /// The peer sent a message without a credit (3.1.5.8).
    #[error("message without a credit (3.1.5.8)")]
    NoCredit,
    /// The peer's grants add up to more than 65,535 credits (CR-11).
    #[error("{credits} credits and {granted} granted add up to more than 65535 (3.1.5.8)")]
    CreditOverflow {
        /// Connection.SendCredits.
        credits: u32,
        /// CreditsGranted.
        granted: u16,
    },
    /// DataOffset that is not a multiple of 8 (3.1.5.8).
    #[error("DataOffset {offset} is not 8-byte aligned (3.1.5.8)")]
    DataMisaligned {
        /// DataOffset.
        offset: u32,
    },
    /// Payload that overlaps the header (VA-3).
    #[error("DataOffset {offset} with {len} bytes of data lies inside the header (2.2.3)")]
    DataInsideHeader {
        /// DataOffset.
        offset: u32,
        /// DataLength.
        len: u32,
    },
    /// Payload beyond the end of the message (3.1.5.8).
    #[error("DataOffset {offset} and DataLength {len} exceed the message of {got} bytes (3.1.5.8)")]
    DataBeyondMessage {
        /// DataOffset.
        offset: u32,
        /// DataLength.
        len: u32,
        /// Bytes received.
        got: u32,
    },
    /// The peer announces an upper-layer message that is longer than MaxFragmentedRecvSize (3.1.5.8).
    #[error(
        "DataLength {len} and RemainingDataLength {remaining} exceed MaxFragmentedRecvSize {max} (3.1.5.8)"
    )]
    MessageTooLong {
        /// DataLength.
        len: u32,
        /// RemainingDataLength.
        remaining: u32,
        /// Connection.MaxFragmentedRecvSize.
        max: u32,
    },
    /// A fragment that does not continue the sequence (RA-3).
    #[error(
        "DataLength {len} and RemainingDataLength {remaining}, but {expected} bytes of the message are missing (3.1.5.8)"
    )]
    FragmentMismatch {
        /// DataLength.
        len: u32,
        /// RemainingDataLength.
        remaining: u32,
        /// Bytes of the message that are missing after the earlier fragments.
        expected: u32,
    },
    /// An empty message inside a sequence of fragments, refused in strict mode only (RA-4).
    #[error("empty message while {expected} bytes of a message are missing (3.1.5.8, strict mode)")]
    EmptyInsideSequence {
        /// Bytes of the message that are missing after the earlier fragments.
        expected: u32,
    },
    /// Bytes behind the data, refused in strict mode only (VA-6).
    #[error("{extra} bytes behind the data (2.2, strict mode)")]
    TrailingBytes {
        /// Number of those bytes.
        extra: u32,
    },
    /// Data not at offset 24, or an empty message with an offset, refused in strict mode only (VA-4).
    #[error("DataOffset {offset} is not the usual one (2.2.3, strict mode)")]
    UnusualDataOffset {
        /// DataOffset.
        offset: u32,
    },
    /// The peer invalidated a token that is not valid on this connection: unknown, or invalidated before (MR-5).
    #[error("token 0x{:08x} was invalidated, which is not valid here (3.1.5.8)", token.0)]
    ForeignInvalidation {
        /// The token.
        token: Token,
    },
}
