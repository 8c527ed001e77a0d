//! A file of this host becomes one of a share.

use std::collections::VecDeque;
use std::fs::Metadata;
use std::io::{self, SeekFrom};
use std::path::Path;

use bytes::{Bytes, BytesMut};
use rustix::fs::OFlags;
use smbd_smb2::wire::NtStatus;
use tokio::fs::{File as LocalFile, OpenOptions};
use tokio::io::{AsyncReadExt, AsyncSeekExt};

use super::check::compared;
use super::failure::Failure;
use super::partial;
use super::window::pieces;
use super::{Copied, OVERLAP, Options, Watch};
use crate::{Error, File, Pending, Share};

/// Copies a file of this host to a share, to its end, whatever length the host says it has. Until all is there it has its
/// [`partial`](super::partial()) name, under which nobody else can write to it; then it replaces a file of its own. Resumed, it goes back by
/// [`OVERLAP`] bytes.
///
/// # Errors
/// [`Failure`]: also if it is no regular file. What was copied before stays, under the partial name.
pub async fn put(
    local: &Path,
    share: &Share,
    path: &str,
    options: Options,
    watch: &dyn Watch,
) -> Result<Copied, Failure> {
    let (of, of_local) = (Failure::remote(path), Failure::local(local));
    let (mut source, known) = open(local).await.map_err(&of_local)?;
    let size = known.len();
    let there = target(share, path).await.map_err(&of)?;
    let partial = partial::remote(path);
    let of_partial = Failure::remote(&partial);
    let file = match options.resume {
        true => left(share, path, &partial, (there, size)).await?,
        false => share.write_alone(&partial, false).await.map_err(&of_partial)?,
    };
    let there = if options.resume { file.size() } else { 0 };
    if there > size {
        return Err(Failure::Longer { there: partial.clone(), got: there, max: size });
    }
    let resumed = there.saturating_sub(OVERLAP);
    source.seek(SeekFrom::Start(resumed)).await.map_err(&of_local)?;
    watch.begins(size, resumed);
    let (mut at, mut waiting, mut is_read) = (resumed, VecDeque::new(), false);
    while !is_read || !waiting.is_empty() {
        if !is_read && waiting.len() < pieces(options.pieces) {
            let data = piece(&mut source, file.write_max()).await.map_err(&of_local)?;
            if data.is_empty() {
                is_read = true;
                continue;
            }
            let pending = file.start_write(at, data.clone()).await.map_err(&of_partial)?;
            let len = data.len() as u64;
            waiting.push_back(Piece { offset: at, data, pending });
            at = at.saturating_add(len);
            continue;
        }
        // In order: so nothing is missing far from the end.
        if let Some(piece) = waiting.pop_front() {
            watch.moved(piece.end(&file).await.map_err(&of_partial)?);
        }
    }
    // It became shorter while it was read.
    if at < there {
        file.set_size(at).await.map_err(&of_partial)?;
    }
    file.close().await.map_err(&of_partial)?;
    let sum = compared(share, &partial, local, options, watch).await?;
    finish(share, &partial, path).await.map_err(&of)?;
    Ok(Copied { size: at, resumed: resumed.min(at), sum })
}

/// Opens a regular file. Whatever else it is does not hold it up.
async fn open(local: &Path) -> io::Result<(LocalFile, Metadata)> {
    regular(&tokio::fs::metadata(local).await?)?;
    // What has become a pipe since would be waited for.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(local).await?;
    let known = file.metadata().await?;
    regular(&known)?;
    Ok((file, known))
}

fn regular(known: &Metadata) -> io::Result<()> {
    match (known.is_file(), known.is_dir()) {
        (true, _) => Ok(()),
        (false, true) => Err(io::Error::other("it is a directory")),
        (false, false) => {
            Err(io::Error::other("it is a device, a socket or a pipe; regular files are copied"))
        }
    }
}

/// Bytes of the file that is to be replaced, if there is one.
async fn target(share: &Share, path: &str) -> Result<Option<u64>, Error> {
    match share.stat(path).await {
        Ok(stat) if stat.is_directory() => Err(Error::Status(NtStatus::FILE_IS_A_DIRECTORY)),
        Ok(stat) => Ok(Some(stat.size)),
        Err(Error::Status(NtStatus::OBJECT_NAME_NOT_FOUND)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens what a copy that stopped has left.
async fn left(
    share: &Share,
    path: &str,
    partial: &str,
    (there, size): (Option<u64>, u64),
) -> Result<File, Failure> {
    let of = Failure::remote(partial);
    let is_there = target(share, partial).await.map_err(&of)?.is_some();
    if let (false, Some(got)) = (is_there, there) {
        if got > size {
            return Err(Failure::Longer { there: path.into(), got, max: size });
        }
        share.rename(path, partial, false).await.map_err(Failure::remote(path))?;
    }
    share.write_alone(partial, true).await.map_err(&of)
}

/// All is there: the file gets its own name.
async fn finish(share: &Share, partial: &str, path: &str) -> Result<(), Error> {
    // Each time a connection of the session is lost.
    while let Err(error) = share.rename(partial, path, true).await {
        if !matches!(error, Error::Unknown { .. }) {
            return Err(error);
        }
        if target(share, partial).await?.is_none() {
            break;
        }
    }
    Ok(())
}

/// The next bytes of a file: as many as one WRITE has, but at its end.
async fn piece(source: &mut LocalFile, max: u32) -> io::Result<Bytes> {
    let mut data = BytesMut::zeroed(max as usize);
    let mut filled = 0_usize;
    while let Some(room) = data.get_mut(filled..).filter(|room| !room.is_empty()) {
        match source.read(room).await? {
            0 => break,
            read => filled = filled.saturating_add(read),
        }
    }
    data.truncate(filled);
    Ok(data.freeze())
}

/// A piece that is being written.
struct Piece {
    offset: u64,
    data: Bytes,
    pending: Pending<u64>,
}

impl Piece {
    /// Waits until all of it is written. Returns its length in bytes.
    async fn end(self, file: &File) -> Result<u64, Error> {
        let Self { offset, mut data, pending } = self;
        let len = data.len() as u64;
        let written = pending.wait().await?;
        if written < len {
            let rest = data.split_off(usize::try_from(written).unwrap_or(usize::MAX));
            file.write_at(offset.saturating_add(written), rest).await?;
        }
        Ok(len)
    }
}
