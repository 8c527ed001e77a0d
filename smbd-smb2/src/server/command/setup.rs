//! SESSION_SETUP and LOGOFF (3.3.5.5, 3.3.5.6).

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;

use crate::security::{
    Acceptor, AcceptorConfig, AuthError, Established, Identity, NtlmAcceptor, PreauthHash, Side, Step,
};
use crate::server::action::Action;
use crate::server::answer::{answer, failure, success};
use crate::server::chain::{Answer, Asked, Hash};
use crate::server::inner::Inner;
use crate::server::pending::Outcome;
use crate::server::session::{Login, Session, Valid};
use crate::wire::{
    LogoffResponse, NtStatus, SecurityMode, SessionFlags, SessionId, SessionSecurityMode, SessionSetupFlags,
    SessionSetupRequest, SessionSetupResponse,
};

/// What takes the client's tokens.
pub(in crate::server) fn acceptor(inner: &Inner) -> Acceptor {
    let params = inner.params();
    let config = AcceptorConfig {
        guests: params.guests,
        anonymous: params.anonymous,
        ..AcceptorConfig::new(&params.computer)
    };
    Acceptor::new(alloc::vec![Box::new(NtlmAcceptor::new(config, inner.server.accounts()))])
}

/// 3.3.5.5. `element` is the whole message.
pub(in crate::server) fn request(
    inner: &mut Inner,
    asked: &Asked,
    request: &SessionSetupRequest<'_>,
    element: &[u8],
) -> Result<Outcome, NtStatus> {
    if !asked.is_alone {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    if inner.params().encrypted && inner.negotiated()?.cipher.is_none() {
        return Err(NtStatus::ACCESS_DENIED);
    }
    // There is no other channel (3.3.5.5).
    if request.flags.contains(SessionSetupFlags::BINDING) {
        return Err(NtStatus::REQUEST_NOT_ACCEPTED);
    }
    let session_id = if asked.session_id == SessionId::NONE { begin(inner)? } else { asked.session_id };
    let asked = Asked { session_id, ..*asked };
    let fresh = inner.fresh();
    let stepped = match inner.sessions.get_mut(&session_id.0) {
        Some(Session::InProgress(login)) => {
            login.preauth.update([element]);
            login.acceptor.step(request.security_buffer, &fresh)
        }
        Some(Session::Valid(_)) => return again(inner, &asked, request),
        Some(Session::Ended(_)) | None => return Err(NtStatus::USER_SESSION_DELETED),
    };
    match stepped {
        Ok(Step::Continue(token)) => Ok(more(&asked, &token, Some(Hash::Session))),
        Ok(Step::Done(token)) => finish(inner, &asked, request, &token.unwrap_or_default()),
        Err(error) => {
            inner.sessions.remove(&session_id.0);
            Ok(failure(&asked, status_of(&error)))
        }
    }
}

/// 3.3.5.5.1.
fn begin(inner: &mut Inner) -> Result<SessionId, NtStatus> {
    if inner.sessions.len() >= inner.params().sessions_max {
        return Err(NtStatus::INSUFFICIENT_RESOURCES);
    }
    let preauth = inner.negotiated()?.preauth;
    let (id, acceptor) = (inner.new_session_id(), acceptor(inner));
    inner.sessions.insert(id.0, Session::InProgress(Login { acceptor, preauth }));
    Ok(id)
}

fn more(asked: &Asked, token: &[u8], hash: Option<Hash>) -> Outcome {
    let body = SessionSetupResponse { security_buffer: token, ..SessionSetupResponse::default() };
    Outcome::Answer(Answer { hash, ..answer(asked, NtStatus::MORE_PROCESSING_REQUIRED, &body) })
}

/// The client is known (3.3.5.5.3).
fn finish(
    inner: &mut Inner,
    asked: &Asked,
    request: &SessionSetupRequest<'_>,
    token: &[u8],
) -> Result<Outcome, NtStatus> {
    let Some(Session::InProgress(login)) = inner.sessions.remove(&asked.session_id.0) else {
        return Err(NtStatus::USER_SESSION_DELETED);
    };
    let established = login.acceptor.established().ok_or(NtStatus::LOGON_FAILURE)?;
    let valid = validate(inner, request, established, &login.preauth)?;
    let flags = flags_of(&valid);
    let must_sign = valid.keys.is_some();
    let user = match &valid.identity {
        Identity::User { user, .. } => Some(user.clone()),
        Identity::Guest | Identity::Anonymous => None,
    };
    inner.sessions.insert(asked.session_id.0, Session::Valid(Box::new(valid)));
    inner.deadline = None;
    let previous = request.previous_session_id;
    if let Some(user) = user
        && previous != SessionId::NONE
        && previous != asked.session_id
    {
        replace(inner, previous, user);
    }
    let body = SessionSetupResponse { flags, security_buffer: token };
    Ok(Outcome::Answer(Answer { must_sign, ..answer(asked, NtStatus::SUCCESS, &body) }))
}

/// Ends the session that this one replaces, here or wherever it is.
fn replace(inner: &mut Inner, previous: SessionId, user: String) {
    let session = inner.sessions.get(&previous.0).and_then(Session::valid);
    match session.map(|session| session.is_of(&user)) {
        Some(true) => inner.end_session(previous),
        Some(false) => {}
        None => inner.actions.push_back(Action::SessionReplaced { session_id: previous.0, user }),
    }
}

fn validate(
    inner: &Inner,
    request: &SessionSetupRequest<'_>,
    established: Established,
    preauth: &PreauthHash,
) -> Result<Valid, NtStatus> {
    let (params, negotiated) = (inner.params(), inner.negotiated()?);
    let keys = match &established.session_key {
        Some(key) => {
            let keys = negotiated.schedule(preauth).session(Side::Server, key);
            Some(keys.map_err(|_| NtStatus::INTERNAL_ERROR)?)
        }
        None => None,
    };
    let is_user = matches!(established.identity, Identity::User { .. });
    if is_user && keys.is_none() {
        return Err(NtStatus::LOGON_FAILURE);
    }
    let client = request.security_mode.contains(SessionSecurityMode::SIGNING_REQUIRED)
        || negotiated.client_security_mode.contains(SecurityMode::SIGNING_REQUIRED);
    let encrypt_data = params.encrypted && is_user;
    // What is encrypted need not be signed. Nobody cannot sign, and is refused if that is needed.
    let signing_required = !encrypt_data && (params.signing_required || (client && is_user));
    if !is_user && (params.encrypted || params.signing_required) {
        return Err(NtStatus::ACCESS_DENIED);
    }
    Ok(Valid {
        identity: established.identity,
        keys,
        signing_required,
        encrypt_data,
        trees: BTreeMap::new(),
        opens: BTreeMap::new(),
        again: None,
    })
}

fn flags_of(valid: &Valid) -> SessionFlags {
    let flags = match valid.identity {
        Identity::User { .. } => SessionFlags::NONE,
        Identity::Guest => SessionFlags::IS_GUEST,
        Identity::Anonymous => SessionFlags::IS_NULL,
    };
    flags.with(SessionFlags::ENCRYPT_DATA, valid.encrypt_data)
}

/// A user authenticates again (3.3.5.5.2): as the same, and the keys stay.
fn again(inner: &mut Inner, asked: &Asked, request: &SessionSetupRequest<'_>) -> Result<Outcome, NtStatus> {
    let fresh = inner.fresh();
    let new = acceptor(inner);
    let valid = inner.session(asked)?;
    let mut acceptor = valid.again.take().unwrap_or(new);
    let status = match acceptor.step(request.security_buffer, &fresh) {
        Ok(Step::Continue(token)) => {
            valid.again = Some(acceptor);
            return Ok(more(asked, &token, None));
        }
        Ok(Step::Done(token)) => {
            let identity = acceptor.established().map(|established| established.identity);
            let is_same = |identity: &Identity| match identity {
                Identity::User { user, .. } => valid.is_of(user),
                Identity::Guest | Identity::Anonymous => *identity == valid.identity,
            };
            if identity.as_ref().is_some_and(is_same) {
                let body = SessionSetupResponse {
                    flags: flags_of(valid),
                    security_buffer: &token.unwrap_or_default(),
                };
                let must_sign = valid.keys.is_some();
                return Ok(Outcome::Answer(Answer { must_sign, ..answer(asked, NtStatus::SUCCESS, &body) }));
            }
            NtStatus::ACCESS_DENIED
        }
        Err(error) => status_of(&error),
    };
    inner.end_session(asked.session_id);
    Ok(failure(asked, status))
}

/// 3.3.5.6.
pub(in crate::server) fn logoff(inner: &mut Inner, asked: &Asked) -> Result<Outcome, NtStatus> {
    match inner.sessions.get(&asked.session_id.0) {
        Some(Session::InProgress(_)) => {}
        Some(Session::Valid(_) | Session::Ended(_)) | None => {
            inner.session(asked)?;
        }
    }
    inner.end_session(asked.session_id);
    Ok(success(asked, &LogoffResponse::default()))
}

/// What the client is told of a failure.
fn status_of(error: &AuthError) -> NtStatus {
    use AuthError::{Der, OutOfOrder, TooLong, Wire};
    if matches!(error, Wire(_) | Der { .. } | TooLong { .. } | OutOfOrder) {
        NtStatus::INVALID_PARAMETER
    } else {
        NtStatus::LOGON_FAILURE
    }
}
