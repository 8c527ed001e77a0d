//! What the script and the subject's upper layer say to each other, so that it shows which messages arrive.
//!
//! A case asks for a message of some length ([`Peer::message`](super::Peer::message)) and waits for its answer
//! ([`Peer::answered`](super::Peer::answered)). What both are depends on the upper layer ([`Upper`]): one that returns messages,
//! an SMB2 server, or an SMB2 client. A message counts as delivered when its answer comes, whatever that says.

mod assembly;
mod requests;
mod serving;

use std::fmt;
use std::ops::Deref;

use bytes::Bytes;
use smbd_core::wire::DataTransfer;
use smbd_smb2::wire::Dialect;

pub use requests::ServerFacts;
pub(super) use requests::content;
pub(super) use requests::{is_interim, is_negotiated};
pub use serving::ClientFacts;
pub(super) use serving::Offered;

use super::script::pattern;
use crate::catalogue::UnderTest;
use assembly::Assembly;
pub(super) use requests::Requests;
pub(super) use serving::Serving;

/// What the upper layer of a subject is found to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Upper {
    /// It returns each message as it came, in order. It may carry out the requests of `smbd_tools::exercise`.
    Echo(Rdma),
    /// It is an SMB2 server.
    Server(ServerFacts),
    /// It is an SMB2 client that copies a file.
    Client(ClientFacts),
    /// It does nothing that the script could wait for; why.
    Silent(String),
}

/// Whether an upper layer has RDMA done with registered memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Rdma {
    /// That was not tried.
    #[default]
    Untried,
    /// It does.
    Done,
    /// It does not; why.
    Not(String),
}

impl Default for Upper {
    fn default() -> Self {
        Self::Echo(Rdma::Untried)
    }
}

impl Upper {
    /// Why this upper layer has no RDMA done; `None` inside if it has. `None` if only the target knows.
    #[must_use]
    pub(super) fn lacks_rdma(&self) -> Option<Option<String>> {
        let rdma = match self {
            Self::Echo(Rdma::Untried) | Self::Silent(_) => return None,
            Self::Echo(rdma) => rdma,
            Self::Server(facts) => &facts.rdma,
            Self::Client(facts) => &facts.rdma,
        };
        Some(match rdma {
            Rdma::Done => None,
            Rdma::Untried => Some("the peer's upper layer was not seen to use buffers".into()),
            Rdma::Not(why) => Some(format!("the peer's upper layer uses no buffers: {why}")),
        })
    }
}

impl Upper {
    /// Why a case that is about READ and WRITE by RDMA cannot be played; `None` if it can.
    #[must_use]
    pub(super) fn lacks_smb2(&self) -> Option<String> {
        match self {
            Self::Echo(_) => Some("the peer's upper layer is not SMB2".into()),
            Self::Silent(why) => Some(why.clone()),
            Self::Server(_) | Self::Client(_) => self.lacks_rdma().flatten(),
        }
    }
}

impl fmt::Display for Upper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Echo(Rdma::Untried | Rdma::Not(_)) => f.write_str("it returns each message"),
            Self::Echo(Rdma::Done) => f.write_str("it returns each message, and uses buffers when asked to"),
            Self::Server(facts) => facts.fmt(f),
            Self::Client(facts) => facts.fmt(f),
            Self::Silent(why) => f.write_str(why),
        }
    }
}

/// The same for both sides that may be under test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uppers {
    /// Of one that accepts.
    pub acceptor: Upper,
    /// Of one that connects.
    pub initiator: Upper,
}

impl Uppers {
    /// Of one in this role.
    #[must_use]
    pub const fn of(&self, role: UnderTest) -> &Upper {
        match role {
            UnderTest::Acceptor | UnderTest::Both => &self.acceptor,
            UnderTest::Initiator => &self.initiator,
        }
    }

    /// The same with what was found of one in this role.
    #[must_use]
    pub fn with(mut self, role: UnderTest, found: Upper) -> Self {
        match role {
            UnderTest::Acceptor | UnderTest::Both => self.acceptor = found,
            UnderTest::Initiator => self.initiator = found,
        }
        self
    }
}

/// A message for the subject's upper layer, and what tells its answer from others. It is sent as the case likes, whole or in
/// fragments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    bytes: Bytes,
    awaits: Awaits,
}

/// What answers a message.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Awaits {
    /// The same bytes.
    Itself,
    /// A message of so many SMB2 responses, one to the last request, with this MessageId; the content of a READ among them.
    Responses { id: u64, count: usize, content: Option<Bytes> },
    /// An SMB2 WRITE with this content.
    Write(Bytes),
}

impl Question {
    /// Its bytes.
    pub(super) fn bytes(self) -> Bytes {
        self.bytes
    }
}

impl Deref for Question {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// How a message of the subject stands to a message of the script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Match {
    /// It is the answer.
    Answer,
    /// It is in the place of the answer, and not as it should be.
    Wrong(String),
    /// It has nothing to do with it.
    Other,
}

/// Why a message cannot be made: a property of the subject's upper layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NotMade(pub(super) String);

/// The talk with the upper layer on one connection.
#[derive(Debug)]
pub(super) struct Dialogue {
    assembly: Assembly,
    pub(super) speaks: Speaks,
}

#[derive(Debug)]
pub(super) enum Speaks {
    Echo,
    Server(Box<Requests>),
    Client(Box<Serving>),
}

impl Dialogue {
    pub(super) fn with(upper: &Upper) -> Self {
        let speaks = match upper {
            Upper::Echo(_) | Upper::Silent(_) => Speaks::Echo,
            Upper::Server(facts) => Speaks::Server(Box::new(Requests::new(facts.clone()))),
            Upper::Client(facts) => Speaks::Client(Box::new(Serving::new(facts.clone()))),
        };
        Self { assembly: Assembly::default(), speaks }
    }

    /// Takes in a Data Transfer message of the subject, whoever reads it besides. If it is the last fragment of what nobody else
    /// is to read, because it is answered without the case: the number of its fragments.
    pub(super) fn heard(&mut self, header: &DataTransfer, payload: &[u8]) -> Option<usize> {
        let (message, fragments) = self.assembly.take(header, payload)?;
        match &mut self.speaks {
            Speaks::Echo => None,
            Speaks::Server(requests) => {
                requests.heard(&message);
                None
            }
            Speaks::Client(serving) => serving.heard(&message).then_some(fragments),
        }
    }

    /// The dialect that an SMB2 server chose.
    pub(super) fn dialect(&self) -> Dialect {
        match &self.speaks {
            Speaks::Server(requests) => requests.dialect(),
            Speaks::Echo | Speaks::Client(_) => Dialect::default(),
        }
    }

    /// Whether it is an upper layer that returns messages, and carries out the requests of `smbd_tools::exercise`.
    pub(super) const fn exercises(&self) -> bool {
        matches!(self.speaks, Speaks::Echo)
    }

    /// Whether it is an SMB2 client.
    pub(super) const fn is_client(&self) -> bool {
        matches!(self.speaks, Speaks::Client(_))
    }

    /// A piece of the content that cases read from a server's file, written to its place; `None` behind the last.
    pub(super) fn fill(&mut self, piece: usize) -> Option<Result<Question, NotMade>> {
        match &mut self.speaks {
            Speaks::Server(requests) => requests.fill(piece),
            Speaks::Echo | Speaks::Client(_) => None,
        }
    }

    /// Bytes that a client asks for with one READ, if they may be in its response.
    pub(super) fn read_max(&self) -> Option<u32> {
        match &self.speaks {
            Speaks::Client(serving) => serving.read_max(),
            Speaks::Echo | Speaks::Server(_) => None,
        }
    }

    /// Whether the upper layer answers in the order of the messages.
    pub(super) const fn keeps_order(&self) -> bool {
        matches!(self.speaks, Speaks::Echo)
    }

    /// What has to be said before the next question, if anything is to be.
    pub(super) fn due(&mut self) -> Option<Bytes> {
        match &mut self.speaks {
            Speaks::Echo => None,
            Speaks::Server(requests) => requests.due(),
            Speaks::Client(serving) => serving.due(),
        }
    }

    /// What has to be said at once, whatever the case does.
    pub(super) fn urgent(&mut self) -> Option<Bytes> {
        match &mut self.speaks {
            Speaks::Echo | Speaks::Server(_) => None,
            Speaks::Client(serving) => serving.urgent(),
        }
    }

    /// Whether [`due`](Self::due) has something.
    pub(super) fn has_due(&self) -> bool {
        match &self.speaks {
            Speaks::Echo => false,
            Speaks::Server(requests) => requests.has_due(),
            Speaks::Client(serving) => serving.has_due(),
        }
    }

    /// Whether questions wait for what the subject says next.
    pub(super) fn waits(&self) -> Option<&'static str> {
        match &self.speaks {
            Speaks::Echo => None,
            Speaks::Server(requests) => requests.waits(),
            Speaks::Client(serving) => serving.waits(),
        }
    }

    /// A message of `len` bytes, or of the least that this upper layer has if that is more, whose answer has `answer` bytes
    /// at least, and not more than `room`, which is what the script takes.
    pub(super) fn question(
        &mut self,
        seed: u64,
        (len, answer): (usize, usize),
        room: usize,
    ) -> Result<Question, NotMade> {
        if answer > room {
            return Err(NotMade(format!(
                "the case needs an answer of {answer} bytes, the script takes {room}"
            )));
        }
        match &mut self.speaks {
            Speaks::Echo => Ok(Question { bytes: pattern(seed, len.max(answer)), awaits: Awaits::Itself }),
            Speaks::Server(requests) => requests.question(seed, len, answer),
            Speaks::Client(serving) => serving.question(seed, len.max(answer), room),
        }
    }

    /// A NEGOTIATE for a server that has answered one.
    pub(super) fn smb2_negotiate(&mut self, next: bool) -> Result<Bytes, NotMade> {
        match &mut self.speaks {
            Speaks::Server(requests) => requests.negotiate(next),
            Speaks::Echo | Speaks::Client(_) => {
                Err(NotMade("the case is about an SMB2 server, the upper layer is none".into()))
            }
        }
    }

    /// Whether a client might ask for more, if it were given time.
    pub(super) fn may_ask_for_more(&self) -> bool {
        matches!(&self.speaks, Speaks::Client(serving) if serving.is_exhausted())
    }

    /// How a message of the subject stands to a question.
    pub(super) fn judge(&self, question: &Question, message: &[u8]) -> Match {
        match &question.awaits {
            Awaits::Itself if message == &question.bytes[..] => Match::Answer,
            Awaits::Itself => Match::Wrong(different(&question.bytes, message)),
            Awaits::Responses { id, count, content } => {
                requests::judge((*id, *count), content.as_deref(), message)
            }
            Awaits::Write(content) => match &self.speaks {
                Speaks::Client(serving) => serving.judge(content, message),
                Speaks::Echo | Speaks::Server(_) => Match::Other,
            },
        }
    }
}

/// How bytes differ from those that were sent.
pub(super) fn different(sent: &[u8], came: &[u8]) -> String {
    let wrong = came.iter().zip(sent).position(|(came, sent)| came != sent);
    let place = wrong.unwrap_or_else(|| came.len().min(sent.len()));
    format!(
        "{} bytes should come back as they were sent, {} came, different from byte {place} on",
        sent.len(),
        came.len()
    )
}
