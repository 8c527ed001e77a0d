//! A file of this host becomes one of a share.

use std::collections::VecDeque;
use std::io::{self, SeekFrom};
use std::path::Path;

use bytes::{Bytes, BytesMut};
use tokio::fs;
use tokio::io::{AsyncReadExt, AsyncSeekExt};

use super::failure::Failure;
use super::window::pieces;
use super::{Copied, OVERLAP, Options, Watch};
use crate::{Error, File, Pending, Share};

/// Copies a file of this host to a share. Resumed, it goes back by [`OVERLAP`] bytes.
///
/// # Errors
/// [`Failure`]. What was copied before stays.
pub async fn put(
    local: &Path,
    share: &Share,
    path: &str,
    options: Options,
    watch: &dyn Watch,
) -> Result<Copied, Failure> {
    let (of, of_local) = (Failure::remote(path), Failure::local(local));
    let mut source = fs::File::open(local).await.map_err(&of_local)?;
    let known = source.metadata().await.map_err(&of_local)?;
    if known.is_dir() {
        return Err(of_local(io::Error::other("it is a directory")));
    }
    if !known.is_file() {
        return Err(of_local(io::Error::other(
            "it is a device or a pipe, of which nobody knows how long it is",
        )));
    }
    let size = known.len();
    let file = match options.resume {
        true => share.open_for_writing(path).await,
        false => share.create(path).await,
    };
    let file = file.map_err(&of)?;
    let there = if options.resume { file.size() } else { 0 };
    if there > size {
        return Err(Failure::Longer { there: path.into(), got: there, max: size });
    }
    let resumed = there.saturating_sub(OVERLAP);
    source.seek(SeekFrom::Start(resumed)).await.map_err(&of_local)?;
    watch.begins(size, resumed);
    let (mut at, mut waiting) = (resumed, VecDeque::new());
    while at < size || !waiting.is_empty() {
        if at < size && waiting.len() < pieces(options.pieces) {
            let left = usize::try_from(size.saturating_sub(at)).unwrap_or(usize::MAX);
            let mut data = BytesMut::zeroed(left.min(file.write_max() as usize));
            source.read_exact(&mut data).await.map_err(&of_local)?;
            let data = data.freeze();
            let pending = file.start_write(at, data.clone()).await.map_err(&of)?;
            let len = data.len() as u64;
            waiting.push_back(Piece { offset: at, data, pending });
            at = at.saturating_add(len);
            continue;
        }
        // In order: so nothing is missing far from the end.
        if let Some(piece) = waiting.pop_front() {
            watch.moved(piece.end(&file).await.map_err(&of)?);
        }
    }
    file.close().await.map_err(&of)?;
    Ok(Copied { size, resumed })
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
