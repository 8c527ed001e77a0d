//! SESSION_SETUP that binds a session to another connection (3.3.5.5).

use super::authenticate::{flags_of, login, more, refuse};
use smbd_core::endpoint::Chunks;

use crate::security::{Identity, Side, Step};
use crate::server::answer::answer;
use crate::server::chain::{Answer, Asked, Hash, Sign};
use crate::server::inner::Inner;
use crate::server::negotiated::Agreed;
use crate::server::pending::Outcome;
use crate::server::session::{Login, Session};
use crate::wire::{ErrorResponse, Flags, NtStatus, SessionSetupRequest, SessionSetupResponse};

/// 3.3.5.5. `element` is the whole message.
pub(in crate::server) fn request(
    inner: &mut Inner,
    asked: &Asked,
    request: &SessionSetupRequest<'_>,
    element: &[u8],
) -> Result<Outcome, NtStatus> {
    // IsMultiChannelCapable
    if inner.params().channels_max <= 1 {
        return Err(NtStatus::REQUEST_NOT_ACCEPTED);
    }
    check(inner, asked, element)?;
    let id = asked.session_id.0;
    let (fresh, begun) = (inner.fresh(), inner.link.bindings.remove(&id));
    let begun = match begun {
        Some(begun) => Ok(begun),
        None if has_room(inner, asked) => login(inner),
        None => Err(NtStatus::INSUFFICIENT_RESOURCES),
    };
    let stepped = begun.and_then(|mut begun| {
        begun.preauth.update([element]);
        let step = begun
            .acceptor
            .step(request.security_buffer, &fresh)
            .map_err(|error| refuse(inner, &begun.acceptor, &error))?;
        Ok((begun, step))
    });
    match stepped {
        // SE-2: a client that gets such an answer without a signature may end the connection.
        Ok((_, Step::Continue(_))) if !can_sign(inner, asked) => {
            Ok(failed(&mut inner.chunks, asked, NtStatus::REQUEST_NOT_ACCEPTED))
        }
        Ok((begun, Step::Continue(token))) => {
            inner.link.bindings.insert(id, begun);
            let Outcome::Answer(answer) = more(&mut inner.chunks, asked, &token, Some(Hash::Binding)) else {
                return Err(NtStatus::INTERNAL_ERROR);
            };
            Ok(Outcome::Answer(Answer { sign: Sign::BySession, ..answer }))
        }
        Ok((begun, Step::Done(token))) => {
            let done = finish(inner, asked, &begun, &token.unwrap_or_default());
            Ok(done.unwrap_or_else(|status| failed(&mut inner.chunks, asked, status)))
        }
        // CH-3: the session stays.
        Err(status) => Ok(failed(&mut inner.chunks, asked, status)),
    }
}

/// A failure of somebody who has the session's key.
fn failed(room: &mut Chunks, asked: &Asked, status: NtStatus) -> Outcome {
    let answer = answer(room, asked, status, &ErrorResponse::default());
    Outcome::Answer(Answer { sign: Sign::BySession, ..answer })
}

/// What has to be right before a user is asked for, in the order of 3.3.5.5 (CH-1).
fn check(inner: &Inner, asked: &Asked, element: &[u8]) -> Result<(), NtStatus> {
    let here = inner.negotiated()?.agreed();
    let session = inner.sessions.get(&asked.session_id.0).ok_or(NtStatus::USER_SESSION_DELETED)?;
    let there = match session {
        Session::InProgress(login) => login.agreed,
        Session::Valid(valid) => valid.agreed,
        Session::Ended(_) => return Err(NtStatus::USER_SESSION_DELETED),
    };
    if here.dialect != there.dialect || !asked.header.flags.contains(Flags::SIGNED) {
        return Err(NtStatus::INVALID_PARAMETER);
    }
    if here.client_guid != there.client_guid {
        return Err(NtStatus::USER_SESSION_DELETED);
    }
    let Session::Valid(valid) = session else { return Err(NtStatus::REQUEST_NOT_ACCEPTED) };
    if valid.is_nobody() {
        return Err(NtStatus::NOT_SUPPORTED);
    }
    if session.is_on(asked.link) {
        return Err(NtStatus::REQUEST_NOT_ACCEPTED);
    }
    let verifier = valid.channels.session_verifier().ok_or(NtStatus::NOT_SUPPORTED)?;
    verifier.verify([element]).map_err(|_| NtStatus::ACCESS_DENIED)?;
    has_same_algorithms(here, there)
}

/// CH-2: keys of the session are used on both connections, with what both negotiated.
fn has_same_algorithms(here: Agreed, there: Agreed) -> Result<(), NtStatus> {
    let is_same = here.cipher == there.cipher && here.signing == there.signing;
    if is_same { Ok(()) } else { Err(NtStatus::INVALID_PARAMETER) }
}

/// Whether an answer that goes on with the binding can have the signature that it needs.
fn can_sign(inner: &Inner, asked: &Asked) -> bool {
    let session = inner.sessions.get(&asked.session_id.0).and_then(Session::valid);
    session.is_some_and(|valid| valid.channels.can_sign_binding(asked.header.message_id))
}

/// Whether the session can have another channel, and the connection another session.
fn has_room(inner: &Inner, asked: &Asked) -> bool {
    let session = inner.sessions.get(&asked.session_id.0).and_then(Session::valid);
    let channels = session.map_or(0, |valid| valid.channels.count());
    channels < inner.params().channels_max && inner.has_room_for_a_session()
}

/// The user is known, and has to be that of the session (3.3.5.5, 3.3.5.5.3).
fn finish(inner: &mut Inner, asked: &Asked, begun: &Login, token: &[u8]) -> Result<Outcome, NtStatus> {
    if !has_room(inner, asked) {
        return Err(NtStatus::INSUFFICIENT_RESOURCES);
    }
    let established = begun.acceptor.established().ok_or(NtStatus::LOGON_FAILURE)?;
    let key = established.session_key.as_ref();
    let keys = key.map(|key| {
        inner
            .negotiated()?
            .schedule(&begun.preauth)
            .channel(Side::Server, key)
            .map_err(|_| NtStatus::INTERNAL_ERROR)
    });
    let session = inner.sessions.get_mut(&asked.session_id.0);
    let Some(Session::Valid(valid)) = session else { return Err(NtStatus::USER_SESSION_DELETED) };
    let (signer, verifier) = match (&established.identity, keys) {
        (Identity::User { user, .. }, Some(keys)) if valid.is_of(user) => keys?,
        _ => return Err(NtStatus::NOT_SUPPORTED),
    };
    valid.channels.bind(asked.link, signer, verifier);
    let body = SessionSetupResponse { flags: flags_of(valid), security_buffer: token };
    inner.link.deadline = None;
    Ok(Outcome::Answer(Answer {
        sign: Sign::Always,
        ..answer(&mut inner.chunks, asked, NtStatus::SUCCESS, &body)
    }))
}
