//! ECHO (2.2.28, 2.2.29).

use super::structure::message;

message! {
    /// A ECHO Request (2.2.28).
    pub struct EchoRequest: ECHO request;
    pub mod request: "ECHO Request", "2.2.28", size 4, least 0;
    fields {}
    reserved {
        RESERVED: u16 = "Reserved" at 2;
    }
    parts {}
}

message! {
    /// A ECHO Response (2.2.29).
    pub struct EchoResponse: ECHO response;
    pub mod response: "ECHO Response", "2.2.29", size 4, least 0;
    fields {}
    reserved {
        RESERVED: u16 = "Reserved" at 2;
    }
    parts {}
}
