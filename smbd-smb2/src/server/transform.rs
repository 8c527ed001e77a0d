//! Transforms of data that go by RDMA (2.2.43): which a request has, and what is done to its data (3.3.5.12, 3.3.5.13).

use alloc::vec::Vec;

use super::action::{Done, LinkId, OperationId};
use super::chain::Asked;
use super::channels::Channels;
use super::inner::Inner;
use super::pending::{Pending, What};
use super::session::{Session, Tree};
use crate::cover::{Cover, CoverKey};
use crate::security::{RdmaSignature, SecurityError};
use crate::wire::{
    BufferDescriptorV1, Channel, List, NtStatus, RdmaTransform, RdmaTransformType, Records, WriteRequest,
    rdma_transform,
};

/// The transform of the data of a READ (3.3.5.12): that by which the request is protected, if it was negotiated (RT-3).
pub(super) fn of_read(inner: &Inner, asked: &Asked) -> Option<Cover> {
    let transform = if asked.is_encrypted {
        RdmaTransformType::ENCRYPTION
    } else if asked.is_signed {
        RdmaTransformType::SIGNING
    } else {
        return None;
    };
    inner.rdma_transforms().has(transform).then_some(Cover { transform, signature: None })
}

/// What the channel of a WRITE says of its data, and the buffers that they are in (3.3.5.13).
pub(super) fn of_write<'a>(
    inner: &Inner,
    asked: &Asked,
    request: &WriteRequest<'a>,
) -> Result<(Option<Cover>, List<'a, BufferDescriptorV1>), NtStatus> {
    let invalid = |_| NtStatus::INVALID_PARAMETER;
    if request.channel != Channel::RDMA_TRANSFORM {
        return Ok((None, request.descriptors().map_err(invalid)?));
    }
    let ids = inner.rdma_transforms();
    if ids.is_empty() {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    let structure = RdmaTransform::parse(request.channel_info).map_err(invalid)?;
    let first = structure.transforms.iter().next();
    let crypto = first.ok_or(NtStatus::INVALID_PARAMETER)?.map_err(invalid)?;
    let is_one = structure.transforms.count() == 1;
    let is_protected = match crypto.transform_type {
        RdmaTransformType::ENCRYPTION => asked.is_encrypted,
        RdmaTransformType::SIGNING => asked.is_signed,
        _ => false,
    };
    // RT-11
    let place = rdma_transform::LEN.saturating_add(crypto.len()).checked_next_multiple_of(8);
    let stated = rdma_transform::field::RDMA_DESCRIPTOR_OFFSET.get(request.channel_info).map_err(invalid)?;
    if !is_one || !is_protected || !ids.has(crypto.transform_type) || place != Some(stated.into()) {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    let session = inner.session_here(asked.session_id).and_then(Session::valid);
    let key = session.and_then(|valid| cover_key(&valid.channels, asked.link, crypto.transform_type));
    let key = key.ok_or(NtStatus::INVALID_PARAMETER)?;
    let signature = key.signature(&crypto).map_err(|_| status(crypto.transform_type))?;
    let cover = Cover { transform: crypto.transform_type, signature: Some(signature) };
    Ok((Some(cover), structure.descriptors().map_err(invalid)?))
}

/// The descriptors whose first token a WRITE with a transform asks to be invalidated (3.3.5.13).
pub(super) fn invalidated<'a>(
    inner: &Inner,
    request: &WriteRequest<'a>,
) -> Option<List<'a, BufferDescriptorV1>> {
    let structure =
        RdmaTransform::parse(request.channel_info).ok().filter(|_| !inner.rdma_transforms().is_empty())?;
    let wants = structure.channel == Channel::RDMA_V1_INVALIDATE;
    structure.descriptors().ok().filter(|_| wants)
}

/// Refuses data that go by RDMA as they are where session or share wants them protected (RT-10).
pub(super) fn check(inner: &mut Inner, asked: &Asked, cover: Option<Cover>) -> Result<(), NtStatus> {
    let tree = inner.tree(asked)?;
    let session = inner.session(asked)?;
    let is_secret = session.encrypt_data || matches!(tree, Tree::Files { is_encrypted: true, .. });
    let is_enough = match cover {
        Some(cover) => !is_secret || cover.transform == RdmaTransformType::ENCRYPTION,
        None => !is_secret && !session.signing_required,
    };
    if is_enough { Ok(()) } else { Err(NtStatus::ACCESS_DENIED) }
}

/// The buffer of the answer to a READ.
pub(super) fn buffer(cover: &Cover) -> Vec<u8> {
    let mut buffer = Vec::new();
    if let Some(signature) = &cover.signature {
        let transforms = [signature.crypto(cover.transform)];
        let structure = RdmaTransform { transforms: Records::from(&transforms), ..RdmaTransform::default() };
        // It is short.
        let _ = structure.write(&mut buffer);
    }
    // RT-11
    buffer.resize(buffer.len().checked_next_multiple_of(8).unwrap_or(buffer.len()), 0);
    buffer
}

/// Signs, encrypts, verifies or decrypts the data of a request, which are all of `pieces`. What fails is zeros afterwards.
pub(super) fn apply(inner: &mut Inner, id: OperationId, pieces: &mut [&mut [u8]]) -> Result<Done, NtStatus> {
    let got = pieces.iter().fold(0_u64, |total, piece| total.saturating_add(piece.len() as u64));
    let Inner { pending, sessions, .. } = inner;
    let Some(Pending { asked, what, .. }) = pending.get_mut(&id) else {
        return Err(NtStatus::INTERNAL_ERROR);
    };
    let link = asked.link;
    let channels = sessions.get_mut(&asked.session_id.0).and_then(Session::channels_mut);
    let channels = channels.ok_or(NtStatus::USER_SESSION_DELETED);
    let result = match what {
        What::Cover { len, cover, .. } if got == u64::from(*len) => channels.and_then(|channels| {
            let signature = cover_data(channels, link, cover.transform, pieces);
            let signature = signature.map_err(|_| NtStatus::INTERNAL_ERROR)?;
            cover.signature = Some(signature);
            Ok(())
        }),
        What::Cover { .. } => Err(NtStatus::INTERNAL_ERROR),
        What::Uncover { len, cover, .. } if got == u64::from(*len) => {
            let cover = *cover;
            let failed = |_| status(cover.transform);
            channels.and_then(|channels| uncover_data(channels, link, &cover, pieces).map_err(failed))
        }
        // As many bytes came as were decrypted, and they are not as many as the request says.
        What::Uncover { .. } => Err(NtStatus::BAD_DATA),
        What::Create(_)
        | What::Close { .. }
        | What::Plain { .. }
        | What::Read { .. }
        | What::ReadChannel(_)
        | What::Fetch { .. }
        | What::Write { .. }
        | What::Query(_)
        | What::List(_)
        | What::Notify { .. } => Err(NtStatus::INTERNAL_ERROR),
    };
    if result.is_err() {
        pieces.iter_mut().for_each(|piece| piece.fill(0));
    }
    result.map(|()| Done::Nothing)
}

fn cover_data(
    channels: &mut Channels,
    link: LinkId,
    transform: RdmaTransformType,
    pieces: &mut [&mut [u8]],
) -> Result<RdmaSignature, SecurityError> {
    if transform == RdmaTransformType::ENCRYPTION {
        let (sealer, _) = channels.encryption_mut().ok_or(SecurityError::Empty)?;
        return sealer.seal_rdma(pieces);
    }
    let signer = channels.signer(link).ok_or(SecurityError::Empty)?;
    signer.sign_rdma(pieces.iter().map(|piece| &**piece))
}

fn uncover_data(
    channels: &Channels,
    link: LinkId,
    cover: &Cover,
    pieces: &mut [&mut [u8]],
) -> Result<(), SecurityError> {
    let signature = cover.signature.as_ref().ok_or(SecurityError::Empty)?;
    cover_key(channels, link, cover.transform).ok_or(SecurityError::Empty)?.open(signature, pieces)
}

fn cover_key(channels: &Channels, link: LinkId, transform: RdmaTransformType) -> Option<CoverKey<'_>> {
    CoverKey::of(transform, channels.verifier(link), channels.encryption())
}

/// What a client is told of data that are not what they have to be (RT-8).
const fn status(transform: RdmaTransformType) -> NtStatus {
    match transform {
        RdmaTransformType::ENCRYPTION => NtStatus::AUTH_TAG_MISMATCH,
        _ => NtStatus::INVALID_SIGNATURE,
    }
}
