//! QUERY_DIRECTORY (2.2.33, 2.2.34).

use super::id::FileId;
use super::names::{flags, values};
use super::structure::message;
use super::text::Text;

values! {
    /// What is told of each entry (2.2.33; MS-FSCC 2.4).
    pub struct DirectoryInformationClass(u8) {
        DIRECTORY = 0x01 "FileDirectoryInformation",
        FULL_DIRECTORY = 0x02 "FileFullDirectoryInformation",
        BOTH_DIRECTORY = 0x03 "FileBothDirectoryInformation",
        NAMES = 0x0C "FileNamesInformation",
        ID_BOTH_DIRECTORY = 0x25 "FileIdBothDirectoryInformation",
        ID_FULL_DIRECTORY = 0x26 "FileIdFullDirectoryInformation",
        ID_EXTD_DIRECTORY = 0x3C "FileIdExtdDirectoryInformation",
        ID_64_EXTD_DIRECTORY = 0x4E "FileId64ExtdDirectoryInformation",
        ID_64_EXTD_BOTH_DIRECTORY = 0x4F "FileId64ExtdBothDirectoryInformation",
        ID_ALL_EXTD_DIRECTORY = 0x50 "FileIdAllExtdDirectoryInformation",
        ID_ALL_EXTD_BOTH_DIRECTORY = 0x51 "FileIdAllExtdBothDirectoryInformation",
    }
}

flags! {
    /// Where an enumeration begins, and how far it goes (2.2.33).
    pub struct QueryDirectoryFlags(u8) {
        RESTART_SCANS = 0x01 "RESTART_SCANS",
        RETURN_SINGLE_ENTRY = 0x02 "RETURN_SINGLE_ENTRY",
        INDEX_SPECIFIED = 0x04 "INDEX_SPECIFIED",
        REOPEN = 0x10 "REOPEN",
    }
}

message! {
    /// A QUERY_DIRECTORY Request (2.2.33).
    pub struct QueryDirectoryRequest<'a>: QUERY_DIRECTORY request;
    pub mod request: "QUERY_DIRECTORY Request", "2.2.33", size 33, least 1;
    fields {
        /// What is to be told of each entry.
        information_class: DirectoryInformationClass = FILE_INFORMATION_CLASS "FileInformationClass" at 2;
        /// Flags.
        flags: QueryDirectoryFlags = FLAGS "Flags" at 3;
        /// Where to go on, with INDEX_SPECIFIED.
        file_index: u32 = FILE_INDEX "FileIndex" at 4;
        /// The directory.
        file_id: FileId = FILE_ID "FileId" at 8;
        /// The most bytes that the answer may have.
        output_buffer_length: u32 = OUTPUT_BUFFER_LENGTH "OutputBufferLength" at 28;
    }
    reserved {}
    parts {
        /// Which names are wanted.
        pattern: Text<'a>, align 1, if empty Zero =
            FILE_NAME_OFFSET: u16 = "FileNameOffset" at 24,
            FILE_NAME_LENGTH: u16 = "FileNameLength" at 26;
    }
}

message! {
    /// A QUERY_DIRECTORY Response (2.2.34).
    pub struct QueryDirectoryResponse<'a>: QUERY_DIRECTORY response;
    pub mod response: "QUERY_DIRECTORY Response", "2.2.34", size 9, least 0;
    fields {}
    reserved {}
    parts {
        /// Entries of the class that was asked for (MS-FSCC 2.4).
        output: &'a [u8], align 1, if empty Place =
            OUTPUT_BUFFER_OFFSET: u16 = "OutputBufferOffset" at 2,
            OUTPUT_BUFFER_LENGTH: u32 = "OutputBufferLength" at 4;
    }
}
