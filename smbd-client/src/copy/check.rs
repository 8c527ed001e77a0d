//! A file of a share and one of this host are compared.

use std::path::Path;

use std::hash::Hasher as _;
use tokio::fs;
use tokio::io::AsyncReadExt;

use twox_hash::XxHash3_64;

use super::failure::Failure;
use super::window::Window;
use super::{Options, Watch};
use crate::Share;

/// Bytes of a local file that are read at once.
const STEP: usize = 1 << 20;

/// [`check`], if it is asked for.
pub(super) async fn compared(
    share: &Share,
    path: &str,
    local: &Path,
    options: Options,
    watch: &dyn Watch,
) -> Result<Option<u64>, Failure> {
    match options.check {
        true => check(share, path, local, options, watch).await.map(Some),
        false => Ok(None),
    }
}

/// Reads both files from their beginning to their end, and compares their sums (XXH3, 64 bits). Returns the sum.
///
/// # Errors
/// [`Failure::Differs`], or one of them cannot be read.
pub async fn check(
    share: &Share,
    path: &str,
    local: &Path,
    options: Options,
    watch: &dyn Watch,
) -> Result<u64, Failure> {
    let (of, of_local) = (Failure::remote(path), Failure::local(local));
    let file = share.open(path).await.map_err(&of)?;
    watch.checks(file.size());
    let (mut remote, mut here) = (XxHash3_64::new(), XxHash3_64::new());
    let mut window = Window::new(&file, path, 0, options.pieces);
    while let Some(data) = window.next().await? {
        remote.write(&data);
        watch.moved(data.len() as u64);
    }
    file.close().await.map_err(&of)?;
    let mut source = fs::File::open(local).await.map_err(&of_local)?;
    let mut step = vec![0; STEP];
    loop {
        let read = source.read(&mut step).await.map_err(&of_local)?;
        if read == 0 {
            break;
        }
        here.write(step.get(..read).unwrap_or_default());
    }
    let (remote, here) = (remote.finish(), here.finish());
    if remote != here {
        return Err(Failure::Differs { path: path.into(), remote, local: local.into(), here });
    }
    Ok(remote)
}
