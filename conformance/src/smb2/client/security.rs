//! A session as a user with a password: who it is, and how its messages are protected.

use smbd_smb2::security::{
    Credentials, Fresh, Initiator, KeySchedule, PreauthHash, SecurityError, SessionKeys, Side, Step as Token,
};
use smbd_smb2::wire::{
    Cipher, Command, Dialect, Elements, Flags, Header, Message, NegotiateContext, NegotiateResponse,
    SecurityMode, SessionFlags, SessionId, SigningAlgorithm, transform,
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
    /// As the other side has it: a server answers as it was asked, and a client asks as the server wants.
    AsAsked,
}

/// A session of 3.x as a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secured {
    /// Who logs in.
    pub user: User,
    /// The ciphers that are offered in 3.1.1; before, none is.
    pub ciphers: Vec<Cipher>,
    /// The algorithms for signatures that are offered in 3.1.1.
    pub signing: Vec<SigningAlgorithm>,
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
    dialect: Dialect,
    cipher: Option<Cipher>,
    signing: Option<SigningAlgorithm>,
    protection: Protection,
    pub(super) keys: Option<SessionKeys>,
}

impl Security {
    pub(super) fn new(how: Secured) -> Self {
        let user = Credentials::of_password(&how.user.name, &how.user.password);
        Self {
            initiator: Initiator::ntlm(user, "", ""),
            protection: how.protection,
            how,
            steps: 0,
            preauth: PreauthHash::new(),
            dialect: Dialect::default(),
            cipher: None,
            signing: None,
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
        self.dialect = response.dialect;
        for context in response.contexts.iter().flatten() {
            match context {
                NegotiateContext::Encryption(ids) => {
                    self.cipher = ids.get(0).filter(|id| self.how.ciphers.contains(id));
                }
                NegotiateContext::Signing(ids) => {
                    self.signing = ids.get(0).filter(|id| self.how.signing.contains(id));
                }
                _ => {}
            }
        }
        if response.security_mode.contains(SecurityMode::SIGNING_REQUIRED) {
            self.wants(Protection::Signed);
        }
    }

    /// The server wants messages to be protected like this.
    fn wants(&mut self, protection: Protection) {
        if self.how.protection == Protection::AsAsked {
            self.protection = protection;
        }
    }

    /// What was offered and the server does not have.
    pub(super) fn lacks(&self) -> Option<String> {
        if self.cipher.is_none() {
            return self.how.ciphers.first().map(ToString::to_string);
        }
        if self.signing.is_some() { None } else { self.how.signing.first().map(ToString::to_string) }
    }

    /// As messages are protected in this session.
    pub(super) const fn protection(&self) -> Protection {
        self.protection
    }

    /// The server has let the user in, as these flags say: there are keys, but for a guest (3.2.5.3.1).
    pub(super) fn established(&mut self, flags: SessionFlags) {
        if flags.contains(SessionFlags::IS_GUEST) {
            return;
        }
        if flags.contains(SessionFlags::ENCRYPT_DATA) {
            self.wants(Protection::Encrypted);
        }
        let signing = self.signing.unwrap_or(SigningAlgorithm::AES_CMAC);
        let schedule = match self.dialect {
            Dialect::SMB_3_1_1 => {
                KeySchedule::Smb311 { signing, cipher: self.cipher, preauth: &self.preauth }
            }
            _ => KeySchedule::Smb30 { can_encrypt: false },
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
        // 3.2.4.1.1: a TREE_CONNECT is protected in any case; and so is an IOCTL of a session with several connections (3.3.5.15.11).
        let protected = [Command::TREE_CONNECT, Command::IOCTL];
        let is_bare = Header::parse(&message).is_ok_and(|header| !protected.contains(&header.command));
        match (self.protection, &mut keys.encryption) {
            (Protection::AsAsked, _) if is_bare => Ok(message),
            (Protection::Encrypted, Some((sealer, _))) => {
                let mut sealed = sealer.seal_message(session, &mut [&mut message])?.to_vec();
                sealed.append(&mut message);
                Ok(sealed)
            }
            (Protection::Encrypted, None) => Err(SecurityError::Empty),
            (Protection::Signed | Protection::AsAsked, _) => {
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
