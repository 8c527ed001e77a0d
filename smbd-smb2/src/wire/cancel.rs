//! CANCEL (2.2.30): a request without a response.

use super::structure::message;

message! {
    /// A CANCEL Request (2.2.30).
    pub struct CancelRequest: CANCEL request;
    pub mod request: "CANCEL Request", "2.2.30", size 4, least 0;
    fields {}
    reserved {
        RESERVED: u16 = "Reserved" at 2;
    }
    parts {}
}
