//! The client (MS-NLMP 3.1).

use alloc::string::String;
use alloc::vec::Vec;

use super::super::auth_error::AuthError;
use super::super::mechanism::{Established, Fresh, Identity, Mechanism, Step};
use super::super::negotiate_flags::NegotiateFlags;
use super::super::secret::Key;
use super::authenticate::{AuthenticateMessage, MIC};
use super::av::{self, AvId, AvPairs};
use super::challenge::ChallengeMessage;
use super::key::{NtHash, rc4};
use super::message;
use super::negotiate::NegotiateMessage;
use super::oid;
use super::response::{base_key, lm_response, nt_response};
use super::session::Session;
use crate::side::Side;

/// Who logs in.
#[derive(Clone, Debug)]
pub enum Credentials {
    /// A user with a password.
    User {
        /// The name.
        user: String,
        /// The domain, or the name of the server; it may be empty.
        domain: String,
        /// The password's hash.
        hash: NtHash,
    },
    /// Nobody.
    Anonymous,
}

impl Credentials {
    /// Of a user without a domain, by its password.
    #[must_use]
    pub fn of_password(user: &str, password: &str) -> Self {
        Self::User { user: user.into(), domain: String::new(), hash: NtHash::of_password(password) }
    }
}

/// What this client can do.
const OFFERED: NegotiateFlags = NegotiateFlags::of(&[
    NegotiateFlags::UNICODE,
    NegotiateFlags::REQUEST_TARGET,
    NegotiateFlags::SIGN,
    NegotiateFlags::NTLM,
    NegotiateFlags::ALWAYS_SIGN,
    NegotiateFlags::EXTENDED_SESSIONSECURITY,
    NegotiateFlags::TARGET_INFO,
    NegotiateFlags::VERSION,
    NegotiateFlags::KEY_128,
    NegotiateFlags::KEY_EXCH,
    NegotiateFlags::KEY_56,
]);

/// What a server has to do.
const NEEDED: NegotiateFlags = NegotiateFlags::of(&[
    NegotiateFlags::UNICODE,
    NegotiateFlags::EXTENDED_SESSIONSECURITY,
    NegotiateFlags::TARGET_INFO,
    NegotiateFlags::KEY_128,
]);

/// The client's side of NTLMv2. It never sends a response of NTLMv1.
#[derive(Debug)]
pub struct NtlmClient {
    credentials: Credentials,
    workstation: String,
    target_name: String,
    state: State,
}

#[derive(Debug)]
enum State {
    Start,
    /// With NEGOTIATE_MESSAGE.
    Negotiated(Vec<u8>),
    Done(Session),
    Failed,
}

impl NtlmClient {
    /// `workstation` is the client's name, which servers log; `target_name` is what the server is, as a service: `cifs/server`. Both may
    /// be empty.
    #[must_use]
    pub const fn new(credentials: Credentials, workstation: String, target_name: String) -> Self {
        Self { credentials, workstation, target_name, state: State::Start }
    }

    /// AUTHENTICATE_MESSAGE, and what it makes (MS-NLMP 3.1.5.1.2).
    fn answer(&self, negotiate: &[u8], token: &[u8], fresh: &Fresh) -> Result<(Vec<u8>, Session), AuthError> {
        let challenge = ChallengeMessage::parse(token)?;
        if let Some(missing) = challenge.flags.missing(NEEDED) {
            return Err(AuthError::Weak { missing });
        }
        let server = AvPairs::parse(challenge.target_info)?;
        if server.find(AvId::NB_COMPUTER_NAME).is_none() || server.find(AvId::NB_DOMAIN_NAME).is_none() {
            return Err(AuthError::NoTargetNames);
        }
        let (client_challenge, random) = randomness(fresh);
        let (mut flags, has_mic, base, lm, nt);
        flags = challenge.flags.both(OFFERED);
        let (mut user_name, mut domain_name) = ("", "");
        match &self.credentials {
            Credentials::User { user, domain, hash } => {
                (user_name, domain_name) = (user, domain);
                let key = hash.response_key(user.as_str().into(), domain.as_str().into());
                has_mic = server.timestamp().is_some();
                let pairs = av::of_client(&server, has_mic, &self.target_name);
                let time = server.timestamp().unwrap_or_else(|| fresh.now());
                nt = nt_response(&key, challenge.challenge, client_challenge, time, &pairs);
                // A server that tells the time gets none that could be guessed from.
                lm = if has_mic {
                    Vec::from([0; 24])
                } else {
                    lm_response(&key, challenge.challenge, client_challenge)
                };
                base = base_key(&key, nt.first_chunk().unwrap_or(&[0; 16]));
            }
            Credentials::Anonymous => {
                flags = flags | NegotiateFlags::ANONYMOUS;
                (has_mic, base, lm, nt) = (false, Key::zero(), Vec::from([0]), Vec::new());
            }
        }
        let (exported, encrypted) = exchange(flags, base, random);
        let message = AuthenticateMessage {
            lm_response: &lm,
            nt_response: &nt,
            domain: domain_name.into(),
            user: user_name.into(),
            workstation: self.workstation.as_str().into(),
            encrypted_key: &encrypted,
            flags,
        };
        let session = Session::new(exported, flags);
        let mut message = message.write()?;
        if has_mic {
            let mic = session.messages(&[negotiate, token, &message]);
            for (to, from) in message.get_mut(MIC).unwrap_or_default().iter_mut().zip(mic) {
                *to = from;
            }
        }
        Ok((message, session))
    }
}

/// ChallengeFromClient, and a key to be exchanged.
fn randomness(fresh: &Fresh) -> ([u8; 8], Key<16>) {
    let (challenge, rest) = fresh.entropy().split_first_chunk().unwrap_or((&[0; 8], &[]));
    (*challenge, Key::padded(rest))
}

/// ExportedSessionKey and EncryptedRandomSessionKey.
fn exchange(flags: NegotiateFlags, base: Key<16>, random: Key<16>) -> (Key<16>, Vec<u8>) {
    if !flags.exchanges_key() {
        return (base, Vec::new());
    }
    let mut encrypted = random.bytes().to_vec();
    rc4(base.bytes(), &mut encrypted);
    (random, encrypted)
}

impl Mechanism for NtlmClient {
    fn oids(&self) -> &[&'static [u8]] {
        oid::ALL
    }

    fn step(&mut self, token: &[u8], fresh: &Fresh) -> Result<Step, AuthError> {
        match core::mem::replace(&mut self.state, State::Failed) {
            State::Start if token.is_empty() => {
                let message = NegotiateMessage { flags: OFFERED }.write()?;
                self.state = State::Negotiated(message.clone());
                Ok(Step::Continue(message))
            }
            State::Negotiated(negotiate) => {
                let (message, session) = self.answer(&negotiate, token, fresh)?;
                self.state = State::Done(session);
                Ok(Step::Done(Some(message)))
            }
            State::Start | State::Done(_) | State::Failed => Err(AuthError::OutOfOrder),
        }
    }

    fn established(&self) -> Option<Established> {
        let State::Done(session) = &self.state else { return None };
        Some(match &self.credentials {
            Credentials::User { user, domain, .. } => Established {
                identity: Identity::User { user: user.as_str().into(), domain: domain.clone() },
                session_key: Some(session.secret()),
            },
            Credentials::Anonymous => Established { identity: Identity::Anonymous, session_key: None },
        })
    }

    fn mic(&self, message: &[u8]) -> Option<Vec<u8>> {
        let State::Done(session) = &self.state else { return None };
        session.mic(Side::Client, message)
    }

    fn verify_mic(&self, message: &[u8], mic: &[u8]) -> Result<(), AuthError> {
        let State::Done(session) = &self.state else { return Err(AuthError::BadMic) };
        session.verify(Side::Server, message, mic)
    }

    fn recognizes(&self, token: &[u8]) -> bool {
        token.starts_with(&message::SIGNATURE)
    }
}
