//! Messages of the server: what they are, whether they are what was asked for and by whom they are made (3.2.5.1).

use smbd_core::Instant;

use super::arrived::{Arrived, Progress};
use super::machine::{Machine, Step};
use super::reason::{Failure, Fatal, Reason};
use super::request::{Outcome, Owner, Request, Wire};
use super::scope::Scopes;
use super::session::{self, Protection};
use super::table::Key;
use crate::wire::{Flags, Header, MessageId, NtStatus, compound, compression, header, transform};

/// A part of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part<'a> {
    pub(super) header: Header,
    /// Where it is in the message.
    pub(super) start: usize,
    pub(super) end: usize,
    /// All of it.
    pub(super) bytes: &'a [u8],
    /// The session whose keys have decrypted it.
    sealed: Option<Key>,
}

impl Part<'_> {
    /// Whether it came encrypted for this session.
    pub(super) fn is_encrypted_for(&self, session: Option<Key>) -> bool {
        self.sealed.is_some() && self.sealed == session
    }
}

/// What a signature or encryption says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    Good,
    /// The server does not know the session any more, and has no keys to say so.
    SessionGone,
    /// Nobody has asked.
    Late,
}

impl Machine {
    /// Takes the next element of a message.
    #[inline(never)]
    pub(super) fn take(&mut self, now: Instant, arrived: &mut Arrived<'_>) -> Result<Option<Step>, Fatal> {
        let (start, sealed) = match arrived.progress {
            Progress::New => {
                self.heard = Some(now);
                self.open(arrived.bytes)?
            }
            Progress::At(start, sealed) => (start, sealed),
            Progress::Taken => return Ok(None),
        };
        let rest = arrived.bytes.get(start..).unwrap_or_default();
        let header = Header::parse(rest)?;
        let next = compound::end(header.next_command, rest.len())?;
        let end = start.saturating_add(next.unwrap_or(rest.len()));
        arrived.progress = if next.is_some() { Progress::At(end, sealed) } else { Progress::Taken };
        let bytes = arrived.bytes.get(start..end).unwrap_or_default();
        self.on_element(now, &Part { header, start, end, bytes, sealed })
    }

    /// Tells what a message is, and decrypts it (3.2.5.1, 3.2.5.1.1.1): where it begins, and whose keys have decrypted it.
    fn open(&self, message: &mut [u8]) -> Result<(usize, Option<Key>), Fatal> {
        if message.first_chunk() == Some(&header::PROTOCOL_ID) {
            Ok((0, None))
        } else {
            self.decrypt(message)
        }
    }

    /// What does not begin as a message of SMB2.
    #[inline(never)]
    fn decrypt(&self, message: &mut [u8]) -> Result<(usize, Option<Key>), Fatal> {
        match message.first_chunk() {
            Some(&compression::PROTOCOL_ID) => return Err(Reason::Compressed.into()),
            Some(&transform::PROTOCOL_ID) => {}
            _ => return Err(Reason::ProtocolId { got: first_four(message) }.into()),
        }
        let session_id = transform::field::SESSION_ID.get(message)?;
        // A server may give the id of a session that is over to another one.
        let with_id = self.scopes.sessions.iter().filter(|(_, session)| session.id == session_id);
        let found = with_id.min_by_key(|(_, session)| session.has_ended);
        let Some((key, (_, opener))) =
            found.and_then(|(key, session)| Some((key, session.encryption.as_ref()?)))
        else {
            return Err(Reason::UnknownSession { session_id }.into());
        };
        let (head, body) = message.split_at_mut_checked(transform::LEN).unwrap_or_default();
        opener.open_message(head, &mut [&mut *body])?;
        match first_four(body) {
            header::PROTOCOL_ID => Ok((transform::LEN, Some(key))),
            got => Err(Reason::Nested { got }.into()),
        }
    }

    fn on_element(&mut self, now: Instant, part: &Part<'_>) -> Result<Option<Step>, Fatal> {
        let header = &part.header;
        let (message_id, command) = (header.message_id, header.command);
        if let Some(session) = part.sealed.and_then(|key| self.scopes.sessions.get(key))
            && session.id != header.session_id
        {
            return Err(Reason::OtherSession { got: header.session_id, expected: session.id }.into());
        }
        if !header.is_response() {
            return Err(Reason::Request { command, message_id }.into());
        }
        // 3.2.5.1.2
        if message_id == MessageId::UNSOLICITED {
            return Ok(Some(Step::Unasked { start: part.start, end: part.end }));
        }
        let Some((behind, key)) = self.find(message_id) else {
            return Ok(Some(Step::Unknown(message_id)));
        };
        let Some(request) = self.requests.get_mut(key) else { return Ok(None) };
        let Some(sent) = request.sent() else { return Ok(None) };
        let is_plain = sent.protection == Protection::None && !header.flags.contains(Flags::SIGNED);
        let check =
            if is_plain { Check::Good } else { verify(&self.scopes, request, sent.protection, part)? };
        if command != request.command {
            return Err(Reason::Command { message_id, got: command, expected: request.command }.into());
        }
        self.window.on_answer(sent.asked, header.credits);
        if header.status == NtStatus::PENDING {
            return self.on_interim(key, header, now);
        }
        (request.wire, request.deadline) = (Wire::Answered, None);
        let (owner, session, is_piece) = (request.owner, request.session, request.piece.is_some());
        match behind {
            None => drop(self.outstanding.pop_front()),
            Some(index) => self.outstanding.remove_behind(index),
        }
        if check == Check::Good && self.scopes.ended == 0 {
            return self.on_answer((key, owner, is_piece), part, now);
        }
        let step = match (check, session) {
            (Check::SessionGone, Some(session)) => Ok(self.lose_session(session, now)),
            _ => self.on_late_answer((key, owner, is_piece), part, now),
        };
        self.free_session(session);
        step
    }

    /// An answer that is late, or comes while sessions wait for their last ones.
    #[inline(never)]
    fn on_late_answer(
        &mut self,
        request: (Key, Owner, bool),
        part: &Part<'_>,
        now: Instant,
    ) -> Result<Option<Step>, Fatal> {
        self.on_answer(request, part, now)
    }

    /// The request with this MessageId that is not answered yet, and where it is behind the first of those: most answers come in order.
    fn find(&self, message_id: MessageId) -> Option<(Option<usize>, Key)> {
        match self.outstanding.first() {
            Some((first, key)) if first == message_id.0 => Some((None, key)),
            _ => {
                let (index, (_, key)) = self.outstanding.find_behind(&message_id.0, |(id, _)| *id)?;
                Some((Some(index), key))
            }
        }
    }

    /// An interim answer (3.2.5.1.5): the request waits on.
    #[inline(never)]
    fn on_interim(&mut self, key: Key, header: &Header, now: Instant) -> Result<Option<Step>, Fatal> {
        let Some(async_id) = header.async_id() else {
            return Err(Reason::PendingWithoutAsyncId { message_id: header.message_id }.into());
        };
        let deadline = self.config.pending_timeout.map(|after| now.saturating_add(after));
        let Some(request) = self.requests.get_mut(key) else { return Ok(None) };
        if let Wire::Sent(sent) = &mut request.wire {
            (sent.async_id, sent.asked) = (Some(async_id), 0);
        }
        if request.deadline.is_some() {
            request.deadline = deadline;
            self.arm(deadline);
        }
        Ok(None)
    }

    /// The final answer to a request. Who has asked for it gets it.
    #[inline(always)]
    fn on_answer(
        &mut self,
        (key, owner, is_piece): (Key, Owner, bool),
        part: &Part<'_>,
        now: Instant,
    ) -> Result<Option<Step>, Fatal> {
        let is_expired = part.header.status == NtStatus::NETWORK_SESSION_EXPIRED;
        match owner {
            Owner::Negotiate => {
                self.forget(key);
                self.on_negotiate(part)
            }
            Owner::Echo => {
                self.forget(key);
                Ok(None)
            }
            Owner::Nobody => {
                self.forget(key);
                Ok(Some(Step::Late(part.header.message_id)))
            }
            Owner::Operation(operation) if is_expired && self.can_wait(key, operation) => {
                Ok(self.on_expired(key, now))
            }
            Owner::Operation(operation) if is_piece => Ok(self.on_piece(key, operation, part, now)),
            Owner::Operation(operation) => self.on_operation(key, operation, part, now),
        }
    }

    /// A request of a session that has to be authenticated again (3.2.5.1.6).
    #[inline(never)]
    fn on_expired(&mut self, key: Key, now: Instant) -> Option<Step> {
        let session_key = self.requests.get(key)?.session?;
        let session = self.scopes.sessions.get_mut(session_key)?;
        let is_news = !core::mem::replace(&mut session.is_expired, true);
        self.release(key, Outcome::Again, now);
        is_news.then_some(Step::SessionExpired(super::ids::SessionHandle(session_key)))
    }

    /// The server has no such session any more.
    #[inline(never)]
    fn lose_session(&mut self, session: Key, now: Instant) -> Option<Step> {
        self.end_session(session, &Failure::SessionEnded, now);
        Some(Step::SessionEnded(super::ids::SessionHandle(session)))
    }
}

/// Whether the answer is made by the server (3.2.5.1.3, 3.3.4.1.1, 3.3.4.1.4).
#[inline(never)]
fn verify(
    scopes: &Scopes,
    request: &Request,
    protection: Protection,
    part: &Part<'_>,
) -> Result<Check, Fatal> {
    let Some(session) = request.session.and_then(|key| scopes.sessions.get(key)) else {
        return Ok(Check::Good);
    };
    let Header { message_id, command, status, flags, .. } = part.header;
    let is_sealed = part.sealed.is_some() && part.sealed == request.session;
    let is_signed = flags.contains(Flags::SIGNED);
    let failed = match protection {
        _ if is_sealed => return Ok(Check::Good),
        Protection::Encrypted => Reason::NotEncrypted { message_id, command },
        Protection::Signed | Protection::None => {
            if status == NtStatus::PENDING || (!is_signed && protection == Protection::None) {
                return Ok(Check::Good);
            }
            let channel = session.channel.as_ref();
            if is_signed && channel.is_none_or(|channel| channel.verifier.verify([part.bytes]).is_ok()) {
                return Ok(Check::Good);
            }
            Reason::Signature { message_id, command, status }
        }
    };
    if request.owner == Owner::Nobody {
        return Ok(Check::Late);
    }
    if session::ends_session(status) && !is_signed { Ok(Check::SessionGone) } else { Err(failed.into()) }
}

/// ProtocolId, with zeros behind a shorter message.
fn first_four(message: &[u8]) -> [u8; 4] {
    let mut four = [0; 4];
    for (to, from) in four.iter_mut().zip(message) {
        *to = *from;
    }
    four
}
