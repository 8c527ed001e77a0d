//! What a broker tells an owner, beside answers.

use std::net::SocketAddr;

use super::error::WireError;
use super::packet::{Kind, Message, Packet};
use super::reader::Reader;

const NEW: Kind = Kind(0x0200);
const MOVED: Kind = Kind(0x0201);
const FAULT: Kind = Kind(0x0202);

/// Why a connection came to an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u16)]
pub enum Rule {
    /// It binds a session of this owner.
    SessionId = 1,
    /// Its client is one of this owner.
    ClientGuid = 2,
    /// No rule matched.
    Default = 3,
}

impl Rule {
    fn of(number: u16) -> Option<Self> {
        [Self::SessionId, Self::ClientGuid, Self::Default].into_iter().find(|rule| *rule as u16 == number)
    }
}

/// A connection that has come to an owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Newcomer {
    /// The connection: a number that the broker gives to no other.
    pub connection: u64,
    /// Why it came here.
    pub rule: Rule,
    /// Whether NEGOTIATE was answered, by the broker or by a former owner. Both messages come first, as past ones.
    pub is_negotiated: bool,
    /// The longest message that it sends, in bytes.
    pub max_send_size: u32,
    /// The longest transfer, in bytes.
    pub max_read_write_size: u32,
    /// The address of the client.
    pub peer: String,
}

impl Newcomer {
    /// The address of the client; 0.0.0.0:0 if the broker tells none.
    #[must_use]
    pub fn peer_addr(&self) -> SocketAddr {
        self.peer.parse().unwrap_or(SocketAddr::from(([0; 4], 0)))
    }
}

/// What a broker tells an owner, on its socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// A connection has come. The packet has a file descriptor: the socket of the connection.
    New(Newcomer),
    /// A connection was moved to another owner. Its socket ends.
    Moved {
        /// The connection.
        connection: u64,
    },
    /// The last message: what the owner has done wrong.
    Fault {
        /// For people.
        why: String,
    },
}

impl Notice {
    /// That of a message; `None` if it is none.
    ///
    /// # Errors
    /// A field is wrong.
    pub fn parse(message: &Message<'_>) -> Result<Option<Self>, WireError> {
        Ok(Some(match message.kind {
            NEW => {
                let mut reader = Reader::new("NEW", message.body);
                let connection = reader.u64("Connection")?;
                let number = reader.u16("Rule")?;
                let rule = Rule::of(number);
                reader.check("Rule", number.into(), rule.is_some(), "it is 1, 2 or 3")?;
                let Some(rule) = rule else { return Ok(None) };
                let is_negotiated = reader.flag("IsNegotiated")?;
                let max_send_size = reader.u32("MaxSendSize")?;
                let max_read_write_size = reader.u32("MaxReadWriteSize")?;
                let peer = reader.text("Peer")?.to_owned();
                reader.end()?;
                let newcomer =
                    Newcomer { connection, rule, is_negotiated, max_send_size, max_read_write_size, peer };
                Self::New(newcomer)
            }
            MOVED => {
                let mut reader = Reader::new("MOVED", message.body);
                let connection = reader.u64("Connection")?;
                reader.end()?;
                Self::Moved { connection }
            }
            FAULT => {
                let mut reader = Reader::new("FAULT", message.body);
                let why = reader.text("Why")?.to_owned();
                reader.end()?;
                Self::Fault { why }
            }
            Kind(_) => return Ok(None),
        }))
    }

    /// Adds it to a packet.
    pub fn write(&self, packet: &mut Packet) {
        match self {
            Self::New(newcomer) => packet.push(NEW, 0, |to| {
                to.u64(newcomer.connection);
                to.u16(newcomer.rule as u16);
                to.u16(newcomer.is_negotiated.into());
                to.u32(newcomer.max_send_size);
                to.u32(newcomer.max_read_write_size);
                to.text(&newcomer.peer);
            }),
            Self::Moved { connection } => packet.push(MOVED, 0, |to| to.u64(*connection)),
            Self::Fault { why } => packet.push(FAULT, 0, |to| to.text(why)),
        }
    }
}
