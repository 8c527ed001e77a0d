//! A file of a share becomes one of this host.

use std::fs::Permissions;
use std::io::{self, ErrorKind, SeekFrom};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use tokio::fs::{self, File, OpenOptions};
use tokio::io::{AsyncSeekExt, AsyncWriteExt};

use super::check::compared;
use super::failure::Failure;
use super::partial::partial;
use super::window::Window;
use super::{Copied, Options, Watch};
use crate::Share;

/// Copies a file of a share to this host. Until all is there it has its [`partial`] name; then it replaces a file of its own, whose
/// permissions it gets. A device is written to as it is. What is written is always the beginning of the file: a copy that stops, for
/// whatever reason, can be resumed where it ended.
///
/// # Errors
/// [`Failure`]. What was copied before stays, under the partial name.
pub async fn get(
    share: &Share,
    path: &str,
    local: &Path,
    options: Options,
    watch: &dyn Watch,
) -> Result<Copied, Failure> {
    let (of, of_local) = (Failure::remote(path), Failure::local(local));
    let file = share.open(path).await.map_err(&of)?;
    let size = file.size();
    let target = Target::of(local).await.map_err(&of_local)?;
    let (written, resumed) = (target.written(), options.resume && target.is_file());
    let of_written = Failure::local(written);
    if resumed {
        target.take(size).await?;
    }
    let mut open = OpenOptions::new();
    open.write(true).create(target.is_file());
    let mut out = open.open(written).await.map_err(&of_written)?;
    if target.is_file() {
        alone(&out, written).await.map_err(&of_written)?;
    }
    if !resumed && target.is_file() {
        out.set_len(0).await.map_err(&of_written)?;
    }
    let resumed = if resumed { out.metadata().await.map_err(&of_written)?.len() } else { 0 };
    if resumed > size {
        return Err(Failure::Longer { there: written.display().to_string(), got: resumed, max: size });
    }
    out.seek(SeekFrom::Start(resumed)).await.map_err(&of_written)?;
    watch.begins(size, resumed);
    let mut window = Window::new(&file, path, resumed, options.pieces);
    while let Some(data) = window.next().await? {
        out.write_all(&data).await.map_err(&of_written)?;
        watch.moved(data.len() as u64);
    }
    // It waits for what is written behind the scenes, and is told of its errors.
    out.flush().await.map_err(&of_written)?;
    file.close().await.map_err(&of)?;
    let sum = compared(share, path, written, options, watch).await?;
    target.finish().await.map_err(&of_local)?;
    Ok(Copied { size, resumed, sum })
}

/// Makes sure that no other copy writes to a file of this name, until it is closed.
async fn alone(file: &File, path: &Path) -> io::Result<()> {
    let other = || io::Error::other("another copy of this name is under way");
    // Some file systems have no such locks.
    if flock(file, FlockOperation::NonBlockingLockExclusive) == Err(Errno::WOULDBLOCK) {
        return Err(other());
    }
    // Another one may have ended, and given it the other name.
    let (own, there) = (file.metadata().await?, fs::metadata(path).await.map_err(|_| other())?);
    if (own.dev(), own.ino()) == (there.dev(), there.ino()) { Ok(()) } else { Err(other()) }
}

/// Where a copy goes.
enum Target {
    /// A device.
    Device(PathBuf),
    File {
        own: PathBuf,
        partial: PathBuf,
        /// Bytes and permissions of a file that is there.
        there: Option<(u64, Permissions)>,
    },
}

impl Target {
    async fn of(local: &Path) -> io::Result<Self> {
        let (own, there) = match fs::metadata(local).await {
            Ok(known) if known.is_dir() => return Err(ErrorKind::IsADirectory.into()),
            Ok(known) if known.file_type().is_fifo() || known.file_type().is_socket() => {
                return Err(io::Error::other("it is a socket or a pipe; files and devices are written to"));
            }
            Ok(known) if !known.is_file() => return Ok(Self::Device(local.into())),
            // What a link leads to is replaced, and the link stays.
            Ok(known) => (fs::canonicalize(local).await?, Some((known.len(), known.permissions()))),
            Err(error) if error.kind() == ErrorKind::NotFound => (local.into(), None),
            Err(error) => return Err(error),
        };
        let name = own.file_name().ok_or(ErrorKind::InvalidInput)?.to_string_lossy();
        let partial = own.with_file_name(partial(&name));
        Ok(Self::File { own, partial, there })
    }

    fn written(&self) -> &Path {
        match self {
            Self::Device(path) | Self::File { partial: path, .. } => path,
        }
    }

    const fn is_file(&self) -> bool {
        matches!(self, Self::File { .. })
    }

    /// Gives a file that is there its partial name if there is none of that, so that the copy goes on behind it.
    async fn take(&self, max: u64) -> Result<(), Failure> {
        let Self::File { own, partial, there: Some((got, _)) } = self else { return Ok(()) };
        if fs::try_exists(partial).await.map_err(Failure::local(partial))? {
            return Ok(());
        }
        if *got > max {
            return Err(Failure::Longer { there: own.display().to_string(), got: *got, max });
        }
        fs::rename(own, partial).await.map_err(Failure::local(own))
    }

    /// All is there.
    async fn finish(&self) -> io::Result<()> {
        let Self::File { own, partial, there } = self else { return Ok(()) };
        if let Some((_, permissions)) = there {
            fs::set_permissions(partial, permissions.clone()).await?;
        }
        fs::rename(partial, own).await
    }
}
