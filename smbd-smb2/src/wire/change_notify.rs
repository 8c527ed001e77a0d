//! CHANGE_NOTIFY (2.2.35, 2.2.36).

use super::id::FileId;
use super::names::flags;
use super::structure::message;

flags! {
    /// Flags of a CHANGE_NOTIFY Request (2.2.35).
    pub struct ChangeNotifyFlags(u16) {
        WATCH_TREE = 0x0001 "WATCH_TREE",
    }

    /// What is told (2.2.35).
    pub struct CompletionFilter(u32) {
        FILE_NAME = 0x0000_0001 "FILE_NAME",
        DIR_NAME = 0x0000_0002 "DIR_NAME",
        ATTRIBUTES = 0x0000_0004 "ATTRIBUTES",
        SIZE = 0x0000_0008 "SIZE",
        LAST_WRITE = 0x0000_0010 "LAST_WRITE",
        LAST_ACCESS = 0x0000_0020 "LAST_ACCESS",
        CREATION = 0x0000_0040 "CREATION",
        EA = 0x0000_0080 "EA",
        SECURITY = 0x0000_0100 "SECURITY",
        STREAM_NAME = 0x0000_0200 "STREAM_NAME",
        STREAM_SIZE = 0x0000_0400 "STREAM_SIZE",
        STREAM_WRITE = 0x0000_0800 "STREAM_WRITE",
    }
}

message! {
    /// A CHANGE_NOTIFY Request (2.2.35).
    pub struct ChangeNotifyRequest: CHANGE_NOTIFY request;
    pub mod request: "CHANGE_NOTIFY Request", "2.2.35", size 32, least 0;
    fields {
        /// Whether all directories below are watched as well.
        flags: ChangeNotifyFlags = FLAGS "Flags" at 2;
        /// The most bytes that the answer may have.
        output_buffer_length: u32 = OUTPUT_BUFFER_LENGTH "OutputBufferLength" at 4;
        /// The directory.
        file_id: FileId = FILE_ID "FileId" at 8;
        /// What is to be told.
        completion_filter: CompletionFilter = COMPLETION_FILTER "CompletionFilter" at 24;
    }
    reserved {
        RESERVED: u32 = "Reserved" at 28;
    }
    parts {}
}

message! {
    /// A CHANGE_NOTIFY Response (2.2.36).
    pub struct ChangeNotifyResponse<'a>: CHANGE_NOTIFY response;
    pub mod response: "CHANGE_NOTIFY Response", "2.2.36", size 9, least 0;
    fields {}
    reserved {}
    parts {
        /// FILE_NOTIFY_INFORMATION structures (MS-FSCC 2.7.1).
        output: &'a [u8], align 1, if empty Place =
            OUTPUT_BUFFER_OFFSET: u16 = "OutputBufferOffset" at 2,
            OUTPUT_BUFFER_LENGTH: u32 = "OutputBufferLength" at 4;
    }
}
