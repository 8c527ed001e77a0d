//! A session as a user with a password: who it is, and how its messages are protected.

use smbd_smb2::security::{
    Credentials, Fresh, Initiator, KeySchedule, PreauthHash, SecurityError, SessionKeys, Side, Step as Token,
};
use smbd_smb2::wire::{
    Cipher, Elements, Flags, Message, NegotiateContext, NegotiateResponse, SessionId, SigningAlgorithm,
    transform,
};

/// What keys of sessions are made of on the script's side, the same in each play: whoever has a recording can decrypt it. What is
/// protected with them is nobody's secret.
pub const ENTROPY: [u8; 32] = [0x5e; 32];

/// A user of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// The name.
    pub name: String,
    /// The password.
    pub password: String,
}

/// How messages are protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// They are signed.
    Signed,
    /// They are encrypted, and not signed.
    Encrypted,
}

/// A session of 3.1.1 as a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secured {
    /// Who logs in.
    pub user: User,
    /// The one cipher that is offered.
    pub cipher: Cipher,
    /// The one algorithm for signatures that is offered.
    pub signing: SigningAlgorithm,
    /// How messages are protected.
    pub protection: Protection,
}

/// A session that is on its way, or there.
#[derive(Debug)]
pub(super) struct Security {
    pub(super) how: Secured,
    initiator: Initiator,
    steps: u32,
    /// Connection.PreauthIntegrityHashValue, and then that of the session.
    preauth: PreauthHash,
    has_cipher: bool,
    has_signing: bool,
    pub(super) keys: Option<SessionKeys>,
}

impl Security {
    pub(super) fn new(how: Secured) -> Self {
        let user = Credentials::of_password(&how.user.name, &how.user.password);
        Self {
            initiator: Initiator::ntlm(user, "", ""),
            how,
            steps: 0,
            preauth: PreauthHash::new(),
            has_cipher: false,
            has_signing: false,
            keys: None,
        }
    }

    /// The next token; an empty one if the authentication has failed, which a server refuses.
    pub(super) fn token(&mut self, from_server: &[u8]) -> Vec<u8> {
        let fresh = Fresh::new(0, ENTROPY).step(self.steps);
        self.steps += 1;
        match self.initiator.step(from_server, &fresh) {
            Ok(Token::Continue(token) | Token::Done(Some(token))) => token,
            Ok(Token::Done(None)) | Err(_) => Vec::new(),
        }
    }

    /// A message that belongs to the hash.
    pub(super) fn hash(&mut self, message: &[u8]) {
        self.preauth.update([message]);
    }

    /// What the server has chosen.
    pub(super) fn negotiated(&mut self, response: &NegotiateResponse<'_>) {
        for context in response.contexts.iter().flatten() {
            match context {
                NegotiateContext::Encryption(ids) => self.has_cipher = ids.get(0) == Some(self.how.cipher),
                NegotiateContext::Signing(ids) => self.has_signing = ids.get(0) == Some(self.how.signing),
                _ => {}
            }
        }
    }

    /// What was offered and the server does not have.
    pub(super) fn lacks(&self) -> Option<String> {
        if !self.has_cipher {
            return Some(self.how.cipher.to_string());
        }
        (!self.has_signing).then(|| self.how.signing.to_string())
    }

    /// The server has let the user in: there are keys (3.2.5.3.1).
    pub(super) fn established(&mut self) {
        let schedule = KeySchedule::Smb311 {
            signing: self.how.signing,
            cipher: Some(self.how.cipher),
            preauth: &self.preauth,
        };
        let secret = self.initiator.established().and_then(|established| established.session_key);
        self.keys = secret.and_then(|secret| schedule.session(Side::Client, &secret).ok());
    }

    /// A request of one element, as it goes.
    pub(super) fn protect(
        &mut self,
        session: SessionId,
        mut message: Vec<u8>,
    ) -> Result<Vec<u8>, SecurityError> {
        let Some(keys) = &mut self.keys else { return Ok(message) };
        match (self.how.protection, &mut keys.encryption) {
            (Protection::Encrypted, Some((sealer, _))) => {
                let mut sealed = sealer.seal_message(session, &mut [&mut message])?.to_vec();
                sealed.append(&mut message);
                Ok(sealed)
            }
            (Protection::Encrypted, None) => Err(SecurityError::Empty),
            (Protection::Signed, _) => {
                keys.signer.sign_in_place(&mut message)?;
                Ok(message)
            }
        }
    }

    /// The elements of a message of the server, decrypted; signatures that are there are verified.
    pub(super) fn open(&self, mut message: Vec<u8>) -> Result<Vec<u8>, SecurityError> {
        let Some(keys) = &self.keys else { return Ok(message) };
        if matches!(Message::parse(&message), Ok(Message::Transform(_))) {
            let Some((_, opener)) = &keys.encryption else { return Err(SecurityError::Empty) };
            let mut body = message.split_off(transform::LEN);
            opener.open_message(&message, &mut [&mut body])?;
            return Ok(body);
        }
        for element in Elements::new(&message).flatten() {
            if element.header.flags.contains(Flags::SIGNED) {
                keys.verifier.verify([element.bytes])?;
            }
        }
        Ok(message)
    }
}
