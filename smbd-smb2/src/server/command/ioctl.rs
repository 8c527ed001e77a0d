//! IOCTL (3.3.5.15).

use alloc::vec::Vec;

use crate::server::answer::{failure_of_file, success};
use crate::server::chain::Asked;
use crate::server::inner::Inner;
use crate::server::pending::Outcome;
use crate::server::reason::Reason;
use crate::wire::{
    Capabilities, ControlCode, Dialect, FileId, IoctlFlags, IoctlRequest, IoctlResponse, NetworkInterface,
    NetworkInterfaces, NtStatus, SecurityMode, WireError,
};

/// Size of a VALIDATE_NEGOTIATE_INFO Response (2.2.32.6).
const VALIDATE_LEN: u32 = 24;

/// 3.3.5.15.
pub(in crate::server) fn request(
    inner: &mut Inner,
    asked: &Asked,
    request: &IoctlRequest<'_>,
) -> Result<Outcome, NtStatus> {
    inner.tree(asked)?;
    if request.flags != IoctlFlags::IS_FSCTL {
        return Err(NtStatus::NOT_SUPPORTED);
    }
    let max = inner.max_transact();
    let lengths =
        [request.input.len() as u64, request.max_input_response.into(), request.max_output_response.into()];
    let is_too_long = lengths.into_iter().any(|len| len > max.into());
    let without_file = matches!(
        request.control_code,
        ControlCode::DFS_GET_REFERRALS
            | ControlCode::DFS_GET_REFERRALS_EX
            | ControlCode::QUERY_NETWORK_INTERFACE_INFO
            | ControlCode::VALIDATE_NEGOTIATE_INFO
            | ControlCode::PIPE_WAIT
    );
    if !without_file {
        let (file_id, _) = inner.open(asked, request.file_id)?;
        // Whatever files could do besides, these cannot.
        let status = if is_too_long { NtStatus::INVALID_PARAMETER } else { NtStatus::INVALID_DEVICE_REQUEST };
        return Ok(failure_of_file(&mut inner.chunks, asked, file_id, status));
    }
    if request.file_id != FileId::RELATED || is_too_long {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    match request.control_code {
        ControlCode::VALIDATE_NEGOTIATE_INFO => validate(inner, asked, request),
        // 3.3.5.15.2
        ControlCode::DFS_GET_REFERRALS | ControlCode::DFS_GET_REFERRALS_EX => {
            Err(NtStatus::FS_DRIVER_REQUIRED)
        }
        // 3.3.5.15.10
        ControlCode::PIPE_WAIT => Err(NtStatus::OBJECT_NAME_NOT_FOUND),
        _ => interfaces(inner, asked, request),
    }
}

/// 3.3.5.15.11. Who does not know of other connections is told of none.
fn interfaces(inner: &mut Inner, asked: &Asked, request: &IoctlRequest<'_>) -> Result<Outcome, NtStatus> {
    if !inner.negotiated()?.capabilities.contains(Capabilities::MULTI_CHANNEL) {
        return Err(NtStatus::NOT_SUPPORTED);
    }
    let told = inner.params().interfaces.iter().filter(|interface| interface.index != 0);
    let told: Vec<NetworkInterface> = told.copied().collect();
    let mut output = Vec::new();
    NetworkInterfaces::from(told.as_slice())
        .write(&mut output)
        .map_err(|_: WireError| NtStatus::INTERNAL_ERROR)?;
    // CH-6
    if output.len() > request.max_output_response as usize {
        return Err(NtStatus::BUFFER_TOO_SMALL);
    }
    let response = IoctlResponse {
        control_code: ControlCode::QUERY_NETWORK_INTERFACE_INFO,
        file_id: FileId::RELATED,
        output: &output,
        ..IoctlResponse::default()
    };
    Ok(success(&mut inner.chunks, asked, &response))
}

/// 3.3.5.15.12.
fn validate(inner: &mut Inner, asked: &Asked, request: &IoctlRequest<'_>) -> Result<Outcome, NtStatus> {
    let negotiated = inner.negotiated()?;
    let tampered = |field| Ok(Outcome::Close(Reason::Tampered { field }));
    if negotiated.dialect == Dialect::SMB_3_1_1 {
        return tampered("Dialect");
    }
    if request.max_output_response < VALIDATE_LEN {
        return tampered("MaxOutputResponse");
    }
    // 2.2.31.4
    let Some((capabilities, rest)) = request.input.split_first_chunk::<4>() else {
        return tampered("InputCount");
    };
    let Some((guid, rest)) = rest.split_first_chunk::<16>() else { return tampered("InputCount") };
    let Some((mode, rest)) = rest.split_first_chunk::<2>() else { return tampered("InputCount") };
    let Some((count, rest)) = rest.split_first_chunk::<2>() else { return tampered("InputCount") };
    let count = usize::from(u16::from_le_bytes(*count));
    let (dialects, _) = rest.as_chunks::<2>();
    let dialects = dialects.iter().take(count).map(|dialect| Dialect(u16::from_le_bytes(*dialect)));
    if !dialects.eq(negotiated.client_dialects.iter().copied()) || count != negotiated.client_dialects.len() {
        return tampered("Dialects");
    }
    if *guid != negotiated.client_guid.0 {
        return tampered("Guid");
    }
    if SecurityMode(u16::from_le_bytes(*mode)) != negotiated.client_security_mode {
        return tampered("SecurityMode");
    }
    if u32::from_le_bytes(*capabilities) != negotiated.client_capabilities.0 {
        return tampered("Capabilities");
    }
    let mut output = Vec::new();
    output.extend_from_slice(&negotiated.capabilities.0.to_le_bytes());
    output.extend_from_slice(&inner.params().guid.0);
    output.extend_from_slice(&negotiated.security_mode.0.to_le_bytes());
    output.extend_from_slice(&negotiated.dialect.0.to_le_bytes());
    let response = IoctlResponse {
        control_code: ControlCode::VALIDATE_NEGOTIATE_INFO,
        file_id: FileId::RELATED,
        output: &output,
        ..IoctlResponse::default()
    };
    Ok(success(&mut inner.chunks, asked, &response))
}
