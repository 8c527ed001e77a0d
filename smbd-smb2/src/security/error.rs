//! What goes wrong with signatures and encrypted messages.

use thiserror::Error;

use crate::wire::{Cipher, MessageId, SigningAlgorithm, WireError};

/// A message or data that cannot be protected, or that is not what its sender sent. Lengths are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SecurityError {
    /// The header of the message cannot be read.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// Not an algorithm of 2.2.3.1.7.
    #[error("the signing algorithm is {0}; known are HMAC-SHA256, AES-CMAC and AES-GMAC (2.2.3.1.7)")]
    UnknownSigning(SigningAlgorithm),
    /// Not a cipher of 2.2.3.1.2.
    #[error("the cipher is {0}; known are AES-128 and AES-256 with CCM or GCM (2.2.3.1.2)")]
    UnknownCipher(Cipher),
    /// A key has not the length that its cipher needs.
    #[error("the key has {got} bytes, expected {expected}")]
    KeyLength {
        /// What it has.
        got: usize,
        /// What it has to have.
        expected: usize,
    },
    /// The signature is another one.
    #[error("the signature is wrong (3.1.5.1)")]
    BadSignature,
    /// What was decrypted is not what was encrypted.
    #[error("the encrypted data or their signature is wrong (3.2.5.1.1.1, 3.3.5.2.1.1)")]
    BadEncryption,
    /// AES-GMAC takes its nonce from the MessageId, so only one message may be signed with each. An unsolicited message shares its
    /// MessageId with all others, an interim answer with the final one.
    #[error("{message_id} is that of more than one message, which AES-GMAC cannot sign (3.1.4.1)")]
    NonceShared {
        /// The MessageId.
        message_id: MessageId,
    },
    /// AES-GMAC takes its nonce from the MessageId, and this MessageId is not one for this use: some are left to bindings, and a binding
    /// has two of them (SE-2).
    #[error("{message_id} cannot be signed here with AES-GMAC: {} (3.2.4.1.1)", ids(*next, *end))]
    NonceKept {
        /// The MessageId.
        message_id: MessageId,
        /// The first MessageId that can be signed.
        next: u64,
        /// The first one behind it that cannot.
        end: u64,
    },
    /// No MessageId is left with which another binding of the session could be signed by AES-GMAC (SE-2).
    #[error("AES-GMAC cannot sign another binding of the session: no MessageIds are left for it (3.2.4.1.1)")]
    NoIds,
    /// A session has as many channels as can have nonces of their own, or it is not its first channel that is asked.
    #[error("no other channel of the session can have nonces of its own")]
    Channels,
    /// The key has been used as often as it may.
    #[error("the key was used {used} times, which is its limit")]
    Exhausted {
        /// How often it was used.
        used: u64,
    },
    /// More than one message or transfer can have.
    #[error("{len} bytes are to be encrypted, and can be {max} at most (2.2.41)")]
    TooLong {
        /// Their number.
        len: u64,
        /// The limit.
        max: u64,
    },
    /// OriginalMessageSize is not the size of what was received.
    #[error("OriginalMessageSize is {stated}, and {got} bytes are there (2.2.41)")]
    Size {
        /// What the header says.
        stated: u32,
        /// What is there.
        got: u64,
    },
    /// There is nothing behind the header of an encrypted message.
    #[error("an encrypted message is empty (3.2.5.1.1.1, 3.3.5.2.1.1)")]
    Empty,
    /// The flags of an encrypted message say something else.
    #[error("Flags/EncryptionAlgorithm is 0x{0:04x}, expected 0x0001 (2.2.41)")]
    Flags(u16),
    /// There is another number of bytes to encrypt to than there are data.
    #[error("the data have {len} bytes, and there is room for {room}")]
    Room {
        /// The length of the data.
        len: u64,
        /// That of what they are to be encrypted to.
        room: u64,
    },
    /// The nonce of data that go by RDMA has the wrong length.
    #[error("NonceLength is {got}, expected {expected} (3.2.5.11, 3.3.5.13)")]
    NonceLength {
        /// What it is.
        got: usize,
        /// What it has to be.
        expected: usize,
    },
    /// The signature of data that go by RDMA has the wrong length. The text allows shorter ones; nobody has to guess those.
    #[error("SignatureLength is {got}, expected 16 (2.2.43.1)")]
    SignatureLength {
        /// What it is.
        got: usize,
    },
}

/// Which MessageIds can be signed.
fn ids(next: u64, end: u64) -> alloc::string::String {
    match end {
        u64::MAX => alloc::format!("those from {next} on can"),
        _ if next < end => alloc::format!("those from {next} on and below {end} can"),
        _ => "none is left".into(),
    }
}
