//! What is said of data that go by RDMA signed or encrypted (2.2.43).

use alloc::vec::Vec;

use super::channel::{self, Channel};
use super::error::WireError;
use super::layout::layout;
use super::list::List;
use super::names::values;
use super::reader;
use super::records::{Record, Records};
use super::writer::{Part, Writer};
use smbd_core::wire::BufferDescriptorV1;

values! {
    /// How data that go by RDMA are changed or protected (2.2.43.1).
    pub struct RdmaTransformType(u16) {
        ENCRYPTION = 0x0001 "encryption",
        SIGNING = 0x0002 "signing",
    }
}

layout! {
    /// Fields of the fixed part of SMB2_RDMA_TRANSFORM (2.2.43).
    pub mod field: "SMB2_RDMA_TRANSFORM", "2.2.43", from 0;
    RDMA_DESCRIPTOR_OFFSET: u16 = "RdmaDescriptorOffset" at 0;
    RDMA_DESCRIPTOR_LENGTH: u16 = "RdmaDescriptorLength" at 2;
    CHANNEL: Channel = "Channel" at 4;
    TRANSFORM_COUNT: u16 = "TransformCount" at 8;
    RESERVED1: u16 = "Reserved1" at 10;
    RESERVED2: u32 = "Reserved2" at 12;
}

layout! {
    /// Fields of the fixed part of SMB2_RDMA_CRYPTO_TRANSFORM (2.2.43.1).
    pub mod crypto: "SMB2_RDMA_CRYPTO_TRANSFORM", "2.2.43.1", from 0;
    TRANSFORM_TYPE: RdmaTransformType = "TransformType" at 0;
    SIGNATURE_LENGTH: u16 = "SignatureLength" at 2;
    NONCE_LENGTH: u16 = "NonceLength" at 4;
    RESERVED: u16 = "Reserved" at 6;
}

/// Size of the fixed part of SMB2_RDMA_TRANSFORM in bytes.
pub const LEN: usize = 16;

/// SMB2_RDMA_TRANSFORM and what follows it (2.2.43): the channel information of a WRITE Request with [`Channel::RDMA_TRANSFORM`], or the
/// buffer of a READ Response with [`ReadResponseFlags::RDMA_TRANSFORM`](super::ReadResponseFlags::RDMA_TRANSFORM).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RdmaTransform<'a> {
    /// What the descriptors are: RDMA_V1 or RDMA_V1_INVALIDATE in a WRITE Request, none in a READ Response.
    pub channel: Channel,
    /// What has become of the data. Each begins at a multiple of 8, from the beginning of this structure.
    pub transforms: Records<'a, RdmaCryptoTransform<'a>>,
    /// The descriptors; [`Self::descriptors`] reads them.
    pub channel_info: &'a [u8],
}

impl<'a> RdmaTransform<'a> {
    /// Reads the structure. Whether there are transforms, and which, is for the receiver to check.
    ///
    /// # Errors
    /// The fixed part is not complete, or the descriptors do not lie behind it and inside `bytes`.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, WireError> {
        field::LAYOUT.check(bytes)?;
        let channel = field::CHANNEL.get(bytes)?;
        let place = (&field::RDMA_DESCRIPTOR_OFFSET, &field::RDMA_DESCRIPTOR_LENGTH);
        Ok(Self {
            channel,
            transforms: Records::counted(
                bytes.get(LEN..).unwrap_or_default(),
                field::TRANSFORM_COUNT.get(bytes)?.into(),
            ),
            // Without a channel the fields are not looked at.
            channel_info: match channel {
                Channel::NONE => &[],
                _ => reader::part(bytes, place, &field::LAYOUT)?,
            },
        })
    }

    /// Appends the structure. Descriptors follow the transforms, at a multiple of 8.
    ///
    /// # Errors
    /// [`WireError::TooLarge`]: a part is too long for its field.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        let mut out = Writer::new(out);
        out.begin(&field::LAYOUT);
        out.set(&field::CHANNEL, self.channel)?;
        out.set_size(&field::TRANSFORM_COUNT, self.transforms.count())?;
        self.transforms.put(&mut out)?;
        if self.channel_info.is_empty() {
            return Ok(());
        }
        out.align(8);
        let start = out.len();
        out.set_size(&field::RDMA_DESCRIPTOR_OFFSET, start)?;
        out.set_size(&field::RDMA_DESCRIPTOR_LENGTH, self.channel_info.len())?;
        out.append(self.channel_info);
        Ok(())
    }

    /// The buffers that the descriptors name. A channel other than RDMA_V1 and RDMA_V1_INVALIDATE has none.
    ///
    /// # Errors
    /// [`WireError::Ragged`] if the last is not complete.
    pub fn descriptors(&self) -> Result<List<'a, BufferDescriptorV1>, WireError> {
        channel::descriptors(self.channel, self.channel_info, &field::RDMA_DESCRIPTOR_LENGTH)
    }
}

/// SMB2_RDMA_CRYPTO_TRANSFORM (2.2.43.1). A transform of another type is read as one of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RdmaCryptoTransform<'a> {
    /// Whether the data are signed or encrypted.
    pub transform_type: RdmaTransformType,
    /// Their signature.
    pub signature: &'a [u8],
    /// The nonce that they were signed or encrypted with.
    pub nonce: &'a [u8],
}

impl RdmaCryptoTransform<'_> {
    /// Its length in bytes, without what fills it up to a multiple of 8.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it has a fixed part")]
    pub fn len(&self) -> usize {
        crypto::LAYOUT.end().saturating_add(self.signature.len()).saturating_add(self.nonce.len())
    }
}

impl<'a> Record<'a> for RdmaCryptoTransform<'a> {
    fn read(bytes: &'a [u8]) -> Result<(Self, Option<&'a [u8]>), WireError> {
        crypto::LAYOUT.check(bytes)?;
        let first = crypto::LAYOUT.end() as u64;
        let signature_len: u64 = crypto::SIGNATURE_LENGTH.get(bytes)?.into();
        let signature = reader::range(bytes, &crypto::SIGNATURE_LENGTH, first, signature_len)?;
        let nonce_len = crypto::NONCE_LENGTH.get(bytes)?.into();
        let nonce =
            reader::range(bytes, &crypto::NONCE_LENGTH, first.saturating_add(signature_len), nonce_len)?;
        let transform = Self { transform_type: crypto::TRANSFORM_TYPE.get(bytes)?, signature, nonce };
        // Behind the last there need not be anything.
        let next = transform.len().checked_next_multiple_of(8);
        Ok((transform, Some(next.and_then(|next| bytes.get(next..)).unwrap_or_default())))
    }

    fn put(&self, out: &mut Writer<'_>, _is_last: bool) -> Result<(), WireError> {
        let mut out = out.nested();
        out.begin(&crypto::LAYOUT);
        out.set(&crypto::TRANSFORM_TYPE, self.transform_type)?;
        out.set_size(&crypto::SIGNATURE_LENGTH, self.signature.len())?;
        out.set_size(&crypto::NONCE_LENGTH, self.nonce.len())?;
        out.append(self.signature);
        out.append(self.nonce);
        Ok(())
    }
}
