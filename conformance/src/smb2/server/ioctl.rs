//! IOCTL.

use bytes::BufMut;
use smbd_smb2::wire::{ControlCode, Dialect, FileId, IoctlRequest, IoctlResponse, NtStatus, SecurityMode};

use super::bad::BadMessage;
use super::negotiate::capabilities;
use super::request::{Reply, Request};
use super::state::{Agreed, Failed, State};

/// 3.3.5.15
pub(super) fn ioctl(state: &mut State, request: &Request<'_>) -> Result<Reply, Failed> {
    let ioctl = IoctlRequest::parse(request.bytes)?;
    state.tree(&request.header)?;
    match ioctl.control_code {
        ControlCode::VALIDATE_NEGOTIATE_INFO => validate(state, request, &ioctl),
        // 3.3.5.15.2, 3.3.5.15.11
        ControlCode::DFS_GET_REFERRALS | ControlCode::DFS_GET_REFERRALS_EX => {
            Err(NtStatus::FS_DRIVER_REQUIRED.into())
        }
        ControlCode::QUERY_NETWORK_INTERFACE_INFO => Err(NtStatus::NOT_SUPPORTED.into()),
        _ => Err(NtStatus::INVALID_DEVICE_REQUEST.into()),
    }
}

/// 3.3.5.15.12
fn validate(state: &State, request: &Request<'_>, ioctl: &IoctlRequest<'_>) -> Result<Reply, Failed> {
    const ANSWER_LEN: u32 = 24;
    let bad = |what| Failed::End(BadMessage::Negotiation(what));
    let agreed: &Agreed = state.agreed().ok_or_else(|| bad("nothing is agreed on"))?;
    if agreed.dialect == Dialect::SMB_3_1_1 {
        return Err(bad("3.1.1 does without"));
    }
    if ioctl.max_output_response < ANSWER_LEN {
        return Err(bad("MaxOutputResponse is below 24"));
    }
    // 2.2.31.4
    let mut expected = Vec::new();
    expected.put_u32_le(agreed.capabilities.0);
    expected.put_slice(&agreed.client.0);
    expected.put_u16_le(agreed.security_mode.0);
    expected.put_u16_le(agreed.dialects.len() as u16);
    agreed.dialects.iter().for_each(|dialect| expected.put_u16_le(dialect.0));
    if ioctl.input != expected {
        return Err(bad("it is not what NEGOTIATE said"));
    }
    // 2.2.32.6
    let mut output = Vec::new();
    output.put_u32_le(capabilities(agreed.dialect).0);
    output.put_slice(&state.options.guid.0);
    output.put_u16_le(SecurityMode::SIGNING_ENABLED.0);
    output.put_u16_le(agreed.dialect.0);
    let body = IoctlResponse {
        control_code: ioctl.control_code,
        file_id: FileId::RELATED,
        output: &output,
        ..IoctlResponse::default()
    };
    request.done(&body)
}
