//! What a broker answers.

use super::error::WireError;
use super::packet::{Kind, Message, Packet};
use super::parameters::Limits;
use super::reader::{Reader, Writer};
use super::refusal::Refusal;

const DONE: Kind = Kind(0x0100);
const WELCOME: Kind = Kind(0x0101);
const MEMORY: Kind = Kind(0x0102);
const ATTACHED: Kind = Kind(0x0103);
const REFUSED: Kind = Kind(0x0104);

/// The answer to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// That of the call.
    pub tag: u64,
    /// What came of it.
    pub result: Result<Reply, Refusal>,
}

/// What a call gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// It is done.
    Done,
    /// To HELLO.
    Welcome(Welcome),
    /// To GET_MEM_PARAMS. If `count` is not 0, the packet has a file descriptor: a sealed memfd.
    Memory(Memory),
    /// To ATTACH. The packet has a file descriptor: the new socket of the connection. The old one has what the broker had said before, and
    /// ends behind it.
    Attached {
        /// The connection.
        connection: u64,
    },
}

/// Who the broker is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Welcome {
    /// Its [`VERSION`](super::VERSION).
    pub version: u32,
    /// A number of this process. A broker that was started again has another.
    pub instance: u64,
    /// What an owner may use.
    pub limits: Limits,
}

/// The slots of an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The first slot of the memfd.
    pub first: u16,
    /// How many slots it has. They lie in it one behind the other, from byte 0 on.
    pub count: u16,
    /// All slots of the owner, these among them.
    pub total: u16,
}

impl Answer {
    /// That of a message; `None` if it is no answer.
    ///
    /// # Errors
    /// A field is wrong.
    pub fn parse(message: &Message<'_>) -> Result<Option<Self>, WireError> {
        let result = match message.kind {
            DONE => {
                Reader::new("DONE", message.body).end()?;
                Ok(Reply::Done)
            }
            WELCOME => Ok(Reply::Welcome(Welcome::parse(Reader::new("WELCOME", message.body))?)),
            MEMORY => {
                let mut reader = Reader::new("MEMORY", message.body);
                let (first, count) = (reader.u16("First")?, reader.u16("Count")?);
                let total = reader.u16("Total")?;
                reader.end()?;
                Ok(Reply::Memory(Memory { first, count, total }))
            }
            ATTACHED => {
                let mut reader = Reader::new("ATTACHED", message.body);
                let connection = reader.u64("Connection")?;
                reader.end()?;
                Ok(Reply::Attached { connection })
            }
            REFUSED => {
                let mut reader = Reader::new("REFUSED", message.body);
                let number = reader.u16("Reason")?;
                let refusal = Refusal::of(number);
                reader.check("Reason", number.into(), refusal.is_some(), "it is 1 to 11")?;
                reader.end()?;
                match refusal {
                    Some(refusal) => Err(refusal),
                    None => return Ok(None),
                }
            }
            Kind(_) => return Ok(None),
        };
        Ok(Some(Self { tag: message.tag, result }))
    }

    /// Adds it to a packet.
    pub fn write(&self, packet: &mut Packet) {
        match self.result {
            Ok(Reply::Done) => packet.push(DONE, self.tag, |_| {}),
            Ok(Reply::Welcome(welcome)) => packet.push(WELCOME, self.tag, |to| welcome.write(to)),
            Ok(Reply::Memory(Memory { first, count, total })) => packet.push(MEMORY, self.tag, |to| {
                to.u16(first);
                to.u16(count);
                to.u16(total);
            }),
            Ok(Reply::Attached { connection }) => packet.push(ATTACHED, self.tag, |to| to.u64(connection)),
            Err(refusal) => packet.push(REFUSED, self.tag, |to| to.u16(refusal.number())),
        }
    }
}

impl Welcome {
    fn parse(mut reader: Reader<'_>) -> Result<Self, WireError> {
        let version = reader.u32("Version")?;
        let instance = reader.u64("Instance")?;
        let limits = Limits::parse(&mut reader)?;
        reader.end()?;
        Ok(Self { version, instance, limits })
    }

    fn write(&self, to: &mut Writer<'_>) {
        to.u32(self.version);
        to.u64(self.instance);
        self.limits.write(to);
    }
}
