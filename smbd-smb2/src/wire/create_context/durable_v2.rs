//! Durable and persistent handles of 3.x (2.2.13.2.11, 2.2.13.2.12, 2.2.14.2.12).

use super::data::context_data;
use crate::wire::id::{FileId, Guid};
use crate::wire::names::flags;

flags! {
    /// Flags of contexts of durable handles (2.2.13.2.11, 2.2.13.2.12, 2.2.14.2.12).
    pub struct DurableHandleFlags(u32) {
        PERSISTENT = 0x0000_0002 "PERSISTENT",
    }
}

context_data! {
    /// SMB2_CREATE_DURABLE_HANDLE_REQUEST_V2 (2.2.13.2.11): the open is to outlive its connection.
    pub struct DurableHandleRequestV2: DURABLE_HANDLE_REQUEST_V2;
    pub mod request: "SMB2_CREATE_DURABLE_HANDLE_REQUEST_V2", "2.2.13.2.11";
    fields {
        /// How long the server is to wait for a reconnect, in milliseconds; 0 leaves it to the server.
        timeout: u32 = TIMEOUT "Timeout" at 0;
        /// Whether it is to be persistent.
        flags: DurableHandleFlags = FLAGS "Flags" at 4;
        /// What names the request when it is sent again.
        create_guid: Guid = CREATE_GUID "CreateGuid" at 16;
    }
    reserved {
        RESERVED: u64 = "Reserved" at 8;
    }
}

context_data! {
    /// SMB2_CREATE_DURABLE_HANDLE_RECONNECT_V2 (2.2.13.2.12): asks for an open of a connection that is lost.
    pub struct DurableHandleReconnectV2: DURABLE_HANDLE_RECONNECT_V2;
    pub mod reconnect: "SMB2_CREATE_DURABLE_HANDLE_RECONNECT_V2", "2.2.13.2.12";
    fields {
        /// The open.
        file_id: FileId = FILE_ID "FileId" at 0;
        /// What named the request that made it.
        create_guid: Guid = CREATE_GUID "CreateGuid" at 16;
        /// Whether it is persistent.
        flags: DurableHandleFlags = FLAGS "Flags" at 32;
    }
    reserved {}
}

context_data! {
    /// SMB2_CREATE_DURABLE_HANDLE_RESPONSE_V2 (2.2.14.2.12): the open is durable.
    pub struct DurableHandleResponseV2: DURABLE_HANDLE_REQUEST_V2;
    pub mod response: "SMB2_CREATE_DURABLE_HANDLE_RESPONSE_V2", "2.2.14.2.12";
    fields {
        /// How long the server waits for a reconnect, in milliseconds.
        timeout: u32 = TIMEOUT "Timeout" at 0;
        /// Whether it is persistent.
        flags: DurableHandleFlags = FLAGS "Flags" at 4;
    }
    reserved {}
}
