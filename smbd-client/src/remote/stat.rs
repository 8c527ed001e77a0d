//! What is known of a file.

use smbd_smb2::wire::FileAttributes;

/// What is known of a file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Bytes of data.
    pub size: u64,
    /// When it was made: a FILETIME, 100 ns since 1601.
    pub created: u64,
    /// When it was last written to: a FILETIME.
    pub written: u64,
    /// Its attributes.
    pub attributes: FileAttributes,
}

impl Stat {
    /// Whether it is a directory.
    #[must_use]
    pub const fn is_directory(&self) -> bool {
        self.attributes.contains(FileAttributes::DIRECTORY)
    }
}
