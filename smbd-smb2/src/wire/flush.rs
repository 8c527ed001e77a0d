//! FLUSH (2.2.17, 2.2.18).

use super::id::FileId;
use super::structure::message;

message! {
    /// A FLUSH Request (2.2.17).
    pub struct FlushRequest: FLUSH request;
    pub mod request: "FLUSH Request", "2.2.17", size 24, least 0;
    fields {
        /// What is flushed.
        file_id: FileId = FILE_ID "FileId" at 8;
    }
    reserved {
        RESERVED1: u16 = "Reserved1" at 2;
        RESERVED2: u32 = "Reserved2" at 4;
    }
    parts {}
}

message! {
    /// A FLUSH Response (2.2.18).
    pub struct FlushResponse: FLUSH response;
    pub mod response: "FLUSH Response", "2.2.18", size 4, least 0;
    fields {}
    reserved {
        RESERVED: u16 = "Reserved" at 2;
    }
    parts {}
}
