//! File systems of a program's own, which clients only read.

use std::io;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use smbd_smb2::security::capital;
use smbd_smb2::server::{Attributes, Entry, FileResult, FileSystem, OpenParameters, SharePath, Volume};
use smbd_smb2::wire::{AccessMask, CreateAction, CreateDisposition, CreateOptions, FileAttributes, NtStatus};

use crate::served::Served;

/// From 1601 to 1970, in seconds.
const EPOCH: Duration = Duration::from_secs(11_644_473_600);
/// Bytes of a unit of allocation.
const UNIT: u32 = 4096;
/// Entries `.` and `..` of a directory.
const DOTS: [&str; 2] = [".", ".."];
/// Rights that need a file to change.
const CHANGES: u32 = AccessMask::WRITE_DATA.0 | AccessMask::APPEND_DATA.0 | AccessMask::DELETE.0;

/// Files and directories that a program makes: [`ReadOnly`] serves them. Clones are the same source. Methods are called by several threads
/// at the same time, and may wait.
pub trait Source: Clone + Send + Sync + 'static {
    /// A file or a directory. What a client has opened is kept until the client closes it.
    type Node: Clone + Send + Sync + 'static;

    /// The directory that is shared.
    fn root(&self) -> Self::Node;

    /// Whether no method waits for a disk, a network or another process: [`Served::is_quick`].
    fn is_quick(&self) -> bool {
        false
    }

    /// The file or directory of this name; `None` if there is none. Names are asked for as [`names`](Self::names) returns them.
    ///
    /// # Errors
    /// The directory cannot be read.
    fn child(&self, directory: &Self::Node, name: &str) -> io::Result<Option<Self::Node>>;

    /// The names in a directory, in an order that stays the same.
    ///
    /// # Errors
    /// The directory cannot be read.
    fn names(&self, directory: &Self::Node) -> io::Result<Vec<String>>;

    /// What is known of a file or directory.
    ///
    /// # Errors
    /// It is not there any more.
    fn about(&self, node: &Self::Node) -> io::Result<About>;

    /// Reads bytes of a file, from byte `offset` on. Returns their number: 0 at the end of the file and behind it.
    ///
    /// # Errors
    /// The file cannot be read.
    fn read(&self, file: &Self::Node, offset: u64, into: &mut [u8]) -> io::Result<usize>;
}

/// What is known of a file or directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// A number that tells it from all others of the source: the file id that clients see.
    pub id: u64,
    /// Length of a file in bytes; `None` for a directory.
    pub len: Option<u64>,
    /// When it was last changed.
    pub modified: SystemTime,
}

/// A [`Source`] as a file system. Names are found in other capitals too. Clients that want to write are refused with
/// STATUS_MEDIA_WRITE_PROTECTED; locks are granted and keep nobody from anything, and so are all share modes.
#[derive(Clone, Debug)]
pub struct ReadOnly<S> {
    source: S,
    label: Arc<str>,
}

impl<S: Source> ReadOnly<S> {
    /// Serves a source as a volume with this label.
    #[must_use]
    pub fn new(source: S, label: &str) -> Self {
        Self { source, label: label.into() }
    }

    /// Where a path leads; `None` if its last name is not there.
    fn look_up(&self, path: &SharePath) -> FileResult<Option<S::Node>> {
        let Some((parent, name)) = path.split() else { return Ok(Some(self.source.root())) };
        let mut directory = self.source.root();
        for component in parent.components() {
            directory = self.child(&directory, component)?.ok_or(NtStatus::OBJECT_PATH_NOT_FOUND)?;
        }
        self.child(&directory, name)
    }

    fn child(&self, directory: &S::Node, name: &str) -> FileResult<Option<S::Node>> {
        if self.about(directory)?.len.is_some() {
            return Err(NtStatus::OBJECT_PATH_NOT_FOUND);
        }
        if let Some(child) = self.source.child(directory, name).map_err(|error| status(&error))? {
            return Ok(Some(child));
        }
        let names = self.source.names(directory).map_err(|error| status(&error))?;
        let capitals = capital(name);
        match names.iter().find(|other| capital(other) == capitals) {
            Some(other) => self.source.child(directory, other).map_err(|error| status(&error)),
            None => Ok(None),
        }
    }

    fn about(&self, node: &S::Node) -> FileResult<About> {
        self.source.about(node).map_err(|error| status(&error))
    }

    fn attributes_of(&self, node: &S::Node) -> FileResult<Attributes> {
        let About { id, len, modified } = self.about(node)?;
        let time = filetime(modified);
        let end_of_file = len.unwrap_or(0);
        Ok(Attributes {
            id,
            creation_time: time,
            last_access_time: time,
            last_write_time: time,
            change_time: time,
            allocation_size: end_of_file.next_multiple_of(UNIT.into()),
            end_of_file,
            file_attributes: if len.is_some() { FileAttributes::READONLY } else { FileAttributes::DIRECTORY },
            links: 1,
            is_delete_pending: false,
        })
    }
}

/// A time as a FILETIME: 100 ns since 1601.
fn filetime(time: SystemTime) -> u64 {
    let since = match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => EPOCH.saturating_add(since),
        Err(before) => EPOCH.saturating_sub(before.duration()),
    };
    u64::try_from(since.as_nanos() / 100).unwrap_or(u64::MAX)
}

/// The status that a client gets for an error of a source.
fn status(error: &io::Error) -> NtStatus {
    match error.kind() {
        io::ErrorKind::NotFound => NtStatus::OBJECT_NAME_NOT_FOUND,
        io::ErrorKind::PermissionDenied => NtStatus::ACCESS_DENIED,
        io::ErrorKind::InvalidInput => NtStatus::INVALID_PARAMETER,
        io::ErrorKind::OutOfMemory => NtStatus::INSUFFICIENT_RESOURCES,
        _ => NtStatus::UNSUCCESSFUL,
    }
}

impl<S: Source> FileSystem for ReadOnly<S> {
    type File = S::Node;

    fn open(&mut self, how: &OpenParameters, _: u64) -> FileResult<(S::Node, CreateAction)> {
        let finds = how.disposition == CreateDisposition::OPEN;
        let found = self.look_up(&how.path)?;
        let overwrites = how.disposition == CreateDisposition::OVERWRITE;
        let Some(node) = found else {
            let is_missing = finds || overwrites;
            let missing = NtStatus::OBJECT_NAME_NOT_FOUND;
            return Err(if is_missing { missing } else { NtStatus::MEDIA_WRITE_PROTECTED });
        };
        if how.disposition == CreateDisposition::CREATE {
            return Err(NtStatus::OBJECT_NAME_COLLISION);
        }
        let is_directory = self.about(&node)?.len.is_none();
        if is_directory && how.options.contains(CreateOptions::NON_DIRECTORY_FILE) {
            return Err(NtStatus::FILE_IS_A_DIRECTORY);
        }
        if !is_directory && how.options.contains(CreateOptions::DIRECTORY_FILE) {
            return Err(NtStatus::NOT_A_DIRECTORY);
        }
        let replaces = !finds && how.disposition != CreateDisposition::OPEN_IF;
        let deletes = how.options.contains(CreateOptions::DELETE_ON_CLOSE);
        if replaces || deletes || how.access.0 & CHANGES != 0 {
            return Err(NtStatus::MEDIA_WRITE_PROTECTED);
        }
        Ok((node, CreateAction::OPENED))
    }

    fn attributes(&self, node: &S::Node) -> FileResult<Attributes> {
        self.attributes_of(node)
    }

    fn read(&mut self, file: &S::Node, offset: u64, into: &mut [u8]) -> FileResult<usize> {
        let count = self.source.read(file, offset, into).map_err(|error| status(&error))?;
        Ok(count.min(into.len()))
    }

    fn list(&mut self, directory: &S::Node, after: u64, max: usize) -> FileResult<Vec<Entry>> {
        if self.about(directory)?.len.is_some() {
            return Err(NtStatus::NOT_A_DIRECTORY);
        }
        let names = self.source.names(directory).map_err(|error| status(&error))?;
        let all = DOTS.into_iter().chain(names.iter().map(String::as_str)).zip(1..);
        let mut entries = Vec::new();
        for (name, position) in all.skip_while(|(_, position)| *position <= after) {
            if entries.len() >= max {
                break;
            }
            let node = if DOTS.contains(&name) {
                Some(directory.clone())
            } else {
                self.source.child(directory, name).map_err(|error| status(&error))?
            };
            // One that has gone since is left out.
            if let Some(attributes) = node.and_then(|node| self.attributes_of(&node).ok()) {
                entries.push(Entry { name: name.to_owned(), attributes, position });
            }
        }
        Ok(entries)
    }

    fn volume(&self) -> Volume {
        Volume {
            label: self.label.to_string(),
            serial: 0,
            creation_time: 0,
            unit: UNIT,
            total_units: 1,
            free_units: 0,
        }
    }
}

impl<S: Source> Served for ReadOnly<S> {
    fn is_quick(&self) -> bool {
        self.source.is_quick()
    }
}

#[cfg(test)]
mod tests;
