//! LOGOFF (2.2.7, 2.2.8).

use super::structure::message;

message! {
    /// A LOGOFF Request (2.2.7).
    pub struct LogoffRequest: LOGOFF request;
    pub mod request: "LOGOFF Request", "2.2.7", size 4, least 0;
    fields {}
    reserved {
        RESERVED: u16 = "Reserved" at 2;
    }
    parts {}
}

message! {
    /// A LOGOFF Response (2.2.8).
    pub struct LogoffResponse: LOGOFF response;
    pub mod response: "LOGOFF Response", "2.2.8", size 4, least 0;
    fields {}
    reserved {
        RESERVED: u16 = "Reserved" at 2;
    }
    parts {}
}
