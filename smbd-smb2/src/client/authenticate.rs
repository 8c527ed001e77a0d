//! Users log in, and sessions are authenticated again (3.2.4.2.3, 3.2.5.3).

use alloc::boxed::Box;

use smbd_core::Instant;

use super::export::SessionExport;
use super::ids::{OperationId, SessionHandle};
use super::login::{Login, Target};
use super::machine::{Machine, Running, Step, element};
use super::negotiate::{self, Negotiated};
use super::operation::{Kind, Stored};
use super::reason::{Failure, Fatal, Reason, Refused};
use super::receive::Part;
use super::request::{Owner, Wire};
use super::session::{Channel, Home, Session};
use super::table::Key;
use crate::security::{AuthError, Established, KeySchedule, PreauthHash, SessionKeys, Side, Step as Token};
use crate::wire::{
    Command, Dialect, Flags, Header, NtStatus, SecurityMode, SessionFlags, SessionId, SessionSecurityMode,
    SessionSetupFlags, SessionSetupRequest, SessionSetupResponse,
};

impl Machine {
    /// Sends a token of an authentication.
    pub(super) fn session_setup(
        &mut self,
        operation: Key,
        token: &[u8],
        now: Instant,
    ) -> Result<(), Failure> {
        let Some(running) = self.operations.get(operation) else { return Ok(()) };
        let Kind::Login(login) = &running.kind else { return Ok(()) };
        let [mode, _] = negotiate::security_mode(&self.config).0.to_le_bytes();
        let (session, session_id, previous) = match &login.target {
            Target::New { session_id, previous, .. } => (None, *session_id, *previous),
            Target::Again(key) => (Some(*key), SessionId::NONE, SessionId::NONE),
            Target::Bind(binding) => (None, binding.session.id, SessionId::NONE),
        };
        let is_binding = matches!(login.target, Target::Bind(_));
        let body = SessionSetupRequest {
            flags: SessionSetupFlags::NONE.with(SessionSetupFlags::BINDING, is_binding),
            security_mode: SessionSecurityMode(mode),
            previous_session_id: previous,
            security_buffer: token,
            ..SessionSetupRequest::default()
        };
        let mut header = self.scopes.header(Command::SESSION_SETUP, (session, None));
        if session.is_none() {
            header.session_id = session_id;
        }
        let mut request = self.spare.take(Owner::Operation(operation), Command::SESSION_SETUP);
        request.session = session;
        request.element = element(&header, &body)?;
        let deadline = self.deadline(now);
        self.enqueue(request, deadline).map(drop).ok_or(Failure::Closed)
    }

    /// 3.2.5.3
    #[inline(never)]
    pub(super) fn on_session_setup(
        &mut self,
        operation: Key,
        part: &Part<'_>,
        now: Instant,
    ) -> Result<Option<Step>, Fatal> {
        let failure = match self.authenticate(operation, part, now) {
            Ok(()) => return Ok(None),
            Err(Fault::Connection(reason)) => return Err(reason.into()),
            Err(Fault::Operation(failure)) => failure,
        };
        // That of a session that is there already.
        let expired = self.operations.get(operation).and_then(|running| running.session);
        self.finish(operation, Err(failure));
        // 3.2.5.1.6
        let expired =
            expired.filter(|key| self.scopes.sessions.get(*key).is_some_and(|session| session.is_expired));
        Ok(expired.map(|session| {
            self.end_session(session, &Failure::SessionEnded, now);
            Step::SessionEnded(SessionHandle(session))
        }))
    }

    fn authenticate(&mut self, operation: Key, part: &Part<'_>, now: Instant) -> Result<(), Fault> {
        let status = part.header.status;
        let is_last = status == NtStatus::SUCCESS;
        if !is_last && status != NtStatus::MORE_PROCESSING_REQUIRED {
            return Err(Failure::Status(status).into());
        }
        let answer = SessionSetupResponse::parse(part.bytes)?;
        let Some(running) = self.operations.get_mut(operation) else { return Ok(()) };
        let Kind::Login(login) = &mut running.kind else { return Ok(()) };
        if let Target::Bind(binding) = &login.target
            && !is_last
        {
            binding.verify(part.header.flags, part.bytes).map_err(|_| signature(part))?;
        }
        match (login.step(answer.security_buffer)?, is_last) {
            (Token::Continue(token), false) => {
                match &mut login.target {
                    Target::New { session_id, preauth, .. } => {
                        *session_id = part.header.session_id;
                        preauth.update([part.bytes]);
                    }
                    Target::Bind(binding) => binding.preauth.update([part.bytes]),
                    Target::Again(_) => {}
                }
                Ok(self.session_setup(operation, &token, now)?)
            }
            (Token::Done(None), true) => self.complete(operation, part, answer.flags, now),
            (Token::Continue(_) | Token::Done(_), _) => Err(AuthError::OutOfOrder.into()),
        }
    }

    fn complete(
        &mut self,
        operation: Key,
        part: &Part<'_>,
        flags: SessionFlags,
        now: Instant,
    ) -> Result<(), Fault> {
        let Some(running) = self.operations.get_mut(operation) else { return Ok(()) };
        let Kind::Login(login) = &mut running.kind else { return Ok(()) };
        let preauth = match &login.target {
            Target::New { preauth, .. } => *preauth,
            Target::Bind(_) => {
                let session = self.bound(operation, part, flags)?;
                let key = self.scopes.sessions.insert(Box::new(session)).ok_or(Failure::SessionEnded)?;
                self.finish(operation, Ok(Stored::Session(key)));
                return Ok(());
            }
            Target::Again(session) => {
                let session = *session;
                self.refresh(session, now);
                self.finish(operation, Ok(Stored::Reauthenticated(session)));
                return Ok(());
            }
        };
        let established = login.established().ok_or(AuthError::OutOfOrder)?;
        let mut session = self.session(&part.header, &preauth, &established, flags)?;
        check_last(&session, part)?;
        if let Some(channel) = &mut session.channel {
            // SE-2
            channel.signer.leave(part.header.message_id);
        }
        let key = self.scopes.sessions.insert(Box::new(session)).ok_or(Failure::SessionEnded)?;
        self.finish(operation, Ok(Stored::Session(key)));
        Ok(())
    }

    /// A new session (3.2.5.3.1).
    fn session(
        &self,
        header: &Header,
        preauth: &PreauthHash,
        established: &Established,
        flags: SessionFlags,
    ) -> Result<Session, Fault> {
        let Some(negotiated) = &self.negotiated else { return Err(Failure::Closed.into()) };
        let secret = established.session_key.as_ref();
        let is_guest = flags.contains(SessionFlags::IS_GUEST);
        let is_nobody = flags.contains(SessionFlags::IS_NULL);
        let is_let_in = is_guest || (is_nobody && secret.is_some());
        if is_let_in && (!self.config.allow_guests || self.config.require_signing) {
            return Err(Reason::Guest { flags: flags.0 }.into());
        }
        let mut session = Session {
            id: header.session_id,
            channel: None,
            encryption: None,
            application_key: None,
            signing_required: false,
            encrypts: false,
            channel_sequence: 0,
            home: Home::First { bindings: self.config.bindings },
            has_ended: false,
            is_expired: false,
        };
        let secret = secret.filter(|_| !is_guest && !is_nobody);
        let wants_encryption = self.config.require_encryption || flags.contains(SessionFlags::ENCRYPT_DATA);
        let server_signs = negotiated.security_mode.contains(SecurityMode::SIGNING_REQUIRED);
        let Some(secret) = secret else {
            // Neither has a key.
            let required = match (self.config.require_encryption, self.config.require_signing) {
                (true, _) => "encryption",
                (false, true) => "signing",
                (false, false) => return Ok(session),
            };
            return Err(Failure::Unprotected { required }.into());
        };
        let SessionKeys { signer, verifier, encryption, application_key } =
            schedule(negotiated, preauth).session(Side::Client, secret)?;
        if wants_encryption && encryption.is_none() {
            return Err(Failure::Unprotected { required: "encryption" }.into());
        }
        session.encrypts = wants_encryption;
        session.signing_required = (self.config.require_signing || server_signs) && !wants_encryption;
        let must_be_signed = negotiated.dialect == Dialect::SMB_3_1_1 || session.signing_required;
        if must_be_signed && !header.flags.contains(Flags::SIGNED) {
            return Err(Failure::UnsignedSession.into());
        }
        session.channel = Some(Channel { signer, verifier });
        session.encryption = encryption;
        session.application_key = Some(application_key);
        Ok(session)
    }

    /// A session that is bound to this connection (3.2.5.3.3): its keys, and a signing key of the connection's own.
    fn bound(&mut self, operation: Key, part: &Part<'_>, flags: SessionFlags) -> Result<Session, Fault> {
        let Some(negotiated) = &self.negotiated else { return Err(Failure::Closed.into()) };
        if flags.contains(SessionFlags::IS_GUEST) {
            return Err(Failure::GuestBinding { flags: flags.0 }.into());
        }
        let kind = self.operations.get_mut(operation).map(|running| &mut running.kind);
        let Some(Kind::Login(login)) = kind else { return Err(Failure::Closed.into()) };
        let established = login.established().ok_or(AuthError::OutOfOrder)?;
        let Target::Bind(binding) = &mut login.target else { return Err(Failure::Closed.into()) };
        let required = Failure::Unprotected { required: "a key to sign with" };
        let secret = established.session_key.ok_or(required)?;
        let (signer, verifier) = schedule(negotiated, &binding.preauth).channel(Side::Client, &secret)?;
        // SE-12: not every server sets the flag.
        if verifier.verify([part.bytes]).is_err() {
            return match part.header.flags.contains(Flags::SIGNED) {
                true => Err(signature(part).into()),
                false => Err(Failure::UnsignedSession.into()),
            };
        }
        let SessionExport { id, encryption, application_key, signing_required, encrypts, .. } =
            &mut binding.session;
        Ok(Session {
            id: *id,
            channel: Some(Channel { signer, verifier }),
            encryption: encryption.take(),
            application_key: application_key.take(),
            signing_required: *signing_required,
            encrypts: *encrypts,
            channel_sequence: 0,
            home: Home::Bound,
            has_ended: false,
            is_expired: false,
        })
    }

    /// A session that was authenticated again (3.2.5.3.2). Its keys stay; what waited for it goes.
    fn refresh(&mut self, session: Key, now: Instant) {
        if let Some(session) = self.scopes.sessions.get_mut(session) {
            session.is_expired = false;
        }
        let of_session = self.requests.keys(|request| request.session == Some(session));
        for key in of_session {
            if self.requests.get(key).is_some_and(|request| matches!(request.wire, Wire::Held)) {
                self.resume(key, now);
            }
        }
    }

    /// Begins an authentication, of a session that is there already or of a new one.
    pub(super) fn begin_login(
        &mut self,
        mut login: Login,
        session: Option<Key>,
        now: Instant,
    ) -> Result<OperationId, Refused> {
        let Ok(Token::Continue(token)) = login.step(&[]) else { return Err(Refused::Authentication) };
        let running = Running { session, tree: None, kind: Kind::Login(Box::new(login)), result: None };
        let operation = self.operations.insert(running).ok_or(Refused::Full("operations"))?;
        match self.session_setup(operation, &token, now) {
            Ok(()) => Ok(OperationId(operation)),
            Err(_) => {
                self.operations.remove(operation);
                Err(Refused::Authentication)
            }
        }
    }
}

fn schedule<'p>(negotiated: &Negotiated, preauth: &'p PreauthHash) -> KeySchedule<'p> {
    match negotiated.dialect {
        Dialect::SMB_3_1_1 => {
            KeySchedule::Smb311 { signing: negotiated.signing, cipher: negotiated.cipher, preauth }
        }
        _ => KeySchedule::Smb30 { can_encrypt: negotiated.cipher.is_some() },
    }
}

/// An answer to SESSION_SETUP is signed wrongly.
const fn signature(part: &Part<'_>) -> Reason {
    let Header { message_id, status, .. } = part.header;
    Reason::Signature { message_id, command: Command::SESSION_SETUP, status }
}

/// Refuses a last answer that is signed with other keys than those that it makes.
fn check_last(session: &Session, part: &Part<'_>) -> Result<(), Reason> {
    match &session.channel {
        Some(channel) if part.header.flags.contains(Flags::SIGNED) => {
            channel.verifier.verify([part.bytes]).map_err(|_| signature(part))
        }
        _ => Ok(()),
    }
}

/// What fails: one login, or all of the connection.
enum Fault {
    Operation(Failure),
    Connection(Reason),
}

impl<F: Into<Failure>> From<F> for Fault {
    fn from(failure: F) -> Self {
        Self::Operation(failure.into())
    }
}

impl From<Reason> for Fault {
    fn from(reason: Reason) -> Self {
        Self::Connection(reason)
    }
}
