//! A share that is connected.

use smbd_smb2::client::Negotiated;
use smbd_smb2::wire::{
    AccessMask, CreateDisposition, CreateOptions, NetworkInterface, NetworkInterfaces, NtStatus, ShareAccess,
    info::class,
};

use super::buffer::Buffer;
use super::command::{Connected, Open, Opened, Reply, Request, What};
use super::entry::{self, Entry};
use super::file::File;
use super::handle::{Handle, nothing};
use super::settings::Way;
use super::stat::Stat;
use smbd_smb2::mapped;

use crate::Error;

const READS: AccessMask = AccessMask(0x0012_0089);
const WRITES: AccessMask = AccessMask(0x0012_019B);
const LOOKS: AccessMask = AccessMask(0x0010_0080);
const DELETES: AccessMask = AccessMask(0x0011_0080);
const LISTS: AccessMask = AccessMask(0x0012_0081);

/// Who else may have what is opened: all, for all that they do, or only who reads it (2.2.13).
const ALL: ShareAccess = ShareAccess(0x7);
const READERS: ShareAccess = ShareAccess(0x1);
/// FILE_RENAME_INFORMATION in C has two characters of the name in its last four bytes.
const RENAME_LEN_MIN: usize = 24;

/// The most entries of a directory that are taken.
const ENTRIES_MAX: usize = 1 << 20;

/// A share of a server. Paths are relative to it, and their names are separated by slashes. What Windows has in no name (`"*:<>?\|`, control
/// characters, a space or a dot at the end) is written as cifs does it with `mapposix`: U+F022 for a colon. So it is read, too.
#[derive(Clone, Debug)]
pub struct Share {
    handle: Handle,
    connected: Connected,
}

impl Share {
    pub(super) const fn new(handle: Handle, connected: Connected) -> Self {
        Self { handle, connected }
    }

    /// How data go to and from it, as long as its session has one connection. With several, that of the first to which data go.
    #[must_use]
    pub fn way(&self) -> Way {
        self.ways().first().copied().unwrap_or(self.connected.way)
    }

    /// How data go to and from it, over all connections of its session, each way once; none when all are lost.
    #[must_use]
    pub fn ways(&self) -> Vec<Way> {
        self.handle.channels().ways(self.connected.protection)
    }

    /// What was negotiated with the server.
    #[must_use]
    pub const fn negotiated(&self) -> &Negotiated {
        &self.connected.negotiated
    }

    /// How many connections its session has, and how many it has lost.
    #[must_use]
    pub fn connections(&self) -> (usize, usize) {
        self.handle.channels().count()
    }

    /// The network interfaces of the server, for further connections (3.2.4.20.10).
    ///
    /// # Errors
    /// What the server says, [`Error::Interfaces`], or [`Error::Ended`].
    pub async fn interfaces(&self) -> Result<Vec<NetworkInterface>, Error> {
        let of = |reply| match reply {
            Reply::Data(data) => Some(data),
            _ => None,
        };
        let output = self.ask(Request::Interfaces, of, "IOCTL").await?;
        let interfaces = NetworkInterfaces::from(&output[..]);
        interfaces.iter().collect::<Result<_, _>>().map_err(Error::Interfaces)
    }

    /// Opens a file to read it.
    ///
    /// # Errors
    /// What the server says, [`Error::Path`], or [`Error::Ended`]. So it is with all calls.
    pub async fn open(&self, path: &str) -> Result<File, Error> {
        self.file(path, READS, CreateDisposition::OPEN, ALL).await
    }

    /// Opens a file to write to it, and makes it if it is not there. What is in it stays.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn open_for_writing(&self, path: &str) -> Result<File, Error> {
        self.file(path, WRITES, CreateDisposition::OPEN_IF, ALL).await
    }

    /// Makes a file that is empty; one that is there loses its data.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn create(&self, path: &str) -> Result<File, Error> {
        self.file(path, WRITES, CreateDisposition::OVERWRITE_IF, ALL).await
    }

    /// Opens a file to write to it, or makes it, while nobody else may write to it, rename it or remove it. `keeps`: what is in it.
    pub(crate) async fn write_alone(&self, path: &str, keeps: bool) -> Result<File, Error> {
        let how = if keeps { CreateDisposition::OPEN_IF } else { CreateDisposition::OVERWRITE_IF };
        let lost = self.connections().1;
        match self.file(path, WRITES, how, READERS).await {
            // A CREATE that went again, since its connection was lost, meets what the first one has opened: this session's own.
            Err(Error::Status(NtStatus::SHARING_VIOLATION)) if self.connections().1 > lost => {
                self.file(path, WRITES, how, ALL).await
            }
            other => other,
        }
    }

    async fn file(
        &self,
        path: &str,
        access: AccessMask,
        how: CreateDisposition,
        shared: ShareAccess,
    ) -> Result<File, Error> {
        let opened = self.open_as(path, access, how, CreateOptions::NON_DIRECTORY_FILE, shared).await?;
        Ok(File::new(self.handle.clone(), self.connected, opened))
    }

    /// Memory of `len` bytes, at most [`PIECE_MAX`](super::PIECE_MAX), for [`File::read_into`] and [`File::write_from`]. All of it is zero.
    /// A connection has up to 1024 of them.
    ///
    /// # Errors
    /// [`Error::Memory`], [`Error::Ended`].
    pub async fn buffer(&self, len: u32) -> Result<Buffer, Error> {
        let of = |reply| match reply {
            Reply::Allocated(allocation) => Some(allocation),
            _ => None,
        };
        self.handle.ask(What::Allocate(len), of, "none").await.map(Buffer::new)
    }

    /// What is known of a file or directory.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn stat(&self, path: &str) -> Result<Stat, Error> {
        let opened = self.opened(path, LOOKS, CreateDisposition::OPEN, CreateOptions(0)).await?;
        self.close(opened).await?;
        Ok(opened.stat)
    }

    /// What is in a directory, in the server's order. An empty path is the share's own directory.
    ///
    /// # Errors
    /// As [`Self::open`]; [`Error::Entry`].
    pub async fn list(&self, path: &str) -> Result<Vec<Entry>, Error> {
        let directory = CreateOptions::DIRECTORY_FILE;
        let opened = self.opened(path, LISTS, CreateDisposition::OPEN, directory).await?;
        let listed = self.entries(opened).await;
        self.close(opened).await?;
        listed
    }

    async fn entries(&self, Opened { file_id, .. }: Opened) -> Result<Vec<Entry>, Error> {
        let data = |reply| match reply {
            Reply::Data(data) => Some(data),
            _ => None,
        };
        let (mut entries, mut restarts) = (Vec::new(), true);
        loop {
            match self.ask(Request::List { file_id, restarts }, data, "QUERY_DIRECTORY").await {
                Ok(output) => entry::parse(&output, &mut entries)?,
                Err(Error::Status(NtStatus::NO_MORE_FILES)) => return Ok(entries),
                // Of a directory without any entry.
                Err(Error::Status(NtStatus::NO_SUCH_FILE)) if restarts => return Ok(entries),
                Err(error) => return Err(error),
            }
            restarts = false;
            if entries.len() >= ENTRIES_MAX {
                return Err(Error::TooMany(ENTRIES_MAX));
            }
        }
    }

    /// Makes a directory.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn mkdir(&self, path: &str) -> Result<(), Error> {
        let directory = CreateOptions::DIRECTORY_FILE;
        let opened = self.opened(path, LOOKS, CreateDisposition::CREATE, directory).await?;
        self.close(opened).await
    }

    /// Removes a file.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn remove(&self, path: &str) -> Result<(), Error> {
        self.delete(path, CreateOptions::NON_DIRECTORY_FILE).await
    }

    /// Removes a directory, which has to be empty.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn remove_directory(&self, path: &str) -> Result<(), Error> {
        self.delete(path, CreateOptions::DIRECTORY_FILE).await
    }

    async fn delete(&self, path: &str, kind: CreateOptions) -> Result<(), Error> {
        // Of a link, itself.
        let options = kind.with(CreateOptions::OPEN_REPARSE_POINT, true);
        let opened = self.opened(path, DELETES, CreateDisposition::OPEN, options).await?;
        // FileDispositionInformation (MS-FSCC 2.4.11): DeletePending
        let deleted = self.set(opened, class::FILE_DISPOSITION, vec![1]).await;
        self.close(opened).await?;
        deleted
    }

    /// Gives a file or directory another path. `replaces`: a file that has it already goes.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn rename(&self, path: &str, to: &str, replaces: bool) -> Result<(), Error> {
        let input = rename_information(&remote_path(to)?, replaces);
        let options = CreateOptions::OPEN_REPARSE_POINT;
        let opened = self.opened(path, DELETES, CreateDisposition::OPEN, options).await?;
        let renamed = self.set(opened, class::FILE_RENAME, input).await;
        self.close(opened).await?;
        renamed
    }

    /// Disconnects the share. Its files are gone then.
    ///
    /// # Errors
    /// [`Error::Ended`], or what the server says.
    pub async fn disconnect(self) -> Result<(), Error> {
        self.handle.ask(What::Disconnect(self.connected.tree), nothing, "TREE_DISCONNECT").await
    }

    async fn opened(
        &self,
        path: &str,
        access: AccessMask,
        disposition: CreateDisposition,
        options: CreateOptions,
    ) -> Result<Opened, Error> {
        self.open_as(path, access, disposition, options, ALL).await
    }

    async fn open_as(
        &self,
        path: &str,
        access: AccessMask,
        disposition: CreateDisposition,
        options: CreateOptions,
        share_access: ShareAccess,
    ) -> Result<Opened, Error> {
        let path = remote_path(path)?;
        let of = |reply| match reply {
            Reply::Opened(opened) => Some(opened),
            _ => None,
        };
        let open = Open { path, access, share_access, disposition, options };
        self.ask(Request::Open(open), of, "CREATE").await
    }

    async fn close(&self, opened: Opened) -> Result<(), Error> {
        self.ask(Request::Close(opened.file_id), nothing, "CLOSE").await
    }

    async fn set(&self, Opened { file_id, .. }: Opened, class: u8, input: Vec<u8>) -> Result<(), Error> {
        self.ask(Request::Set { file_id, class, input }, nothing, "SET_INFO").await
    }

    async fn ask<T>(
        &self,
        request: Request,
        of: fn(Reply) -> Option<T>,
        name: &'static str,
    ) -> Result<T, Error> {
        self.handle.ask(What::File(self.connected.tree, request), of, name).await
    }
}

/// A path as servers have it: without separators at its ends, with backslashes, and with names that Windows could have.
fn remote_path(path: &str) -> Result<String, Error> {
    let mut names = Vec::new();
    for name in path.split('/').filter(|name| !name.is_empty() && *name != ".") {
        if name == ".." || name.contains('\0') {
            return Err(Error::Path(path.into()));
        }
        names.push(mapped::to_smb(name));
    }
    Ok(names.join("\\"))
}

/// FileRenameInformation (MS-FSCC 2.4.42.2): ReplaceIfExists, Reserved, RootDirectory, FileNameLength, FileName.
fn rename_information(path: &str, replaces: bool) -> Vec<u8> {
    let name: Vec<u8> = path.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut input = vec![u8::from(replaces)];
    input.resize(16, 0);
    input.extend_from_slice(&u32::try_from(name.len()).unwrap_or(u32::MAX).to_le_bytes());
    input.extend_from_slice(&name);
    // With a name of one character it is padded: servers want no less than the structure in C has.
    input.resize(input.len().max(RENAME_LEN_MIN), 0);
    input
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rename_is_never_shorter_than_its_structure_in_c() {
        for (path, len) in [("b", 24), ("bc", 24), ("b\\c", 26)] {
            let input = rename_information(path, true);
            assert_eq!((input.len(), input[0], input[16]), (len, 1, 2 * path.len() as u8), "{path}");
        }
    }
}
