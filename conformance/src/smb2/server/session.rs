//! SESSION_SETUP, LOGOFF, TREE_CONNECT and TREE_DISCONNECT: anybody is let in as a guest, or one user by a password.

use smbd_smb2::wire::{
    AccessMask, Header, LogoffRequest, LogoffResponse, NtStatus, SessionFlags, SessionId, SessionSetupFlags,
    SessionSetupRequest, SessionSetupResponse, ShareType, Target, TreeConnectRequest, TreeConnectResponse,
    TreeDisconnectRequest, TreeDisconnectResponse,
};

use super::authentication::{Step, step};
use super::request::{Reply, Request, reply};
use super::state::{Failed, Session, Share, State};

/// Everything that can be allowed on a file (2.2.13.1.1).
const ALL_ACCESS: AccessMask = AccessMask(0x001f_01ff);

/// 3.3.5.5
pub(super) fn setup(state: &mut State, request: &Request<'_>) -> Result<Reply, Failed> {
    let setup = SessionSetupRequest::parse(request.bytes)?;
    if setup.flags.contains(SessionSetupFlags::BINDING) {
        // No session has a second connection.
        return Err(NtStatus::REQUEST_NOT_ACCEPTED.into());
    }
    let step = match &mut state.security {
        Some(security) => security.step(setup.security_buffer).map(|(token, is_in)| match is_in {
            true => Step::Accepted(token),
            false => Step::Challenge(token),
        }),
        None => step(setup.security_buffer).ok_or(NtStatus::LOGON_FAILURE),
    };
    let flags = state.security.as_ref().map_or(SessionFlags::IS_GUEST, |security| security.flags());
    let is_new = request.header.session_id == SessionId::NONE;
    let id = match (is_new, &step) {
        (true, Ok(_)) => state.new_session()?,
        (true, Err(status)) => return Err((*status).into()),
        (false, _) => request.header.session_id,
    };
    let header = Header { session_id: id, ..request.header };
    let session = state.sessions.get_mut(&id).ok_or(NtStatus::USER_SESSION_DELETED)?;
    match step {
        Ok(Step::Challenge(token)) => {
            let body = SessionSetupResponse { security_buffer: &token, ..SessionSetupResponse::default() };
            reply(&header.response(NtStatus::MORE_PROCESSING_REQUIRED), &body)
        }
        Ok(Step::Accepted(token)) => {
            session.is_valid = true;
            // 3.3.5.5.3: the session before goes, if it was another.
            let before = setup.previous_session_id;
            if before != id {
                state.end_session(before);
            }
            let body = SessionSetupResponse { flags, security_buffer: &token };
            reply(&header.response(NtStatus::SUCCESS), &body)
        }
        Err(status) => {
            state.end_session(id);
            Err(status.into())
        }
    }
}

/// 3.3.5.6
pub(super) fn logoff(state: &mut State, request: &Request<'_>) -> Result<Reply, Failed> {
    LogoffRequest::parse(request.bytes)?;
    let _: &mut Session = state.session(request.header.session_id)?;
    state.end_session(request.header.session_id);
    request.done(&LogoffResponse::default())
}

/// 3.3.5.7
pub(super) fn connect(state: &mut State, request: &Request<'_>) -> Result<Reply, Failed> {
    let connect = TreeConnectRequest::parse(request.bytes)?;
    state.session(request.header.session_id)?;
    let path = connect.path.to_string();
    let name = path.rsplit('\\').next().unwrap_or_default();
    let (share, share_type) = if name.eq_ignore_ascii_case(&state.options.share) {
        (Share::Files, ShareType::DISK)
    } else if name.eq_ignore_ascii_case("IPC$") {
        (Share::Pipes, ShareType::PIPE)
    } else {
        return Err(NtStatus::BAD_NETWORK_NAME.into());
    };
    let tree_id = state.new_tree(request.header.session_id, share)?;
    let header = Header { target: Target::Sync { process_id: 0, tree_id }, ..request.header };
    let body =
        TreeConnectResponse { share_type, maximal_access: ALL_ACCESS, ..TreeConnectResponse::default() };
    reply(&header.response(NtStatus::SUCCESS), &body)
}

/// 3.3.5.8
pub(super) fn disconnect(state: &mut State, request: &Request<'_>) -> Result<Reply, Failed> {
    TreeDisconnectRequest::parse(request.bytes)?;
    state.end_tree(&request.header)?;
    request.done(&TreeDisconnectResponse::default())
}
