//! WRITE (2.2.21, 2.2.22).

use smbd_core::wire::BufferDescriptorV1;

use super::channel::{self, Channel};
use super::error::WireError;
use super::id::FileId;
use super::list::List;
use super::names::flags;
use super::structure::message;

flags! {
    /// Flags of a WRITE Request (2.2.21).
    pub struct WriteFlags(u32) {
        WRITE_THROUGH = 0x0000_0001 "WRITE_THROUGH",
        WRITE_UNBUFFERED = 0x0000_0002 "WRITE_UNBUFFERED",
    }
}

message! {
    /// A WRITE Request (2.2.21).
    pub struct WriteRequest<'a>: WRITE request;
    pub mod request: "WRITE Request", "2.2.21", size 49, least 1;
    fields {
        /// Where in the file, in bytes.
        offset: u64 = OFFSET "Offset" at 8;
        /// The file.
        file_id: FileId = FILE_ID "FileId" at 16;
        /// By which way the data goes.
        channel: Channel = CHANNEL "Channel" at 32;
        /// Bytes that go by the channel.
        remaining_bytes: u32 = REMAINING_BYTES "RemainingBytes" at 36;
        /// Flags.
        flags: WriteFlags = FLAGS "Flags" at 44;
    }
    reserved {}
    parts {
        /// The data, if it does not go by the channel. Servers want DataOffset to be that of the first byte behind the fixed part
        /// without a channel, and 0 with one.
        data: &'a [u8], align 1, if empty Place when has_no_channel =
            DATA_OFFSET: u16 = "DataOffset" at 2,
            LENGTH: u32 = "Length" at 4;
        /// What describes the channel; [`Self::descriptors`] reads it.
        channel_info: &'a [u8], align 8, if empty Zero =
            WRITE_CHANNEL_INFO_OFFSET: u16 = "WriteChannelInfoOffset" at 40,
            WRITE_CHANNEL_INFO_LENGTH: u16 = "WriteChannelInfoLength" at 42;
    }
}

impl<'a> WriteRequest<'a> {
    fn has_no_channel(&self) -> bool {
        self.channel == Channel::NONE
    }

    /// The buffers that the data is to be read from. A channel other than RDMA_V1 and RDMA_V1_INVALIDATE has none.
    ///
    /// # Errors
    /// [`WireError::Ragged`] if the last is not complete.
    pub fn descriptors(&self) -> Result<List<'a, BufferDescriptorV1>, WireError> {
        channel::descriptors(self.channel, self.channel_info, &request::WRITE_CHANNEL_INFO_LENGTH)
    }
}

message! {
    /// A WRITE Response (2.2.22).
    pub struct WriteResponse: WRITE response;
    pub mod response: "WRITE Response", "2.2.22", size 17, least 0;
    fields {
        /// Bytes written.
        count: u32 = COUNT "Count" at 4;
    }
    reserved {
        RESERVED: u16 = "Reserved" at 2;
        REMAINING: u32 = "Remaining" at 8;
        WRITE_CHANNEL_INFO_OFFSET: u16 = "WriteChannelInfoOffset" at 12;
        WRITE_CHANNEL_INFO_LENGTH: u16 = "WriteChannelInfoLength" at 14;
    }
    parts {}
}
