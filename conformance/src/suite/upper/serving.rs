//! The script as an SMB2 server of a client that copies a file: what the client reads comes back as what it writes.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use bytes::Bytes;
use smbd_core::{RdmaVerb, Token};
use smbd_smb2::security::{SecurityError, SessionKeys};
use smbd_smb2::wire::{Dialect, NtStatus};

use super::super::script::pattern;
use super::{Awaits, Match, NotMade, Question, Rdma, different};
use crate::smb2::client::{Protection, User};
use crate::smb2::server::{Options, Read, ReadAnswer, Secured, Served, Server, Transfer, Write, WriteAnswer};
use crate::smb2::{READ_RESPONSE_LEN, WRITE_REQUEST_LEN, announced, first_write, share_to_copy};

/// Contents that are remembered.
const CONTENTS_MAX: usize = 256;

/// What an SMB2 client was found to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientFacts {
    /// Bytes that it asks for with one READ, and takes in the response.
    pub read_max: u32,
    /// A READ that brings less than it asked for is all of it for the client where the rest is behind the end of the file: it writes
    /// zeros behind what came, as Linux 7.3 does.
    pub pads: bool,
    /// It offers buffers for longer READs and WRITEs.
    pub rdma: Rdma,
    /// A user as which it logs in, where it is not let in as a guest.
    pub user: Option<User>,
    /// How the script lets it in; as a guest, if there is nothing.
    pub secured: Option<Box<Secured>>,
}

impl fmt::Display for ClientFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an SMB2 client that copies a file, {} bytes at a time", self.read_max)?;
        if self.pads {
            f.write_str(", with zeros behind what is shorter")?;
        }
        match &self.rdma {
            Rdma::Untried => Ok(()),
            Rdma::Done => f.write_str("; it offers buffers"),
            Rdma::Not(why) => write!(f, "; it offers no buffers: {why}"),
        }
    }
}

/// A READ or WRITE by RDMA: memory of the client that the script may use until it answers.
#[derive(Clone, Debug)]
pub(in super::super) enum Offered {
    /// To write to.
    Read(Box<Read>),
    /// To read from.
    Write(Box<Write>),
}

impl Offered {
    /// What the script does with the memory.
    const fn verb(&self) -> RdmaVerb {
        match self {
            Self::Read(_) => RdmaVerb::Write,
            Self::Write(_) => RdmaVerb::Read,
        }
    }

    pub(in super::super) fn transfer(&self) -> &Transfer {
        match self {
            Self::Read(read) => &read.transfer,
            Self::Write(write) => &write.transfer,
        }
    }
}

/// The server's side of one connection.
#[derive(Debug)]
pub(in super::super) struct Serving {
    server: Server,
    /// Responses that are due before anything else.
    due: VecDeque<Bytes>,
    /// Responses without which the client does not even answer: they are sent at once.
    urgent: VecDeque<Bytes>,
    /// READs that wait for their content.
    reads: VecDeque<Box<Read>>,
    /// READs and WRITEs whose data go by RDMA, with the messages that they came in.
    offers: VecDeque<(Offered, Bytes)>,
    /// The last of them that a case was given, until it is answered.
    taken: Option<Offered>,
    facts: ClientFacts,
    /// Where what was read of files ended, by the files' names: the file ends there for a READ of the rest.
    ends: BTreeMap<Option<String>, u64>,
    /// Questions that were made and have no WRITE yet: the client may wait for them.
    open: usize,
    /// The contents of the last of them.
    contents: VecDeque<Bytes>,
    broken: Option<String>,
}

impl Serving {
    pub(super) fn new(facts: ClientFacts) -> Self {
        Self {
            server: Server::new(Options { secured: facts.secured.as_deref().cloned(), ..share_to_copy() }),
            due: VecDeque::new(),
            urgent: VecDeque::new(),
            reads: VecDeque::new(),
            offers: VecDeque::new(),
            taken: None,
            facts,
            ends: BTreeMap::new(),
            open: 0,
            contents: VecDeque::new(),
            broken: None,
        }
    }

    /// Takes in a request of the client, or several. Whether it is one that is answered at once.
    pub(super) fn heard(&mut self, message: &[u8]) -> bool {
        let urgent = self.urgent.len();
        match self.server.take(message) {
            Ok(all) => {
                for served in all {
                    match served {
                        Served::Answer(bytes) => self.due.push_back(bytes.into()),
                        Served::Read(read) if read.transfer.has_channel() => {
                            self.offers.push_back((Offered::Read(read), Bytes::copy_from_slice(message)));
                        }
                        Served::Write(write) if write.transfer.has_channel() => {
                            self.offers.push_back((Offered::Write(write), Bytes::copy_from_slice(message)));
                        }
                        Served::Read(read) => self.read(read),
                        Served::Write(write) => self.write(&write),
                    }
                }
            }
            Err(error) => {
                self.broken.get_or_insert(error.to_string());
            }
        }
        self.urgent.len() > urgent
    }

    /// A client that got less than it asked for may ask for the rest before it does anything else, as Linux does.
    fn read(&mut self, read: Box<Read>) {
        let Transfer { name, offset, .. } = &read.transfer;
        if self.ends.get(name) == Some(offset) {
            self.ends.remove(name);
            let end = self.server.answer_read(&read, ReadAnswer::Failed(NtStatus::END_OF_FILE));
            self.urgent.push_back(end.into());
        } else {
            self.reads.push_back(read);
        }
    }

    /// Kept nowhere: the case looks at it when it comes.
    fn write(&mut self, write: &Write) {
        self.open = self.open.saturating_sub(1);
        // What is asked for next is the next piece, not the rest of this one.
        self.ends.retain(|_, end| *end != write.transfer.offset.saturating_add(write.transfer.length.into()));
        let answer = self.server.answer_write(write, WriteAnswer::Count(write.transfer.length));
        self.due.push_back(answer.into());
    }

    pub(super) fn due(&mut self) -> Option<Bytes> {
        self.due.pop_front()
    }

    pub(super) fn urgent(&mut self) -> Option<Bytes> {
        self.urgent.pop_front()
    }

    pub(super) fn has_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// A client that has a request under way for each file it copies has nothing more to say.
    pub(super) fn waits(&self) -> Option<&'static str> {
        // Of one that is known to read without RDMA, too, such a READ is awaited.
        let has_any = !self.reads.is_empty() || (self.facts.read_max == 0 && !self.offers.is_empty());
        (!has_any && self.open == 0 && self.broken.is_none()).then_some("an SMB2 READ")
    }

    /// The next READ or WRITE by RDMA with this verb of the script, and its message.
    pub(in super::super) fn offered(&mut self, verb: RdmaVerb) -> Option<(Offered, Bytes)> {
        let at = self.offers.iter().position(|(offered, _)| offered.verb() == verb)?;
        let (offered, message) = self.offers.remove(at)?;
        self.taken = Some(offered.clone());
        Some((offered, message))
    }

    /// What a case was given and has not answered.
    pub(in super::super) fn taken(&self) -> Option<Offered> {
        self.taken.clone()
    }

    /// Whether there is one.
    pub(in super::super) fn has_offered(&self, verb: RdmaVerb) -> bool {
        self.offers.iter().any(|(offered, _)| offered.verb() == verb)
    }

    /// The answer that all was transferred, and the token that it invalidates.
    pub(in super::super) fn transferred(&mut self, offered: &Offered) -> (Bytes, Option<Token>) {
        self.taken = None;
        let length = offered.transfer().length;
        let answer = match offered {
            Offered::Read(read) => self.server.answer_read(read, ReadAnswer::Written(length)),
            Offered::Write(write) => self.server.answer_write(write, WriteAnswer::Count(length)),
        };
        (answer.into(), offered.transfer().invalidates())
    }

    /// The answer that a READ by RDMA has failed.
    pub(in super::super) fn failed(&mut self, read: &Read, status: NtStatus) -> Bytes {
        self.taken = None;
        self.server.answer_read(read, ReadAnswer::Failed(status)).into()
    }

    /// The answer to a READ by RDMA that says something of its data; before it, if the READ is said to be under way, word of that.
    pub(in super::super) fn covered(
        &mut self,
        read: &Read,
        (remaining, structure): (u32, &[u8]),
        protection: Protection,
        is_late: bool,
        bend: impl FnOnce(&mut Vec<u8>),
    ) -> Vec<Vec<u8>> {
        self.taken = None;
        let mut answer = self.server.plain_answer(read, ReadAnswer::Covered(remaining, structure));
        bend(&mut answer);
        let all = if is_late { announced(answer) } else { vec![answer] };
        all.into_iter().map(|message| self.server.protect_as(message, protection)).collect()
    }

    /// The keys of the client's session, once there are any.
    pub(in super::super) fn keys(&mut self) -> Option<&mut SessionKeys> {
        self.server.keys()
    }

    /// What the client does not offer, and a case needs.
    pub(in super::super) fn lacks(&self) -> Option<&str> {
        self.server.lacks()
    }

    /// Makes the data of a WRITE what they were before the client signed or encrypted them.
    pub(in super::super) fn uncover(&self, offered: &Offered, data: &mut [u8]) -> Result<(), SecurityError> {
        match offered {
            Offered::Write(write) => self.server.uncover(write, data),
            Offered::Read(_) => Ok(()),
        }
    }

    /// The dialect.
    pub(in super::super) fn dialect(&self) -> Dialect {
        self.server.dialect().unwrap_or_default()
    }

    /// Whether no READ waits, but other things of the client do.
    pub(super) fn is_exhausted(&self) -> bool {
        let does_more = self.open > 0 || !self.offers.is_empty();
        self.reads.is_empty() && does_more && self.broken.is_none()
    }

    /// Bytes that the READ that waits longest asks for in its response.
    pub(super) fn read_max(&self) -> Option<u32> {
        self.reads.front().map(|read| read.transfer.length)
    }

    /// The response to the READ that waits longest.
    pub(super) fn question(&mut self, seed: u64, len: usize, room: usize) -> Result<Question, NotMade> {
        if let Some(broken) = &self.broken {
            return Err(NotMade(format!("the client's SMB2 cannot be served: {broken}")));
        }
        let Some(read) = self.reads.front() else {
            if !self.offers.is_empty() && self.open == 0 {
                return Err(NotMade("the client reads by RDMA, and takes no content in a message".into()));
            }
            let open = self.open;
            return Err(NotMade(format!("the client has {open} READs under way, the case needs one more")));
        };
        let wanted = len.saturating_sub(READ_RESPONSE_LEN).max(1);
        let most = read.transfer.length as usize;
        if wanted > most {
            let most = most.saturating_add(READ_RESPONSE_LEN);
            return Err(NotMade(format!("the client takes a message of {most} bytes, the case needs {len}")));
        }
        let written = if self.facts.pads { most } else { wanted };
        if written.saturating_add(WRITE_REQUEST_LEN) > room {
            return Err(NotMade(format!("the script takes {room} bytes, less than the WRITE of {written}")));
        }
        let content = pattern(seed, wanted);
        if self.contents.len() == CONTENTS_MAX {
            self.contents.pop_front();
        }
        self.contents.push_back(content.clone());
        let bytes = self.server.answer_read(read, ReadAnswer::Inline(&content)).into();
        if wanted < most {
            let end = read.transfer.offset.saturating_add(wanted as u64);
            self.ends.insert(read.transfer.name.clone(), end);
        }
        self.reads.pop_front();
        self.open += 1;
        Ok(Question { bytes, awaits: Awaits::Write(content) })
    }

    /// Whether the client has written this content.
    fn is_copy(&self, content: &[u8], written: &[u8]) -> bool {
        match written.strip_prefix(content) {
            Some(rest) => rest.is_empty() || (self.facts.pads && rest.iter().all(|byte| *byte == 0)),
            None => false,
        }
    }

    /// How a message of the client stands to content it was given. A client that copies several files at a time writes that of
    /// others, too.
    pub(super) fn judge(&self, content: &[u8], message: &[u8]) -> Match {
        match first_write(message) {
            Ok(Some(written)) if self.is_copy(content, written) => Match::Answer,
            Ok(Some(written)) if self.contents.iter().any(|other| self.is_copy(other, written)) => {
                Match::Other
            }
            Ok(Some(written)) => Match::Wrong(different(content, written)),
            Ok(None) => Match::Other,
            Err(error) => Match::Wrong(format!("an SMB2 request should come, not one of which {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_behind_the_content_are_a_copy_of_a_client_that_pads_and_of_no_other() {
        let serving = |pads| Serving::new(ClientFacts { pads, ..ClientFacts::default() });
        for (written, exact, padded) in [
            (&b"content"[..], true, true),
            (b"content\0\0", false, true),
            (b"content\0x", false, false),
            (b"conten", false, false),
            (b"conten\0", false, false),
            (b"", false, false),
        ] {
            assert_eq!(serving(false).is_copy(b"content", written), exact, "{written:?}");
            assert_eq!(serving(true).is_copy(b"content", written), padded, "{written:?}");
        }
    }
}
