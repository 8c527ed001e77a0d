//! What a host can serve.

use smbd_link::transport::Memory;
use smbd_smb2::server::{Change, FileResult, FileSystem, OpenParameters, ReadBuffer, SharePath};
use smbd_smb2::wire::{CreateAction, NtStatus};

/// A file system that a [`Host`](crate::Host) serves. Clones are the same file system: several threads use it at the same time, and a call that
/// waits for a disk holds up nobody else.
///
/// Looking up a path may take long, in a large directory for example. Few threads of a host do that at the same time. `open_soon` and
/// `rename_soon` say when that is: a file system whose look-ups are quick leaves both out.
///
/// A thread carries an operation out, because the operation may wait. Where nothing is waited for, the task of the client does so itself,
/// which saves two hand-overs: all operations of a file system that [`is_quick`](Self::is_quick), and a READ of bytes that
/// [`read_soon`](Self::read_soon) has. A panic there ends the client.
pub trait Served: FileSystem<File: Clone + Send + Sync + 'static> + Clone + Send + Sync + 'static {
    /// Whether no call waits for a disk, a network or another process, as with files in memory.
    fn is_quick(&self) -> bool {
        false
    }

    /// Reads as [`FileSystem::read`] does to the [space](ReadBuffer::space) of a buffer, if no byte has to be waited for; `None`: a thread is to
    /// do so. A buffer has memory once its space is asked for.
    ///
    /// # Errors
    /// Those of [`FileSystem::read`].
    fn read_soon(
        &mut self,
        file: &Self::File,
        offset: u64,
        into: &mut ReadBuffer,
    ) -> FileResult<Option<usize>> {
        let _ = (file, offset, into);
        Ok(None)
    }

    /// Reads as [`Self::read_to`] does, if no byte has to be waited for; `None`: a thread is to do so.
    ///
    /// # Errors
    /// Those of [`FileSystem::read`].
    fn read_to_soon(
        &mut self,
        file: &Self::File,
        offset: u64,
        to: (&dyn Memory, u32),
    ) -> FileResult<Option<usize>> {
        let _ = (file, offset, to);
        Ok(None)
    }

    /// Opens or makes a file as [`FileSystem::open`] does; `None` if that takes long. Then `open` is called when a thread is free for it.
    ///
    /// # Errors
    /// Those of [`FileSystem::open`].
    fn open_soon(
        &mut self,
        parameters: &OpenParameters,
        now: u64,
    ) -> FileResult<Option<(Self::File, CreateAction)>> {
        self.open(parameters, now).map(Some)
    }

    /// Reads `len` bytes of a file, from byte `offset` on, to the beginning of memory, as [`FileSystem::read`] does. Returns their number.
    ///
    /// # Errors
    /// Those of [`FileSystem::read`].
    fn read_to(
        &mut self,
        file: &Self::File,
        offset: u64,
        (memory, len): (&dyn Memory, u32),
    ) -> FileResult<usize> {
        let mut bytes = vec![0; len as usize];
        let count = self.read(file, offset, &mut bytes)?;
        let read = bytes.get(..count).ok_or(NtStatus::INTERNAL_ERROR)?;
        memory.fill(0, read).map_err(|_| NtStatus::INTERNAL_ERROR)?;
        Ok(count)
    }

    /// Writes the first `len` bytes of memory to a file, from byte `offset` on, as [`FileSystem::write`] does.
    ///
    /// # Errors
    /// Those of [`FileSystem::write`].
    fn write_from(
        &mut self,
        file: &Self::File,
        offset: u64,
        (memory, len): (&dyn Memory, u32),
        through: bool,
        now: u64,
    ) -> FileResult<()> {
        let mut bytes = Vec::new();
        memory.append_to(0, len, &mut bytes).map_err(|_| NtStatus::INTERNAL_ERROR)?;
        self.write(file, offset, &bytes, through, now)
    }

    /// Gives a file another name as [`FileSystem::change`] does; `None` if that takes long.
    ///
    /// # Errors
    /// Those of [`FileSystem::change`].
    fn rename_soon(
        &mut self,
        file: &Self::File,
        (path, replace): (&SharePath, bool),
        now: u64,
    ) -> FileResult<Option<()>> {
        let change = Change::Rename { path: path.clone(), replace };
        self.change(file, &change, now).map(Some)
    }
}
