//! The script as a client of an SMB2 server. What a server is found to answer is used: without a session ECHO, and requests
//! that are refused for want of one; with a share, WRITE and READ.

use std::fmt;

use bytes::Bytes;
use smbd_core::RdmaVerb;
use smbd_smb2::wire::{Command, Dialect, Elements, Header, NtStatus, ReadResponse, WireError};

use super::super::script::pattern;
use super::{Awaits, Match, NotMade, Question, Rdma, different};
use crate::smb2::client::{By, Client, Requests as Building, User, Wants};
use crate::smb2::{READ_RESPONSE_LEN, WRITE_REQUEST_LEN};

/// Bytes of an ECHO, either way.
const ECHO_LEN: usize = 68;
/// The same before another element.
const ECHO_PADDED: usize = 72;
/// Bytes of a READ Request.
const READ_REQUEST_LEN: usize = 113;
/// Bytes of a WRITE Response.
const WRITE_RESPONSE_LEN: usize = 80;
/// Bytes behind the last request that servers take.
const PADDING_MAX: usize = 7;
/// Bytes in the file that is read.
const CONTENT_LEN: usize = 192 * 1024;
/// Bytes of one WRITE of it.
const PIECE: usize = 32 * 1024;
/// Where WRITEs go, in bytes: behind what is read.
const WRITES_AT: u64 = 1 << 20;

/// The content of the file that is read.
pub(in super::super) fn content() -> Bytes {
    pattern(0x5ead, CONTENT_LEN)
}

/// What an SMB2 server was found to answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerFacts {
    /// The dialect that it chose.
    pub dialect: Dialect,
    /// Without a session, ECHO.
    pub echo: bool,
    /// Without a session, requests that need one: with an error.
    pub refusals: bool,
    /// Several requests in one message.
    pub compounds: bool,
    /// The longest message that was seen to be answered, in bytes.
    pub longest: usize,
    /// The share on which a guest may read and write: `\\server\share`.
    pub share: Option<String>,
    /// A user who may do that as well.
    pub user: Option<User>,
    /// READ and WRITE by RDMA.
    pub rdma: Rdma,
}

impl fmt::Display for ServerFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an SMB2 server, dialect {}", self.dialect)?;
        if let Some(share) = &self.share {
            write!(f, ", a guest reads and writes at {share}")?;
        } else {
            let yes = |does| if does { "answers" } else { "does not answer" };
            write!(f, "; without a session it {} ECHO", yes(self.echo))?;
            write!(f, " and {} other requests", yes(self.refusals))?;
        }
        write!(f, "; messages of {} bytes are answered", self.longest)?;
        f.write_str(if self.compounds {
            ", and several requests in one"
        } else {
            ", but not several requests in one"
        })?;
        match &self.rdma {
            Rdma::Untried => Ok(()),
            Rdma::Done => f.write_str("; it reads and writes buffers of the client"),
            Rdma::Not(why) => write!(f, "; it uses no buffers of the client: {why}"),
        }
    }
}

/// The client's side of one connection.
#[derive(Debug)]
pub(in super::super) struct Requests {
    client: Client,
    facts: ServerFacts,
    broken: Option<WireError>,
}

impl Requests {
    pub(super) fn new(facts: ServerFacts) -> Self {
        let wants = Wants { share: facts.share.clone(), echo: facts.echo, ..Wants::default() };
        Self { client: Client::new(wants), facts, broken: None }
    }

    /// Takes in a message of the server.
    pub(super) fn heard(&mut self, message: &[u8]) {
        if let Err(error) = self.client.take(message) {
            self.broken.get_or_insert(error);
        }
    }

    pub(super) fn due(&mut self) -> Option<Bytes> {
        match self.client.next_request() {
            Ok(message) => message.map(Bytes::from),
            Err(error) => {
                self.broken.get_or_insert(error);
                None
            }
        }
    }

    pub(super) fn has_due(&self) -> bool {
        self.client.has_next()
    }

    pub(super) fn waits(&self) -> Option<&'static str> {
        if self.broken.is_some() { None } else { self.client.awaits() }
    }

    pub(super) const fn dialect(&self) -> Dialect {
        self.client.dialect()
    }

    /// A WRITE of these bytes.
    pub(in super::super) fn write(&mut self, data: &[u8], at: u64) -> Result<Question, NotMade> {
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        let mut requests = Building::new(&mut self.client);
        let made = requests.write(data, at);
        finished(made, requests, None)
    }

    /// A WRITE of a piece of the content.
    pub(super) fn fill(&mut self, piece: usize) -> Option<Result<Question, NotMade>> {
        let at = piece.saturating_mul(PIECE);
        if at >= CONTENT_LEN {
            return None;
        }
        Some(self.write(&content().slice(at..(at + PIECE).min(CONTENT_LEN)), at as u64))
    }

    /// A NEGOTIATE once more: with the next MessageId, or the same bytes as the first.
    pub(super) fn negotiate(&mut self, next: bool) -> Result<Bytes, NotMade> {
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        let mut other = Client::new(Wants::default());
        let mut requests = Building::new(if next { &mut self.client } else { &mut other });
        requests.negotiate().map_err(|error| NotMade(error.to_string()))?;
        Ok(requests.finish().0.into())
    }

    /// Bytes of content that one WRITE to the file may have.
    pub(in super::super) fn piece(&self) -> usize {
        self.facts.longest.saturating_sub(WRITE_REQUEST_LEN).clamp(1, PIECE)
    }

    /// A READ of the file, so many bytes from an offset on.
    pub(in super::super) fn read(&mut self, length: u32, at: u64) -> Result<Question, NotMade> {
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        let mut requests = Building::new(&mut self.client);
        let made = requests.read(length, at);
        finished(made, requests, None)
    }

    /// The same by RDMA, with the script's buffers: a READ, for which the server writes to them ([`RdmaVerb::Write`]), or a
    /// WRITE.
    pub(in super::super) fn by(
        &mut self,
        verb: RdmaVerb,
        by: &By<'_>,
        length: u32,
        at: u64,
    ) -> Result<Question, NotMade> {
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        if self.client.file().is_none() {
            return Err(NotMade("without a share the server uses no buffers".into()));
        }
        self.has_credits(length.div_ceil(65_536).into())?;
        let mut requests = Building::new(&mut self.client);
        let made = match verb {
            RdmaVerb::Write => requests.read_by(by, length, at),
            RdmaVerb::Read => requests.write_by(by, length, at),
        };
        let made = finished(made, requests, None)?;
        self.is_answered(&made)?;
        Ok(made)
    }

    /// What the server refused, or said that is not SMB2.
    fn refusal(&self) -> Option<NotMade> {
        if let Some(error) = &self.broken {
            return Some(NotMade(format!("the server's SMB2 cannot be read: {error}")));
        }
        let refused = self.client.refused()?;
        Some(NotMade(format!("the server refuses SMB2 {}: {}", refused.command, refused.status)))
    }

    pub(super) fn question(&mut self, seed: u64, len: usize, answer: usize) -> Result<Question, NotMade> {
        if let Some(refusal) = self.refusal() {
            return Err(refusal);
        }
        let made = if self.client.file().is_some() {
            self.with_file(seed, len, answer)?
        } else {
            self.without_session(seed, len, answer)?
        };
        self.is_answered(&made)?;
        Ok(made)
    }

    /// Whether the server takes a message so long.
    fn is_answered(&self, made: &Question) -> Result<(), NotMade> {
        let (len, longest) = (made.bytes.len(), self.facts.longest);
        if len <= longest {
            return Ok(());
        }
        Err(NotMade(format!(
            "the server is not known to answer a message of {len} bytes, {longest} was the longest"
        )))
    }

    /// ECHOs for a long answer, and a WRITE of nobody for a long request.
    fn without_session(&mut self, seed: u64, len: usize, answer: usize) -> Result<Question, NotMade> {
        let facts = &self.facts;
        let echoes = answer.saturating_sub(ECHO_LEN).div_ceil(ECHO_PADDED);
        if echoes > 0 && !(facts.echo && facts.compounds) {
            return Err(NotMade(format!("without a session the server has no answer of {answer} bytes")));
        }
        let rest = len.saturating_sub(echoes * ECHO_PADDED);
        let is_echo = facts.echo && rest <= ECHO_LEN + PADDING_MAX;
        if !is_echo && !facts.refusals {
            return Err(NotMade(format!("without a session the server answers no request of {len} bytes")));
        }
        self.has_credits(echoes as u64 + 1)?;
        let data = pattern(seed, rest.saturating_sub(WRITE_REQUEST_LEN).max(1));
        let mut requests = Building::new(&mut self.client);
        let made = (|| {
            for _ in 0..echoes {
                requests.echo()?;
            }
            if is_echo {
                requests.echo()?;
                requests.pad(len);
                Ok(())
            } else {
                requests.write(&data, 0)
            }
        })();
        finished(made, requests, None)
    }

    /// A WRITE for a long request, and a READ for a long answer behind it.
    fn with_file(&mut self, seed: u64, len: usize, answer: usize) -> Result<Question, NotMade> {
        let wanted = answer.saturating_sub(READ_RESPONSE_LEN).max(1);
        let reads = answer > WRITE_RESPONSE_LEN;
        if reads && wanted > CONTENT_LEN {
            return Err(NotMade(format!("the file has no {wanted} bytes to read")));
        }
        let writes = !reads || len > READ_REQUEST_LEN + PADDING_MAX;
        if reads && writes && !self.facts.compounds {
            return Err(NotMade("the server does not answer several requests with one message".into()));
        }
        // The READ begins at a multiple of 8.
        let before = if reads { len.saturating_sub(READ_REQUEST_LEN) / 8 * 8 } else { len };
        let data = pattern(seed, before.saturating_sub(WRITE_REQUEST_LEN).max(1));
        let credits = |bytes: usize| bytes.div_ceil(65_536) as u64;
        self.has_credits(credits(wanted) + credits(data.len()))?;
        let mut requests = Building::new(&mut self.client);
        let made = (|| {
            if writes {
                requests.write(&data, WRITES_AT)?;
            }
            if reads {
                requests.read(u32::try_from(wanted).unwrap_or(u32::MAX), 0)?;
                requests.pad(len);
            }
            Ok(())
        })();
        finished(made, requests, reads.then(|| content().slice(..wanted)))
    }

    fn has_credits(&self, needed: u64) -> Result<(), NotMade> {
        let had = self.client.credits();
        if had >= needed {
            return Ok(());
        }
        Err(NotMade(format!("the server grants {had} SMB2 credits, the case needs {needed}")))
    }
}

fn finished(
    made: Result<(), WireError>,
    requests: Building<'_>,
    content: Option<Bytes>,
) -> Result<Question, NotMade> {
    made.map_err(|error| NotMade(error.to_string()))?;
    let count = requests.count();
    let (message, id) = requests.finish();
    Ok(Question { bytes: message.into(), awaits: Awaits::Responses { id, count, content } })
}

/// How a message of the server stands to so many requests, of which the last has this MessageId, and to the content that a READ
/// among them asks for.
pub(super) fn judge((id, count): (u64, usize), content: Option<&[u8]>, message: &[u8]) -> Match {
    let mut is_answer = false;
    let mut responses = 0;
    let mut wrong = None;
    for element in Elements::new(message) {
        let (header, bytes) = match element {
            Ok(element) => (element.header, element.bytes),
            Err(error) => {
                return Match::Wrong(format!("an SMB2 response should come, not one of which {error}"));
            }
        };
        is_answer |= is_final(&header) && header.message_id.0 == id;
        responses += 1;
        if let (Some(content), Command::READ, NtStatus::SUCCESS) = (content, header.command, header.status) {
            match ReadResponse::parse(bytes) {
                Ok(response) if response.data == content => {}
                Ok(response) => wrong = Some(different(content, response.data)),
                Err(error) => wrong = Some(error.to_string()),
            }
        }
    }
    // A READ that takes longer is answered behind the others, in a message of its own (3.3.4.2).
    let is_whole = responses == count || (content.is_some() && responses < count);
    match (is_answer && is_whole, wrong) {
        (true, None) => Match::Answer,
        (true, Some(text)) => Match::Wrong(text),
        (false, _) => Match::Other,
    }
}

/// Whether it is the response to a NEGOTIATE, which says yes.
pub(in super::super) fn is_negotiated(message: &[u8]) -> bool {
    let headers = Elements::new(message).flatten().map(|element| element.header);
    let mut answers = headers.filter(|header| header.is_response() && header.command == Command::NEGOTIATE);
    answers.any(|header| header.status == NtStatus::SUCCESS)
}

/// Whether it is interim answers of an SMB2 server and nothing else: it is at work, and may find out yet what is wrong (3.3.4.2).
pub(in super::super) fn is_interim(message: &[u8]) -> bool {
    let mut elements = Elements::new(message).peekable();
    let is_interim = |header: &Header| header.is_response() && header.status == NtStatus::PENDING;
    elements.peek().is_some()
        && elements.all(|element| element.is_ok_and(|element| is_interim(&element.header)))
}

fn is_final(header: &Header) -> bool {
    header.is_response() && header.status != NtStatus::PENDING
}

#[cfg(test)]
mod tests {
    use smbd_smb2::wire::{ErrorResponse, Flags, write_element};

    use super::*;
    use crate::smb2::announced;

    #[test]
    fn word_that_a_request_is_under_way_is_interim_and_its_answer_is_not() {
        let header = Header {
            status: NtStatus::ACCESS_DENIED,
            command: Command::READ,
            flags: Flags::default().with(Flags::SERVER_TO_REDIR, true),
            ..Header::default()
        };
        let mut answer = Vec::new();
        write_element(&mut answer, &header, &ErrorResponse::default()).unwrap();
        let messages = announced(answer);
        let seen: Vec<_> = messages.iter().map(|message| is_interim(message)).collect();
        assert_eq!(seen, [true, false]);
        assert!(!is_interim(&[]) && !is_interim(&messages[0][..40]), "nor is what is no message");
    }
}
