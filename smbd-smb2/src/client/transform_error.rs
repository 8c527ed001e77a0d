//! What is wrong with data of a READ that came by RDMA (3.2.5.11).

use thiserror::Error;

use crate::security::SecurityError;
use crate::wire::{NtStatus, RdmaTransformType, WireError};

/// Why the data of a READ that came by RDMA are not shown (3.2.5.11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TransformError {
    /// RDMA_TRANSFORM is set, and the READ has no channel: no data can have come by RDMA.
    #[error("RDMA_TRANSFORM is set in Flags of the answer to a READ without a channel (3.2.5.11)")]
    NoChannel,
    /// RDMA_TRANSFORM is set, and no transform was negotiated.
    #[error(
        "RDMA_TRANSFORM is set in Flags of the answer to a READ, and no transform was negotiated (3.2.5.11)"
    )]
    NotNegotiated,
    /// The structure cannot be read.
    #[error("{0} (3.2.5.11)")]
    Malformed(#[from] WireError),
    /// TransformCount is 0.
    #[error("SMB2_RDMA_TRANSFORM: TransformCount is 0, expected 1 (3.2.5.11)")]
    Empty,
    /// More than one transform.
    #[error("SMB2_RDMA_TRANSFORM: TransformCount is {count}, expected 1 (3.2.5.11)")]
    Several {
        /// TransformCount.
        count: usize,
    },
    /// Something follows the transform.
    #[error("SMB2_RDMA_TRANSFORM: {len} bytes follow the transform, expected none (3.2.5.11)")]
    Behind {
        /// How many, without what fills it up to a multiple of 8.
        len: usize,
    },
    /// A transform that is none of 2.2.43.
    #[error("SMB2_RDMA_CRYPTO_TRANSFORM: TransformType is {0}, expected encryption or signing (3.2.5.11)")]
    Unknown(RdmaTransformType),
    /// The data are encrypted, and the answer is not: whoever changes it could change what is said of them.
    #[error("the data of a READ are encrypted, and its answer is not (3.2.5.11)")]
    EncryptedAlone,
    /// The data are signed, and the answer is encrypted.
    #[error("the data of a READ are signed, and its answer is encrypted (3.2.5.11)")]
    SignedOnly,
    /// The transform was not negotiated.
    #[error("SMB2_RDMA_CRYPTO_TRANSFORM: TransformType is {0}, which was not negotiated (3.2.5.11)")]
    NotOffered(RdmaTransformType),
    /// The data need a transform, and have none.
    #[error("the data of a READ have no transform, and need one: {0} (3.2.5.11)")]
    Missing(RdmaTransformType),
    /// Signature or nonce have a wrong length, or the data are not those that were signed or encrypted.
    #[error(transparent)]
    Security(#[from] SecurityError),
}

impl TransformError {
    /// What 3.2.5.11 returns to an application.
    #[must_use]
    pub const fn status(&self) -> NtStatus {
        match self {
            Self::Security(SecurityError::BadSignature) => NtStatus::INVALID_SIGNATURE,
            // The text has no status for it (RT-8).
            Self::Security(SecurityError::BadEncryption) => NtStatus::AUTH_TAG_MISMATCH,
            Self::NoChannel
            | Self::NotNegotiated
            | Self::Malformed(_)
            | Self::Empty
            | Self::Several { .. }
            | Self::Behind { .. }
            | Self::Unknown(_)
            | Self::EncryptedAlone
            | Self::SignedOnly
            | Self::NotOffered(_)
            | Self::Missing(_)
            | Self::Security(_) => NtStatus::INVALID_NETWORK_RESPONSE,
        }
    }
}
