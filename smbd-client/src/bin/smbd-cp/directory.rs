//! `ls`, `rm` and `mkdir`.

use smbd_client::{Entry, Error, Share};
use smbd_smb2::wire::NtStatus;

use crate::place::Url;
use crate::say;
use crate::summary::{self, plain};
use crate::trouble::Trouble;

/// Lists a directory, or tells of one file.
pub(crate) async fn list(url: &Url, as_json: bool, share: &Share) -> Result<(), Trouble> {
    let mut entries = match share.list(&url.path).await {
        // A server says one or the other of a file.
        Err(Error::Status(NtStatus::NOT_A_DIRECTORY | NtStatus::INVALID_PARAMETER)) if !url.is_directory => {
            let stat = share.stat(&url.path).await.map_err(|error| told(url, &error))?;
            vec![Entry { name: url.name().into(), stat }]
        }
        listed => listed.map_err(|error| told(url, &error))?,
    };
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    if as_json {
        return say::line(summary::entries(&entries));
    }
    entries.iter().try_for_each(|entry| say::line(summary::entry(entry)))
}

/// Removes files, or directories.
pub(crate) async fn remove(
    urls: &[Url],
    directories: bool,
    as_json: bool,
    share: &Share,
) -> Result<(), Trouble> {
    let mut results = Vec::new();
    for url in urls {
        results.push(match directories {
            true => share.remove_directory(&url.path).await,
            false => share.remove(&url.path).await,
        });
    }
    all(urls, &results, as_json)
}

/// Makes directories.
pub(crate) async fn make(urls: &[Url], as_json: bool, share: &Share) -> Result<(), Trouble> {
    let mut results = Vec::new();
    for url in urls {
        results.push(share.mkdir(&url.path).await);
    }
    all(urls, &results, as_json)
}

/// Tells what came of each.
fn all(urls: &[Url], results: &[Result<(), Error>], as_json: bool) -> Result<(), Trouble> {
    let each = urls.iter().zip(results);
    if as_json {
        let told = each.map(|(url, result)| {
            let error = result.as_ref().err().map(ToString::to_string);
            serde_json::json!({ "path": url.path, "error": error })
        });
        say::line(told.collect::<serde_json::Value>())?;
    } else {
        let failed = each.filter_map(|(url, result)| Some((url, result.as_ref().err()?)));
        failed.for_each(|(url, error)| say::trouble(format_args!("{}: {error}", plain(&url.path))));
    }
    if results.iter().any(Result::is_err) { Err(Trouble::Files) } else { Ok(()) }
}

fn told(url: &Url, error: &Error) -> Trouble {
    let path = if url.path.is_empty() { "/" } else { &url.path };
    Trouble::Failed(format!("{}: {error}", plain(path)))
}
