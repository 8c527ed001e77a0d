//! What names a file on its volume (2.2.13.2.9, 2.2.14.2.9). The request has no data.

use super::data::context_data;

context_data! {
    /// SMB2_CREATE_QUERY_ON_DISK_ID of a response (2.2.14.2.9).
    pub struct QueryOnDiskIdResponse: QUERY_ON_DISK_ID;
    pub mod response: "SMB2_CREATE_QUERY_ON_DISK_ID", "2.2.14.2.9";
    fields {
        /// The file, on its volume.
        disk_file_id: u64 = DISK_FILE_ID "DiskFileId" at 0;
        /// The volume, on its server.
        volume_id: u64 = VOLUME_ID "VolumeId" at 8;
    }
    reserved {
        RESERVED: [u8; 16] = "Reserved" at 16;
    }
}
