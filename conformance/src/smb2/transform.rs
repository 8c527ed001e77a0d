//! What is said of data that go by RDMA signed or encrypted (2.2.43), with anything in it.

use smbd_core::BufferDescriptorV1;
use smbd_smb2::security::RdmaSignature;
use smbd_smb2::wire::{Channel, RdmaTransformType, rdma_transform};

use super::client::By;

/// SMB2_RDMA_CRYPTO_TRANSFORM, with anything in it.
#[derive(Clone, Debug)]
pub(crate) struct Crypto {
    pub(crate) kind: RdmaTransformType,
    pub(crate) signature: Vec<u8>,
    pub(crate) nonce: Vec<u8>,
}

impl Crypto {
    pub(crate) fn of(kind: RdmaTransformType, signature: &RdmaSignature) -> Self {
        Self { kind, signature: signature.signature.to_vec(), nonce: signature.nonce().to_vec() }
    }
}

/// SMB2_RDMA_TRANSFORM without descriptors, with this TransformCount, and these transforms behind it.
pub(crate) fn structure(count: u16, transforms: &[Crypto]) -> Vec<u8> {
    let mut bytes = vec![0; rdma_transform::LEN];
    let set = rdma_transform::field::TRANSFORM_COUNT.set(&mut bytes, count);
    debug_assert_eq!(set, Ok(()), "there is room for it");
    for Crypto { kind, signature, nonce } in transforms {
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        let lengths = [signature.len(), nonce.len()].map(|len| u16::try_from(len).unwrap_or(u16::MAX));
        for field in [kind.0, lengths[0], lengths[1], 0] {
            bytes.extend_from_slice(&field.to_le_bytes());
        }
        bytes.extend_from_slice(signature);
        bytes.extend_from_slice(nonce);
    }
    bytes
}

/// What is behind a WRITE with the channel RDMA_TRANSFORM, with anything in it.
#[derive(Clone, Debug)]
pub(crate) struct Info {
    pub(crate) channel: Channel,
    /// TransformCount.
    pub(crate) count: u16,
    pub(crate) transforms: Vec<Crypto>,
    pub(crate) descriptors: Vec<BufferDescriptorV1>,
    /// The descriptors begin directly behind the transforms, and not at the next multiple of 8.
    pub(crate) packed: bool,
}

impl Info {
    pub(crate) fn new(channel: Channel, crypto: Crypto, descriptors: Vec<BufferDescriptorV1>) -> Self {
        Self { channel, count: 1, transforms: vec![crypto], descriptors, packed: false }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        use rdma_transform::field::{CHANNEL, RDMA_DESCRIPTOR_LENGTH, RDMA_DESCRIPTOR_OFFSET};
        let mut info = structure(self.count, &self.transforms);
        if !self.packed {
            info.resize(info.len().next_multiple_of(8), 0);
        }
        let described = By { channel: self.channel, descriptors: &self.descriptors }.info();
        let [at, len] = [info.len(), described.len()].map(|bytes| u16::try_from(bytes).unwrap_or(u16::MAX));
        let set = RDMA_DESCRIPTOR_OFFSET
            .set(&mut info, at)
            .and_then(|()| RDMA_DESCRIPTOR_LENGTH.set(&mut info, len))
            .and_then(|()| CHANNEL.set(&mut info, self.channel));
        debug_assert_eq!(set, Ok(()), "there is room for them");
        info.extend(described);
        info
    }
}
