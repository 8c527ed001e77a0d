//! READs of an SMB2 client whose data the script encrypts or signs, and what it says of them (3.2.5.11).

use std::time::Duration;

use smbd_core::RdmaVerb;
use smbd_smb2::wire::{NtStatus, RdmaTransformType, read};

use super::exercise::Offer;
use super::outcome::{Stop, Unjudged};
use super::peer::Peer;
use super::play::Play;
use super::script::{Grant, pattern};
use super::session::How;
use super::upper::{Offered, Speaks, Upper};
use crate::smb2::client::Protection;
use crate::smb2::server::Secured;
use crate::smb2::{Crypto, READ_RESPONSE_LEN, structure};

const SEED: u64 = 0x3_2511;
/// A client has logged in and reads within this time.
const READS: Duration = Duration::from_secs(10);
/// Bytes between the answer to a READ and its data, where there are some.
const GAP: usize = 8;

/// The answer to a READ by RDMA, each part of it as a case wants it.
#[derive(Clone, Debug)]
pub(super) struct Stated {
    /// What the script has read for the client.
    pub(super) content: Vec<u8>,
    /// What it writes to the client's buffer: the content, encrypted or not.
    pub(super) data: Vec<u8>,
    /// TransformCount.
    pub(super) count: u16,
    pub(super) transforms: Vec<Crypto>,
    /// DataRemaining.
    pub(super) remaining: u32,
    /// How the answer itself goes.
    pub(super) protection: Protection,
    /// The structure does not begin directly behind the answer's own fields.
    pub(super) has_gap: bool,
    /// The answer invalidates the first token.
    pub(super) invalidates: bool,
    /// The READ is said to be under way, before it is answered.
    pub(super) is_late: bool,
}

impl Stated {
    /// Changes each transform.
    pub(super) fn each(&mut self, change: impl FnMut(&mut Crypto)) {
        self.transforms.iter_mut().for_each(change);
    }
}

impl Play {
    /// A client that has logged in as its user, whose session is protected like this, and its first READ by RDMA.
    ///
    /// # Errors
    /// No user is known, or the client has not the transforms, or does not use channels in such a session: not applicable.
    pub(super) fn secured_client(&mut self, how: How) -> Result<(Peer<'_>, Offer), Stop> {
        let Upper::Client(facts) = &mut self.upper else {
            return Err(Stop::NotApplicable("the case is about an SMB2 client".into()));
        };
        let Some(user) = facts.user.clone() else {
            let why = "no user of the client with a password is known, and guests have no keys";
            return Err(Stop::NotApplicable(why.into()));
        };
        let How { protection, cipher, signing, transforms } = how;
        let secured = Secured { user, protection, cipher, signing, transforms: transforms.to_vec() };
        facts.secured = Some(Box::new(secured));
        let mut peer = self.established()?;
        peer.reads_by_rdma()?;
        let offer = peer.take_offer(RdmaVerb::Write, None)?;
        Ok((peer, offer))
    }
}

impl Peer<'_> {
    /// Waits for a READ by RDMA.
    fn reads_by_rdma(&mut self) -> Result<(), Stop> {
        let (id, until) = (self.id, self.play.now().saturating_add(READS));
        let mut came = true;
        while came && !self.is_down() && self.serving()?.lacks().is_none() {
            while let Some(message) = self.state().dialogue.due() {
                self.say_to_upper(&message, Grant::Standing)?;
            }
            if self.serving()?.has_offered(RdmaVerb::Write) {
                return Ok(());
            }
            came = self.play.wait_for("a READ by RDMA", until, |play| {
                let state = &play.states[id];
                let Speaks::Client(serving) = &state.dialogue.speaks else { return true };
                serving.has_offered(RdmaVerb::Write) || state.dialogue.has_due() || state.link.is_over()
            });
        }
        if let Some(lacks) = self.serving()?.lacks() {
            return Err(Stop::NotApplicable(format!("the peer does not offer {lacks}")));
        }
        if self.is_down() {
            let because = "the client does not log in: the connection goes down".into();
            return Err(Stop::NotJudged(Unjudged::alone(because)));
        }
        Err(Stop::NotApplicable("the client reads nothing by RDMA in such a session".into()))
    }

    /// What a server says of the content of this READ that encrypts it (3.3.5.12), in an encrypted answer.
    pub(super) fn encrypts(&mut self, offer: &Offer) -> Result<Stated, Stop> {
        let mut stated = Self::bare(offer, Protection::Encrypted);
        let keys = self.serving()?.keys().and_then(|keys| keys.encryption.as_mut());
        let signature = keys.and_then(|(sealer, _)| sealer.seal_rdma(&mut [&mut stated.data]).ok());
        let signature = signature.ok_or_else(|| Stop::Broken("data cannot be encrypted".into()))?;
        stated.transforms = vec![Crypto::of(RdmaTransformType::ENCRYPTION, &signature)];
        Ok(stated)
    }

    /// The same of one that signs it, in a signed answer.
    pub(super) fn signs(&mut self, offer: &Offer) -> Result<Stated, Stop> {
        let mut stated = Self::bare(offer, Protection::Signed);
        let keys = self.serving()?.keys();
        let signature = keys.and_then(|keys| keys.signer.sign_rdma([&stated.data[..]]).ok());
        let signature = signature.ok_or_else(|| Stop::Broken("data cannot be signed".into()))?;
        stated.transforms = vec![Crypto::of(RdmaTransformType::SIGNING, &signature)];
        Ok(stated)
    }

    fn bare(offer: &Offer, protection: Protection) -> Stated {
        let content = pattern(SEED + u64::from(offer.id), offer.content.len()).to_vec();
        Stated {
            data: content.clone(),
            count: 1,
            transforms: Vec::new(),
            remaining: u32::try_from(content.len()).unwrap_or(u32::MAX),
            content,
            protection,
            has_gap: false,
            invalidates: true,
            is_late: false,
        }
    }

    /// Writes the data, and answers.
    pub(super) fn answers(&mut self, offer: &Offer, stated: &Stated) -> Result<(), Stop> {
        use read::response::DATA_OFFSET;
        self.write_offer("", offer, &stated.data)?;
        let Some(Offered::Read(read)) = &offer.offered else {
            return Err(Stop::Broken("only a READ that was offered is answered like this".into()));
        };
        let structure = structure(stated.count, &stated.transforms);
        let gap = |bytes: &mut Vec<u8>| {
            if stated.has_gap {
                let behind = bytes.split_off(READ_RESPONSE_LEN.min(bytes.len()));
                bytes.extend([0; GAP]);
                bytes.extend(behind);
                let offset = u8::try_from(READ_RESPONSE_LEN + GAP).unwrap_or_default();
                let set = DATA_OFFSET.set(bytes, offset);
                debug_assert_eq!(set, Ok(()), "it is an answer to a READ");
            }
        };
        let said = (stated.remaining, &structure[..]);
        let messages = self.serving()?.covered(read, said, stated.protection, stated.is_late, gap);
        let token = read.transfer.invalidates().filter(|_| stated.invalidates);
        for (index, message) in messages.iter().enumerate() {
            let is_last = index + 1 == messages.len();
            self.say_with(message, token.filter(|_| is_last))?;
        }
        Ok(())
    }

    /// The client uses nothing of what it has read: it writes nothing, or zeros. Where the program can be looked at that it reads for,
    /// it is given this status, or else any that is no success.
    pub(super) fn uses_nothing(
        &mut self,
        statements: &str,
        status: Option<NtStatus>,
        what: &str,
    ) -> Result<(), Stop> {
        let written = self.writes_next()?.unwrap_or_default();
        self.check(statements, written.iter().all(|byte| *byte == 0), || {
            format!("nothing of a READ should be used {what}, {} bytes are written", written.len())
        });
        let Some(given) = self.play.rig.given(self.id) else { return Ok(()) };
        match status {
            Some(wanted) => self.check(statements, given == wanted, || {
                format!("a READ {what} should give {wanted}, it gives {given}")
            }),
            None => self.check(statements, given != NtStatus::SUCCESS, || {
                format!("a READ {what} should fail, it succeeds")
            }),
        };
        Ok(())
    }

    /// What the client makes of the content: it writes it. `statements` are about that it writes at all.
    pub(super) fn writes_back(&mut self, statements: &str, what: &str) -> Result<Vec<u8>, Stop> {
        let written = self.writes_next()?;
        self.require(statements, written.is_some(), || {
            format!("what a READ {what} has brought should be used, nothing is written")
        })?;
        Ok(written.unwrap_or_default())
    }

    /// The memory of this READ, which the client has used, is closed.
    pub(super) fn is_closed(&mut self, statements: &str, offer: &Offer) -> Result<(), Stop> {
        let Some(first) = offer.descriptors.first() else {
            return Err(Stop::Broken("a READ by RDMA without a buffer".into()));
        };
        self.is_barred(statements, RdmaVerb::Write, *first)
    }
}
