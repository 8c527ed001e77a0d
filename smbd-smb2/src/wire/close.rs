//! CLOSE (2.2.15, 2.2.16).

use super::attributes::FileAttributes;
use super::id::FileId;
use super::names::flags;
use super::structure::message;

flags! {
    /// Whether the client wants the attributes with the answer (2.2.15, 2.2.16).
    pub struct CloseFlags(u16) {
        POSTQUERY_ATTRIB = 0x0001 "POSTQUERY_ATTRIB",
    }
}

message! {
    /// A CLOSE Request (2.2.15).
    pub struct CloseRequest: CLOSE request;
    pub mod request: "CLOSE Request", "2.2.15", size 24, least 0;
    fields {
        /// Flags.
        flags: CloseFlags = FLAGS "Flags" at 2;
        /// What is closed.
        file_id: FileId = FILE_ID "FileId" at 8;
    }
    reserved {
        RESERVED: u32 = "Reserved" at 4;
    }
    parts {}
}

message! {
    /// A CLOSE Response (2.2.16). Times are FILETIMEs: 100 ns since 1601. Without POSTQUERY_ATTRIB all of it is zero.
    pub struct CloseResponse: CLOSE response;
    pub mod response: "CLOSE Response", "2.2.16", size 60, least 0;
    fields {
        /// Flags.
        flags: CloseFlags = FLAGS "Flags" at 2;
        /// When the file was made.
        creation_time: u64 = CREATION_TIME "CreationTime" at 8;
        /// When it was last accessed.
        last_access_time: u64 = LAST_ACCESS_TIME "LastAccessTime" at 16;
        /// When it was last written to.
        last_write_time: u64 = LAST_WRITE_TIME "LastWriteTime" at 24;
        /// When it was last changed.
        change_time: u64 = CHANGE_TIME "ChangeTime" at 32;
        /// Bytes on disk.
        allocation_size: u64 = ALLOCATION_SIZE "AllocationSize" at 40;
        /// Bytes of data.
        end_of_file: u64 = END_OF_FILE "EndofFile" at 48;
        /// Its attributes.
        file_attributes: FileAttributes = FILE_ATTRIBUTES "FileAttributes" at 56;
    }
    reserved {
        RESERVED: u32 = "Reserved" at 4;
    }
    parts {}
}
