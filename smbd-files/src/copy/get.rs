//! A file of a share becomes one of this host.

use std::io::SeekFrom;
use std::path::Path;

use tokio::fs::OpenOptions;
use tokio::io::{AsyncSeekExt, AsyncWriteExt};

use super::failure::Failure;
use super::window::Window;
use super::{Copied, Options, Watch};
use crate::Share;

/// Copies a file of a share to this host. What is written is always the beginning of the file: a copy that stops, for whatever reason, can
/// be resumed where it ended.
///
/// # Errors
/// [`Failure`]. What was copied before stays.
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
    let mut open = OpenOptions::new();
    open.write(true).create(true).truncate(!options.resume);
    let mut out = open.open(local).await.map_err(&of_local)?;
    let resumed = if options.resume { out.metadata().await.map_err(&of_local)?.len() } else { 0 };
    if resumed > size {
        return Err(Failure::Longer { there: local.display().to_string(), got: resumed, max: size });
    }
    out.seek(SeekFrom::Start(resumed)).await.map_err(&of_local)?;
    watch.begins(size, resumed);
    let mut window = Window::new(&file, path, resumed, options.pieces);
    while let Some(data) = window.next().await? {
        out.write_all(&data).await.map_err(&of_local)?;
        watch.moved(data.len() as u64);
    }
    // It waits for what is written behind the scenes, and is told of its errors.
    out.flush().await.map_err(&of_local)?;
    file.close().await.map_err(&of)?;
    Ok(Copied { size, resumed })
}
