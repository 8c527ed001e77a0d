//! Laws of the messages themselves. They are seen where they leave and where they were taken, decrypted by who has taken them.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use smbd_smb2::security::RdmaTransforms;
use smbd_smb2::wire::{
    Command, Elements, Flags, Header, MessageId, NegotiateContext, NegotiateResponse, NtStatus,
    RdmaTransformType, SessionSetupFlags, SessionSetupRequest, SigningAlgorithm, transform,
};

use crate::plan::Plan;
use crate::transforms::{ByChannel, Stated, of_answer, of_request};
use smbd_testkit::{Breach, law};

/// Whose messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum From {
    Client,
    Server,
}

/// Nonces that were used, on all connections of a client: a session has its keys on each of them.
pub type Nonces = Rc<RefCell<Used>>;

/// What was used with the keys of sessions.
#[derive(Debug, Default)]
pub struct Used {
    sealed: BTreeSet<(From, u64, [u8; 16])>,
    /// With AES-GMAC. A connection that a session is bound to has a key of its own: whose it is, is its number, or 0.
    signed: BTreeSet<(From, u64, usize, u64, bool)>,
}

/// What was seen of all messages of a connection.
#[derive(Debug)]
pub struct Ledger {
    /// Which of the client's connections it is; the first logs in.
    number: usize,
    /// The client sends ECHOs that nobody has asked it for.
    asks: bool,
    is_signed: bool,
    is_encrypted: bool,
    limit: u64,
    /// Somebody changes messages: only what each side sends counts.
    is_disturbed: bool,
    /// What both can do to data that go by RDMA.
    transforms: RdmaTransforms,
    /// Messages that the client was given, and the credits in those that it has taken.
    delivered: usize,
    granted: Vec<u64>,
    /// How many the client had been given when it sent each message that the server has not taken.
    sends: VecDeque<usize>,
    next_id: u64,
    open: BTreeMap<u64, Command>,
    /// Those of them for which there was an interim response.
    announced: BTreeSet<u64>,
    /// Requests that were sent in clear, and unsigned: those that cancel them are as well.
    clear: BTreeSet<u64>,
    unsigned: BTreeSet<u64>,
    nonces: Nonces,
    is_gmac: bool,
    /// Nonces of data that were signed.
    signed_data: BTreeSet<(From, u64, [u8; 16])>,
    /// Messages of each side, by how they are protected.
    pub sealed: u64,
    pub signed: u64,
    pub channel: u64,
    /// Transfers whose data were signed or encrypted.
    pub covered: u64,
    /// Operations that took long, and of which the client was told so.
    pub slow: u64,
}

/// Whether a request may wait for ever.
fn waits(command: Command) -> bool {
    command == Command::LOCK || command == Command::CHANGE_NOTIFY
}

/// The elements of a message that is not encrypted any more; nothing if it cannot be cut.
pub fn elements(message: &[u8]) -> Vec<(Header, &[u8])> {
    let plain = match message.get(..4) {
        Some(id) if id == transform::PROTOCOL_ID => message.get(transform::LEN..).unwrap_or_default(),
        _ => message,
    };
    Elements::new(plain).map_while(Result::ok).map(|element| (element.header, element.bytes)).collect()
}

/// Whether the session's own key signs it, on whatever connection: what binds the session to it (3.2.4.2.3), and answers to that but the
/// last (3.3.5.5).
fn is_of_session(header: &Header, element: &[u8]) -> bool {
    let binds = |request: SessionSetupRequest<'_>| request.flags.contains(SessionSetupFlags::BINDING);
    header.command == Command::SESSION_SETUP
        && match header.is_response() {
            true => header.status != NtStatus::SUCCESS,
            false => SessionSetupRequest::parse(element).is_ok_and(binds),
        }
}

/// Whether it is encrypted. One that was decrypted where it lies still begins so.
fn is_sealed(message: &[u8]) -> bool {
    message.get(..4) == Some(&transform::PROTOCOL_ID)
}

/// What a message is, for who reads the steps.
pub fn told(message: &[u8]) -> String {
    let text = |header: &Header| {
        let status = if header.is_response() { format!(" {}", header.status) } else { String::new() };
        format!("{} {}{status}", header.command, header.message_id)
    };
    let told: Vec<_> = elements(message).iter().map(|(header, _)| text(header)).collect();
    format!("{} bytes: {}", message.len(), told.join(", "))
}

impl Ledger {
    pub fn new(plan: &Plan, nonces: &Nonces, number: usize) -> Self {
        let protection = &plan.protection;
        let is_encrypted = protection.client_encrypts || protection.server_encrypts;
        Self {
            number,
            asks: plan.channels.is_some(),
            is_signed: protection.is_whole() && !is_encrypted,
            is_encrypted,
            limit: plan.credits[1].into(),
            is_disturbed: plan.mischief.is_some(),
            transforms: protection.common(),
            delivered: 0,
            granted: Vec::new(),
            sends: VecDeque::new(),
            next_id: 0,
            open: BTreeMap::new(),
            announced: BTreeSet::new(),
            clear: BTreeSet::new(),
            unsigned: BTreeSet::new(),
            nonces: Rc::clone(nonces),
            is_gmac: false,
            signed_data: BTreeSet::new(),
            sealed: 0,
            signed: 0,
            channel: 0,
            covered: 0,
            slow: 0,
        }
    }

    /// A message leaves, before anybody can change it.
    pub fn leaves(&mut self, from: From, message: &[u8]) -> Result<(), Breach> {
        if from == From::Client {
            self.sends.push_back(self.delivered);
        }
        if message.get(..4) == Some(&transform::PROTOCOL_ID) {
            self.sealed += 1;
            let session = transform::field::SESSION_ID.get(message).map_err(|error| error.to_string())?;
            let nonce = transform::field::NONCE.get(message).map_err(|error| error.to_string())?;
            let is_new = self.nonces.borrow_mut().sealed.insert((from, session.0, nonce));
            law!("nonces", is_new, "{from:?} has used nonce {nonce:02x?} of session {session} before");
            return Ok(());
        }
        for (header, element) in elements(message) {
            let is_signed = header.flags.contains(Flags::SIGNED);
            if from == From::Client && header.command != Command::CANCEL {
                self.clear.insert(header.message_id.0);
                if !is_signed {
                    self.unsigned.insert(header.message_id.0);
                }
            }
            let needs_none = header.status == NtStatus::PENDING && header.is_response();
            self.signed += u64::from(is_signed);
            // Who is asked something that was changed answers it as it came.
            let is_own = from == From::Client || !self.is_disturbed;
            let is_cancel = header.command == Command::CANCEL;
            if header.command >= Command::CREATE && header.command != Command::ECHO && is_own {
                let is_lost = header.status == NtStatus::USER_SESSION_DELETED;
                // A login that is cancelled has no keys.
                let is_early = is_cancel && self.clear.contains(&header.message_id.0);
                law!(
                    "protection",
                    !self.is_encrypted || is_lost || is_early,
                    "{from:?} sends {} in clear",
                    header.command
                );
                let was_early = is_cancel && self.unsigned.contains(&header.message_id.0);
                let is_well = !self.is_signed || is_signed || needs_none || was_early || is_lost;
                law!("protection", is_well, "{from:?} sends {} unsigned", header.command);
            }
            if is_signed && self.is_gmac {
                let whose = if is_of_session(&header, element) { 0 } else { self.number };
                let key = (from, header.session_id.0, whose, header.message_id.0, is_cancel);
                let is_new = self.nonces.borrow_mut().signed.insert(key);
                law!("nonces", is_new, "{from:?} has signed {} {} before", header.command, header.message_id);
            }
        }
        Ok(())
    }

    /// The client is given a message.
    pub fn delivered(&mut self) {
        self.delivered += 1;
    }

    /// The server has taken a message, and decrypted it.
    pub fn server_has(&mut self, message: &[u8]) -> Result<(), Breach> {
        if self.is_disturbed {
            return Ok(());
        }
        let known = self.sends.pop_front().unwrap_or_default();
        let granted = 1 + self.granted.iter().take(known).sum::<u64>();
        for (header, element) in elements(message) {
            if header.command == Command::CANCEL {
                continue;
            }
            let (id, charge) = (header.message_id.0, u64::from(header.credit_charge.max(1)));
            law!("message ids", id == self.next_id, "{id} comes, and {} is next", self.next_id);
            self.next_id += charge;
            let next = self.next_id;
            law!(
                "credits",
                next <= granted,
                "{charge} ids from {id} on are used, and {granted} were granted"
            );
            self.open.insert(id, header.command);
            if let Some(ByChannel { needed, stated }) = of_request(&header, element, is_sealed(message))? {
                self.channel += 1;
                let has_it = needed.is_some_and(|needed| self.transforms.has(needed));
                let is_plain = needed.is_none() && !self.is_encrypted && !self.is_signed;
                law!("protection", has_it || is_plain, "{} {id} uses the channel", header.command);
                self.uses(From::Client, &header, stated)?;
            }
        }
        Ok(())
    }

    /// Whether every message behind the login is encrypted.
    pub const fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }

    /// Whether every message behind the login is signed, and none encrypted.
    pub const fn is_signed(&self) -> bool {
        self.is_signed
    }

    /// A nonce of data that go by RDMA. Those of encrypted data are of the same key as those of messages.
    fn uses(&mut self, from: From, header: &Header, stated: Option<Stated>) -> Result<(), Breach> {
        let Some(Stated { transform, nonce, has_nonce }) = stated else { return Ok(()) };
        self.covered += 1;
        let session = header.session_id.0;
        let is_new = match transform {
            RdmaTransformType::ENCRYPTION => self.nonces.borrow_mut().sealed.insert((from, session, nonce)),
            _ => !has_nonce || self.signed_data.insert((from, session, nonce)),
        };
        law!("nonces", is_new, "{from:?} has used nonce {nonce:02x?} of session {session} for data before");
        Ok(())
    }

    /// The client has taken a message, and decrypted it.
    pub fn client_has(&mut self, message: &[u8]) -> Result<(), Breach> {
        let all = elements(message);
        self.granted.push(all.iter().map(|(header, _)| u64::from(header.credits)).sum());
        for (header, element) in &all {
            if header.command == Command::NEGOTIATE
                && let Ok(response) = NegotiateResponse::parse(element)
            {
                let mut contexts = response.contexts.iter().filter_map(Result::ok);
                self.is_gmac |= contexts.any(|context| match context {
                    NegotiateContext::Signing(list) => list.get(0) == Some(SigningAlgorithm::AES_GMAC),
                    _ => false,
                });
            }
            if self.is_disturbed || header.message_id == MessageId::UNSOLICITED {
                continue;
            }
            let id = header.message_id.0;
            let asked = self.open.get(&id).copied();
            law!("answers", asked == Some(header.command), "{} {id} answers {asked:?}", header.command);
            if header.status == NtStatus::PENDING {
                self.announced.insert(id);
                self.slow += u64::from(!waits(header.command));
            } else {
                self.open.remove(&id);
            }
            let stated = of_answer(header, element, is_sealed(message))?;
            self.uses(From::Server, header, stated)?;
        }
        let held = (1 + self.granted.iter().sum::<u64>()).saturating_sub(self.next_id);
        law!(
            "credits",
            self.is_disturbed || held <= self.limit,
            "{held} credits, and {} are allowed",
            self.limit
        );
        Ok(())
    }

    /// The server has ended in order: it has answered everything but what may wait for ever.
    pub fn is_answered(&self) -> Result<(), Breach> {
        let may_wait = |(id, command): (&u64, &Command)| waits(*command) && self.announced.contains(id);
        let is_left = !self.is_disturbed && !self.open.iter().all(may_wait);
        law!("drain", !is_left, "not answered: {:?}", self.open);
        Ok(())
    }

    /// Everything was done.
    pub fn is_over(&self) -> Result<(), Breach> {
        if self.is_disturbed {
            return Ok(());
        }
        // Who has several connections asks whether the server is there, and waits for no answer to that.
        let is_own = |command: &Command| self.asks && *command == Command::ECHO;
        let is_left = !self.open.values().all(is_own);
        law!("answers", !is_left, "not answered: {:?}", self.open);
        let granted = 1 + self.granted.iter().sum::<u64>();
        law!("credits", granted > self.next_id, "none is left of {granted}");
        Ok(())
    }
}
