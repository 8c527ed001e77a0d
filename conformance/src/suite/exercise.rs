//! Requests to the subject's upper layer, with the messages of `smbd_tools::exercise`.

use bytes::Bytes;
use smbd_core::{Access, BufferDescriptorV1, RdmaVerb, RegId};
use smbd_tools::exercise::{Answer, Request, fill_pattern};

use super::Whole;
use super::channel::{Pending, in_the_file};
use super::outcome::Stop;
use super::peer::Peer;
use super::rig::{MemoryOf, Told};
use super::script::pattern;
use super::trace::hex;
use super::upper::Offered;
use super::words::{self, Words};

/// Memory of the subject that the script may use.
#[derive(Clone, Debug)]
pub struct Offer {
    /// Its name in later requests.
    pub id: u32,
    /// What the script was told.
    pub descriptors: Vec<BufferDescriptorV1>,
    /// The answer that told it.
    pub answer: Vec<u8>,
    /// What it held then.
    pub content: Vec<u8>,
    /// Its registration, where the upper layer can be looked at.
    pub registration: Option<RegId>,
    /// What an SMB2 client offered it with.
    pub(super) offered: Option<Offered>,
}

/// Something that the subject's upper layer was asked for.
#[derive(Clone, Debug)]
pub enum Asking {
    /// With this message and tag.
    Exercise(Bytes, u32),
    /// By an SMB2 READ or WRITE.
    Smb2(Pending),
}

impl Asking {
    /// The message that asked.
    #[must_use]
    pub fn message(&self) -> &[u8] {
        match self {
            Self::Exercise(message, _) => message,
            Self::Smb2(pending) => pending.message(),
        }
    }
}

impl Peer<'_> {
    /// Asks the subject's upper layer for something, and waits for its answer.
    ///
    /// # Errors
    /// As [`begin_asking`](Self::begin_asking) and [`answer_to`](Self::answer_to).
    pub fn ask(&mut self, statements: &str, asked: &Request) -> Result<Answer, Stop> {
        self.ask_for(statements, asked).map(|(answer, _)| answer)
    }

    /// The same; the answer also as it came.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub fn ask_for(&mut self, statements: &str, asked: &Request) -> Result<(Answer, Whole), Stop> {
        let asking = self.begin_asking(asked)?;
        self.answer_to(statements, &asking)
    }

    /// Asks, and does not wait for an answer. An SMB2 server is asked for RDMA by READ and WRITE.
    ///
    /// # Errors
    /// The request cannot be sent, which is a finding. This upper layer cannot be asked for that: not applicable.
    pub fn begin_asking(&mut self, asked: &Request) -> Result<Asking, Stop> {
        if !self.state().dialogue.exercises() {
            return self.begin_channel(asked).map(Asking::Smb2);
        }
        // No two requests are the same message of the script.
        let tag = u32::try_from(self.play.states[self.id].said).unwrap_or(u32::MAX);
        let message = asked.encode(tag);
        for fragment in self.fragments(&message)? {
            self.send(&fragment)?;
        }
        Ok(Asking::Exercise(message, tag))
    }

    /// Waits for the answer. That of an SMB2 server is told in the words of `smbd_tools::exercise`: a refusal is
    /// [`Status::Refused`](smbd_tools::exercise::Status), and a WRITE is followed by READs for the hash.
    ///
    /// # Errors
    /// The answer does not come; a finding about `statements`.
    pub fn answer_to(&mut self, statements: &str, asking: &Asking) -> Result<(Answer, Whole), Stop> {
        let tag = match asking {
            Asking::Exercise(_, tag) => *tag,
            Asking::Smb2(pending) => return self.answer_by_channel(statements, pending),
        };
        let of = |whole: &Whole| Answer::parse(&whole.payload).ok().flatten();
        let is_it = |whole: &Whole| of(whole).is_some_and(|answer| answer.tag == tag);
        if let Some(at) = self.state().early.iter().position(is_it) {
            let whole = self.state().early.swap_remove(at);
            return of(&whole).map(|answer| (answer.what, whole)).ok_or(Stop::Failed);
        }
        loop {
            let whole = self.whole_message(statements)?;
            match of(&whole) {
                Some(answer) if answer.tag == tag => return Ok((answer.what, whole)),
                Some(_) => self.keep(whole),
                None => self.require(statements, false, || {
                    let begin = hex(&whole.payload[..whole.payload.len().min(32)]);
                    format!("an answer should come, {begin} came")
                })?,
            }
        }
    }

    /// The bytes that the subject writes when it is asked for this.
    #[must_use]
    pub fn written_by(&mut self, asked: &Request) -> Vec<u8> {
        let Request::Write { seed, offset, length, .. } = asked else { return Vec::new() };
        let (seed, offset) =
            if self.state().dialogue.exercises() { (*seed, *offset) } else { in_the_file(*seed, *offset) };
        let mut bytes = vec![0; usize::try_from(*length).unwrap_or_default()];
        fill_pattern(seed, offset, &mut bytes);
        bytes
    }

    /// Whether the upper layer offers memory of any length, for reading and writing at once. An SMB2 client offers what it wants
    /// to read or write.
    pub fn offers_anything(&mut self) -> bool {
        self.state().dialogue.exercises()
    }

    /// Whether the upper layer begins an operation at any byte of what descriptors describe, and has operations of no bytes.
    /// An SMB2 server begins with the first byte: where a case wants another, the script leaves out what is before it.
    pub fn takes_any_range(&mut self) -> bool {
        self.state().dialogue.exercises()
    }

    /// Has the subject register memory with known content for the script. That of an SMB2 client is as long as it likes.
    ///
    /// # Errors
    /// It does not; a finding about `statements`.
    pub fn offer(&mut self, statements: &str, access: Access, length: u32) -> Result<Offer, Stop> {
        if self.state().dialogue.is_client() {
            return self.offer_of_client(statements, access);
        }
        let seed = u64::from(length) + 7;
        let (answer, whole) = self.ask_for(statements, &Request::Offer { length, access, seed })?;
        let Answer::Offered { id, descriptors } = answer else {
            self.require(statements, false, || {
                format!(
                    "{length} bytes should be registered for {}, the answer is {}",
                    words::access(access),
                    answer.words()
                )
            })?;
            return Err(Stop::Failed);
        };
        let told = self.told();
        let registration = told.iter().rev().find_map(|(_, told)| match told {
            Told::Registered(id, Ok(())) => Some(*id),
            _ => None,
        });
        let content = pattern(seed, length as usize).to_vec();
        Ok(Offer { id, descriptors, answer: whole.payload, content, registration, offered: None })
    }

    /// Has the subject deregister what it offered.
    ///
    /// # Errors
    /// It does not; a finding about `statements`.
    pub fn withdraw(&mut self, statements: &str, offer: &Offer) -> Result<(), Stop> {
        if self.state().dialogue.is_client() {
            // The answer invalidates the token; the client says something when it has taken it in.
            self.transferred(offer)?;
            return self.returns(statements);
        }
        let answer = self.ask(statements, &Request::Withdraw { id: offer.id })?;
        self.require(statements, answer == Answer::Done, || {
            format!("the deregistration should be done, the answer is {}", answer.words())
        })
    }

    /// The script reads all that an offer describes, one request for each descriptor.
    ///
    /// # Errors
    /// A request fails; a finding about `statements`.
    pub fn read_offer(&mut self, statements: &str, offer: &Offer) -> Result<Vec<u8>, Stop> {
        let total = offer.descriptors.iter().map(|descriptor| descriptor.length as usize).sum();
        let buffer = self.buffer(&vec![0; total])?;
        self.use_offer(statements, RdmaVerb::Read, buffer, offer)?;
        Ok(self.contents(buffer))
    }

    /// The script writes `bytes` to all that an offer describes, one request for each descriptor.
    ///
    /// # Errors
    /// A request fails; a finding about `statements`.
    pub fn write_offer(&mut self, statements: &str, offer: &Offer, bytes: &[u8]) -> Result<(), Stop> {
        let buffer = self.buffer(bytes)?;
        self.use_offer(statements, RdmaVerb::Write, buffer, offer)
    }

    fn use_offer(
        &mut self,
        statements: &str,
        verb: RdmaVerb,
        buffer: usize,
        offer: &Offer,
    ) -> Result<(), Stop> {
        let mut at = 0;
        for descriptor in &offer.descriptors {
            let result = self.rdma(verb, buffer, at, *descriptor)?;
            self.require(statements, result.is_ok(), || {
                let (verb, what) = (words::verb(verb), descriptor.words());
                format!("{verb} of {what} should be done, it ended with: {}", words::result(&result))
            })?;
            at = at.saturating_add(descriptor.length);
        }
        Ok(())
    }

    /// The hash of what an offer holds now: of what the script wrote before it asked.
    ///
    /// # Errors
    /// There is no answer with a hash; a finding about `statements`.
    pub fn hash_of_offer(&mut self, statements: &str, offer: &Offer) -> Result<u64, Stop> {
        if self.state().dialogue.is_client() {
            return self.written_back(statements, offer);
        }
        let length = u32::try_from(offer.content.len()).unwrap_or(u32::MAX);
        let answer = self.ask(statements, &Request::Hash { id: offer.id, offset: 0, length })?;
        let Answer::Hash(hash) = answer else {
            self.require(statements, false, || format!("a hash should come, {} came", answer.words()))?;
            return Err(Stop::Failed);
        };
        Ok(hash)
    }

    /// What an offer holds now, also after the end of its connection. `None` where it cannot be looked at.
    pub fn look_at_offer(&mut self, offer: &Offer) -> Option<Vec<u8>> {
        let registration = MemoryOf::Registration(offer.registration?);
        self.upper_if_seen()?.memory(registration, offer.content.len())
    }

    /// The script tries what it may not: the request fails if it is a read, brings nothing, and the connection ends.
    ///
    /// # Errors
    /// The script's device does not answer.
    pub fn is_barred(
        &mut self,
        statements: &str,
        verb: RdmaVerb,
        remote: BufferDescriptorV1,
    ) -> Result<(), Stop> {
        let before = vec![0xB7; remote.length as usize];
        let buffer = self.buffer(&before)?;
        let result = self.rdma(verb, buffer, 0, remote)?;
        // A provider may call a write done when it is handed over.
        self.check(statements, verb == RdmaVerb::Write || result.is_err(), || {
            format!("{} of {} should fail, it succeeded", words::verb(verb), remote.words())
        });
        let after = self.contents(buffer);
        self.check(statements, after == before, || {
            format!("{} of {} should bring nothing, it brought bytes", words::verb(verb), remote.words())
        });
        self.ends(statements);
        Ok(())
    }

    /// A small message is answered: the connection goes on, with its data.
    ///
    /// # Errors
    /// It is not; a finding about `statements`.
    pub fn returns(&mut self, statements: &str) -> Result<(), Stop> {
        self.exchange(statements, 99, 100).map(|_| ())
    }
}
