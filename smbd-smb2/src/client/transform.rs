//! Transforms of data that go by RDMA: what a WRITE says of its data, and what the answer to a READ does (2.2.43, 3.2.4.7, 3.2.5.11).

use alloc::vec::Vec;

use super::reason::Failure;
use super::session::Session;
use super::transform_error::TransformError;
use crate::cover::Cover;
use crate::security::{RdmaSignature, RdmaTransforms};
use crate::wire::{
    Channel, RdmaTransform, RdmaTransformType, ReadResponse, ReadResponseFlags, Records, WireError,
    rdma_transform,
};

/// What is known of the answer to a READ besides itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts<'a> {
    /// Connection.RDMATransformIds.
    pub(super) ids: RdmaTransforms,
    /// The dialect is 3.1.1: in others Flags is reserved.
    pub(super) has_flags: bool,
    /// The READ has a channel.
    pub(super) has_channel: bool,
    /// The answer is encrypted.
    pub(super) is_encrypted: bool,
    pub(super) session: Option<&'a Session>,
}

impl Facts<'_> {
    /// What the answer to a READ says of its data (3.2.5.11); nothing if they have no transform.
    pub(super) fn cover(&self, answer: &ReadResponse<'_>) -> Result<Option<Cover>, Failure> {
        let is_transformed = self.has_flags && answer.flags.contains(ReadResponseFlags::RDMA_TRANSFORM);
        match (is_transformed, self.has_channel) {
            // RT-12
            (true, false) => Err(TransformError::NoChannel.into()),
            (false, false) => Ok(None),
            (true, true) if answer.data_remaining > 0 => Ok(Some(self.stated(answer.data)?)),
            (true, true) => Ok(None),
            (false, true) if !answer.data.is_empty() => {
                Err(Failure::InlineData { got: answer.data.len() as u64 })
            }
            // If they need one, that is seen when they are looked at.
            (false, true) => Ok(None),
        }
    }

    /// What the structure in an answer says.
    fn stated(&self, buffer: &[u8]) -> Result<Cover, TransformError> {
        if self.ids.is_empty() {
            return Err(TransformError::NotNegotiated);
        }
        let structure = RdmaTransform::parse(buffer)?;
        let crypto = structure.transforms.iter().next().ok_or(TransformError::Empty)??;
        let count = structure.transforms.count();
        if count > 1 {
            return Err(TransformError::Several { count });
        }
        let end = rdma_transform::LEN.saturating_add(crypto.len()).checked_next_multiple_of(8);
        let behind = buffer.len().saturating_sub(end.unwrap_or(usize::MAX));
        if behind > 0 {
            return Err(TransformError::Behind { len: behind });
        }
        let transform = crypto.transform_type;
        match (transform, self.is_encrypted) {
            (RdmaTransformType::ENCRYPTION, false) => return Err(TransformError::EncryptedAlone),
            // RT-2
            (RdmaTransformType::SIGNING, true) => return Err(TransformError::SignedOnly),
            (RdmaTransformType::ENCRYPTION, true) | (RdmaTransformType::SIGNING, false) => {}
            _ => return Err(TransformError::Unknown(transform)),
        }
        // RT-5
        if !self.ids.has(transform) {
            return Err(TransformError::NotOffered(transform));
        }
        let missing = TransformError::Missing(transform);
        let session = self.session.ok_or(missing)?;
        let signature = session.cover_key(transform).ok_or(missing)?.signature(&crypto)?;
        Ok(Cover { transform, signature: Some(signature) })
    }
}

/// The channel information of a WRITE whose data are signed or encrypted (3.2.4.7). `channel` says what the descriptors are.
pub(super) fn channel_info(
    channel: Channel,
    transform: RdmaTransformType,
    signature: &RdmaSignature,
    descriptors: &[u8],
) -> Result<Vec<u8>, WireError> {
    let transforms = [signature.crypto(transform)];
    let structure =
        RdmaTransform { channel, transforms: Records::from(&transforms), channel_info: descriptors };
    let mut info = Vec::new();
    structure.write(&mut info)?;
    Ok(info)
}
