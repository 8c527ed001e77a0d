//! A user who is let in by a password, in the place of guests: its keys, and how messages are protected with them.

use smbd_smb2::security::{
    Acceptor, AcceptorConfig, Fresh, KeySchedule, NtHash, NtlmAcceptor, PreauthHash, SecurityError,
    SessionKeys, Side, Step,
};
use smbd_smb2::wire::{
    Cipher, Command, Elements, Flags, Header, Message, NegotiateContext, NegotiateRequest, NtStatus,
    RdmaTransformId, SecurityMode, SessionFlags, SessionId, SigningAlgorithm, header, transform,
};

use super::bad::BadMessage;
use crate::smb2::client::{ENTROPY, Protection, User};

/// What a server calls itself.
const NAME: &str = "SMBD";

/// A user of a server, and how its session is protected. Only in 3.1.1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secured {
    /// Who is let in.
    pub user: User,
    /// What the server wants of messages.
    pub protection: Protection,
    /// The cipher that is chosen, if the client has it.
    pub cipher: Cipher,
    /// The algorithm for signatures that is chosen, if the client has it.
    pub signing: SigningAlgorithm,
    /// Transforms of RDMA that are chosen, as far as the client has them.
    pub transforms: Vec<RdmaTransformId>,
}

/// A session that is on its way, or there.
#[derive(Debug)]
pub(super) struct Security {
    how: Secured,
    acceptor: Acceptor,
    steps: u32,
    /// Connection.PreauthIntegrityHashValue, and then that of the session.
    preauth: PreauthHash,
    /// What the client has not, and the server would choose.
    lacks: Option<String>,
    /// The message that is answered was signed.
    is_signed: bool,
    keys: Option<SessionKeys>,
}

/// What the server chooses of what a client offers.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    pub(super) ciphers: Vec<Cipher>,
    pub(super) signing: Vec<SigningAlgorithm>,
    pub(super) transforms: Vec<RdmaTransformId>,
}

impl Security {
    pub(super) fn new(how: Secured) -> Self {
        let User { name, password } = how.user.clone();
        let accounts = move |user: &str, _: &str| {
            let is_known = user.eq_ignore_ascii_case(&name);
            is_known.then(|| NtHash::of_password(&password))
        };
        // The clock of a client is its own.
        let config = AcceptorConfig { lifetime: None, ..AcceptorConfig::new(NAME) };
        Self {
            how,
            acceptor: Acceptor::new(vec![Box::new(NtlmAcceptor::new(config, accounts))]),
            steps: 0,
            preauth: PreauthHash::new(),
            lacks: None,
            is_signed: false,
            keys: None,
        }
    }

    /// What was negotiated and the server wanted otherwise.
    pub(super) const fn lacks(&self) -> Option<&String> {
        self.lacks.as_ref()
    }

    pub(super) const fn keys(&self) -> Option<&SessionKeys> {
        self.keys.as_ref()
    }

    pub(super) const fn keys_mut(&mut self) -> Option<&mut SessionKeys> {
        self.keys.as_mut()
    }

    /// Transforms of RDMA that a server has if the client has them, too.
    pub(super) fn has_transforms(&self) -> bool {
        !self.how.transforms.is_empty()
    }

    /// 3.3.5.4
    pub(super) fn mode(&self) -> SecurityMode {
        match self.how.protection {
            Protection::Signed => SecurityMode::SIGNING_ENABLED.with(SecurityMode::SIGNING_REQUIRED, true),
            Protection::Encrypted | Protection::AsAsked => SecurityMode::SIGNING_ENABLED,
        }
    }

    /// 3.3.5.5.3
    pub(super) const fn flags(&self) -> SessionFlags {
        match self.how.protection {
            Protection::Encrypted => SessionFlags::ENCRYPT_DATA,
            Protection::Signed | Protection::AsAsked => SessionFlags(0),
        }
    }

    /// What goes into the answer to NEGOTIATE: the mechanisms.
    pub(super) fn offer(&self) -> Vec<u8> {
        self.acceptor.hint().unwrap_or_default()
    }

    /// What is chosen of the contexts of a NEGOTIATE.
    pub(super) fn choose(&mut self, negotiate: &NegotiateRequest<'_>) -> Chosen {
        let Secured { cipher, signing, transforms, .. } = &self.how;
        let mut chosen = Chosen::default();
        for context in negotiate.contexts.iter().flatten() {
            match context {
                NegotiateContext::Encryption(ids) => {
                    chosen.ciphers = ids.iter().filter(|id| id == cipher).take(1).collect();
                }
                NegotiateContext::Signing(ids) => {
                    chosen.signing = ids.iter().filter(|id| id == signing).take(1).collect();
                }
                NegotiateContext::RdmaTransform(ids) => {
                    chosen.transforms = ids.iter().filter(|id| transforms.contains(id)).collect();
                }
                _ => {}
            }
        }
        let missing = transforms.iter().find(|id| !chosen.transforms.contains(id));
        self.lacks = if let Some(id) = missing {
            Some(format!("the transform of RDMA {id}"))
        } else if chosen.ciphers.is_empty() {
            Some(cipher.to_string())
        } else if chosen.signing.is_empty() {
            Some(signing.to_string())
        } else {
            None
        };
        chosen
    }

    /// Takes the client's token. The answer's, and whether the user is in, with keys (3.3.5.5.3).
    pub(super) fn step(&mut self, token: &[u8]) -> Result<(Vec<u8>, bool), NtStatus> {
        let fresh = Fresh::new(0, ENTROPY).step(self.steps);
        self.steps = self.steps.saturating_add(1);
        let token = match self.acceptor.step(token, &fresh) {
            Ok(Step::Continue(token)) => return Ok((token, false)),
            Ok(Step::Done(token)) => token.unwrap_or_default(),
            Err(_) => return Err(NtStatus::LOGON_FAILURE),
        };
        let Secured { cipher, signing, .. } = &self.how;
        let (signing, cipher) = (*signing, Some(*cipher));
        let schedule = KeySchedule::Smb311 { signing, cipher, preauth: &self.preauth };
        let secret = self.acceptor.established().and_then(|established| established.session_key);
        let keys = secret.and_then(|secret| schedule.session(Side::Server, &secret).ok());
        self.keys = Some(keys.ok_or(NtStatus::LOGON_FAILURE)?);
        Ok((token, true))
    }

    /// The elements of a request: decrypted if they were encrypted, and verified if they were signed.
    pub(super) fn open(&mut self, message: &[u8]) -> Result<Vec<u8>, BadMessage> {
        let mut plain = message.to_vec();
        if matches!(Message::parse(message)?, Message::Transform(_)) {
            let keys = self.keys.as_ref().and_then(|keys| keys.encryption.as_ref());
            let (_, opener) = keys.ok_or(BadMessage::Security(SecurityError::Empty))?;
            let mut body = plain.split_off(transform::LEN.min(plain.len()));
            opener.open_message(&plain, &mut [&mut body])?;
            plain = body;
        }
        self.is_signed = false;
        for element in Elements::new(&plain).flatten() {
            if element.header.flags.contains(Flags::SIGNED) {
                let keys = self.keys.as_ref().ok_or(BadMessage::Security(SecurityError::BadSignature))?;
                keys.verifier.verify([element.bytes])?;
                self.is_signed = true;
            }
            if [Command::NEGOTIATE, Command::SESSION_SETUP].contains(&element.header.command) {
                self.hash(&plain);
            }
        }
        Ok(plain)
    }

    /// Until there are keys: a message that belongs to the hash.
    fn hash(&mut self, message: &[u8]) {
        if self.keys.is_none() {
            self.preauth.update([message]);
        }
    }

    /// An answer to the message that came last, as it goes.
    pub(super) fn protect(&mut self, answer: Vec<u8>) -> Vec<u8> {
        let Ok(Header { command, .. }) = Header::parse(&answer) else { return answer };
        if self.keys.is_none() {
            self.hash(&answer);
            return answer;
        }
        // 3.3.4.1.1: by its signature the client knows that the user was let in by this server.
        let protection = match self.how.protection {
            _ if command == Command::SESSION_SETUP => Protection::Signed,
            protection => protection,
        };
        self.protect_as(answer, protection, self.is_signed)
    }

    /// The answer to a request that was held back, as it goes in this session.
    pub(super) fn protect_late(&mut self, answer: Vec<u8>, request: &Header) -> Vec<u8> {
        self.protect_as(answer, self.how.protection, request.flags.contains(Flags::SIGNED))
    }

    /// The same, protected in any way.
    pub(super) fn protect_as(
        &mut self,
        mut answer: Vec<u8>,
        protection: Protection,
        is_signed: bool,
    ) -> Vec<u8> {
        let Some(keys) = &mut self.keys else { return answer };
        match (protection, &mut keys.encryption) {
            (Protection::Encrypted, Some((sealer, _))) => {
                let session = Header::parse(&answer).map_or(SessionId::NONE, |header| header.session_id);
                let Ok(front) = sealer.seal_message(session, &mut [&mut answer]) else { return answer };
                let mut sealed = front.to_vec();
                sealed.append(&mut answer);
                sealed
            }
            (Protection::AsAsked, _) if !is_signed => answer,
            (Protection::Signed | Protection::AsAsked | Protection::Encrypted, _) => {
                let places: Vec<_> = Elements::new(&answer)
                    .flatten()
                    .filter(|element| element.header.status != NtStatus::PENDING)
                    .map(|element| element.range())
                    .collect();
                for place in places {
                    let element = answer.get_mut(place).unwrap_or_default();
                    let signed = keys.signer.sign_in_place(element);
                    debug_assert_eq!(signed, Ok(()), "{:?}", header::field::MESSAGE_ID.get(element));
                }
                answer
            }
        }
    }
}
