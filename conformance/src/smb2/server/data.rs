//! READ and WRITE: taken apart here, answered when and how the caller wants.

use smbd_core::wire::{BufferDescriptorV1, Token};
use smbd_smb2::security::{SecurityError, SessionKeys};
use smbd_smb2::wire::{
    AccessMask, Channel, Dialect, FileId, Header, NtStatus, RdmaTransform, RdmaTransformType, ReadRequest,
    ReadResponse, ReadResponseFlags, WireError, WriteRequest, WriteResponse,
};

use super::request::{Reply, Request, reply};
use super::state::{Failed, State};

/// Where the data of a WRITE begins at most (3.3.5.13).
const DATA_OFFSET_MAX: u16 = 0x100;

/// What a READ and a WRITE have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// MessageId.
    pub message_id: u64,
    /// FileId, also if the request names the file of the one before it.
    pub file: FileId,
    /// The name of the file, empty for the folder; `None` if nothing is open by this FileId.
    pub name: Option<String>,
    /// Offset: where in the file, in bytes.
    pub offset: u64,
    /// Bytes to transfer: Length, or for a WRITE with a channel RemainingBytes.
    pub length: u32,
    /// Length, in bytes: 0 in a WRITE with a channel.
    pub length_field: u32,
    /// RemainingBytes.
    pub remaining: u32,
    /// Channel.
    pub channel: Channel,
    /// The buffers of the client, in order; none without a channel.
    pub descriptors: Vec<BufferDescriptorV1>,
    /// What a WRITE says of its data, if they are signed or encrypted.
    pub cover: Option<Cover>,
    header: Header,
    number: Option<u64>,
    refusal: Option<NtStatus>,
}

/// What has become of data on their way (2.2.43).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cover {
    /// What the descriptors are: RDMA_V1 or RDMA_V1_INVALIDATE.
    pub channel: Channel,
    /// Whether they are signed or encrypted.
    pub kind: RdmaTransformType,
    /// Their signature.
    pub signature: Vec<u8>,
    /// The nonce that they were signed or encrypted with.
    pub nonce: Vec<u8>,
}

impl Transfer {
    /// The token that the answer has to invalidate, whether it is good or bad: that of the first descriptor, if the channel is
    /// RDMA_V1_INVALIDATE (3.3.5.12, 3.3.5.13).
    #[must_use]
    pub fn invalidates(&self) -> Option<Token> {
        let channel = self.cover.as_ref().map_or(self.channel, |cover| cover.channel);
        let first = self.descriptors.first().filter(|_| channel == Channel::RDMA_V1_INVALIDATE);
        Some(first?.token)
    }

    /// Whether the data go by RDMA.
    #[must_use]
    pub fn has_channel(&self) -> bool {
        self.channel != Channel::NONE
    }

    /// The status with which a server refuses the request without a look at the file; `None` if it does not.
    #[must_use]
    pub const fn refusal(&self) -> Option<NtStatus> {
        self.refusal
    }

    /// The header of the request, with the ids of the one before it if it is related to that.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The file's number, if the request is not refused.
    pub(super) fn number(&self) -> Result<u64, NtStatus> {
        match self.refusal {
            Some(status) => Err(status),
            None => self.number.ok_or(NtStatus::FILE_CLOSED),
        }
    }
}

/// A READ (2.2.19) that waits for its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// What is to be transferred, and where.
    pub transfer: Transfer,
    /// MinimumCount: with fewer bytes the answer has to be an error.
    pub minimum: u32,
}

/// A WRITE (2.2.21) that waits for its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// What is to be transferred, and where.
    pub transfer: Transfer,
    /// The data; empty with a channel.
    pub data: Vec<u8>,
}

/// What is said to a READ (2.2.20).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadAnswer<'a> {
    /// These bytes, in the answer.
    Inline(&'a [u8]),
    /// So many bytes, which were written to the client's buffers: DataRemaining.
    Written(u32),
    /// The same, and what the answer says of them: SMB2_RDMA_TRANSFORM.
    Covered(u32, &'a [u8]),
    /// An error.
    Failed(NtStatus),
}

/// What is said to a WRITE (2.2.22).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteAnswer {
    /// So many bytes were written: Count.
    Count(u32),
    /// An error.
    Failed(NtStatus),
}

/// Whether a request may transfer to a file: the checks of 3.3.5.12 and 3.3.5.13 that are the same.
fn judge(state: &mut State, transfer: &Transfer, access: &[AccessMask], max: u32) -> Result<(), Failed> {
    let open = state.open(&transfer.header, transfer.file)?;
    if !access.iter().any(|right| open.access.contains(*right)) {
        return Err(NtStatus::ACCESS_DENIED.into());
    }
    let number = open.number;
    if state.files.facts(number).is_none_or(|facts| facts.is_folder) {
        return Err(NtStatus::INVALID_DEVICE_REQUEST.into());
    }
    if transfer.length > max {
        return Err(NtStatus::INVALID_PARAMETER.into());
    }
    state.pays(&transfer.header, transfer.length_field)?;
    let dialect = state.agreed().map(|agreed| agreed.dialect).unwrap_or_default();
    let is_known = match transfer.channel {
        Channel::NONE => true,
        Channel::RDMA_V1 => dialect >= Dialect::SMB_3_0,
        Channel::RDMA_V1_INVALIDATE => dialect >= Dialect::SMB_3_0_2,
        Channel::RDMA_TRANSFORM => transfer.cover.is_some(),
        _ => false,
    };
    if !is_known || transfer.has_channel() && (transfer.length == 0 || transfer.descriptors.is_empty()) {
        return Err(NtStatus::INVALID_PARAMETER.into());
    }
    Ok(())
}

/// Fills in what the server knows about the file, and whether it refuses.
fn settle(
    state: &mut State,
    mut transfer: Transfer,
    judged: impl FnOnce(&mut State, &Transfer) -> Result<(), Failed>,
) -> Transfer {
    if let Ok(open) = state.open(&transfer.header, transfer.file) {
        transfer.name = Some(open.name.clone());
        transfer.number = Some(open.number);
    }
    transfer.refusal = match judged(state, &transfer) {
        Ok(()) => None,
        Err(Failed::With(status)) => Some(status),
        Err(Failed::End(_)) => Some(NtStatus::INVALID_PARAMETER),
    };
    transfer
}

pub(super) fn read(state: &mut State, request: &Request<'_>) -> Result<Read, Failed> {
    let read = ReadRequest::parse(request.bytes)?;
    let transfer = Transfer {
        message_id: request.header.message_id.0,
        file: request.file(read.file_id)?,
        name: None,
        offset: read.offset,
        length: read.length,
        length_field: read.length,
        remaining: read.remaining_bytes,
        channel: read.channel,
        descriptors: read.descriptors()?.iter().collect(),
        cover: None,
        header: request.header,
        number: None,
        refusal: None,
    };
    let max = state.options.max_read;
    let transfer = settle(state, transfer, |state, transfer| {
        judge(state, transfer, &[AccessMask::READ_DATA, AccessMask::EXECUTE], max)
    });
    Ok(Read { transfer, minimum: read.minimum_count })
}

pub(super) fn write(state: &mut State, request: &Request<'_>) -> Result<Write, Failed> {
    let write = WriteRequest::parse(request.bytes)?;
    let has_transforms = state.security.as_ref().is_some_and(|security| security.has_transforms());
    let (cover, descriptors) = match write.channel {
        Channel::RDMA_TRANSFORM if has_transforms => covered(write.channel_info)?,
        _ => (None, write.descriptors()?.iter().collect()),
    };
    let has_channel = write.channel != Channel::NONE;
    let length_field = smbd_smb2::wire::write::request::LENGTH.get(request.bytes)?;
    let data_offset = smbd_smb2::wire::write::request::DATA_OFFSET.get(request.bytes)?;
    let transfer = Transfer {
        message_id: request.header.message_id.0,
        file: request.file(write.file_id)?,
        name: None,
        offset: write.offset,
        length: if has_channel { write.remaining_bytes } else { length_field },
        length_field,
        remaining: write.remaining_bytes,
        channel: write.channel,
        descriptors,
        cover,
        header: request.header,
        number: None,
        refusal: None,
    };
    let max = state.options.max_write;
    let transfer = settle(state, transfer, |state, transfer| {
        judge(state, transfer, &[AccessMask::WRITE_DATA, AccessMask::APPEND_DATA], max)?;
        let is_sound = if has_channel {
            let first = transfer.descriptors.first();
            length_field == 0 && data_offset == 0 && first.is_some_and(|first| first.length > 0)
        } else {
            data_offset <= DATA_OFFSET_MAX
        };
        if is_sound { Ok(()) } else { Err(NtStatus::INVALID_PARAMETER.into()) }
    });
    Ok(Write { transfer, data: write.data.to_vec() })
}

/// What a WRITE says of its data, and where they are (2.2.43).
fn covered(info: &[u8]) -> Result<(Option<Cover>, Vec<BufferDescriptorV1>), WireError> {
    let structure = RdmaTransform::parse(info)?;
    let cover = structure.transforms.iter().next().transpose()?.map(|crypto| Cover {
        channel: structure.channel,
        kind: crypto.transform_type,
        signature: crypto.signature.to_vec(),
        nonce: crypto.nonce.to_vec(),
    });
    Ok((cover, structure.descriptors()?.iter().collect()))
}

/// Decrypts or verifies the data of a WRITE (3.3.5.13).
pub(super) fn uncover(
    transfer: &Transfer,
    keys: Option<&SessionKeys>,
    data: &mut [u8],
) -> Result<(), SecurityError> {
    let Some(Cover { kind, signature, nonce, .. }) = &transfer.cover else { return Ok(()) };
    let keys = keys.ok_or(SecurityError::Empty)?;
    match (*kind, &keys.encryption) {
        (RdmaTransformType::SIGNING, _) => keys.verifier.verify_rdma(nonce, signature, [&*data]),
        (RdmaTransformType::ENCRYPTION, Some((_, opener))) => opener.open_rdma(nonce, signature, &mut [data]),
        _ => Err(SecurityError::BadEncryption),
    }
}

/// The bytes that a READ gets.
pub(super) fn bytes_of(state: &State, read: &Read) -> Result<Vec<u8>, NtStatus> {
    let Transfer { offset, length, .. } = read.transfer;
    let bytes =
        state.files.read(read.transfer.number()?, offset, length).map_err(|_| NtStatus::FILE_CLOSED)?;
    if bytes.len() < read.minimum as usize || bytes.is_empty() && length > 0 {
        return Err(NtStatus::END_OF_FILE);
    }
    Ok(bytes)
}

/// Puts the data of a WRITE into its file.
pub(super) fn store(state: &mut State, write: &Write, data: &[u8]) -> Result<u32, NtStatus> {
    let number = write.transfer.number()?;
    let count = u32::try_from(data.len()).map_err(|_| NtStatus::INVALID_PARAMETER)?;
    state.files.write(number, write.transfer.offset, data).map_err(|_| NtStatus::DISK_FULL)?;
    Ok(count)
}

pub(super) fn answer_read(read: &Read, with: ReadAnswer<'_>) -> Result<Reply, Failed> {
    let body = match with {
        ReadAnswer::Inline(data) => ReadResponse { data, ..ReadResponse::default() },
        ReadAnswer::Written(data_remaining) => ReadResponse { data_remaining, ..ReadResponse::default() },
        ReadAnswer::Covered(data_remaining, data) => {
            ReadResponse { data, data_remaining, flags: ReadResponseFlags::RDMA_TRANSFORM }
        }
        ReadAnswer::Failed(status) => return Err(status.into()),
    };
    reply(&read.transfer.header.response(NtStatus::SUCCESS), &body)
}

/// A file is at least as long as what was written to it, also if the caller keeps the data.
pub(super) fn answer_write(state: &mut State, write: &Write, with: WriteAnswer) -> Result<Reply, Failed> {
    let transfer = &write.transfer;
    let count = match with {
        WriteAnswer::Count(count) => count,
        WriteAnswer::Failed(status) => return Err(status.into()),
    };
    if let Ok(number) = transfer.number() {
        let end = transfer.offset.saturating_add(count.min(transfer.length).into());
        // There may be no room for it, or no file any more; the client is told what the caller wants.
        let _ = state.files.reach(number, end);
    }
    reply(&transfer.header.response(NtStatus::SUCCESS), &WriteResponse { count })
}
