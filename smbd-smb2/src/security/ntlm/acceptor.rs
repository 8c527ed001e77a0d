//! The server (MS-NLMP 3.2).

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use ctutils::CtEq;

use super::super::auth_error::AuthError;
use super::super::mechanism::{Established, Fresh, Identity, Mechanism, Step};
use super::super::negotiate_flags::NegotiateFlags;
use super::super::secret::Key;
use super::accounts::Accounts;
use super::authenticate::AuthenticateMessage;
use super::av::{AvId, AvPairs, AvWriter};
use super::challenge::ChallengeMessage;
use super::key::{NtHash, rc4};
use super::message;
use super::negotiate::NegotiateMessage;
use super::oid;
use super::response::{Response, base_key, proof};
use super::session::Session;
use crate::side::Side;

/// What an acceptor says of itself, and whom it lets in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptorConfig {
    /// NetBIOS name of the server.
    pub computer: String,
    /// NetBIOS name of its domain; of the server itself if it is in none.
    pub domain: String,
    /// DNS name of the server; its NetBIOS name if it has none. Clients take from it the name that they ask for.
    pub dns_computer: String,
    /// DNS name of its domain, if it has one.
    pub dns_domain: Option<String>,
    /// Unknown users are let in as guests. Not those with a wrong password.
    pub guests: bool,
    /// Anonymous users are let in.
    pub anonymous: bool,
    /// How far the time of a response may be from that of the server, in 100 ns: MaxLifetime (MS-NLMP 3.1.1.1). `None`: as far as it
    /// likes, since a challenge is used once.
    pub lifetime: Option<u64>,
}

impl AcceptorConfig {
    /// A server of this name, also in DNS, in no domain, that lets in users only, within 36 hours.
    #[must_use]
    pub fn new(computer: &str) -> Self {
        const HOUR: u64 = 3600 * 10_000_000;
        Self {
            computer: computer.to_string(),
            domain: computer.to_string(),
            dns_computer: computer.to_string(),
            dns_domain: None,
            guests: false,
            anonymous: false,
            lifetime: Some(36 * HOUR),
        }
    }
}

/// What this acceptor can do.
const SUPPORTED: NegotiateFlags = NegotiateFlags::of(&[
    NegotiateFlags::UNICODE,
    NegotiateFlags::REQUEST_TARGET,
    NegotiateFlags::SIGN,
    NegotiateFlags::SEAL,
    NegotiateFlags::NTLM,
    NegotiateFlags::ALWAYS_SIGN,
    NegotiateFlags::EXTENDED_SESSIONSECURITY,
    NegotiateFlags::VERSION,
    NegotiateFlags::KEY_128,
    NegotiateFlags::KEY_EXCH,
    NegotiateFlags::KEY_56,
]);

/// The most characters of a user's name that are kept for logs: what accounts of Windows can have.
const NAME_MAX: usize = 256;

/// What it says in any case.
const ALWAYS: NegotiateFlags = NegotiateFlags::of(&[
    NegotiateFlags::REQUEST_TARGET,
    NegotiateFlags::NTLM,
    NegotiateFlags::ALWAYS_SIGN,
    NegotiateFlags::TARGET_TYPE_SERVER,
    NegotiateFlags::TARGET_INFO,
]);

/// The server's side of NTLMv2.
///
/// NTProofStr is compared for every user, whatever the flags say, and in constant time. Responses of NTLMv1 and LM are refused.
#[derive(Debug)]
pub struct NtlmAcceptor<A> {
    accounts: A,
    config: AcceptorConfig,
    state: State,
    /// The user that the client has named.
    claimed: Option<String>,
}

#[derive(Debug)]
enum State {
    Start,
    Challenged(Challenged),
    Done(Identity, Option<Session>),
    Failed,
}

#[derive(Debug)]
struct Challenged {
    negotiate: Vec<u8>,
    challenge: Vec<u8>,
    server_challenge: [u8; 8],
    target_info: Vec<u8>,
    flags: NegotiateFlags,
}

/// A user who has proved it, or nobody: with the key that comes of it, and whether there is a MIC.
struct Proved {
    identity: Identity,
    base: Option<Key<16>>,
    has_mic: bool,
}

impl<A: Accounts> NtlmAcceptor<A> {
    /// An acceptor for one authentication.
    #[must_use]
    pub const fn new(config: AcceptorConfig, accounts: A) -> Self {
        Self { accounts, config, state: State::Start, claimed: None }
    }

    /// MS-NLMP 3.2.5.1.1.
    fn challenge(&self, token: &[u8], fresh: &Fresh) -> Result<Challenged, AuthError> {
        let negotiate = NegotiateMessage::parse(token)?;
        if let Some(missing) = negotiate.flags.missing(NegotiateFlags::UNICODE) {
            return Err(AuthError::Weak { missing });
        }
        let mut list = AvWriter::new();
        list.text(AvId::NB_DOMAIN_NAME, &self.config.domain);
        list.text(AvId::NB_COMPUTER_NAME, &self.config.computer);
        if let Some(name) = &self.config.dns_domain {
            list.text(AvId::DNS_DOMAIN_NAME, name);
        }
        list.text(AvId::DNS_COMPUTER_NAME, &self.config.dns_computer);
        list.value(AvId::TIMESTAMP, &fresh.now().to_le_bytes());
        let flags = negotiate.flags.both(SUPPORTED) | ALWAYS;
        let server_challenge = *fresh.entropy().first_chunk().unwrap_or(&[0; 8]);
        let target_info = list.end();
        let message = ChallengeMessage {
            target_name: self.config.computer.as_str().into(),
            flags,
            challenge: server_challenge,
            target_info: &target_info,
        };
        Ok(Challenged {
            negotiate: token.to_vec(),
            challenge: message.write()?,
            server_challenge,
            target_info,
            flags,
        })
    }

    /// MS-NLMP 3.2.5.1.2.
    fn accept(
        &mut self,
        challenged: &Challenged,
        token: &[u8],
        fresh: &Fresh,
    ) -> Result<(Identity, Option<Session>), AuthError> {
        let message = AuthenticateMessage::parse(token)?;
        self.claimed = Some(message.user.to_string().chars().take(NAME_MAX).collect());
        let flags = message.flags.both(challenged.flags);
        let proved = self.prove(challenged, &message, fresh)?;
        let Some(base) = proved.base else { return Ok((proved.identity, None)) };
        let exported = if flags.exchanges_key() {
            let len = message.encrypted_key.len();
            let encrypted =
                message.encrypted_key.try_into().map_err(|_| AuthError::SessionKeyLength { len })?;
            let mut key = Key::new(encrypted);
            rc4(base.bytes(), key.bytes_mut());
            key
        } else {
            base
        };
        let session = Session::new(exported, flags);
        if proved.has_mic {
            let (mic, message) = AuthenticateMessage::without_mic(token)?;
            let expected = session.messages(&[&challenged.negotiate, &challenged.challenge, &message]);
            if !expected.ct_eq(&mic).to_bool() {
                return Err(AuthError::BadMic);
            }
        }
        Ok((proved.identity, Some(session)))
    }

    fn prove(
        &self,
        challenged: &Challenged,
        message: &AuthenticateMessage<'_>,
        fresh: &Fresh,
    ) -> Result<Proved, AuthError> {
        let is_anonymous = message.user.is_empty()
            && message.nt_response.is_empty()
            && matches!(message.lm_response, [] | [0]);
        if is_anonymous {
            let proved = Proved { identity: Identity::Anonymous, base: Some(Key::zero()), has_mic: false };
            return if self.config.anonymous { Ok(proved) } else { Err(AuthError::LogonFailure) };
        }
        let (user, domain) = (message.user.to_string(), message.domain.to_string());
        let found = self.accounts.nt_hash(&user, &domain);
        if found.is_none() && self.config.guests {
            // Whatever its response is: it proves nothing, and one of zeros is what some clients send who want to be guests.
            return Ok(Proved { identity: Identity::Guest, base: None, has_mic: false });
        }
        let response = Response::parse(message.nt_response)?;
        // Nobody's hash, so that a user who is not known takes as long.
        let is_known = found.is_some();
        let hash = found.unwrap_or_else(|| NtHash::new([0; 16]));
        let key = hash.response_key(message.user, message.domain);
        // Some clients leave the domain out of it.
        let other = hash.response_key(message.user, "".into());
        let is_right = |key| proof(key, challenged.server_challenge, response.proved).ct_eq(&response.proof);
        let (first, second) = (is_right(&key), is_right(&other));
        if !is_known || !(first | second).to_bool() {
            return Err(AuthError::LogonFailure);
        }
        // The client has it from the challenge, and NTProofStr covers it: without the time, it would leave the MIC out.
        if !response.pairs.contains_all(&AvPairs::parse(&challenged.target_info)?) {
            return Err(AuthError::OtherTarget);
        }
        let (made, now) = (response.time, fresh.now());
        if self.config.lifetime.is_some_and(|lifetime| made.abs_diff(now) > lifetime) {
            return Err(AuthError::Expired { made, now });
        }
        let key = if first.to_bool() { key } else { other };
        let base = Some(base_key(&key, &response.proof));
        Ok(Proved {
            identity: Identity::User { user: user.into(), domain },
            base,
            has_mic: response.pairs.has_mic(),
        })
    }
}

impl<A: Accounts> Mechanism for NtlmAcceptor<A> {
    fn oids(&self) -> &[&'static [u8]] {
        oid::ALL
    }

    fn step(&mut self, token: &[u8], fresh: &Fresh) -> Result<Step, AuthError> {
        match core::mem::replace(&mut self.state, State::Failed) {
            State::Start => {
                let challenged = self.challenge(token, fresh)?;
                let message = challenged.challenge.clone();
                self.state = State::Challenged(challenged);
                Ok(Step::Continue(message))
            }
            State::Challenged(challenged) => {
                let (identity, session) = self.accept(&challenged, token, fresh)?;
                self.state = State::Done(identity, session);
                Ok(Step::Done(None))
            }
            State::Done(..) | State::Failed => Err(AuthError::OutOfOrder),
        }
    }

    fn established(&self) -> Option<Established> {
        let State::Done(identity, session) = &self.state else { return None };
        // That of an anonymous user is known to everybody.
        let session_key = match identity {
            Identity::User { .. } => session.as_ref().map(Session::secret),
            Identity::Guest | Identity::Anonymous => None,
        };
        Some(Established { identity: identity.clone(), session_key })
    }

    fn mic(&self, message: &[u8]) -> Option<Vec<u8>> {
        let State::Done(_, Some(session)) = &self.state else { return None };
        session.mic(Side::Server, message)
    }

    fn verify_mic(&self, message: &[u8], mic: &[u8]) -> Result<(), AuthError> {
        let State::Done(_, Some(session)) = &self.state else { return Err(AuthError::BadMic) };
        session.verify(Side::Client, message, mic)
    }

    fn claimed(&self) -> Option<&str> {
        self.claimed.as_deref()
    }

    fn recognizes(&self, token: &[u8]) -> bool {
        token.starts_with(&message::SIGNATURE)
    }
}
