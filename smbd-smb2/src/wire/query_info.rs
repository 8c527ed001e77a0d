//! QUERY_INFO (2.2.37, 2.2.38).

use super::id::FileId;
use super::info::{AdditionalInformation, InfoType};
use super::names::flags;
use super::structure::message;

flags! {
    /// How extended attributes are enumerated (2.2.37).
    pub struct QueryInfoFlags(u32) {
        RESTART_SCAN = 0x0000_0001 "RESTART_SCAN",
        RETURN_SINGLE_ENTRY = 0x0000_0002 "RETURN_SINGLE_ENTRY",
        INDEX_SPECIFIED = 0x0000_0004 "INDEX_SPECIFIED",
    }
}

message! {
    /// A QUERY_INFO Request (2.2.37).
    pub struct QueryInfoRequest<'a>: QUERY_INFO request;
    pub mod request: "QUERY_INFO Request", "2.2.37", size 41, least 1;
    fields {
        /// Of what.
        info_type: InfoType = INFO_TYPE "InfoType" at 2;
        /// Which structure of MS-FSCC; [`class`](super::info::class) has some.
        info_class: u8 = FILE_INFO_CLASS "FileInfoClass" at 3;
        /// The most bytes that the answer may have.
        output_buffer_length: u32 = OUTPUT_BUFFER_LENGTH "OutputBufferLength" at 4;
        /// Which parts of a security descriptor, or an index.
        additional_information: AdditionalInformation = ADDITIONAL_INFORMATION "AdditionalInformation" at 16;
        /// Flags.
        flags: QueryInfoFlags = FLAGS "Flags" at 20;
        /// The file.
        file_id: FileId = FILE_ID "FileId" at 24;
    }
    reserved {
        RESERVED: u16 = "Reserved" at 10;
    }
    parts {
        /// For quotas and extended attributes: of which.
        input: &'a [u8], align 8, if empty Zero =
            INPUT_BUFFER_OFFSET: u16 = "InputBufferOffset" at 8,
            INPUT_BUFFER_LENGTH: u32 = "InputBufferLength" at 12;
    }
}

message! {
    /// A QUERY_INFO Response (2.2.38). It comes with STATUS_BUFFER_OVERFLOW as well.
    pub struct QueryInfoResponse<'a>: QUERY_INFO response;
    pub mod response: "QUERY_INFO Response", "2.2.38", size 9, least 0;
    fields {}
    reserved {}
    parts {
        /// The structure that was asked for.
        output: &'a [u8], align 1, if empty Place =
            OUTPUT_BUFFER_OFFSET: u16 = "OutputBufferOffset" at 2,
            OUTPUT_BUFFER_LENGTH: u32 = "OutputBufferLength" at 4;
    }
}
