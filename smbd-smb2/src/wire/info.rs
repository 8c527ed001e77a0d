//! What QUERY_INFO and SET_INFO are about.

use super::names::{flags, values};

values! {
    /// Of what information is asked for or set (2.2.37, 2.2.39).
    pub struct InfoType(u8) {
        FILE = 0x01 "file",
        FILESYSTEM = 0x02 "filesystem",
        SECURITY = 0x03 "security",
        QUOTA = 0x04 "quota",
    }
}

flags! {
    /// Parts of a security descriptor (2.2.37, 2.2.39). For extended attributes QUERY_INFO has an index in their place.
    pub struct AdditionalInformation(u32) {
        OWNER = 0x0000_0001 "OWNER",
        GROUP = 0x0000_0002 "GROUP",
        DACL = 0x0000_0004 "DACL",
        SACL = 0x0000_0008 "SACL",
        LABEL = 0x0000_0010 "LABEL",
        ATTRIBUTE = 0x0000_0020 "ATTRIBUTE",
        SCOPE = 0x0000_0040 "SCOPE",
        BACKUP = 0x0001_0000 "BACKUP",
    }
}

/// FileInfoClass: an information class, which has a meaning together with an [`InfoType`].
pub mod class {
    /// FileBasicInformation (MS-FSCC 2.4.7).
    pub const FILE_BASIC: u8 = 4;
    /// FileStandardInformation (MS-FSCC 2.4.47).
    pub const FILE_STANDARD: u8 = 5;
    /// FileInternalInformation.
    pub const FILE_INTERNAL: u8 = 6;
    /// FileRenameInformation.
    pub const FILE_RENAME: u8 = 10;
    /// FileLinkInformation.
    pub const FILE_LINK: u8 = 11;
    /// FileDispositionInformation.
    pub const FILE_DISPOSITION: u8 = 13;
    /// FileFullEaInformation.
    pub const FILE_FULL_EA: u8 = 15;
    /// FileAllInformation.
    pub const FILE_ALL: u8 = 18;
    /// FileAllocationInformation.
    pub const FILE_ALLOCATION: u8 = 19;
    /// FileEndOfFileInformation.
    pub const FILE_END_OF_FILE: u8 = 20;
    /// FileFsVolumeInformation.
    pub const FS_VOLUME: u8 = 1;
    /// FileFsSizeInformation.
    pub const FS_SIZE: u8 = 3;
    /// FileFsDeviceInformation.
    pub const FS_DEVICE: u8 = 4;
    /// FileFsAttributeInformation.
    pub const FS_ATTRIBUTE: u8 = 5;
    /// FileFsFullSizeInformation.
    pub const FS_FULL_SIZE: u8 = 7;
    /// FileFsSectorSizeInformation.
    pub const FS_SECTOR_SIZE: u8 = 11;
}
