//! Who signs and who verifies (3.1.4.1, 3.1.5.1).

use alloc::collections::BTreeSet;

use ctutils::CtEq;

use super::super::counter::Counter;
use super::super::error::SecurityError;
use super::super::rdma::{self, RdmaSignature};
use super::mac::{Mac, MacKey};
use super::nonce;
use crate::side::Side;
use crate::wire::header::{self, field};
use crate::wire::{Command, Flags, MessageId, NtStatus, RdmaCryptoTransform, SigningAlgorithm};

/// Answers to bindings that are signed with AES-GMAC under one key: more than a session has channels.
const ANSWERS_MAX: usize = 256;

/// A key to sign with and the algorithm: Channel.SigningKey, or Session.SessionKey in 2.x.
#[derive(Debug)]
pub struct SigningKey(MacKey);

impl SigningKey {
    /// With a key of 16 bytes. Never twice with the same key and AES-GMAC.
    ///
    /// # Errors
    /// [`SecurityError::UnknownSigning`].
    pub fn new(algorithm: SigningAlgorithm, key: &[u8; 16]) -> Result<Self, SecurityError> {
        Ok(Self(MacKey::new(algorithm, key)?))
    }

    /// What signs what `side` sends, and what verifies what it receives.
    #[must_use]
    pub fn split(self, side: Side) -> (Signer, Verifier) {
        let signer = Signer {
            key: self.0.clone(),
            side,
            counter: Counter::new(),
            left: Ids::NONE,
            used: BTreeSet::new(),
        };
        (signer, Verifier { key: self.0, sender: side.other() })
    }
}

/// Signs what one side sends on a channel.
///
/// AES-GMAC makes the nonce of a message from its MessageId: whoever signs two different messages with one MessageId, as the same
/// side, gives the key away. A request that is sent again goes with a new MessageId, or byte for byte as it was.
///
/// SESSION_SETUP that binds a new connection to a session is signed with the key of the session's first channel (3.2.4.1.1), under a
/// MessageId of the new connection. It has to be one that neither the first channel nor another binding uses (SE-2): [`Self::leave`]
/// says which the first channel does without, and [`Self::binding`] gives them to bindings, each to one.
#[derive(Debug)]
pub struct Signer {
    key: MacKey,
    side: Side,
    counter: Counter,
    /// MessageIds that bindings may still have. Nothing below their end is signed.
    left: Ids,
    /// Those of them that [`Signer::sign_binding`] has used.
    used: BTreeSet<u64>,
}

/// MessageIds that follow each other: from the first on, and below the second.
#[derive(Clone, Copy, Debug)]
struct Ids {
    next: u64,
    end: u64,
}

impl Ids {
    /// The id 0 is that of NEGOTIATE, which no binding has.
    const NONE: Self = Self { next: 1, end: 1 };
    const ALL: Self = Self { next: 0, end: u64::MAX };
}

impl Signer {
    /// The algorithm.
    #[must_use]
    pub fn algorithm(&self) -> SigningAlgorithm {
        self.key.algorithm()
    }

    /// Lets so many transfers by RDMA be signed and no more. Without this, until a 64-bit counter ends. A limit is never raised.
    pub fn limit(&mut self, transfers: u64) {
        self.counter.limit(transfers);
    }

    /// Leaves the MessageIds below this one to bindings: with AES-GMAC, what has one of them is not signed any more. To be said when the
    /// user has logged in, with the MessageId of the last SESSION_SETUP: nothing below it was signed with this key.
    pub fn leave(&mut self, below: MessageId) {
        self.left.end = self.left.end.max(below.0);
    }

    /// What signs up to `messages` of a binding. With AES-GMAC they have MessageIds of their own, and [`BindingSigner::first_id`] says
    /// which is the first; the other algorithms take any.
    ///
    /// # Errors
    /// [`SecurityError::NoIds`].
    pub fn binding(&mut self, messages: u16) -> Result<BindingSigner, SecurityError> {
        let mut ids = Ids::ALL;
        if self.key.has_nonce() {
            let end = self.left.next.saturating_add(messages.into());
            if end > self.left.end {
                return Err(SecurityError::NoIds);
            }
            ids = Ids { end, ..self.left };
            self.left.next = end;
        }
        Ok(BindingSigner { key: self.key.clone(), side: self.side, ids })
    }

    /// Sets SMB2_FLAGS_SIGNED and Signature of an answer to a binding, on the server's side, where the client chooses the MessageId. With
    /// AES-GMAC it has to be one that was left ([`Self::leave`]), and that no other answer has had.
    ///
    /// # Errors
    /// [`SecurityError::Wire`] if the header is not complete, [`SecurityError::NonceKept`]. The element is as it was then.
    pub fn sign_binding(&mut self, element: &mut [u8]) -> Result<(), SecurityError> {
        let message_id = field::MESSAGE_ID.get(element)?;
        if !self.can_sign_binding(message_id) {
            let Ids { next, end } = self.left;
            return Err(SecurityError::NonceKept { message_id, next, end });
        }
        if self.key.has_nonce() {
            self.used.insert(message_id.0);
        }
        mark_and_sign(&self.key, self.side, element)
    }

    /// Whether [`Self::sign_binding`] signs an answer with this MessageId.
    #[must_use]
    pub fn can_sign_binding(&self, message_id: MessageId) -> bool {
        let Ids { next, end } = self.left;
        let id = message_id.0;
        !self.key.has_nonce()
            || ((next..end).contains(&id) && self.used.len() < ANSWERS_MAX && !self.used.contains(&id))
    }

    /// The signature of an element, from the beginning of its SMB2 header to its end, padding of a compound included, in any number of
    /// pieces. SMB2_FLAGS_SIGNED is set in it already; whatever is in the field Signature counts as zeros.
    ///
    /// # Errors
    /// [`SecurityError::Wire`] if the header is not complete. With AES-GMAC, [`SecurityError::NonceShared`] for a MessageId that other
    /// messages have too.
    pub fn sign<'a>(&self, element: impl IntoIterator<Item = &'a [u8]>) -> Result<[u8; 16], SecurityError> {
        let message = Element::read(&self.key, self.side, element)?;
        // SE-3
        if self.key.has_nonce() && message.shares_its_id {
            return Err(SecurityError::NonceShared { message_id: message.id });
        }
        // SE-2
        if self.key.has_nonce() && message.id.0 < self.left.end {
            let (next, end) = (self.left.end, u64::MAX);
            return Err(SecurityError::NonceKept { message_id: message.id, next, end });
        }
        Ok(message.mac.finish())
    }

    /// Sets SMB2_FLAGS_SIGNED and Signature of an element that is in one piece.
    ///
    /// # Errors
    /// As [`Self::sign`]. The element is as it was then, but for the flag.
    pub fn sign_in_place(&self, element: &mut [u8]) -> Result<(), SecurityError> {
        let flags = field::FLAGS.get(element)?;
        field::FLAGS.set(element, flags.with(Flags::SIGNED, true))?;
        let signature = self.sign([&*element])?;
        Ok(field::SIGNATURE.set(element, signature)?)
    }

    /// Signs data that go by RDMA (3.2.4.7, 3.3.5.12).
    ///
    /// # Errors
    /// [`SecurityError::Exhausted`].
    pub fn sign_rdma<'a>(
        &mut self,
        data: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<RdmaSignature, SecurityError> {
        let nonce = nonce::of_transfer(self.counter.take()?, self.side);
        let signature = of_data(&self.key, nonce, data);
        Ok(RdmaSignature::new(signature, nonce, nonce_len(&self.key)))
    }
}

/// Signs SESSION_SETUP, or its answers, on a connection that is bound to a session, with the key of the session's first channel.
#[derive(Debug)]
pub struct BindingSigner {
    key: MacKey,
    side: Side,
    ids: Ids,
}

impl BindingSigner {
    /// The algorithm.
    #[must_use]
    pub fn algorithm(&self) -> SigningAlgorithm {
        self.key.algorithm()
    }

    /// The MessageId that the first message has to have at least; it is as good as any without AES-GMAC.
    #[must_use]
    pub const fn first_id(&self) -> u64 {
        self.ids.next
    }

    /// Sets SMB2_FLAGS_SIGNED and Signature of an element that is in one piece. MessageIds ascend, and none is signed twice.
    ///
    /// # Errors
    /// [`SecurityError::Wire`] if the header is not complete, [`SecurityError::NonceKept`].
    pub fn sign_in_place(&mut self, element: &mut [u8]) -> Result<(), SecurityError> {
        let Ids { next, end } = self.ids;
        let message_id = field::MESSAGE_ID.get(element)?;
        if self.key.has_nonce() {
            if !(next..end).contains(&message_id.0) {
                return Err(SecurityError::NonceKept { message_id, next, end });
            }
            self.ids.next = message_id.0.saturating_add(1);
        }
        mark_and_sign(&self.key, self.side, element)
    }
}

fn mark_and_sign(key: &MacKey, side: Side, element: &mut [u8]) -> Result<(), SecurityError> {
    let flags = field::FLAGS.get(element)?;
    field::FLAGS.set(element, flags.with(Flags::SIGNED, true))?;
    let signature = Element::read(key, side, [&*element])?.mac.finish();
    Ok(field::SIGNATURE.set(element, signature)?)
}

/// Verifies what the other side sent on a channel. Clones do the same.
#[derive(Clone, Debug)]
pub struct Verifier {
    key: MacKey,
    sender: Side,
}

impl Verifier {
    /// The algorithm.
    #[must_use]
    pub fn algorithm(&self) -> SigningAlgorithm {
        self.key.algorithm()
    }

    /// Compares the signature of an element that came, in any number of pieces, with what it has to be. The time that takes depends on
    /// the length of the element only.
    ///
    /// # Errors
    /// [`SecurityError::Wire`] if the header is not complete, [`SecurityError::BadSignature`].
    pub fn verify<'a>(&self, element: impl IntoIterator<Item = &'a [u8]>) -> Result<(), SecurityError> {
        let message = Element::read(&self.key, self.sender, element)?;
        compare(message.mac.finish(), message.signature)
    }

    /// What SMB2_RDMA_CRYPTO_TRANSFORM has for [`Self::verify_rdma`], if it has the lengths of this algorithm.
    ///
    /// # Errors
    /// [`SecurityError::NonceLength`], [`SecurityError::SignatureLength`].
    pub fn rdma_signature(&self, crypto: &RdmaCryptoTransform<'_>) -> Result<RdmaSignature, SecurityError> {
        RdmaSignature::of(crypto, nonce_len(&self.key))
    }

    /// Verifies data that came by RDMA, with Nonce and Signature of SMB2_RDMA_CRYPTO_TRANSFORM. Remote access to them has ended before.
    ///
    /// # Errors
    /// [`SecurityError::BadSignature`], [`SecurityError::NonceLength`], [`SecurityError::SignatureLength`].
    pub fn verify_rdma<'a>(
        &self,
        nonce: &[u8],
        signature: &[u8],
        data: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<(), SecurityError> {
        let (nonce, signature) = rdma::received(nonce, nonce_len(&self.key), signature)?;
        compare(of_data(&self.key, nonce, data), signature)
    }
}

fn nonce_len(key: &MacKey) -> usize {
    if key.has_nonce() { 12 } else { 0 }
}

fn of_data<'a>(key: &MacKey, nonce: [u8; 12], data: impl IntoIterator<Item = &'a [u8]>) -> [u8; 16] {
    let mut mac = key.begin(nonce);
    data.into_iter().for_each(|piece| mac.update(piece));
    mac.finish()
}

fn compare(expected: [u8; 16], signature: [u8; 16]) -> Result<(), SecurityError> {
    if expected.ct_eq(&signature).to_bool() { Ok(()) } else { Err(SecurityError::BadSignature) }
}

/// An element that was read to its end.
struct Element<'k> {
    mac: Mac<'k>,
    id: MessageId,
    signature: [u8; 16],
    shares_its_id: bool,
}

impl<'k> Element<'k> {
    fn read<'a>(
        key: &'k MacKey,
        sender: Side,
        pieces: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Self, SecurityError> {
        let mut header = [0; header::LEN];
        let mut got: usize = 0;
        let mut pieces = pieces.into_iter();
        let mut rest: &[u8] = &[];
        while got < header::LEN {
            let Some(piece) = pieces.next() else {
                field::LAYOUT.check(header.get(..got).unwrap_or_default())?;
                break;
            };
            let room = header.get_mut(got..).unwrap_or_default();
            let (head, behind) = piece.split_at_checked(room.len()).unwrap_or((piece, &[]));
            for (to, from) in room.iter_mut().zip(head) {
                *to = *from;
            }
            got = got.saturating_add(head.len());
            rest = behind;
        }
        let mut element = Self::begin(key, sender, &mut header)?;
        element.mac.update(rest);
        pieces.for_each(|piece| element.mac.update(piece));
        Ok(element)
    }

    fn begin(key: &'k MacKey, sender: Side, header: &mut [u8; header::LEN]) -> Result<Self, SecurityError> {
        let id = field::MESSAGE_ID.get(header)?;
        let is_cancel = field::COMMAND.get(header)? == Command::CANCEL;
        let is_interim = sender == Side::Server && field::STATUS.get(header)? == NtStatus::PENDING;
        let signature = field::SIGNATURE.get(header)?;
        field::SIGNATURE.set(header, [0; 16])?;
        let mut mac = key.begin(nonce::of_message(id, sender, is_cancel));
        mac.update(header);
        Ok(Self { mac, id, signature, shares_its_id: is_interim || id == MessageId::UNSOLICITED })
    }
}
