//! IOCTL (2.2.31, 2.2.32).

use super::id::FileId;
use super::names::{flags, values};
use super::structure::message;

values! {
    /// A control code (2.2.31).
    pub struct ControlCode(u32) {
        DFS_GET_REFERRALS = 0x0006_0194 "FSCTL_DFS_GET_REFERRALS",
        DFS_GET_REFERRALS_EX = 0x0006_01B0 "FSCTL_DFS_GET_REFERRALS_EX",
        SET_REPARSE_POINT = 0x0009_00A4 "FSCTL_SET_REPARSE_POINT",
        GET_REPARSE_POINT = 0x0009_00A8 "FSCTL_GET_REPARSE_POINT",
        FILE_LEVEL_TRIM = 0x0009_8208 "FSCTL_FILE_LEVEL_TRIM",
        PIPE_PEEK = 0x0011_400C "FSCTL_PIPE_PEEK",
        PIPE_WAIT = 0x0011_0018 "FSCTL_PIPE_WAIT",
        PIPE_TRANSCEIVE = 0x0011_C017 "FSCTL_PIPE_TRANSCEIVE",
        SRV_REQUEST_RESUME_KEY = 0x0014_0078 "FSCTL_SRV_REQUEST_RESUME_KEY",
        LMR_REQUEST_RESILIENCY = 0x0014_01D4 "FSCTL_LMR_REQUEST_RESILIENCY",
        QUERY_NETWORK_INTERFACE_INFO = 0x0014_01FC "FSCTL_QUERY_NETWORK_INTERFACE_INFO",
        VALIDATE_NEGOTIATE_INFO = 0x0014_0204 "FSCTL_VALIDATE_NEGOTIATE_INFO",
        SRV_ENUMERATE_SNAPSHOTS = 0x0014_4064 "FSCTL_SRV_ENUMERATE_SNAPSHOTS",
        SRV_COPYCHUNK = 0x0014_40F2 "FSCTL_SRV_COPYCHUNK",
        SRV_READ_HASH = 0x0014_41BB "FSCTL_SRV_READ_HASH",
        SRV_COPYCHUNK_WRITE = 0x0014_80F2 "FSCTL_SRV_COPYCHUNK_WRITE",
    }
}

flags! {
    /// Flags of an IOCTL Request (2.2.31).
    pub struct IoctlFlags(u32) {
        IS_FSCTL = 0x0000_0001 "IS_FSCTL",
    }
}

message! {
    /// An IOCTL Request (2.2.31).
    pub struct IoctlRequest<'a>: IOCTL request;
    pub mod request: "IOCTL Request", "2.2.31", size 57, least 1;
    fields {
        /// What is to be done.
        control_code: ControlCode = CTL_CODE "CtlCode" at 4;
        /// With which file; [`FileId::RELATED`] where there is none.
        file_id: FileId = FILE_ID "FileId" at 8;
        /// The most bytes of input that the answer may have.
        max_input_response: u32 = MAX_INPUT_RESPONSE "MaxInputResponse" at 32;
        /// The most bytes of output that the answer may have.
        max_output_response: u32 = MAX_OUTPUT_RESPONSE "MaxOutputResponse" at 44;
        /// Flags.
        flags: IoctlFlags = FLAGS "Flags" at 48;
    }
    reserved {
        RESERVED: u16 = "Reserved" at 2;
        RESERVED2: u32 = "Reserved2" at 52;
    }
    parts {
        /// What goes in.
        input: &'a [u8], align 8, if empty Place =
            INPUT_OFFSET: u32 = "InputOffset" at 24,
            INPUT_COUNT: u32 = "InputCount" at 28;
        /// Nothing, by 2.2.31.
        output: &'a [u8], align 8, if empty Zero =
            OUTPUT_OFFSET: u32 = "OutputOffset" at 36,
            OUTPUT_COUNT: u32 = "OutputCount" at 40;
    }
}

message! {
    /// An IOCTL Response (2.2.32).
    pub struct IoctlResponse<'a>: IOCTL response;
    pub mod response: "IOCTL Response", "2.2.32", size 49, least 0;
    fields {
        /// What was done.
        control_code: ControlCode = CTL_CODE "CtlCode" at 4;
        /// With which file.
        file_id: FileId = FILE_ID "FileId" at 8;
    }
    reserved {
        RESERVED: u16 = "Reserved" at 2;
        FLAGS: u32 = "Flags" at 40;
        RESERVED2: u32 = "Reserved2" at 44;
    }
    parts {
        /// What went in, if it comes back.
        input: &'a [u8], align 8, if empty Place =
            INPUT_OFFSET: u32 = "InputOffset" at 24,
            INPUT_COUNT: u32 = "InputCount" at 28;
        /// What came out.
        output: &'a [u8], align 8, if empty Zero =
            OUTPUT_OFFSET: u32 = "OutputOffset" at 32,
            OUTPUT_COUNT: u32 = "OutputCount" at 36;
    }
}
