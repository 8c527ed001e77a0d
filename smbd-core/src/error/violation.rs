use thiserror::Error;

use crate::Token;

/// A rule the peer broke. Ends the connection; carries the offending values.
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
        /// Where the length is demanded.
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
    /// The initiator got a message before it had asked anything.
    #[error("message before the Negotiate Request was sent (2.2)")]
    BeforeRequest,
    /// No common version.
    #[error("versions 0x{min:04x} to 0x{max:04x} do not include 0x0100 (3.1.5.6)")]
    Version {
        /// MinVersion.
        min: u16,
        /// MaxVersion.
        max: u16,
    },
    /// A version the acceptor may not choose.
    #[error("NegotiatedVersion 0x{got:04x} is not 0x0100 (3.1.5.7)")]
    NegotiatedVersion {
        /// NegotiatedVersion.
        got: u16,
    },
    /// CreditsRequested 0 in any message.
    #[error("CreditsRequested is 0 ({section})")]
    CreditsRequestedZero {
        /// Where the field is checked.
        section: &'static str,
    },
    /// CreditsGranted 0 in a Negotiate Response.
    #[error("CreditsGranted is 0 (3.1.5.7)")]
    CreditsGrantedZero,
    /// MaxReceiveSize below 128.
    #[error("MaxReceiveSize {got} is below 128 ({section})")]
    MaxReceiveSize {
        /// MaxReceiveSize.
        got: u32,
        /// Where the field is checked.
        section: &'static str,
    },
    /// MaxFragmentedSize below 131,072.
    #[error("MaxFragmentedSize {got} is below 131072 ({section})")]
    MaxFragmentedSize {
        /// MaxFragmentedSize.
        got: u32,
        /// Where the field is checked.
        section: &'static str,
    },
    /// A Negotiate Response that announces more than was offered to be received, or a request for more than a
    /// Windows-like acceptor takes.
    #[error("PreferredSendSize {got} is above {max} ({section})")]
    PreferredSendSize {
        /// Our MaxReceiveSize, or the configured maximum of a request.
        max: u32,
        /// PreferredSendSize.
        got: u32,
        /// Where the field is checked.
        section: &'static str,
    },
    /// PreferredSendSize 0, refused in strict mode only (NE-3).
    #[error("PreferredSendSize is 0 (2.2.1, strict mode)")]
    PreferredSendSizeZero,
    /// A message without a credit for it.
    #[error("message without a credit (3.1.5.8)")]
    NoCredit,
    /// Grants that add up to more than any receive queue holds (CR-11).
    #[error("{credits} credits and {granted} granted add up to more than 65535 (3.1.5.8)")]
    CreditOverflow {
        /// Connection.SendCredits.
        credits: u32,
        /// CreditsGranted.
        granted: u16,
    },
    /// DataOffset that is no multiple of 8.
    #[error("DataOffset {offset} is not 8-byte aligned (3.1.5.8)")]
    DataMisaligned {
        /// DataOffset.
        offset: u32,
    },
    /// Payload that would overlap the header (VA-3).
    #[error("DataOffset {offset} with {len} bytes of data lies inside the header (2.2.3)")]
    DataInsideHeader {
        /// DataOffset.
        offset: u32,
        /// DataLength.
        len: u32,
    },
    /// Payload beyond the end of the message.
    #[error("DataOffset {offset} and DataLength {len} exceed the message of {got} bytes (3.1.5.8)")]
    DataBeyondMessage {
        /// DataOffset.
        offset: u32,
        /// DataLength.
        len: u32,
        /// Bytes received.
        got: u32,
    },
    /// More upper-layer data announced than may be.
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
        /// What the fragments before left to come.
        expected: u32,
    },
    /// An empty message inside a sequence of fragments, refused in strict mode only (RA-4).
    #[error("empty message while {expected} bytes of a message are missing (3.1.5.8, strict mode)")]
    EmptyInsideSequence {
        /// What the fragments before left to come.
        expected: u32,
    },
    /// Bytes behind the data, refused in strict mode only (VA-6).
    #[error("{extra} bytes behind the data (2.2, strict mode)")]
    TrailingBytes {
        /// How many.
        extra: u32,
    },
    /// Data not at offset 24, or an empty message with an offset, refused in strict mode only (VA-4).
    #[error("DataOffset {offset} is not the usual one (2.2.3, strict mode)")]
    UnusualDataOffset {
        /// DataOffset.
        offset: u32,
    },
    /// The peer invalidated a token that is none of ours, or a second time (MR-5).
    #[error("token 0x{:08x} was invalidated, which is not valid here (3.1.5.8)", token.0)]
    ForeignInvalidation {
        /// The token.
        token: Token,
    },
}
