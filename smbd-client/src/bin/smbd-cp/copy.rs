//! `get` and `put`: several files at once.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use smbd_client::Share;
use smbd_client::copy::{self, Failure};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::options;
use crate::outcome::{Done, Job, Outcome};
use crate::place::{Place, Url, check_one};
use crate::progress::{Bar, Bars};
use crate::say;
use crate::summary;
use crate::trouble::Trouble;

/// Which files go where, as far as that is known without looking.
pub(crate) enum Plan {
    Get(Place, Vec<Url>, PathBuf),
    Put(Vec<PathBuf>, Url),
}

impl Plan {
    pub(crate) fn get(paths: &[String]) -> Result<Self, Trouble> {
        let (out, urls) =
            split(paths, "OUT: there is none; what is copied, and where to: smbd-cp get URL... OUT")?;
        no_dash([out])?;
        let urls: Vec<Url> = urls.iter().map(|text| url(text)).collect::<Result<_, _>>()?;
        let place = check_one(&urls).map_err(Trouble::Usage)?.clone();
        if let Some(directory) = urls.iter().find(|url| url.is_directory) {
            let name = format!("{}/{}", directory.place, directory.path);
            return Err(Trouble::Usage(format!("{name} is a directory; single files are copied")));
        }
        if out.ends_with('/') && !Path::new(out).is_dir() {
            return Err(Trouble::Usage(format!("there is no directory '{out}'; make it first")));
        }
        let out = PathBuf::from(out);
        if urls.len() > 1 && !out.is_dir() {
            return Err(Trouble::Usage(format!(
                "'{}' has to be a directory: there are several files",
                out.display()
            )));
        }
        distinct(urls.iter().map(Url::name))?;
        Ok(Self::Get(place, urls, out))
    }

    pub(crate) fn put(paths: &[String]) -> Result<Self, Trouble> {
        let (target, files) =
            split(paths, "URL: there is none; what is copied, and where to: smbd-cp put FILE... URL")?;
        no_dash(files)?;
        let target = url(target)?;
        if files.len() > 1 && !target.is_directory {
            return Err(Trouble::Usage(
                "the URL has to be a directory, with a / at its end: there are several files".into(),
            ));
        }
        let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
        if target.is_directory {
            let names: Vec<&str> = files.iter().map(|file| name(file)).collect::<Result<_, _>>()?;
            distinct(names.into_iter())?;
        }
        Ok(Self::Put(files, target))
    }

    pub(crate) const fn place(&self) -> &Place {
        match self {
            Self::Get(place, ..) => place,
            Self::Put(_, url) => &url.place,
        }
    }

    fn jobs(&self) -> Result<VecDeque<Job>, Trouble> {
        match self {
            Self::Get(_, urls, out) => Ok(urls
                .iter()
                .map(|url| {
                    let local = if out.is_dir() { out.join(url.name()) } else { out.clone() };
                    Job { remote: url.path.clone(), local, is_get: true }
                })
                .collect()),
            Self::Put(files, url) => files
                .iter()
                .map(|file| {
                    let remote = if url.is_directory { url.join(name(file)?) } else { url.path.clone() };
                    Ok(Job { remote, local: file.clone(), is_get: false })
                })
                .collect(),
        }
    }
}

/// The last path, and those before it; one at least.
fn split<'p>(paths: &'p [String], otherwise: &str) -> Result<(&'p String, &'p [String]), Trouble> {
    let both = paths.split_last().filter(|(_, others)| !others.is_empty());
    both.ok_or_else(|| Trouble::Usage(otherwise.into()))
}

/// Checks that none is what stands for standard input or output elsewhere.
fn no_dash<'p>(paths: impl IntoIterator<Item = &'p String>) -> Result<(), Trouble> {
    match paths.into_iter().any(|path| path == "-") {
        true => Err(Trouble::Usage(
            "'-': files are copied, no standard input or output; one of this name is ./-".into(),
        )),
        false => Ok(()),
    }
}

fn url(text: &str) -> Result<Url, Trouble> {
    text.parse().map_err(|wrong| Trouble::Usage(format!("'{text}': {wrong}")))
}

fn name(file: &Path) -> Result<&str, Trouble> {
    let name = file.file_name().and_then(|name| name.to_str());
    name.ok_or_else(|| Trouble::Usage(format!("'{}' has no name that a server could have", file.display())))
}

/// Checks that no two files would become one.
fn distinct<'n>(names: impl Iterator<Item = &'n str>) -> Result<(), Trouble> {
    // While they are copied they have other names.
    let mut names: Vec<_> = names.flat_map(|name| [name.to_owned(), copy::partial(name)]).collect();
    names.sort_unstable();
    match names.iter().zip(names.iter().skip(1)).find(|(one, other)| one == other) {
        Some((name, _)) => {
            Err(Trouble::Usage(format!("two files are called '{name}', and would become one")))
        }
        None => Ok(()),
    }
}

/// Copies all files, and tells what came of each.
pub(crate) async fn run(
    plan: &Plan,
    options: &options::Copy,
    as_json: bool,
    share: &Share,
) -> Result<(), Trouble> {
    let mut jobs = plan.jobs()?;
    let bars = Bars::new(options.quiet || as_json);
    let how = copy::Options { pieces: options.pieces, resume: options.resume, check: options.check };
    let (began, mut running, mut outcomes) = (Instant::now(), JoinSet::new(), Vec::new());
    // All is copied, also if that cannot be said.
    let mut said = Ok(());
    loop {
        while running.len() < options.files.into()
            && let Some(job) = jobs.pop_front()
        {
            let bar = Arc::new(bars.add(&job.remote, summary::ways(share)));
            running.spawn(one(job, share.clone(), how, bar));
        }
        let Some(ended) = running.join_next().await else { break };
        let outcome = ended.map_err(Trouble::failed)?;
        if !as_json {
            said = said.and(bars.say(&outcome, &summary::way(share)));
        }
        outcomes.push(outcome);
    }
    if as_json {
        said = say::line(summary::copies(&outcomes, plan.place(), share, began.elapsed()));
    }
    said?;
    if outcomes.iter().any(|outcome| outcome.result.is_err()) { Err(Trouble::Files) } else { Ok(()) }
}

async fn one(job: Job, share: Share, how: copy::Options, bar: Arc<Bar>) -> Outcome {
    let result = copied(&job, &share, how, &bar).await;
    bar.end();
    Outcome { job, result }
}

async fn copied(job: &Job, share: &Share, how: copy::Options, bar: &Bar) -> Result<Done, Failure> {
    let began = Instant::now();
    let copied = match job.is_get {
        true => copy::get(share, &job.remote, &job.local, how, bar).await?,
        false => copy::put(&job.local, share, &job.remote, how, bar).await?,
    };
    let ended = bar.checked_from().unwrap_or_else(Instant::now);
    Ok(Done { copied, took: ended.saturating_duration_since(began) })
}
