//! TREE_DISCONNECT (2.2.11, 2.2.12).

use super::structure::message;

message! {
    /// A TREE_DISCONNECT Request (2.2.11).
    pub struct TreeDisconnectRequest: TREE_DISCONNECT request;
    pub mod request: "TREE_DISCONNECT Request", "2.2.11", size 4, least 0;
    fields {}
    reserved {
        RESERVED: u16 = "Reserved" at 2;
    }
    parts {}
}

message! {
    /// A TREE_DISCONNECT Response (2.2.12).
    pub struct TreeDisconnectResponse: TREE_DISCONNECT response;
    pub mod response: "TREE_DISCONNECT Response", "2.2.12", size 4, least 0;
    fields {}
    reserved {
        RESERVED: u16 = "Reserved" at 2;
    }
    parts {}
}
