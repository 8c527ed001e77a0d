//! Valid messages, changed: fields of headers and bodies, lengths, order. Before they are signed and encrypted, or after.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use smbd_smb2::security::{
    AuthError, Established, Fresh, KeySchedule, Mechanism, NtlmClient, PreauthHash, Secret, SessionKeys,
    Side, Step,
};
use smbd_smb2::wire::{
    Cipher, Command, Dialect, Elements, Flags, Header, NtStatus, SessionId, SigningAlgorithm, header,
    transform,
};

use crate::ledger::{From, elements};
use crate::notes::Notes;
use crate::plan::{Mischief, Plan};
use smbd_testkit::Chance;

/// The key of a session, once its user has logged in.
pub type Tap = Arc<Mutex<Option<Secret>>>;

/// NTLM that tells its key.
pub struct Tapped(pub NtlmClient, pub Tap);

impl Mechanism for Tapped {
    fn oids(&self) -> &[&'static [u8]] {
        self.0.oids()
    }

    fn step(&mut self, token: &[u8], fresh: &Fresh) -> Result<Step, AuthError> {
        let step = self.0.step(token, fresh);
        // Those who authenticate again get no new keys.
        if let (Ok(mut tap), Some(Established { session_key: Some(key), .. })) =
            (self.1.lock(), self.0.established())
        {
            tap.get_or_insert(key);
        }
        step
    }

    fn established(&self) -> Option<Established> {
        self.0.established()
    }

    fn mic(&self, message: &[u8]) -> Option<Vec<u8>> {
        self.0.mic(message)
    }

    fn verify_mic(&self, message: &[u8], mic: &[u8]) -> Result<(), AuthError> {
        self.0.verify_mic(message, mic)
    }
}

/// What the keys of the session depend on: everything that was said before it.
#[derive(Debug)]
pub struct Overheard {
    tap: Tap,
    preauth: PreauthHash,
    is_known: bool,
    dialect: Dialect,
    signing: SigningAlgorithm,
    cipher: Cipher,
}

impl Overheard {
    pub fn new(plan: &Plan, tap: Tap) -> Rc<RefCell<Self>> {
        let protection = &plan.protection;
        Rc::new(RefCell::new(Self {
            tap,
            preauth: PreauthHash::new(),
            is_known: false,
            dialect: protection.dialect,
            signing: protection.signing.first().copied().unwrap_or(SigningAlgorithm::AES_CMAC),
            cipher: protection.ciphers.first().copied().unwrap_or(Cipher::AES_128_CCM),
        }))
    }

    /// Hears a message, as its sender wrote it.
    pub fn hear(&mut self, message: &[u8]) {
        let Some((header, _)) = elements(message).into_iter().next() else { return };
        let is_setup = header.command == Command::SESSION_SETUP;
        if self.is_known || !(is_setup || header.command == Command::NEGOTIATE) {
            return;
        }
        if is_setup && header.is_response() && header.status != NtStatus::MORE_PROCESSING_REQUIRED {
            self.is_known = true;
            return;
        }
        self.preauth.update([message]);
    }

    fn keys(&self, side: Side) -> Option<SessionKeys> {
        let key = self.tap.lock().ok()?.clone()?;
        let schedule = if self.dialect == Dialect::SMB_3_1_1 {
            KeySchedule::Smb311 { signing: self.signing, cipher: Some(self.cipher), preauth: &self.preauth }
        } else {
            KeySchedule::Smb30 { can_encrypt: true }
        };
        schedule.session(side, &key).ok()
    }
}

/// Changes messages of one side.
pub struct Changer {
    mischief: Mischief,
    from: From,
    overheard: Rc<RefCell<Overheard>>,
    chance: Chance,
    notes: Notes,
    /// Of the side whose messages they are, and of the other one.
    keys: Option<(SessionKeys, SessionKeys)>,
    seen: u64,
    /// An earlier message.
    old: Vec<u8>,
    /// Every other change is one of a byte that is most probably data.
    flips: bool,
}

/// Fields of a header (2.2.1): where, and their size.
const HEADER_FIELDS: [(usize, usize); 12] =
    [(0, 4), (4, 2), (6, 2), (8, 4), (12, 2), (14, 2), (16, 4), (20, 4), (24, 8), (32, 4), (36, 4), (40, 8)];

impl Changer {
    pub fn new(
        mischief: Mischief,
        from: From,
        overheard: &Rc<RefCell<Overheard>>,
        (chance, notes): (Chance, &Notes),
    ) -> Self {
        let notes = notes.clone();
        let overheard = Rc::clone(overheard);
        Self { mischief, from, overheard, chance, notes, keys: None, seen: 0, old: Vec::new(), flips: false }
    }

    /// Who does not know the keys of what is protected mostly changes data.
    pub fn of_protected(mut self, is_protected: bool) -> Self {
        self.flips = is_protected && !self.mischief.is_insider;
        self
    }

    /// What goes in the place of a message.
    pub fn change(&mut self, message: &[u8]) -> Vec<Vec<u8>> {
        self.seen += 1;
        let mut message = message.to_vec();
        let before = self.seen <= self.mischief.from;
        if before || !self.chance.one_in(self.mischief.one_in) {
            if self.chance.one_in(3) {
                self.old.clone_from(&message);
            }
            return vec![message];
        }
        self.notes.note(|seen| seen.own.changes += 1);
        if self.flips && self.chance.one_in(2) {
            let at = message.len() / 2 + self.chance.below(message.len() / 2);
            message[at] ^= 1 << self.chance.below(8);
            return vec![message];
        }
        match self.chance.below(24) {
            0 => return Vec::new(),
            1 => return vec![message.clone(), message],
            2 if !self.old.is_empty() => return vec![self.old.clone(), message],
            3 if !self.old.is_empty() => return vec![self.old.clone()],
            _ => {}
        }
        if self.mischief.is_insider && self.knows_keys() {
            self.notes.count("messages changed and protected again");
            self.inside(&mut message);
        } else {
            self.anywhere(&mut message);
        }
        vec![message]
    }

    fn knows_keys(&mut self) -> bool {
        if self.keys.is_none() {
            let overheard = self.overheard.borrow();
            let own = if self.from == From::Client { Side::Client } else { Side::Server };
            let other = if self.from == From::Client { Side::Server } else { Side::Client };
            self.keys = overheard.keys(own).zip(overheard.keys(other));
        }
        self.keys.is_some()
    }

    /// Changes what is in it, and protects it again.
    fn inside(&mut self, message: &mut Vec<u8>) {
        if message.get(..4) != Some(&transform::PROTOCOL_ID) {
            self.anywhere(message);
            if let Some((own, _)) = &self.keys {
                sign(message, own);
            }
            return;
        }
        let session = transform::field::SESSION_ID.get(message).unwrap_or(SessionId::NONE);
        let mut plain = message.split_off(transform::LEN.min(message.len()));
        let Some((own, other)) = &mut self.keys else { return };
        let opened = match &other.encryption {
            Some((_, opener)) => opener.open_message(message, &mut [&mut plain]).is_ok(),
            None => false,
        };
        if opened {
            self.anywhere(&mut plain);
            let Some((own, _)) = &mut self.keys else { return };
            if let Some((sealer, _)) = &mut own.encryption
                && let Ok(front) = sealer.seal_message(session, &mut [&mut plain])
            {
                *message = front.to_vec();
            }
        } else {
            let _ = own;
        }
        message.extend_from_slice(&plain);
    }

    fn anywhere(&mut self, message: &mut Vec<u8>) {
        for _ in 0..self.chance.size(1, 3) {
            self.once(message);
        }
    }

    fn once(&mut self, message: &mut Vec<u8>) {
        if message.is_empty() {
            return;
        }
        let len = message.len();
        let starts: Vec<usize> = match message.get(..4) {
            Some(id) if id == transform::PROTOCOL_ID => vec![0],
            _ => Elements::new(message).map_while(Result::ok).map(|element| element.offset).collect(),
        };
        let start = if starts.is_empty() { 0 } else { self.chance.pick(&starts) };
        // What is behind the headers is mostly data.
        match self.chance.below(18) {
            0 => message.truncate(self.chance.below(len)),
            1 => {
                let more = self.chance.size(1, 300);
                message.resize(len + more, 0xA5);
            }
            2 => {
                // Another one of the same follows, or is said to.
                let copy = message[start..].to_vec();
                let padded = copy.len().next_multiple_of(8);
                put(message, start + 20, 4, padded as u64);
                message.resize(start + padded, 0);
                message.extend_from_slice(&copy);
            }
            3..=6 => {
                let (at, size) = self.chance.pick(&HEADER_FIELDS);
                self.field(message, start + at, size);
            }
            7..=10 => {
                // Fields of bodies are aligned to their size.
                let size = self.chance.pick(&[2, 4, 4, 8]);
                let body =
                    start + if message.get(..4) == Some(&transform::PROTOCOL_ID) { 0 } else { header::LEN };
                let room = len.saturating_sub(body).min(80) / size;
                if room > 0 {
                    let at = body + self.chance.below(room) * size;
                    self.field(message, at, size);
                }
            }
            _ => {
                let at = self.chance.below(len);
                message[at] ^= 1 << self.chance.below(8);
            }
        }
    }

    /// Another value for a field: one of those at which something ends, or near what it was.
    fn field(&mut self, message: &mut [u8], at: usize, size: usize) {
        let old = (0..size)
            .rev()
            .filter_map(|byte| message.get(at + byte))
            .fold(0, |all, byte| all << 8 | u64::from(*byte));
        let all = u64::MAX >> (64 - 8 * size);
        let value = match self.chance.below(10) {
            0 => 0,
            1 => all,
            2 => old.wrapping_add(1),
            3 => old.wrapping_sub(1),
            4 => old ^ 1 << self.chance.below(8 * size),
            5 => message.len() as u64,
            6 => old.wrapping_mul(2),
            7 => all / 2 + 1,
            8 => self.chance.below(300) as u64,
            _ => self.chance.bits(),
        };
        put(message, at, size, value & all);
    }
}

fn put(message: &mut [u8], at: usize, size: usize, value: u64) {
    if let Some(to) = message.get_mut(at..at + size) {
        to.copy_from_slice(&value.to_le_bytes()[..size]);
    }
}

/// Signs the elements that say that they are signed.
fn sign(message: &mut [u8], keys: &SessionKeys) {
    let ranges: Vec<_> =
        Elements::new(message).map_while(Result::ok).map(|element| element.range()).collect();
    for range in ranges {
        let Some(element) = message.get_mut(range) else { continue };
        let is_signed = Header::parse(element).is_ok_and(|header| header.flags.contains(Flags::SIGNED));
        if is_signed {
            // One that cannot be signed stays as it is.
            let _ = keys.signer.sign_in_place(element);
        }
    }
}
