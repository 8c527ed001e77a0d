//! Who takes the tokens of a client, and what it is told when they are wrong (3.3.5.5.3).

use alloc::borrow::ToOwned as _;
use alloc::boxed::Box;
use alloc::string::ToString as _;

use smbd_core::endpoint::Chunks;

use crate::security::{Acceptor, AcceptorConfig, AuthError, Identity, NtlmAcceptor};
use crate::server::action::Action;
use crate::server::answer::answer;
use crate::server::chain::{Answer, Asked, Hash};
use crate::server::inner::Inner;
use crate::server::pending::Outcome;
use crate::server::refused::Refused;
use crate::server::session::{Login, Valid};
use crate::wire::{NtStatus, SessionFlags, SessionSetupResponse};

/// An authentication begins, on the connection on which something happens now.
pub(super) fn login(inner: &Inner) -> Result<Login, NtStatus> {
    let negotiated = inner.negotiated()?;
    let (agreed, preauth) = (negotiated.agreed(), negotiated.preauth);
    Ok(Login { on: inner.link.id, agreed, acceptor: acceptor(inner), preauth })
}

/// What takes the client's tokens.
pub(super) fn acceptor(inner: &Inner) -> Acceptor {
    let params = inner.params();
    let config = AcceptorConfig {
        guests: params.guests,
        anonymous: params.anonymous,
        ..AcceptorConfig::new(&params.computer)
    };
    Acceptor::new(alloc::vec![Box::new(NtlmAcceptor::new(config, inner.server.accounts()))])
}

/// The authentication goes on.
pub(super) fn more(room: &mut Chunks, asked: &Asked, token: &[u8], hash: Option<Hash>) -> Outcome {
    let body = SessionSetupResponse { security_buffer: token, ..SessionSetupResponse::default() };
    Outcome::Answer(Answer { hash, ..answer(room, asked, NtStatus::MORE_PROCESSING_REQUIRED, &body) })
}

/// What the client is told of its session.
pub(super) fn flags_of(valid: &Valid) -> SessionFlags {
    let flags = match valid.identity {
        Identity::User { .. } => SessionFlags::NONE,
        Identity::Guest => SessionFlags::IS_GUEST,
        Identity::Anonymous => SessionFlags::IS_NULL,
    };
    flags.with(SessionFlags::ENCRYPT_DATA, valid.encrypt_data)
}

/// Somebody is not let in: what the client is told.
pub(super) fn refuse(inner: &mut Inner, acceptor: &Acceptor, error: &AuthError) -> NtStatus {
    let user = acceptor.claimed().unwrap_or_default().to_owned();
    inner.push(Action::Refused(Refused::Login { user, why: error.to_string() }));
    status_of(error)
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
