//! SET_INFO (2.2.39, 2.2.40).

use super::id::FileId;
use super::info::{AdditionalInformation, InfoType};
use super::structure::message;

message! {
    /// A SET_INFO Request (2.2.39).
    pub struct SetInfoRequest<'a>: SET_INFO request;
    pub mod request: "SET_INFO Request", "2.2.39", size 33, least 1;
    fields {
        /// Of what.
        info_type: InfoType = INFO_TYPE "InfoType" at 2;
        /// Which structure of MS-FSCC; [`class`](super::info::class) has some.
        info_class: u8 = FILE_INFO_CLASS "FileInfoClass" at 3;
        /// Which parts of a security descriptor.
        additional_information: AdditionalInformation = ADDITIONAL_INFORMATION "AdditionalInformation" at 12;
        /// The file.
        file_id: FileId = FILE_ID "FileId" at 16;
    }
    reserved {
        RESERVED: u16 = "Reserved" at 10;
    }
    parts {
        /// The structure.
        input: &'a [u8], align 1, if empty Place =
            BUFFER_OFFSET: u16 = "BufferOffset" at 8,
            BUFFER_LENGTH: u32 = "BufferLength" at 4;
    }
}

message! {
    /// A SET_INFO Response (2.2.40).
    pub struct SetInfoResponse: SET_INFO response;
    pub mod response: "SET_INFO Response", "2.2.40", size 2, least 0;
    fields {}
    reserved {}
    parts {}
}
