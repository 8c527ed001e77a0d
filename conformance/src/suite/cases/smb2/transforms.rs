//! Data that are encrypted or signed on their way by a channel.

use smbd_smb2::wire::{Channel, Cipher, RdmaTransformType, SigningAlgorithm};

use super::{Entry, covered_reads as reads, covered_writes as writes};
use crate::suite::{Play, Stop};

/// The cases of Microsoft's groups of transforms.
pub(in super::super) const CASES: &[Entry] = &[
    Entry::new("BVT_Smb2OverRdmaChannelTransform_Encryption_ReadLargeFile_AES128CCM", |play| {
        reads::encrypted(play, Cipher::AES_128_CCM)
    }),
    Entry::new("Smb2OverRdmaChannelTransform_Encryption_ReadLargeFile_AES128GCM", |play| {
        reads::encrypted(play, Cipher::AES_128_GCM)
    }),
    Entry::new("Smb2OverRdmaChannelTransform_Encryption_ReadLargeFile_AES256CCM", |play| {
        reads::encrypted(play, Cipher::AES_256_CCM)
    }),
    Entry::new("Smb2OverRdmaChannelTransform_Encryption_ReadLargeFile_AES256GCM", |play| {
        reads::encrypted(play, Cipher::AES_256_GCM)
    }),
    Entry::new("Smb2OverRdmaChannelTransform_Encryption_ReadMultipleOperation", reads::many_encrypted),
    Entry::new("BVT_Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_AES128CCM", |play| {
        writes::encrypted(play, Cipher::AES_128_CCM)
    }),
    Entry::new("Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_AES128GCM", |play| {
        writes::encrypted(play, Cipher::AES_128_GCM)
    }),
    Entry::new("Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_AES256CCM", |play| {
        writes::encrypted(play, Cipher::AES_256_CCM)
    }),
    Entry::new("Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_AES256GCM", |play| {
        writes::encrypted(play, Cipher::AES_256_GCM)
    }),
    Entry::new("Smb2OverRdmaChannelTransform_Encryption_WriteMultipleOperation", writes::many_encrypted),
    Entry::new("Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_NoTransformIds_Fails", no_encryption),
    Entry::new(
        "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_ZeroTransformCount_Fails",
        writes::none_counted,
    ),
    Entry::new(
        "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_MultipleEncryptionStructure_Fails",
        writes::two_encryptions,
    ),
    Entry::new(
        "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_EncryptionAndSigningStructure_Fails",
        writes::encryption_and_signing,
    ),
    Entry::new(
        "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_BufferNotAligned_Fails",
        writes::not_aligned,
    ),
    Entry::new(
        "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_IncreaseSignatureLength_Fails",
        writes::long_signature,
    ),
    Entry::new(
        "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_IncreaseNonceLength_AES128CCM_Fails",
        |play| writes::longer_nonce(play, Cipher::AES_128_CCM),
    ),
    Entry::new(
        "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_IncreaseNonceLength_AES128GCM_Fails",
        |play| writes::longer_nonce(play, Cipher::AES_128_GCM),
    ),
    Entry::new(
        "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_IncreaseNonceLength_AES256CCM_Fails",
        |play| writes::longer_nonce(play, Cipher::AES_256_CCM),
    ),
    Entry::new(
        "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_IncreaseNonceLength_AES256GCM_Fails",
        |play| writes::longer_nonce(play, Cipher::AES_256_GCM),
    ),
    Entry::new(
        "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_DecreaseNonceLength_AES128CCM_Fails",
        |play| writes::shorter_nonce(play, Cipher::AES_128_CCM),
    ),
    Entry::new(
        "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_DecreaseNonceLength_AES128GCM_Fails",
        |play| writes::shorter_nonce(play, Cipher::AES_128_GCM),
    ),
    Entry::new(
        "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_DecreaseNonceLength_AES256CCM_Fails",
        |play| writes::shorter_nonce(play, Cipher::AES_256_CCM),
    ),
    Entry::new(
        "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_DecreaseNonceLength_AES256GCM_Fails",
        |play| writes::shorter_nonce(play, Cipher::AES_256_GCM),
    ),
    Entry::new("Smb2OverRdmaChannelTransform_Signing_ReadLargeFile_AES_GMAC", |play| {
        reads::signed(play, SigningAlgorithm::AES_GMAC)
    }),
    Entry::new("Smb2OverRdmaChannelTransform_Signing_ReadLargeFile_AES_CMAC", |play| {
        reads::signed(play, SigningAlgorithm::AES_CMAC)
    }),
    Entry::new("Smb2OverRdmaChannelTransform_Signing_WriteLargeFile_AES_GMAC", |play| {
        writes::signed(play, SigningAlgorithm::AES_GMAC)
    }),
    Entry::new("Smb2OverRdmaChannelTransform_Signing_WriteLargeFile_AES_CMAC", |play| {
        writes::signed(play, SigningAlgorithm::AES_CMAC)
    }),
    Entry::new(
        "Smb2OverRdmaChannelTransform_Signing_WriteLargeFile_FlagsSignedNotSet_Fails",
        writes::not_signed_itself,
    ),
    Entry::new(
        "Smb2OverRdmaChannelTransform_Signing_WriteLargeFile_SigningStructure_EncryptionId_Fails",
        writes::signing_not_negotiated,
    ),
    Entry::new(
        "Smb2OverRdmaChannelTransform_Signing_WriteLargeFile_InvalidSignature_Fails",
        writes::wrong_signature,
    ),
    Entry::new("Smb2OverRdmaChannelTransform_Signing_WriteLargeFile_NoTransformIds_Fails", no_signature),
    Entry::new(
        "Smb2OverRdmaChannelTransform_Signing_WriteLargeFile_ZeroTransformCount_Fails",
        writes::none_counted_of_signatures,
    ),
];

fn no_encryption(play: &mut Play) -> Result<(), Stop> {
    writes::not_negotiated(play, RdmaTransformType::ENCRYPTION, Channel::RDMA_V1)
}

fn no_signature(play: &mut Play) -> Result<(), Stop> {
    writes::not_negotiated(play, RdmaTransformType::SIGNING, Channel::RDMA_V1_INVALIDATE)
}
