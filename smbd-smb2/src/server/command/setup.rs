//! SESSION_SETUP and LOGOFF (3.3.5.5, 3.3.5.6).

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;

use super::authenticate::{acceptor, flags_of, login, more, refuse};
use super::bind;
use crate::security::{Established, Identity, Side, Step};
use crate::server::action::Action;
use crate::server::answer::{answer, failure, success};
use crate::server::chain::{Answer, Asked, Hash, Sign};
use crate::server::channels::Channels;
use crate::server::inner::Inner;
use crate::server::pending::Outcome;
use crate::server::refused::Refused;
use crate::server::session::{Login, Session, Valid};
use crate::wire::{
    LogoffResponse, NtStatus, SecurityMode, SessionId, SessionSecurityMode, SessionSetupFlags,
    SessionSetupRequest, SessionSetupResponse,
};

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
        return Err(deny(inner, "", "the client cannot encrypt, and sessions are encrypted"));
    }
    if request.flags.contains(SessionSetupFlags::BINDING) {
        return bind::request(inner, asked, request, element);
    }
    let session_id = if asked.session_id == SessionId::NONE { begin(inner)? } else { asked.session_id };
    let asked = Asked { session_id, ..*asked };
    let fresh = inner.fresh();
    let session = inner.sessions.get_mut(&session_id.0);
    let stepped = match session.filter(|session| session.is_on(asked.link)) {
        Some(Session::InProgress(login)) => {
            login.preauth.update([element]);
            login.acceptor.step(request.security_buffer, &fresh)
        }
        Some(Session::Valid(_)) => return again(inner, &asked, request),
        Some(Session::Ended(_)) | None => return Err(NtStatus::USER_SESSION_DELETED),
    };
    match stepped {
        Ok(Step::Continue(token)) => Ok(more(&mut inner.chunks, &asked, &token, Some(Hash::Session))),
        Ok(Step::Done(token)) => finish(inner, &asked, request, &token.unwrap_or_default()),
        Err(error) => {
            let status = match inner.sessions.remove(&session_id.0) {
                Some(Session::InProgress(login)) => refuse(inner, &login.acceptor, &error),
                Some(Session::Valid(_) | Session::Ended(_)) | None => NtStatus::USER_SESSION_DELETED,
            };
            Ok(failure(&mut inner.chunks, &asked, status))
        }
    }
}

/// Somebody may not log in like this: what the client is told.
fn deny(inner: &mut Inner, user: &str, why: &str) -> NtStatus {
    inner.push(Action::Refused(Refused::Login { user: user.into(), why: why.into() }));
    NtStatus::ACCESS_DENIED
}

/// 3.3.5.5.1.
fn begin(inner: &mut Inner) -> Result<SessionId, NtStatus> {
    if !inner.has_room_for_a_session() {
        return Err(NtStatus::INSUFFICIENT_RESOURCES);
    }
    let (id, login) = (inner.new_session_id(), login(inner)?);
    inner.sessions.insert(id.0, Session::InProgress(login));
    Ok(id)
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
    let valid = validate(inner, asked, request, login)?;
    let flags = flags_of(&valid);
    let user = match &valid.identity {
        Identity::User { user, .. } => Some(user.clone()),
        Identity::Guest | Identity::Anonymous => None,
    };
    inner.sessions.insert(asked.session_id.0, Session::Valid(Box::new(valid)));
    inner.link.deadline = None;
    let previous = request.previous_session_id;
    if let Some(user) = user
        && previous != SessionId::NONE
        && previous != asked.session_id
    {
        replace(inner, previous, user);
    }
    let body = SessionSetupResponse { flags, security_buffer: token };
    Ok(Outcome::Answer(Answer {
        sign: Sign::Always,
        ..answer(&mut inner.chunks, asked, NtStatus::SUCCESS, &body)
    }))
}

/// Ends the session that this one replaces, here or wherever it is.
fn replace(inner: &mut Inner, previous: SessionId, user: Arc<str>) {
    let session = inner.sessions.get(&previous.0).and_then(Session::valid);
    match session.map(|session| session.is_of(&user)) {
        Some(true) => inner.end_session(previous),
        Some(false) => {}
        None => inner.push(Action::SessionReplaced { session_id: previous.0, user }),
    }
}

fn validate(
    inner: &mut Inner,
    asked: &Asked,
    request: &SessionSetupRequest<'_>,
    login: Login,
) -> Result<Valid, NtStatus> {
    let Login { on, agreed, acceptor, preauth } = login;
    let established: Established = acceptor.established().ok_or(NtStatus::LOGON_FAILURE)?;
    let (params, negotiated) = (inner.params(), inner.negotiated()?);
    let keys = match &established.session_key {
        Some(key) => {
            let keys = negotiated.schedule(&preauth).session(Side::Server, key);
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
    let is_shared = params.channels_max > 1;
    if !is_user && (params.encrypted || params.signing_required) {
        let user = acceptor.claimed().unwrap_or_default();
        return Err(deny(
            inner,
            user,
            "guests and anonymous users cannot sign or encrypt, as sessions have to",
        ));
    }
    // 3.3.5.5.3: all connections of a client have one dialect. A ClientGuid is no secret: a guest fixes none.
    let mut users = inner.sessions.values().filter_map(Session::valid).filter(|valid| !valid.is_nobody());
    if is_user && users.any(|other| other.agreed.dialect != agreed.dialect) {
        return Err(NtStatus::USER_SESSION_DELETED);
    }
    let mut channels = Channels::new(on, keys);
    if is_shared {
        // SE-2
        channels.leave(asked.header.message_id);
    }
    Ok(Valid {
        identity: established.identity,
        channels,
        agreed,
        signing_required,
        encrypt_data,
        trees: BTreeMap::new(),
        opens: BTreeMap::new(),
    })
}

/// A user authenticates again (3.3.5.5.2): as the same, and the keys stay.
fn again(inner: &mut Inner, asked: &Asked, request: &SessionSetupRequest<'_>) -> Result<Outcome, NtStatus> {
    let fresh = inner.fresh();
    let new = acceptor(inner);
    let valid = inner.session(asked)?;
    let before = valid.channels.again(asked.link).and_then(Option::take);
    let mut acceptor = before.unwrap_or(new);
    let status = match acceptor.step(request.security_buffer, &fresh) {
        Ok(Step::Continue(token)) => {
            if let Some(again) = valid.channels.again(asked.link) {
                *again = Some(acceptor);
            }
            return Ok(more(&mut inner.chunks, asked, &token, None));
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
                let answer = answer(&mut inner.chunks, asked, NtStatus::SUCCESS, &body);
                return Ok(Outcome::Answer(Answer { sign: Sign::Always, ..answer }));
            }
            let user = acceptor.claimed().unwrap_or_default();
            deny(inner, user, "a session stays that of its user (3.3.5.5.3)")
        }
        Err(error) => refuse(inner, &acceptor, &error),
    };
    inner.end_session(asked.session_id);
    Ok(failure(&mut inner.chunks, asked, status))
}

/// 3.3.5.6.
pub(in crate::server) fn logoff(inner: &mut Inner, asked: &Asked) -> Result<Outcome, NtStatus> {
    match inner.session_here(asked.session_id) {
        Some(Session::InProgress(_)) => {}
        Some(Session::Valid(_) | Session::Ended(_)) | None => {
            inner.session(asked)?;
        }
    }
    inner.end_session(asked.session_id);
    Ok(success(&mut inner.chunks, asked, &LogoffResponse::default()))
}
