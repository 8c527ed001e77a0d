//! What a host can serve.

use smbd_smb2::server::{Change, FileResult, FileSystem, OpenParameters, SharePath};
use smbd_smb2::wire::CreateAction;

/// A file system that a [`Host`](crate::Host) serves. Clones are the same file system: several threads use it at the same time, and a call that
/// waits for a disk holds up nobody else.
///
/// Looking up a path may take long, in a large directory for example. Few threads of a host do that at the same time. The methods here say
/// when that is: a file system whose look-ups are quick leaves both out.
pub trait Served: FileSystem<File: Clone + Send + Sync + 'static> + Clone + Send + Sync + 'static {
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
