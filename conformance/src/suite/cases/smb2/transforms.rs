//! Data that are encrypted or signed on their way by a channel, and several channels.

use smbd_core::{Access, BufferDescriptorV1};
use smbd_smb2::wire::{Channel, Dialect, NtStatus, RdmaTransformId};

use super::Entry;
use crate::suite::session::Asked;
use crate::suite::{Play, Stop, pattern};

/// The cases of Microsoft's groups of transforms.
pub(in super::super) const CASES: &[Entry] = &[
    Entry::new("Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_NoTransformIds_Fails", no_encryption),
    Entry::new("Smb2OverRdmaChannelTransform_Signing_WriteLargeFile_NoTransformIds_Fails", no_signature),
    Entry::new("BVT_Smb2OverRdmaChannelTransform_Encryption_ReadLargeFile_AES128CCM", of_a_server),
    Entry::new("Smb2OverRdmaChannelTransform_Encryption_ReadLargeFile_AES128GCM", of_a_server),
    Entry::new("Smb2OverRdmaChannelTransform_Encryption_ReadLargeFile_AES256CCM", of_a_server),
    Entry::new("Smb2OverRdmaChannelTransform_Encryption_ReadLargeFile_AES256GCM", of_a_server),
    Entry::new("Smb2OverRdmaChannelTransform_Encryption_ReadMultipleOperation", of_a_server),
    Entry::new("BVT_Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_AES128CCM", of_a_server),
    Entry::new("Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_AES128GCM", of_a_server),
    Entry::new("Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_AES256CCM", of_a_server),
    Entry::new("Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_AES256GCM", of_a_server),
    Entry::new("Smb2OverRdmaChannelTransform_Encryption_WriteMultipleOperation", of_a_server),
    Entry::new(
        "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_ZeroTransformCount_Fails",
        of_a_server,
    ),
    Entry::new(
        "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_MultipleEncryptionStructure_Fails",
        of_a_server,
    ),
    Entry::new(
        "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_EncryptionAndSigningStructure_Fails",
        of_a_server,
    ),
    Entry::new("Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_BufferNotAligned_Fails", of_a_server),
    Entry::new(
        "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_IncreaseSignatureLength_Fails",
        of_a_server,
    ),
    Entry::new(
        "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_IncreaseNonceLength_AES128CCM_Fails",
        of_a_server,
    ),
    Entry::new(
        "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_IncreaseNonceLength_AES128GCM_Fails",
        of_a_server,
    ),
    Entry::new(
        "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_IncreaseNonceLength_AES256CCM_Fails",
        of_a_server,
    ),
    Entry::new(
        "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_IncreaseNonceLength_AES256GCM_Fails",
        of_a_server,
    ),
    Entry::new(
        "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_DecreaseNonceLength_AES128CCM_Fails",
        of_a_server,
    ),
    Entry::new(
        "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_DecreaseNonceLength_AES128GCM_Fails",
        of_a_server,
    ),
    Entry::new(
        "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_DecreaseNonceLength_AES256CCM_Fails",
        of_a_server,
    ),
    Entry::new(
        "Smb2OverRdmaChannelTransform_Encryption_WriteLargeFile_DecreaseNonceLength_AES256GCM_Fails",
        of_a_server,
    ),
    Entry::new("Smb2OverRdmaChannelTransform_Signing_ReadLargeFile_AES_GMAC", of_a_server),
    Entry::new("Smb2OverRdmaChannelTransform_Signing_ReadLargeFile_AES_CMAC", of_a_server),
    Entry::new("Smb2OverRdmaChannelTransform_Signing_WriteLargeFile_AES_GMAC", of_a_server),
    Entry::new("Smb2OverRdmaChannelTransform_Signing_WriteLargeFile_AES_CMAC", of_a_server),
    Entry::new("Smb2OverRdmaChannelTransform_Signing_WriteLargeFile_FlagsSignedNotSet_Fails", of_a_server),
    Entry::new(
        "Smb2OverRdmaChannelTransform_Signing_WriteLargeFile_SigningStructure_EncryptionId_Fails",
        of_a_server,
    ),
    Entry::new("Smb2OverRdmaChannelTransform_Signing_WriteLargeFile_InvalidSignature_Fails", of_a_server),
    Entry::new("Smb2OverRdmaChannelTransform_Signing_WriteLargeFile_ZeroTransformCount_Fails", of_a_server),
];

/// The cases of several channels.
pub(in super::super) const SEVERAL_CHANNELS: &[Entry] = &[
    Entry::new("BVT_Smb2MultipleChannel_2Channels_DiffNicTypeDiffTransport", several_channels),
    Entry::new("Smb2Multichannel_2Channels_DiffTransport", several_channels),
];

const SEED: u64 = 0x7a45;
const SOME: u32 = 65_536;
/// TransformType of SMB2_RDMA_CRYPTO_TRANSFORM (2.2.43).
const ENCRYPTION: u16 = 1;
const SIGNING: u16 = 2;

/// SMB2_RDMA_TRANSFORM, one SMB2_RDMA_CRYPTO_TRANSFORM with a signature and a nonce that are made up, and descriptors (2.2.43).
fn transform(channel: Channel, kind: u16, descriptors: &[BufferDescriptorV1]) -> Vec<u8> {
    const SIGNATURE: [u8; 16] = [0x51; 16];
    const NONCE: [u8; 12] = [0x0c; 12];
    let mut crypto = Vec::new();
    for field in [kind, 16, 12, 0] {
        crypto.extend_from_slice(&field.to_le_bytes());
    }
    crypto.extend_from_slice(&SIGNATURE);
    crypto.extend_from_slice(&NONCE);
    let described = (16 + crypto.len()).next_multiple_of(8);
    let len = descriptors.len() * BufferDescriptorV1::LEN;
    let [described_at, len] = [described, len].map(|bytes| u16::try_from(bytes).unwrap_or(u16::MAX));
    let mut info = Vec::new();
    info.extend_from_slice(&described_at.to_le_bytes());
    info.extend_from_slice(&len.to_le_bytes());
    info.extend_from_slice(&channel.0.to_le_bytes());
    info.extend_from_slice(&1_u16.to_le_bytes());
    info.extend_from_slice(&[0; 6]);
    info.extend_from_slice(&crypto);
    info.resize(described, 0);
    for descriptor in descriptors {
        let mut bytes = [0; BufferDescriptorV1::LEN];
        let written = descriptor.encode(&mut bytes);
        debug_assert_eq!(written, Ok(BufferDescriptorV1::LEN), "there is room for it");
        info.extend_from_slice(&bytes);
    }
    info
}

/// WRITE under a transform where none was negotiated.
fn not_negotiated(play: &mut Play, kind: u16, channel: Channel) -> Result<(), Stop> {
    let mut session = play.session(&[Dialect::SMB_3_1_1])?;
    let buffer = session.buffer(&pattern(SEED, SOME as usize), Access::Read)?;
    let info = transform(channel, kind, &buffer.descriptors);
    let asked = Asked::write(&buffer, SOME, 0).by(Channel::RDMA_TRANSFORM).with(&info);
    let what = "WRITE under a transform where none was negotiated";
    // Whether the channel or its use is what the server does not know is its own matter.
    session.is_refused("3.3.5.13-07 +3.3.5.13-01", &asked, what, NtStatus::INVALID_PARAMETER)
}

fn no_encryption(play: &mut Play) -> Result<(), Stop> {
    not_negotiated(play, ENCRYPTION, Channel::RDMA_V1)
}

fn no_signature(play: &mut Play) -> Result<(), Stop> {
    not_negotiated(play, SIGNING, Channel::RDMA_V1_INVALIDATE)
}

/// What a server does with transforms that it has negotiated.
pub(super) fn of_a_server(play: &mut Play) -> Result<(), Stop> {
    let offered = [RdmaTransformId::ENCRYPTION, RdmaTransformId::SIGNING];
    let session = play.session_offering(&[Dialect::SMB_3_1_1], &offered)?;
    let why = match session.transforms() {
        [] => "the peer negotiates no transforms of RDMA",
        _ => "the script, a guest, has no keys for the transforms that the peer negotiates",
    };
    Err(Stop::NotApplicable(why.into()))
}

/// What a client does with them.
pub(super) fn of_a_client(_: &mut Play) -> Result<(), Stop> {
    Err(Stop::NotApplicable("the script, as a server, negotiates no transforms of RDMA".into()))
}

fn several_channels(_: &mut Play) -> Result<(), Stop> {
    Err(Stop::NotApplicable("the peer is reached over SMB Direct alone, and the case begins over TCP".into()))
}
