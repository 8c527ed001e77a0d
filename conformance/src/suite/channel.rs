//! RDMA by an SMB2 server: it writes to the script's buffers what a READ asks for, and reads from them for a WRITE.

use bytes::Bytes;
use smbd_core::{BufferDescriptorV1, RdmaVerb};
use smbd_smb2::wire::{Channel, Elements, Header, NtStatus, ReadResponse, WriteResponse};
use smbd_tools::exercise::{Answer, Digest, Failure, Request, Status, fill_pattern};

use super::outcome::Stop;
use super::peer::Peer;
use super::upper::{NotMade, Question, Requests, Speaks};
use super::{Data, Whole};
use crate::smb2::READ_RESPONSE_LEN;
use crate::smb2::client::By;

/// Where in the file is what READs by RDMA bring, in bytes: behind what others read and write.
const CONTENT_AT: u64 = 2 << 20;
/// Its pattern.
const CONTENT_SEED: u64 = 0xc4a7;
/// READs with different seeds begin so many bytes from each other, at one of so many places.
const APART: u64 = 1021;
const PLACES: u64 = 64;
/// Where in the file WRITEs by RDMA go, in bytes, and how far apart the places of those are that may be under way.
const WRITTEN_AT: u64 = 8 << 20;
const WRITTEN_APART: u64 = 2 << 20;
const WRITTEN_PLACES: u64 = 2;
/// Bytes of a READ that is no RDMA, at most.
const PIECE: usize = 32 * 1024;

/// The pattern, and its place in it, of the bytes that are written for this seed from this offset on.
pub(super) const fn in_the_file(seed: u64, offset: u64) -> (u64, u64) {
    (CONTENT_SEED, (seed % PLACES) * APART + offset % APART)
}

/// A READ or WRITE by RDMA that has no answer yet.
#[derive(Clone, Debug)]
pub struct Pending {
    question: Question,
    verb: RdmaVerb,
    length: u32,
    at: u64,
}

impl Pending {
    pub(super) fn message(&self) -> &[u8] {
        &self.question
    }
}

/// What is described without the first `skipped` bytes.
fn behind(all: &[BufferDescriptorV1], mut skipped: u64) -> Vec<BufferDescriptorV1> {
    let mut rest = Vec::with_capacity(all.len());
    for BufferDescriptorV1 { offset, token, length } in all {
        let cut = u32::try_from(skipped).unwrap_or(u32::MAX).min(*length);
        skipped -= u64::from(cut);
        // Descriptors of no bytes stay, as far as they are not before the first byte.
        if cut < *length || (cut == 0 && skipped == 0) {
            let offset = offset.wrapping_add(cut.into());
            rest.push(BufferDescriptorV1 { offset, token: *token, length: length - cut });
        }
    }
    rest
}

/// A READ or WRITE by RDMA of an SMB2 server.
#[derive(Clone, Debug)]
pub struct ByRdma {
    /// Seen from the server: [`RdmaVerb::Write`] for a READ.
    pub verb: RdmaVerb,
    /// Bytes.
    pub length: u32,
    /// The script's buffers, in order.
    pub descriptors: Vec<BufferDescriptorV1>,
    /// Whether the answer is to invalidate the token of the first buffer.
    pub invalidate: bool,
    /// Where in the file, in bytes.
    pub at: u64,
}

impl ByRdma {
    /// A READ of known bytes of the file, or a WRITE to where nobody looks.
    #[must_use]
    pub const fn new(verb: RdmaVerb, length: u32, descriptors: Vec<BufferDescriptorV1>) -> Self {
        let at = match verb {
            RdmaVerb::Write => CONTENT_AT,
            RdmaVerb::Read => WRITTEN_AT,
        };
        Self { verb, length, descriptors, invalidate: true, at }
    }

    /// The same far behind the end of the file.
    #[must_use]
    pub fn behind_the_end(self) -> Self {
        Self { at: 1 << 50, ..self }
    }

    /// What a request of the case means for SMB2.
    fn of(asked: &Request, count: u64) -> Result<Self, Stop> {
        let written = WRITTEN_AT + count % WRITTEN_PLACES * WRITTEN_APART;
        let (verb, offset, length, descriptors, invalidate, at) = match asked {
            Request::Write { seed, offset, length, invalidate, descriptors } => {
                let at = CONTENT_AT + in_the_file(*seed, *offset).1;
                (RdmaVerb::Write, offset, length, descriptors, *invalidate, at)
            }
            Request::Read { offset, length, descriptors } => {
                (RdmaVerb::Read, offset, length, descriptors, None, written)
            }
            _ => {
                let why = "the peer's upper layer is an SMB2 server, which offers no memory to its client";
                return Err(Stop::NotApplicable(why.into()));
            }
        };
        let mut descriptors = behind(descriptors, *offset);
        if verb == RdmaVerb::Read {
            // A WRITE whose first buffer has no bytes is refused (MS-SMB2 3.3.5.13).
            let empty = descriptors.iter().take_while(|descriptor| descriptor.length == 0).count();
            descriptors.drain(..empty);
        }
        if *length == 0 || descriptors.is_empty() {
            let why = "SMB2 has no READ or WRITE by RDMA of no bytes, or without a buffer";
            return Err(Stop::NotApplicable(why.into()));
        }
        if invalidate.is_some() && invalidate != descriptors.first().map(|first| first.token) {
            let why = "an SMB2 server invalidates the token of the first buffer and no other";
            return Err(Stop::NotApplicable(why.into()));
        }
        Ok(Self { verb, length: *length, descriptors, invalidate: invalidate.is_some(), at })
    }
}

impl Peer<'_> {
    /// Begins a READ or WRITE by RDMA. What the server is to write is put into the file before.
    pub(super) fn begin_channel(&mut self, asked: &Request) -> Result<Pending, Stop> {
        if matches!(self.state().dialogue.speaks, Speaks::Client(_)) {
            let why = "the peer's upper layer is an SMB2 client, which leaves RDMA to its server";
            return Err(Stop::NotApplicable(why.into()));
        }
        let asked = ByRdma::of(asked, self.state().said)?;
        if asked.verb == RdmaVerb::Write {
            self.prepare_upper()?;
            self.fill_file(asked.at + u64::from(asked.length))?;
        }
        self.begin_by_rdma(&asked)
    }

    /// Begins a READ or WRITE by RDMA.
    ///
    /// # Errors
    /// The upper layer is no SMB2 server, or has no such request: not applicable. It does not take it, which is a finding.
    pub fn begin_by_rdma(&mut self, asked: &ByRdma) -> Result<Pending, Stop> {
        self.prepare_upper()?;
        let ByRdma { verb, length, at, .. } = *asked;
        let channel = if asked.invalidate { Channel::RDMA_V1_INVALIDATE } else { Channel::RDMA_V1 };
        let by = By { channel, descriptors: &asked.descriptors };
        let question = self.of_server(|requests| requests.by(verb, &by, length, at))?;
        self.say_question(&question)?;
        Ok(Pending { question, verb, length, at })
    }

    /// Waits for its answer.
    ///
    /// # Errors
    /// The answer does not come; a finding about `statements`.
    pub fn by_rdma(&mut self, statements: &str, asked: &ByRdma) -> Result<(Answer, Whole), Stop> {
        let pending = self.begin_by_rdma(asked)?;
        self.answer_by_channel(statements, &pending)
    }

    /// Makes a request to the server.
    fn of_server(
        &mut self,
        make: impl FnOnce(&mut Requests) -> Result<Question, NotMade>,
    ) -> Result<Question, Stop> {
        let Speaks::Server(requests) = &mut self.state().dialogue.speaks else {
            return Err(Stop::NotApplicable("the case is about an SMB2 server".into()));
        };
        make(requests).map_err(|why| Stop::NotApplicable(why.0))
    }

    fn say_question(&mut self, question: &Question) -> Result<(), Stop> {
        for fragment in self.fragments(question)? {
            self.send(&Data { ..fragment })?;
        }
        Ok(())
    }

    /// The file of an SMB2 server has so many bytes of known content where [`ByRdma::new`] reads.
    ///
    /// # Errors
    /// The upper layer is no SMB2 server: not applicable.
    pub fn has_content(&mut self, len: u64) -> Result<(), Stop> {
        self.prepare_upper()?;
        self.fill_file(CONTENT_AT.saturating_add(len))
    }

    /// Messages of the upper layer that nobody has waited for so far.
    pub fn passed_over(&mut self) -> Vec<Whole> {
        self.state().early.clone()
    }

    /// Until the file has all of the content before `end`.
    fn fill_file(&mut self, end: u64) -> Result<(), Stop> {
        loop {
            let had = self.state().filled.max(CONTENT_AT);
            let missing = usize::try_from(end.saturating_sub(had)).unwrap_or(usize::MAX);
            if missing == 0 {
                return Ok(());
            }
            let mut written = 0;
            let question = self.of_server(|requests| {
                let mut piece = vec![0; missing.min(requests.piece())];
                fill_pattern(CONTENT_SEED, had - CONTENT_AT, &mut piece);
                written = piece.len() as u64;
                requests.write(&piece, had)
            })?;
            self.say_question(&question)?;
            let whole = self.answered("", &question)?;
            let status = response(&whole)?.0.status;
            if status != NtStatus::SUCCESS {
                return Err(Stop::NotApplicable(format!("the server refuses SMB2 WRITE: {status}")));
            }
            self.state().filled = had + written;
        }
    }

    /// The answer to a READ or WRITE by RDMA, as if `smbd_tools::exercise` had answered.
    pub(super) fn answer_by_channel(
        &mut self,
        statements: &str,
        pending: &Pending,
    ) -> Result<(Answer, Whole), Stop> {
        let whole = self.answered(statements, &pending.question)?;
        let (header, bytes) = response(&whole)?;
        if header.status != NtStatus::SUCCESS {
            let text = format!("SMB2 {}: {}", header.command, header.status);
            return Ok((Answer::Failed(Failure { status: Status::Refused, text }), whole));
        }
        let moved = match pending.verb {
            RdmaVerb::Write => ReadResponse::parse(bytes).map(|response| response.data_remaining),
            RdmaVerb::Read => WriteResponse::parse(bytes).map(|response| response.count),
        };
        let answer = match moved {
            Ok(moved) if moved != pending.length => {
                let text = format!("{moved} bytes of {} by RDMA", pending.length);
                Answer::Failed(Failure { status: Status::Failed, text })
            }
            Ok(_) if pending.verb == RdmaVerb::Write => Answer::Done,
            Ok(_) => Answer::Hash(self.hash_in_file(statements, pending)?),
            Err(error) => Answer::Failed(Failure { status: Status::Malformed, text: error.to_string() }),
        };
        Ok((answer, whole))
    }

    /// The hash of what a WRITE by RDMA has left in the file, which is read without.
    fn hash_in_file(&mut self, statements: &str, pending: &Pending) -> Result<u64, Stop> {
        let room = self.state().terms.request.max_fragmented_size;
        let room = usize::try_from(room).unwrap_or(usize::MAX).saturating_sub(READ_RESPONSE_LEN);
        let (mut digest, mut at) = (Digest::default(), pending.at);
        let end = pending.at + u64::from(pending.length);
        while at < end {
            let piece = usize::try_from(end - at).unwrap_or(usize::MAX).min(PIECE).min(room.max(1));
            let length = u32::try_from(piece).unwrap_or(u32::MAX);
            let question = self.of_server(|requests| requests.read(length, at))?;
            self.say_question(&question)?;
            let whole = self.answered(statements, &question)?;
            let (Header { status, .. }, bytes) = response(&whole)?;
            let data = ReadResponse::parse(bytes).map(|response| Bytes::copy_from_slice(response.data));
            let data = data.unwrap_or_default();
            self.require(statements, status == NtStatus::SUCCESS && data.len() == piece, || {
                format!("{piece} bytes that were written should be read, {} came ({status})", data.len())
            })?;
            digest.update(&data);
            at += u64::from(length);
        }
        Ok(digest.value())
    }
}

/// The first response of a message.
fn response(whole: &Whole) -> Result<(Header, &[u8]), Stop> {
    let first = Elements::new(&whole.payload).next().and_then(Result::ok);
    let first = first.ok_or_else(|| Stop::Broken("what was taken for a response is none".into()))?;
    Ok((first.header, first.bytes))
}
