//! What came and was answered before a connection was taken over: NEGOTIATE (3.3.5.4), and what asks for nothing that stays.

use alloc::vec::Vec;

use super::action::Action;
use super::inner::Inner;
use super::negotiated::Phase;
use super::reason::Reason;
use super::receive::{REQUEST_MAX, receive, take};
use super::window::Window;
use crate::security::PreauthHash;
use crate::wire::{Command, Header, NegotiateContext, NegotiateResponse, NtStatus};

/// A request that somebody else has answered, or will have.
pub(super) fn request(inner: &mut Inner, request: &[u8]) -> Result<(), Reason> {
    if request.len() > REQUEST_MAX {
        return Err(Reason::TooLong { len: request.len(), max: REQUEST_MAX });
    }
    let header = Header::parse(request)?;
    let is_negotiated = matches!(inner.link.phase, Phase::Negotiated(_));
    match header.command {
        Command::NEGOTIATE if is_negotiated => Err(Reason::OutOfOrder(Command::NEGOTIATE)),
        Command::NEGOTIATE => {
            inner.link.offered = Some(request.to_vec());
            Ok(())
        }
        _ if is_negotiated => take(inner, &header),
        command => Err(Reason::OutOfOrder(command)),
    }
}

/// The answer to a request of the past.
pub(super) fn response(inner: &mut Inner, response: &[u8]) -> Result<(), Reason> {
    let header = Header::parse(response)?;
    match inner.link.offered.take() {
        Some(request) => negotiated(inner, request, response),
        None if matches!(inner.link.phase, Phase::Negotiated(_)) => {
            if inner.link.window.was_granted(header.credits) { Ok(()) } else { Err(Reason::OtherAnswer) }
        }
        None => Err(Reason::OutOfOrder(header.command)),
    }
}

/// Its client goes by that answer to NEGOTIATE, so what is answered here has to be the same, and is not sent.
fn negotiated(inner: &mut Inner, mut request: Vec<u8>, response: &[u8]) -> Result<(), Reason> {
    let actions = inner.actions.len();
    receive(inner, &mut request)?;
    let own = inner.actions.pop_back().filter(|_| inner.actions.len() == actions);
    let Some((_, Action::Send { message, .. })) = own else { return Err(Reason::OtherAnswer) };
    let credits = common(message.bytes(), response).ok_or(Reason::OtherAnswer)?;
    let limit = inner.params().credits_max;
    let Phase::Negotiated(negotiated) = &mut inner.link.phase else { return Err(Reason::OtherAnswer) };
    // Connection.PreauthIntegrityHashValue is of what was sent.
    negotiated.preauth = PreauthHash::new();
    negotiated.preauth.update([&request[..]]);
    negotiated.preauth.update([response]);
    inner.link.window = Window::behind_negotiate(limit, credits).ok_or(Reason::OtherAnswer)?;
    Ok(())
}

/// The credits of an answer, if it says what the own one says: all that does not tell one answer of a server from another.
fn common(own: &[u8], other: &[u8]) -> Option<u16> {
    let header = Header::parse(other).ok()?;
    let (own, other) = (NegotiateResponse::parse(own).ok()?, NegotiateResponse::parse(other).ok()?);
    let is_same = said(&own) == said(&other) && chosen(&own)? == chosen(&other)?;
    (is_same && header.status == NtStatus::SUCCESS).then_some(header.credits)
}

/// An answer without its time and what begins a login.
fn said<'a>(response: &NegotiateResponse<'a>) -> NegotiateResponse<'a> {
    NegotiateResponse {
        system_time: 0,
        server_start_time: 0,
        security_buffer: &[],
        contexts: NegotiateResponse::default().contexts,
        ..*response
    }
}

/// Its contexts, without the salt.
fn chosen<'a>(response: &NegotiateResponse<'a>) -> Option<Vec<NegotiateContext<'a>>> {
    let context = |context| match context {
        Ok(NegotiateContext::PreauthIntegrity { hash_algorithms, .. }) => {
            Some(NegotiateContext::PreauthIntegrity { hash_algorithms, salt: &[] })
        }
        other => other.ok(),
    };
    response.contexts.iter().map(context).collect()
}
