//! What is known of files and volumes.

use alloc::string::String;

use crate::wire::FileAttributes;

/// What is known of a file or directory. Times are FILETIMEs: 100 ns since 1601.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// What tells it from all others of the share, as long as it is there.
    pub id: u64,
    /// When it was made.
    pub creation_time: u64,
    /// When it was last accessed.
    pub last_access_time: u64,
    /// When it was last written to.
    pub last_write_time: u64,
    /// When anything of it was last changed.
    pub change_time: u64,
    /// Bytes on disk.
    pub allocation_size: u64,
    /// Bytes of data; 0 for a directory.
    pub end_of_file: u64,
    /// Its attributes; DIRECTORY says that it is one.
    pub file_attributes: FileAttributes,
    /// Names that it has.
    pub links: u32,
    /// It goes when the last who has it open closes it.
    pub is_delete_pending: bool,
}

impl Attributes {
    /// Whether it is a directory.
    #[must_use]
    pub const fn is_directory(&self) -> bool {
        self.file_attributes.contains(FileAttributes::DIRECTORY)
    }
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name, which a client can open.
    pub name: String,
    /// What is known of it.
    pub attributes: Attributes,
    /// Where the enumeration goes on behind it; never 0.
    pub position: u64,
}

/// What is known of the volume of a share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volume {
    /// Its label.
    pub label: String,
    /// Its serial number.
    pub serial: u32,
    /// When it was made: a FILETIME.
    pub creation_time: u64,
    /// Bytes of a unit of allocation: a multiple of 512, not 0.
    pub unit: u32,
    /// Units that it has.
    pub total_units: u64,
    /// Units that are free.
    pub free_units: u64,
}

/// What becomes of a time that operations on a file change by themselves (MS-FSCC 2.4.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeChange {
    /// This FILETIME, which operations of the same open do not change any more.
    Set(u64),
    /// It stays, and operations of the same open do not change it any more (-1).
    Freeze,
    /// It stays, and operations of the same open change it again (-2).
    Thaw,
}

impl TimeChange {
    /// The time that is set.
    #[must_use]
    pub const fn set(self) -> Option<u64> {
        match self {
            Self::Set(time) => Some(time),
            Self::Freeze | Self::Thaw => None,
        }
    }

    /// Whether operations of the same open leave the time as it is from now on.
    #[must_use]
    pub const fn holds(self) -> bool {
        match self {
            Self::Set(_) | Self::Freeze => true,
            Self::Thaw => false,
        }
    }
}

/// Times and attributes that are to be set; `None` stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BasicChange {
    /// When it was made.
    pub creation_time: Option<u64>,
    /// When it was last accessed.
    pub last_access_time: Option<TimeChange>,
    /// When it was last written to.
    pub last_write_time: Option<TimeChange>,
    /// When anything of it was last changed.
    pub change_time: Option<TimeChange>,
    /// Its attributes, without DIRECTORY, which cannot change.
    pub file_attributes: Option<FileAttributes>,
}
