//! Durable handles of dialects before 3.0 (2.2.13.2.3, 2.2.13.2.4, 2.2.14.2.3).

use super::data::context_data;
use crate::wire::id::FileId;

context_data! {
    /// SMB2_CREATE_DURABLE_HANDLE_REQUEST (2.2.13.2.3): the open is to outlive its connection.
    pub struct DurableHandleRequest: DURABLE_HANDLE_REQUEST;
    pub mod request: "SMB2_CREATE_DURABLE_HANDLE_REQUEST", "2.2.13.2.3";
    fields {}
    reserved {
        DURABLE_REQUEST: [u8; 16] = "DurableRequest" at 0;
    }
}

context_data! {
    /// SMB2_CREATE_DURABLE_HANDLE_RECONNECT (2.2.13.2.4): asks for an open of a connection that is lost.
    pub struct DurableHandleReconnect: DURABLE_HANDLE_RECONNECT;
    pub mod reconnect: "SMB2_CREATE_DURABLE_HANDLE_RECONNECT", "2.2.13.2.4";
    fields {
        /// The open.
        file_id: FileId = DATA "Data" at 0;
    }
    reserved {}
}

context_data! {
    /// SMB2_CREATE_DURABLE_HANDLE_RESPONSE (2.2.14.2.3): the open is durable.
    pub struct DurableHandleResponse: DURABLE_HANDLE_REQUEST;
    pub mod response: "SMB2_CREATE_DURABLE_HANDLE_RESPONSE", "2.2.14.2.3";
    fields {}
    reserved {
        RESERVED: u64 = "Reserved" at 0;
    }
}
