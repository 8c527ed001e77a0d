//! READ (2.2.19, 2.2.20).

use smbd_core::wire::BufferDescriptorV1;

use super::channel::{self, Channel};
use super::error::WireError;
use super::id::FileId;
use super::list::List;
use super::names::flags;
use super::structure::message;

flags! {
    /// Flags of a READ Request (2.2.19).
    pub struct ReadFlags(u8) {
        READ_UNBUFFERED = 0x01 "READ_UNBUFFERED",
        REQUEST_COMPRESSED = 0x02 "REQUEST_COMPRESSED",
    }

    /// Flags of a READ Response (2.2.20).
    pub struct ReadResponseFlags(u32) {
        RDMA_TRANSFORM = 0x0000_0001 "RDMA_TRANSFORM",
    }
}

message! {
    /// A READ Request (2.2.19).
    pub struct ReadRequest<'a>: READ request;
    pub mod request: "READ Request", "2.2.19", size 49, least 1;
    fields {
        /// Where the client wants the data of the answer, in bytes from the beginning of its header.
        padding: u8 = PADDING "Padding" at 2;
        /// Flags.
        flags: ReadFlags = FLAGS "Flags" at 3;
        /// Bytes to read.
        length: u32 = LENGTH "Length" at 4;
        /// Where in the file, in bytes.
        offset: u64 = OFFSET "Offset" at 8;
        /// The file.
        file_id: FileId = FILE_ID "FileId" at 16;
        /// With fewer bytes the READ fails.
        minimum_count: u32 = MINIMUM_COUNT "MinimumCount" at 32;
        /// By which way the data goes.
        channel: Channel = CHANNEL "Channel" at 36;
        /// Bytes that go by the channel.
        remaining_bytes: u32 = REMAINING_BYTES "RemainingBytes" at 40;
    }
    reserved {}
    parts {
        /// What describes the channel; [`Self::descriptors`] reads it.
        channel_info: &'a [u8], align 8, if empty Zero =
            READ_CHANNEL_INFO_OFFSET: u16 = "ReadChannelInfoOffset" at 44,
            READ_CHANNEL_INFO_LENGTH: u16 = "ReadChannelInfoLength" at 46;
    }
}

impl<'a> ReadRequest<'a> {
    /// The buffers that the data is to be written to. A channel other than RDMA_V1 and RDMA_V1_INVALIDATE has none.
    ///
    /// # Errors
    /// [`WireError::Ragged`] if the last is not complete.
    pub fn descriptors(&self) -> Result<List<'a, BufferDescriptorV1>, WireError> {
        channel::descriptors(self.channel, self.channel_info, &request::READ_CHANNEL_INFO_LENGTH)
    }
}

message! {
    /// A READ Response (2.2.20).
    pub struct ReadResponse<'a>: READ response;
    pub mod response: "READ Response", "2.2.20", size 17, least 0;
    fields {
        /// Bytes that went by the channel.
        data_remaining: u32 = DATA_REMAINING "DataRemaining" at 8;
        /// Whether the data is an SMB2_RDMA_TRANSFORM (2.2.43); in 3.1.1.
        flags: ReadResponseFlags = FLAGS "Reserved2/Flags" at 12;
    }
    reserved {
        RESERVED: u8 = "Reserved" at 3;
    }
    parts {
        /// The data.
        data: &'a [u8], align 1, if empty Place =
            DATA_OFFSET: u8 = "DataOffset" at 2,
            DATA_LENGTH: u32 = "DataLength" at 4;
    }
}
