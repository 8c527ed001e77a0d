//! Channels of READ and WRITE, as far as both have the same rules (3.3.5.12, 3.3.5.13).

use alloc::sync::Arc;

use super::inner::Inner;
use super::transform;
use crate::wire::{
    BufferDescriptorV1, Channel, Command, Dialect, Header, List, NtStatus, ReadRequest, Token, WriteRequest,
};

/// Whether a WRITE may name this channel (3.3.5.13).
pub(super) fn is_known_of_write(inner: &Inner, channel: Channel) -> bool {
    let dialect = inner.dialect();
    // RT-7: IsRDMATransformSupported.
    let has_transforms = dialect == Dialect::SMB_3_1_1 && !inner.params().rdma_transforms.is_empty();
    is_known(channel, dialect) || (channel == Channel::RDMA_TRANSFORM && has_transforms)
}

/// Whether a READ may name this channel in this dialect (3.3.5.12).
pub(super) fn is_known(channel: Channel, dialect: Dialect) -> bool {
    match channel {
        Channel::NONE | Channel::RDMA_V1 => true,
        Channel::RDMA_V1_INVALIDATE => dialect >= Dialect::SMB_3_0_2,
        _ => false,
    }
}

/// The buffers of a request, if they are enough for `len` bytes and not too many.
pub(super) fn buffers(
    inner: &mut Inner,
    descriptors: List<'_, BufferDescriptorV1>,
    len: u32,
) -> Result<Arc<[BufferDescriptorV1]>, NtStatus> {
    let total = descriptors.iter().fold(0_u64, |total, buffer| total.saturating_add(buffer.length.into()));
    if total < len.into() || descriptors.len() > inner.params().descriptors_max {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    Ok(inner.lists.list(descriptors.len(), descriptors.iter()))
}

/// The token that the final answer to a request invalidates, whatever it says: a client takes its memory back with it.
pub(super) fn token(inner: &Inner, header: &Header, element: &[u8]) -> Option<Token> {
    let (channel, descriptors) = match header.command {
        Command::READ => {
            let request = ReadRequest::parse(element).ok()?;
            (request.channel, request.descriptors().ok()?)
        }
        Command::WRITE => {
            let request = WriteRequest::parse(element).ok()?;
            if request.channel == Channel::RDMA_TRANSFORM {
                let descriptors =
                    transform::invalidated(inner, &request).filter(|_| inner.link.transport.is_rdma())?;
                return descriptors.get(0).map(|first| first.token);
            }
            (request.channel, request.descriptors().ok()?)
        }
        _ => return None,
    };
    let is_valid = inner.link.transport.is_rdma() && is_known(channel, inner.dialect());
    let first = descriptors.get(0).filter(|_| is_valid && channel == Channel::RDMA_V1_INVALIDATE)?;
    Some(first.token)
}
