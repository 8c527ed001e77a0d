//! Answers leave: signed (3.3.4.1.1), with credits (3.3.4.1.2), compounded (3.3.4.1.3), encrypted (3.3.4.1.4).

use super::action::{Action, FRONT, Outgoing};
use super::chain::{Answer, Asked, Chain, Hash, Protection, Reply, Sign};
use super::inner::Inner;
use super::negotiated::Phase;
use super::reason::Reason;
use super::session::{Session, Tree};
use crate::security::SecurityError;
use crate::wire::header::field;
use crate::wire::{Command, ErrorResponse, NtStatus, SessionId};

/// How the answer to a request is protected. An interim answer is not signed (3.3.4.2).
fn protection(inner: &mut Inner, asked: &Asked, answer: &Answer) -> Protection {
    let command = asked.header.command;
    let session = inner.sessions.get_mut(&answer.session_id.0);
    let is_setup = command == Command::NEGOTIATE || command == Command::SESSION_SETUP;
    let is_secret = session.as_ref().and_then(|session| session.valid()).is_some_and(|valid| {
        let tree = valid.trees.get(&answer.tree_id.0);
        let is_share = tree.is_some_and(Tree::is_secret);
        valid.encrypt_data || (is_share && command != Command::TREE_CONNECT)
    });
    let channels = session.and_then(Session::channels_mut);
    let is_channel = channels.as_ref().is_some_and(|channels| channels.has(asked.link));
    let has_keys = channels.as_ref().is_some_and(|channels| channels.has_keys());
    let can_encrypt = is_channel && channels.is_some_and(|channels| channels.encryption().is_some());
    let encrypt = can_encrypt && (asked.is_encrypted || (is_secret && !is_setup));
    let is_interim = answer.status == NtStatus::PENDING;
    let is_wanted = match answer.sign {
        Sign::AsAsked => is_channel && asked.is_signed,
        Sign::Always => is_channel,
        Sign::BySession => true,
    };
    let sign = (has_keys && is_wanted && !encrypt && !is_interim).then_some(answer.sign);
    Protection { session_id: answer.session_id, sign, encrypt, hash: answer.hash }
}

/// Adds an answer to those of its chain, and sends them if it has to go now.
pub(super) fn settle(
    inner: &mut Inner,
    chain: &mut Chain,
    asked: &Asked,
    mut answer: Answer,
) -> Result<(), Reason> {
    // Credits of an asynchronous request were in the interim answer.
    let credits = if asked.async_id.is_some() && answer.status != NtStatus::PENDING {
        0
    } else {
        inner.link.window.grant(asked.header.credits)
    };
    field::CREDITS.set(answer.bytes.get_mut(FRONT..).unwrap_or_default(), credits)?;
    let protection = protection(inner, asked, &answer);
    if !chain.reply.has_room(&answer.bytes, inner.link.transport.message_max()) {
        send(inner, chain)?;
    }
    chain.follow(asked, &answer);
    chain.reply.add(answer.bytes, protection);
    let is_final = answer.status != NtStatus::PENDING;
    chain.reply.invalidate = asked.invalidate.filter(|_| is_final);
    // One message invalidates one token, and is not longer than it has to be.
    if chain.reply.invalidate.is_some() || chain.reply.is_long(inner.max_transact()) {
        send(inner, chain)?;
    }
    Ok(())
}

/// Sends what a chain has to say.
pub(super) fn send(inner: &mut Inner, chain: &mut Chain) -> Result<(), Reason> {
    let mut reply = core::mem::take(&mut chain.reply);
    if reply.elements.is_empty() {
        return Ok(());
    }
    reply.link();
    for index in 0..reply.elements.len() {
        let Some((element, protection)) = reply.element(index) else { continue };
        if let Some(key) = protection.sign {
            sign(inner, protection.session_id, key, element)?;
        }
        hash(inner, protection, element);
    }
    let sealed = reply.elements.iter().find(|(_, protection)| protection.encrypt).copied();
    let Reply { mut bytes, invalidate, .. } = reply;
    let mut start = FRONT;
    if let Some((_, protection)) = sealed {
        seal(inner, protection.session_id, &mut bytes)?;
        start = 0;
    }
    inner.push(Action::Send { message: Outgoing::new(bytes, start), invalidate });
    Ok(())
}

fn sign(
    inner: &mut Inner,
    session_id: SessionId,
    key: Sign,
    element: &mut [u8],
) -> Result<(), SecurityError> {
    let link = inner.link.id;
    let channels = inner.sessions.get_mut(&session_id.0).and_then(Session::channels_mut);
    let Some(channels) = channels else { return Ok(()) };
    match key {
        Sign::BySession => channels.sign_binding(element),
        Sign::AsAsked | Sign::Always => {
            channels.signer(link).map_or(Ok(()), |signer| signer.sign_in_place(element))
        }
    }
}

fn hash(inner: &mut Inner, protection: Protection, element: &[u8]) {
    match protection.hash {
        Some(Hash::Connection) => {
            if let Phase::Negotiated(negotiated) = &mut inner.link.phase {
                negotiated.preauth.update([element]);
            }
        }
        Some(Hash::Session) => {
            if let Some(Session::InProgress(login)) = inner.sessions.get_mut(&protection.session_id.0) {
                login.preauth.update([element]);
            }
        }
        Some(Hash::Binding) => {
            if let Some(binding) = inner.link.bindings.get_mut(&protection.session_id.0) {
                binding.preauth.update([element]);
            }
        }
        None => {}
    }
}

fn seal(inner: &mut Inner, session_id: SessionId, bytes: &mut [u8]) -> Result<(), SecurityError> {
    let channels = inner.sessions.get_mut(&session_id.0).and_then(Session::channels_mut);
    let Some((sealer, _)) = channels.and_then(|channels| channels.encryption_mut()) else {
        return Err(SecurityError::Empty);
    };
    let message = bytes.get_mut(FRONT..).unwrap_or_default();
    let header = sealer.seal_message(session_id, &mut [message])?;
    for (to, from) in bytes.iter_mut().zip(header) {
        *to = from;
    }
    Ok(())
}

/// Sends the interim answer of a request that waits (3.3.4.2). What its chain had to say goes before it.
pub(super) fn send_interim(inner: &mut Inner, chain: &mut Chain, asked: &mut Asked) -> Result<(), Reason> {
    send(inner, chain)?;
    asked.async_id = Some(inner.new_async_id());
    let interim =
        super::answer::answer(&mut inner.chunks, asked, NtStatus::PENDING, &ErrorResponse::default());
    let previous = chain.previous;
    settle(inner, chain, asked, interim)?;
    chain.previous = previous;
    send(inner, chain)
}
