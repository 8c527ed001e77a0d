//! What the user may do with a file at most (2.2.13.2.5, 2.2.14.2.5).

use alloc::vec::Vec;

use super::data::{ContextData, check, context_data};
use crate::wire::access::AccessMask;
use crate::wire::create_context::CreateContext;
use crate::wire::error::WireError;
use crate::wire::layout::layout;
use crate::wire::status::NtStatus;

layout! {
    /// Fields of SMB2_CREATE_QUERY_MAXIMAL_ACCESS_REQUEST (2.2.13.2.5), from the beginning of the data.
    pub mod request: "SMB2_CREATE_QUERY_MAXIMAL_ACCESS_REQUEST", "2.2.13.2.5", from 0;
    TIMESTAMP: u64 = "Timestamp" at 0;
}

/// SMB2_CREATE_QUERY_MAXIMAL_ACCESS_REQUEST (2.2.13.2.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueryMaximalAccessRequest {
    /// A FILETIME: 100 ns since 1601. Of a file that was last changed then the client knows it (3.3.5.9.5). `None`: without data.
    pub timestamp: Option<u64>,
}

impl ContextData for QueryMaximalAccessRequest {
    const NAME: &'static [u8] = CreateContext::QUERY_MAXIMAL_ACCESS;

    fn parse(data: &[u8]) -> Result<Self, WireError> {
        if data.is_empty() {
            return Ok(Self::default());
        }
        check(data, &request::LAYOUT)?;
        Ok(Self { timestamp: Some(request::TIMESTAMP.get(data)?) })
    }

    fn to_bytes(&self) -> Vec<u8> {
        self.timestamp.map(|timestamp| timestamp.to_le_bytes().to_vec()).unwrap_or_default()
    }
}

context_data! {
    /// SMB2_CREATE_QUERY_MAXIMAL_ACCESS_RESPONSE (2.2.14.2.5).
    pub struct QueryMaximalAccessResponse: QUERY_MAXIMAL_ACCESS;
    pub mod response: "SMB2_CREATE_QUERY_MAXIMAL_ACCESS_RESPONSE", "2.2.14.2.5";
    fields {
        /// Whether the server tells it.
        query_status: NtStatus = QUERY_STATUS "QueryStatus" at 0;
        /// What the user may do, if the status is STATUS_SUCCESS.
        maximal_access: AccessMask = MAXIMAL_ACCESS "MaximalAccess" at 4;
    }
    reserved {}
}
