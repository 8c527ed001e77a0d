//! SESSION_SETUP (2.2.5, 2.2.6).

use super::id::SessionId;
use super::names::flags;
use super::negotiate::Capabilities;
use super::structure::message;

flags! {
    /// Flags of a SESSION_SETUP Request (2.2.5).
    pub struct SessionSetupFlags(u8) {
        BINDING = 0x01 "BINDING",
    }

    /// Whether the client signs (2.2.5). The same bits as in NEGOTIATE, in one byte.
    pub struct SessionSecurityMode(u8) {
        SIGNING_ENABLED = 0x01 "SIGNING_ENABLED",
        SIGNING_REQUIRED = 0x02 "SIGNING_REQUIRED",
    }

    /// What the server says of a session (2.2.6).
    pub struct SessionFlags(u16) {
        IS_GUEST = 0x0001 "IS_GUEST",
        IS_NULL = 0x0002 "IS_NULL",
        ENCRYPT_DATA = 0x0004 "ENCRYPT_DATA",
    }
}

message! {
    /// A SESSION_SETUP Request (2.2.5).
    pub struct SessionSetupRequest<'a>: SESSION_SETUP request;
    pub mod request: "SESSION_SETUP Request", "2.2.5", size 25, least 1;
    fields {
        /// Whether a session is bound to another connection.
        flags: SessionSetupFlags = FLAGS "Flags" at 2;
        /// Whether the client signs.
        security_mode: SessionSecurityMode = SECURITY_MODE "SecurityMode" at 3;
        /// Of the client; only DFS has a meaning here.
        capabilities: Capabilities = CAPABILITIES "Capabilities" at 4;
        /// A session of this client that is over.
        previous_session_id: SessionId = PREVIOUS_SESSION_ID "PreviousSessionId" at 16;
    }
    reserved {
        CHANNEL: u32 = "Channel" at 8;
    }
    parts {
        /// A GSS token.
        security_buffer: &'a [u8], align 1, if empty Place =
            SECURITY_BUFFER_OFFSET: u16 = "SecurityBufferOffset" at 12,
            SECURITY_BUFFER_LENGTH: u16 = "SecurityBufferLength" at 14;
    }
}

message! {
    /// A SESSION_SETUP Response (2.2.6). It comes with STATUS_MORE_PROCESSING_REQUIRED as well.
    pub struct SessionSetupResponse<'a>: SESSION_SETUP response;
    pub mod response: "SESSION_SETUP Response", "2.2.6", size 9, least 0;
    fields {
        /// What the session is.
        flags: SessionFlags = SESSION_FLAGS "SessionFlags" at 2;
    }
    reserved {}
    parts {
        /// A GSS token.
        security_buffer: &'a [u8], align 1, if empty Place =
            SECURITY_BUFFER_OFFSET: u16 = "SecurityBufferOffset" at 4,
            SECURITY_BUFFER_LENGTH: u16 = "SecurityBufferLength" at 6;
    }
}
