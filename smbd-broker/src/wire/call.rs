//! What an owner asks of a broker.

use smbd_smb2::wire::Guid;

use super::error::WireError;
use super::packet::{Kind, Message, Packet};
use super::parameters::Parameters;
use super::reader::Reader;

const HELLO: Kind = Kind(0x0001);
const SET_PARAMETERS: Kind = Kind(0x0002);
const SET_SESSION_ID: Kind = Kind(0x0003);
const SET_CLIENT_GUID: Kind = Kind(0x0004);
const GET_MEM_PARAMS: Kind = Kind(0x0005);
const LISTEN: Kind = Kind(0x0006);
const ATTACH: Kind = Kind(0x0007);

/// A call, and the tag of its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Any number. The answer has it.
    pub tag: u64,
    /// What is asked.
    pub call: Call,
}

/// What an owner asks of a broker, on its socket. Each has one [`Answer`](super::Answer).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// The first call. Answered with [`Reply::Welcome`](super::Reply::Welcome).
    Hello {
        /// [`VERSION`](super::VERSION).
        version: u32,
        /// For the log and the status: who it is.
        name: String,
    },
    /// SET_PARAMETERS: how connections are configured that come from now on. Only the default acceptor may.
    SetParameters(Box<Parameters>),
    /// SET_SESSION_ID: connections that bind this session come to this owner, or do not any more.
    SetSessionId {
        /// MS-SMB2 2.2.1.2. Not 0.
        session_id: u64,
        /// Whether they come.
        is_held: bool,
    },
    /// Connections of this client come to this owner, or do not any more.
    SetClientGuid {
        /// ClientGuid of NEGOTIATE (MS-SMB2 2.2.3).
        client_guid: Guid,
        /// Whether they come.
        is_held: bool,
    },
    /// GET_MEM_PARAMS: makes memory until there are so many slots. Answered with [`Reply::Memory`](super::Reply::Memory), and with a file
    /// descriptor if there are new ones.
    GetMemParams {
        /// How many slots the owner wants to have.
        slots: u16,
    },
    /// Connections that no rule matches come to this owner, the default acceptor, or do not any more.
    Listen {
        /// Whether they come.
        is_on: bool,
    },
    /// A connection is moved to this owner. The socket of the connection comes with the packet, as a file descriptor. Answered with
    /// [`Reply::Attached`](super::Reply::Attached) and a new socket when all transfers of the former owner have ended and all of its
    /// messages were handed to the transport.
    Attach,
}

impl Call {
    /// Its name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Hello { .. } => "HELLO",
            Self::SetParameters(_) => "SET_PARAMETERS",
            Self::SetSessionId { .. } => "SET_SESSION_ID",
            Self::SetClientGuid { .. } => "SET_CLIENT_GUID",
            Self::GetMemParams { .. } => "GET_MEM_PARAMS",
            Self::Listen { .. } => "LISTEN",
            Self::Attach => "ATTACH",
        }
    }
}

impl Request {
    /// That of a message.
    ///
    /// # Errors
    /// It is none, or a field is wrong.
    pub fn parse(message: &Message<'_>) -> Result<Self, WireError> {
        let call = match message.kind {
            HELLO => {
                let mut reader = Reader::new("HELLO", message.body);
                let version = reader.u32("Version")?;
                let name = reader.text("Name")?.to_owned();
                reader.end()?;
                Call::Hello { version, name }
            }
            SET_PARAMETERS => {
                let reader = Reader::new("SET_PARAMETERS", message.body);
                Call::SetParameters(Box::new(Parameters::parse(reader)?))
            }
            SET_SESSION_ID => {
                let mut reader = Reader::new("SET_SESSION_ID", message.body);
                let session_id = reader.u64("SessionId")?;
                reader.check("SessionId", session_id, session_id != 0, "it is not 0")?;
                let is_held = reader.flag("IsHeld")?;
                reader.end()?;
                Call::SetSessionId { session_id, is_held }
            }
            SET_CLIENT_GUID => {
                let mut reader = Reader::new("SET_CLIENT_GUID", message.body);
                let client_guid = Guid(reader.array("ClientGuid")?);
                reader.check("ClientGuid", 0, client_guid != Guid([0; 16]), "it is not 0")?;
                let is_held = reader.flag("IsHeld")?;
                reader.end()?;
                Call::SetClientGuid { client_guid, is_held }
            }
            GET_MEM_PARAMS => {
                let mut reader = Reader::new("GET_MEM_PARAMS", message.body);
                let slots = reader.u16("Slots")?;
                reader.end()?;
                Call::GetMemParams { slots }
            }
            LISTEN => {
                let mut reader = Reader::new("LISTEN", message.body);
                let is_on = reader.flag("IsOn")?;
                reader.end()?;
                Call::Listen { is_on }
            }
            ATTACH => {
                Reader::new("ATTACH", message.body).end()?;
                Call::Attach
            }
            Kind(kind) => {
                let valid = "the kind of a call is 1 to 7";
                return Err(WireError::Value { message: "call", field: "Kind", value: kind.into(), valid });
            }
        };
        Ok(Self { tag: message.tag, call })
    }

    /// Adds it to a packet.
    pub fn write(&self, packet: &mut Packet) {
        match &self.call {
            Call::Hello { version, name } => packet.push(HELLO, self.tag, |to| {
                to.u32(*version);
                to.text(name);
            }),
            Call::SetParameters(parameters) => {
                packet.push(SET_PARAMETERS, self.tag, |to| parameters.write(to));
            }
            Call::SetSessionId { session_id, is_held } => packet.push(SET_SESSION_ID, self.tag, |to| {
                to.u64(*session_id);
                to.u16((*is_held).into());
            }),
            Call::SetClientGuid { client_guid, is_held } => packet.push(SET_CLIENT_GUID, self.tag, |to| {
                to.bytes(&client_guid.0);
                to.u16((*is_held).into());
            }),
            Call::GetMemParams { slots } => packet.push(GET_MEM_PARAMS, self.tag, |to| to.u16(*slots)),
            Call::Listen { is_on } => packet.push(LISTEN, self.tag, |to| to.u16((*is_on).into())),
            Call::Attach => packet.push(ATTACH, self.tag, |_| {}),
        }
    }
}
