//! Commands that only have to be answered: ECHO, FLUSH and LOCK.

use smbd_smb2::wire::{
    EchoRequest, EchoResponse, FlushRequest, FlushResponse, LockRequest, LockResponse, NtStatus,
};

use super::request::{Reply, Request};
use super::state::{Failed, State};

/// 3.3.5.17
pub(super) fn echo(request: &Request<'_>) -> Result<Reply, Failed> {
    EchoRequest::parse(request.bytes)?;
    request.done(&EchoResponse::default())
}

/// 3.3.5.11: what is in memory is where it belongs.
pub(super) fn flush(state: &mut State, request: &Request<'_>) -> Result<Reply, Failed> {
    let file = request.file(FlushRequest::parse(request.bytes)?.file_id)?;
    state.open(&request.header, file)?;
    Ok(request.done(&FlushResponse::default())?.about(file))
}

/// 3.3.5.14: nobody else is there who could have locked anything.
pub(super) fn lock(state: &mut State, request: &Request<'_>) -> Result<Reply, Failed> {
    let lock = LockRequest::parse(request.bytes)?;
    let file = request.file(lock.file_id)?;
    state.open(&request.header, file)?;
    if lock.locks.is_empty() {
        return Err(NtStatus::INVALID_PARAMETER.into());
    }
    Ok(request.done(&LockResponse::default())?.about(file))
}
