//! VALIDATE_NEGOTIATE_INFO (2.2.31.4, 2.2.32.6, 3.2.5.5, 3.2.5.14.12): in 3.0 and 3.0.2, whether somebody has changed NEGOTIATE.

use super::config::Config;
use super::negotiate::{self, Negotiated};
use super::reason::{Fatal, Reason};
use crate::wire::layout::layout;
use crate::wire::{
    Capabilities, ControlCode, Dialect, FileId, Guid, IoctlFlags, IoctlRequest, IoctlResponse, SecurityMode,
    pack,
};

layout! {
    /// Fields of a VALIDATE_NEGOTIATE_INFO Response (2.2.32.6), from its beginning.
    pub mod response: "VALIDATE_NEGOTIATE_INFO Response", "2.2.32.6", from 0;
    CAPABILITIES: Capabilities = "Capabilities" at 0;
    GUID: Guid = "Guid" at 4;
    SECURITY_MODE: SecurityMode = "SecurityMode" at 20;
    DIALECT: Dialect = "Dialect" at 22;
}

/// Gives the request to `write`.
pub(super) fn with_request<T>(config: &Config, write: impl FnOnce(&IoctlRequest<'_>) -> T) -> T {
    let dialects = config.dialects();
    let mut input = pack(&[negotiate::capabilities(config)]);
    input.extend_from_slice(&config.client_guid.0);
    input.extend_from_slice(&pack(&[negotiate::security_mode(config)]));
    input.extend_from_slice(&pack(&[u16::try_from(dialects.len()).unwrap_or(u16::MAX)]));
    input.extend_from_slice(&pack::<Dialect>(&dialects));
    write(&IoctlRequest {
        control_code: ControlCode::VALIDATE_NEGOTIATE_INFO,
        file_id: FileId::RELATED,
        max_output_response: u32::try_from(response::LAYOUT.end()).unwrap_or(u32::MAX),
        flags: IoctlFlags::IS_FSCTL,
        input: &input,
        ..IoctlRequest::default()
    })
}

/// Compares a successful answer with that to NEGOTIATE.
pub(super) fn check(negotiated: &Negotiated, answer: &IoctlResponse<'_>) -> Result<(), Fatal> {
    let output = answer.output;
    let same = [
        ("Capabilities", response::CAPABILITIES.get(output)? == negotiated.capabilities),
        ("Guid", response::GUID.get(output)? == negotiated.server_guid),
        ("SecurityMode", response::SECURITY_MODE.get(output)? == negotiated.security_mode),
        ("Dialect", response::DIALECT.get(output)? == negotiated.dialect),
    ];
    match same.iter().find(|(_, is_same)| !is_same) {
        Some((field, _)) => Err(Reason::Validation { field }.into()),
        None => Ok(()),
    }
}
