//! Requests leave: MessageIds, credits, signatures, encryption (3.2.4.1).

use alloc::vec::Vec;

use smbd_core::Instant;

use super::login::Target;
use super::machine::{Machine, Running, Step};
use super::negotiate::Negotiated;
use super::operation::Kind;
use super::reason::{Failure, Fatal, Reason};
use super::request::{Outcome, Owner, Request, Sent, Wire};
use super::scope::{Scope, Scopes};
use super::session::Protection;
use super::table::Key;
use crate::security::SecurityError;
use crate::wire::header::{self, field};
use crate::wire::{
    CancelRequest, Command, Dialect, Flags, Header, MessageId, Target as Place, transform, write_element,
};

impl Machine {
    /// The next message that can go.
    #[inline(never)]
    pub(super) fn send(&mut self, now: Instant) -> Result<Option<Step>, Fatal> {
        while let Some(first) = self.queue.first() {
            let Some(request) = self.queued(first) else {
                self.queue.pop_front();
                continue;
            };
            let charge = self.charge_of(request);
            if self.window.available() < charge {
                if self.starves(first, charge, now)? {
                    continue;
                }
                return Ok(None);
            }
            let (session, is_alone) = (request.session, request.next.is_none());
            let protection = self.protection((session, request.tree), request.command, request.must_sign);
            if request.owner != Owner::Echo {
                self.has_asked_for_credits = false;
            }
            if !is_alone || protection == Protection::Encrypted {
                self.queue.pop_front();
                return self.assemble(first, session, protection, now).map(Some);
            }
            self.number(first, protection, now)?;
            self.queue.pop_front();
            return Ok(Some(Step::Send(first)));
        }
        Ok(None)
    }

    /// A request that waits for credits.
    pub(super) fn queued(&self, key: Key) -> Option<&Request> {
        let request = self.requests.get(key).filter(|request| matches!(request.wire, Wire::Queued));
        request.map(|request| &**request)
    }

    /// Credits of a message that begins with this request.
    pub(super) fn charge_of(&self, first: &Request) -> u64 {
        let mut charge = u64::from(first.charge.max(1));
        let mut next = first.next;
        while let Some(request) = next.and_then(|key| self.requests.get(key)) {
            charge = charge.saturating_add(request.charge.max(1).into());
            next = request.next;
        }
        charge
    }

    /// What is done if there are too few credits for the first request: if no answer is awaited that could bring some, an ECHO asks for
    /// them; if it brings too few, the request fails. Gives whether the queue is another one now.
    #[inline(never)]
    fn starves(&mut self, first: Key, charge: u64, now: Instant) -> Result<bool, Fatal> {
        let is_awaited = |(_, key): &(u64, Key)| {
            self.requests
                .get(*key)
                .and_then(|request| request.sent())
                .is_some_and(|sent| sent.async_id.is_none())
        };
        if self.outstanding.iter().any(is_awaited) {
            return Ok(false);
        }
        let available = self.window.available();
        if available == 0 {
            return if self.outstanding.is_empty() { Err(Reason::NoCredits.into()) } else { Ok(false) };
        }
        if self.has_asked_for_credits {
            self.has_asked_for_credits = false;
            let needed = u16::try_from(charge).unwrap_or(u16::MAX);
            self.fail_message(first, &Failure::Credits { needed, available }, now);
        } else {
            self.has_asked_for_credits = true;
            self.queue_echo();
        }
        Ok(true)
    }

    /// Fails a message that has not been sent, with all of its requests.
    pub(super) fn fail_message(&mut self, first: Key, failure: &Failure, now: Instant) {
        self.queue.retain(|key| *key != first);
        let mut next = Some(first);
        while let Some(key) = next {
            next = self.requests.get(key).and_then(|request| request.next);
            self.release(key, Outcome::failed(failure.clone()), now);
        }
    }

    /// How a request is protected.
    pub(super) fn protection(&self, scope: Scope, command: Command, must_sign: bool) -> Protection {
        let dialect = self.negotiated.as_ref().map_or(Dialect::SMB_3_1_1, |negotiated| negotiated.dialect);
        self.scopes.protection(scope, dialect, command, must_sign)
    }

    /// Puts a compound together, or a message that is to be encrypted.
    #[inline(never)]
    fn assemble(
        &mut self,
        first: Key,
        session: Option<Key>,
        protection: Protection,
        now: Instant,
    ) -> Result<Step, Fatal> {
        let start = if protection == Protection::Encrypted { transform::LEN } else { 0 };
        self.scratch.clear();
        self.scratch.resize(start, 0);
        let (mut next, mut count) = (Some(first), 0_usize);
        while let Some(key) = next {
            self.pad(key)?;
            self.number(key, protection, now)?;
            let Some(request) = self.requests.get(key) else { break };
            next = request.next;
            count = count.saturating_add(request.invalidations().into());
            self.scratch.extend_from_slice(&request.element);
            self.scratch.extend_from_slice(&request.data);
        }
        if protection == Protection::Encrypted {
            self.seal(session)?;
        }
        Ok(Step::SendScratch(count))
    }

    /// Pads an element of a compound and says where the next one begins, before it is signed (3.2.4.1.4).
    fn pad(&mut self, key: Key) -> Result<(), Fatal> {
        let Some(request) = self.requests.get_mut(key).filter(|request| request.next.is_some()) else {
            return Ok(());
        };
        if !request.data.is_empty() {
            let data = core::mem::take(&mut request.data);
            request.element.extend_from_slice(&data);
        }
        let len = request.element.len().checked_next_multiple_of(8).unwrap_or(usize::MAX);
        request.element.resize(len, 0);
        field::NEXT_COMMAND.set_size(&mut request.element, len)?;
        Ok(())
    }

    /// Gives a request its MessageId, its credits and its signature.
    #[inline(always)]
    fn number(&mut self, key: Key, protection: Protection, now: Instant) -> Result<(), Fatal> {
        let deadline = self.deadline(now);
        let has_multi_credit = self.negotiated.as_ref().is_some_and(Negotiated::has_multi_credit);
        let Some(request) = self.requests.get_mut(key) else { return Ok(()) };
        let charge = request.charge.max(1);
        let Some((message_id, asked)) = self.window.take(charge) else { return Ok(()) };
        let is_signed = protection == Protection::Signed;
        if let Some(header) = request.element.first_chunk_mut::<{ header::LEN }>() {
            field::MESSAGE_ID.set(header, MessageId(message_id))?;
            field::CREDIT_CHARGE.set(header, if has_multi_credit { charge } else { 0 })?;
            field::CREDITS.set(header, asked)?;
            field::SIGNATURE.set(header, [0; 16])?;
            let flags = field::FLAGS.get(header)?.with(Flags::SIGNED, is_signed);
            field::FLAGS.set(header, flags)?;
        }
        if is_signed {
            self.scopes.sign(request)?;
        }
        let (async_id, is_cancelled) = (None, false);
        request.wire = Wire::Sent(Sent { message_id, async_id, asked, protection, is_cancelled });
        if matches!(request.owner, Owner::Operation(_) | Owner::Negotiate) {
            request.deadline = deadline;
        }
        let (deadline, command) = (request.deadline, request.command);
        self.arm(deadline);
        self.outstanding.push_back((message_id, key));
        if matches!(command, Command::NEGOTIATE | Command::SESSION_SETUP) { self.hash(key) } else { Ok(()) }
    }

    /// The preauthentication integrity of 3.1.1 (3.2.5.2, 3.2.5.3.1, 3.2.5.3.3), and the signature of a binding.
    #[inline(never)]
    fn hash(&mut self, key: Key) -> Result<(), Fatal> {
        let Some(request) = self.requests.get_mut(key) else { return Ok(()) };
        if request.command == Command::NEGOTIATE && request.owner == Owner::Negotiate {
            self.preauth.update([&request.element[..]]);
        } else if request.command == Command::SESSION_SETUP
            && let Owner::Operation(operation) = request.owner
            && let Some(Running { kind: Kind::Login(login), .. }) = self.operations.get_mut(operation)
        {
            match &mut login.target {
                Target::New { preauth, .. } => preauth.update([&request.element[..]]),
                Target::Bind(binding) => binding.sign(&mut request.element)?,
                Target::Again(_) => {}
            }
        }
        Ok(())
    }

    /// Encrypts what is in `scratch` behind the room for its header.
    fn seal(&mut self, session: Option<Key>) -> Result<(), Fatal> {
        let session = session.and_then(|key| self.scopes.sessions.get_mut(key));
        let Some((session_id, (sealer, _))) =
            session.and_then(|session| Some((session.id, session.encryption.as_mut()?)))
        else {
            return Err(SecurityError::Empty.into());
        };
        let (room, message) = self.scratch.split_at_mut_checked(transform::LEN).unwrap_or_default();
        let header = sealer.seal_message(session_id, &mut [message])?;
        for (to, from) in room.iter_mut().zip(header) {
            *to = from;
        }
        Ok(())
    }

    /// CANCEL of a request that was sent (3.2.4.24). It needs neither a MessageId of its own nor a credit.
    pub(super) fn cancel(&mut self, key: Key) -> Result<Option<Step>, Fatal> {
        let Some(request) = self.requests.get(key) else { return Ok(None) };
        let Some(sent) = request.sent().copied() else { return Ok(None) };
        let mut header = self.scopes.header(Command::CANCEL, (request.session, request.tree));
        header.message_id = MessageId(sent.message_id);
        (header.credit_charge, header.credits) = (0, 0);
        if let Some(async_id) = sent.async_id {
            header.target = Place::Async { async_id };
        }
        self.put_cancel(&header, sent.protection, request.session).map(|()| Some(Step::SendScratch(0)))
    }

    fn put_cancel(&mut self, header: &Header, protection: Protection, key: Option<Key>) -> Result<(), Fatal> {
        let start = if protection == Protection::Encrypted { transform::LEN } else { 0 };
        self.scratch.clear();
        self.scratch.resize(start, 0);
        let mut message = Vec::new();
        write_element(&mut message, header, &CancelRequest::default())?;
        let session = key.and_then(|key| self.scopes.sessions.get(key));
        if let Some(channel) = session.and_then(|session| session.channel.as_ref())
            && protection == Protection::Signed
        {
            channel.signer.sign_in_place(&mut message)?;
        }
        self.scratch.extend_from_slice(&message);
        if protection == Protection::Encrypted { self.seal(key) } else { Ok(()) }
    }
}

impl Scopes {
    /// Signs a request that is written (3.2.4.1.1).
    #[inline(never)]
    fn sign(&self, request: &mut Request) -> Result<(), Fatal> {
        let session = request.session.and_then(|key| self.sessions.get(key));
        if let Some(channel) = session.and_then(|session| session.channel.as_ref()) {
            let signature = channel.signer.sign([&request.element[..], &request.data[..]])?;
            field::SIGNATURE.set(&mut request.element, signature)?;
        }
        Ok(())
    }
}
