//! NEGOTIATE (2.2.3, 2.2.4): the first exchange of a connection.

use super::body::Body;
use super::error::WireError;
use super::header;
use super::id::Guid;
use super::layout::layout;
use super::list::List;
use super::names::{flags, values};
use super::negotiate_context::NegotiateContext;
use super::reader;
use super::records::Records;
use super::structure::role;
use super::writer::{Empty, Part, Writer};

values! {
    /// A dialect revision (2.2.3, 2.2.4).
    pub struct Dialect(u16) {
        SMB_2_0_2 = 0x0202 "2.0.2",
        SMB_2_1 = 0x0210 "2.1",
        SMB_2_WILDCARD = 0x02FF "2.???",
        SMB_3_0 = 0x0300 "3.0",
        SMB_3_0_2 = 0x0302 "3.0.2",
        SMB_3_1_1 = 0x0311 "3.1.1",
    }
}

impl Dialect {
    /// All dialects, ascending.
    pub const ALL: [Self; 5] =
        [Self::SMB_2_0_2, Self::SMB_2_1, Self::SMB_3_0, Self::SMB_3_0_2, Self::SMB_3_1_1];
}

flags! {
    /// Capabilities of a client or a server (2.2.3, 2.2.4).
    pub struct Capabilities(u32) {
        DFS = 0x0000_0001 "DFS",
        LEASING = 0x0000_0002 "LEASING",
        LARGE_MTU = 0x0000_0004 "LARGE_MTU",
        MULTI_CHANNEL = 0x0000_0008 "MULTI_CHANNEL",
        PERSISTENT_HANDLES = 0x0000_0010 "PERSISTENT_HANDLES",
        DIRECTORY_LEASING = 0x0000_0020 "DIRECTORY_LEASING",
        ENCRYPTION = 0x0000_0040 "ENCRYPTION",
        NOTIFICATIONS = 0x0000_0080 "NOTIFICATIONS",
    }

    /// Whether messages are signed (2.2.3, 2.2.4).
    pub struct SecurityMode(u16) {
        SIGNING_ENABLED = 0x0001 "SIGNING_ENABLED",
        SIGNING_REQUIRED = 0x0002 "SIGNING_REQUIRED",
    }
}

/// Negotiate contexts of a message (2.2.3.1, 2.2.4.1).
pub type NegotiateContexts<'a> = Records<'a, NegotiateContext<'a>>;

layout! {
    /// Fields of a NEGOTIATE Request (2.2.3), from the beginning of the SMB2 header.
    pub mod request: "NEGOTIATE Request", "2.2.3", from header::LEN;
    STRUCTURE_SIZE: u16 = "StructureSize" at 0;
    DIALECT_COUNT: u16 = "DialectCount" at 2;
    SECURITY_MODE: SecurityMode = "SecurityMode" at 4;
    RESERVED: u16 = "Reserved" at 6;
    CAPABILITIES: Capabilities = "Capabilities" at 8;
    CLIENT_GUID: Guid = "ClientGuid" at 12;
    NEGOTIATE_CONTEXT_OFFSET: u32 = "NegotiateContextOffset" at 28;
    NEGOTIATE_CONTEXT_COUNT: u16 = "NegotiateContextCount" at 32;
    RESERVED2: u16 = "Reserved2" at 34;
}

/// A NEGOTIATE Request (2.2.3).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NegotiateRequest<'a> {
    /// Whether the client signs.
    pub security_mode: SecurityMode,
    /// What the client can.
    pub capabilities: Capabilities,
    /// The client.
    pub client_guid: Guid,
    /// The dialects that the client speaks.
    pub dialects: List<'a, Dialect>,
    /// Contexts. Without 3.1.1 among the dialects a request has none, and none is written.
    pub contexts: NegotiateContexts<'a>,
}

impl<'a> NegotiateRequest<'a> {
    /// StructureSize of the body.
    pub const STRUCTURE_SIZE: u16 = 36;

    /// Reads the body of an element, which begins with its SMB2 header.
    ///
    /// # Errors
    /// The fixed part is not complete, StructureSize is another, the dialects do not fit into the element, or the contexts begin
    /// before their end, at an odd place or behind the element.
    pub fn parse(element: &'a [u8]) -> Result<Self, WireError> {
        request::LAYOUT.check(element)?;
        request::STRUCTURE_SIZE.expect(element, Self::STRUCTURE_SIZE)?;
        let (start, len) = (request::LAYOUT.end() as u64, request::DIALECT_COUNT.get(element)?);
        let len = u64::from(len).saturating_mul(2);
        let dialects = reader::range(element, &request::DIALECT_COUNT, start, len)?;
        let dialects = List::from_wire(dialects, &request::DIALECT_COUNT)?;
        let count = request::NEGOTIATE_CONTEXT_COUNT.get(element)?;
        let contexts = if count > 0 && has_contexts(dialects) {
            let first = start.saturating_add(len);
            let bytes = reader::tail(element, &request::NEGOTIATE_CONTEXT_OFFSET, first)?;
            Records::counted(bytes, count.into())
        } else {
            Records::EMPTY
        };
        Ok(Self {
            security_mode: request::SECURITY_MODE.get(element)?,
            capabilities: request::CAPABILITIES.get(element)?,
            client_guid: request::CLIENT_GUID.get(element)?,
            dialects,
            contexts,
        })
    }
}

/// Whether the eight bytes behind ClientGuid say where contexts are: otherwise they are ClientStartTime.
fn has_contexts(dialects: List<'_, Dialect>) -> bool {
    dialects.iter().any(|dialect| dialect == Dialect::SMB_3_1_1)
}

impl Body for NegotiateRequest<'_> {
    fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        out.begin(&request::LAYOUT);
        out.set(&request::STRUCTURE_SIZE, Self::STRUCTURE_SIZE)?;
        out.set_size(&request::DIALECT_COUNT, self.dialects.len())?;
        out.set(&request::SECURITY_MODE, self.security_mode)?;
        out.set(&request::CAPABILITIES, self.capabilities)?;
        out.set(&request::CLIENT_GUID, self.client_guid)?;
        self.dialects.put(out)?;
        if has_contexts(self.dialects) && !self.contexts.is_empty() {
            out.align(8);
            out.set_size(&request::NEGOTIATE_CONTEXT_OFFSET, out.len())?;
            out.set_size(&request::NEGOTIATE_CONTEXT_COUNT, self.contexts.count())?;
            self.contexts.put(out)?;
        }
        Ok(())
    }
}

role!(NegotiateRequest<'a>: NEGOTIATE request);

layout! {
    /// Fields of a NEGOTIATE Response (2.2.4), from the beginning of the SMB2 header.
    pub mod response: "NEGOTIATE Response", "2.2.4", from header::LEN;
    STRUCTURE_SIZE: u16 = "StructureSize" at 0;
    SECURITY_MODE: SecurityMode = "SecurityMode" at 2;
    DIALECT_REVISION: Dialect = "DialectRevision" at 4;
    NEGOTIATE_CONTEXT_COUNT: u16 = "NegotiateContextCount" at 6;
    SERVER_GUID: Guid = "ServerGuid" at 8;
    CAPABILITIES: Capabilities = "Capabilities" at 24;
    MAX_TRANSACT_SIZE: u32 = "MaxTransactSize" at 28;
    MAX_READ_SIZE: u32 = "MaxReadSize" at 32;
    MAX_WRITE_SIZE: u32 = "MaxWriteSize" at 36;
    SYSTEM_TIME: u64 = "SystemTime" at 40;
    SERVER_START_TIME: u64 = "ServerStartTime" at 48;
    SECURITY_BUFFER_OFFSET: u16 = "SecurityBufferOffset" at 56;
    SECURITY_BUFFER_LENGTH: u16 = "SecurityBufferLength" at 58;
    NEGOTIATE_CONTEXT_OFFSET: u32 = "NegotiateContextOffset" at 60;
}

/// A NEGOTIATE Response (2.2.4).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NegotiateResponse<'a> {
    /// Whether the server signs.
    pub security_mode: SecurityMode,
    /// The dialect that the server chose.
    pub dialect: Dialect,
    /// The server.
    pub server_guid: Guid,
    /// What the server can.
    pub capabilities: Capabilities,
    /// The most bytes of QUERY_INFO, QUERY_DIRECTORY, SET_INFO and CHANGE_NOTIFY.
    pub max_transact_size: u32,
    /// The most bytes of a READ.
    pub max_read_size: u32,
    /// The most bytes of a WRITE.
    pub max_write_size: u32,
    /// The server's clock, as a FILETIME: 100 ns since 1601.
    pub system_time: u64,
    /// When the server started, as a FILETIME.
    pub server_start_time: u64,
    /// A GSS token.
    pub security_buffer: &'a [u8],
    /// Contexts. In another dialect than 3.1.1 a response has none, and none is written.
    pub contexts: NegotiateContexts<'a>,
}

/// Where the security buffer is.
const SECURITY: (&super::field::Field<u16>, &super::field::Field<u16>) =
    (&response::SECURITY_BUFFER_OFFSET, &response::SECURITY_BUFFER_LENGTH);

impl<'a> NegotiateResponse<'a> {
    /// StructureSize of the body.
    pub const STRUCTURE_SIZE: u16 = 65;

    /// Reads the body of an element, which begins with its SMB2 header.
    ///
    /// # Errors
    /// The fixed part is not complete, StructureSize is another, the security buffer or the contexts do not lie behind the fixed
    /// part and inside the element, or the contexts begin at an odd place.
    pub fn parse(element: &'a [u8]) -> Result<Self, WireError> {
        response::LAYOUT.check(element)?;
        response::STRUCTURE_SIZE.expect(element, Self::STRUCTURE_SIZE)?;
        let dialect = response::DIALECT_REVISION.get(element)?;
        let count = response::NEGOTIATE_CONTEXT_COUNT.get(element)?;
        let contexts = if count > 0 && dialect == Dialect::SMB_3_1_1 {
            let first = response::LAYOUT.end() as u64;
            let bytes = reader::tail(element, &response::NEGOTIATE_CONTEXT_OFFSET, first)?;
            Records::counted(bytes, count.into())
        } else {
            Records::EMPTY
        };
        Ok(Self {
            security_mode: response::SECURITY_MODE.get(element)?,
            dialect,
            server_guid: response::SERVER_GUID.get(element)?,
            capabilities: response::CAPABILITIES.get(element)?,
            max_transact_size: response::MAX_TRANSACT_SIZE.get(element)?,
            max_read_size: response::MAX_READ_SIZE.get(element)?,
            max_write_size: response::MAX_WRITE_SIZE.get(element)?,
            system_time: response::SYSTEM_TIME.get(element)?,
            server_start_time: response::SERVER_START_TIME.get(element)?,
            security_buffer: reader::part(element, SECURITY, &response::LAYOUT)?,
            contexts,
        })
    }
}

impl Body for NegotiateResponse<'_> {
    fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        out.begin(&response::LAYOUT);
        out.set(&response::STRUCTURE_SIZE, Self::STRUCTURE_SIZE)?;
        out.set(&response::SECURITY_MODE, self.security_mode)?;
        out.set(&response::DIALECT_REVISION, self.dialect)?;
        out.set(&response::SERVER_GUID, self.server_guid)?;
        out.set(&response::CAPABILITIES, self.capabilities)?;
        out.set(&response::MAX_TRANSACT_SIZE, self.max_transact_size)?;
        out.set(&response::MAX_READ_SIZE, self.max_read_size)?;
        out.set(&response::MAX_WRITE_SIZE, self.max_write_size)?;
        out.set(&response::SYSTEM_TIME, self.system_time)?;
        out.set(&response::SERVER_START_TIME, self.server_start_time)?;
        out.part(SECURITY, 1, Empty::Place, &self.security_buffer)?;
        if self.dialect == Dialect::SMB_3_1_1 && !self.contexts.is_empty() {
            out.align(8);
            out.set_size(&response::NEGOTIATE_CONTEXT_OFFSET, out.len())?;
            out.set_size(&response::NEGOTIATE_CONTEXT_COUNT, self.contexts.count())?;
            self.contexts.put(out)?;
        }
        Ok(())
    }
}

role!(NegotiateResponse<'a>: NEGOTIATE response);
