//! What was done, as text and as JSON.

use std::time::Duration;

use serde_json::{Value, json};
use smbd_client::{Entry, Share};

use crate::outcome::{Done, Job, Outcome};
use crate::place::Place;

/// 1970 as a FILETIME: 100 ns since 1601.
const EPOCH: u64 = 116_444_736_000_000_000;
const TICKS: u64 = 10_000_000;

/// How data go to a share.
pub(crate) fn ways(share: &Share) -> String {
    let ways: Vec<String> = share.ways().iter().map(ToString::to_string).collect();
    // Without a connection, the last that is known.
    if ways.is_empty() { share.way().to_string() } else { ways.join(" and ") }
}

/// The same, over how many connections, and how many of them were lost.
pub(crate) fn way(share: &Share) -> String {
    let way = ways(share);
    match share.connections() {
        (..2, 0) => way,
        (live, 0) => format!("{way}, {live} connections"),
        (live, lost) => format!("{way}, {live} connections, {lost} lost"),
    }
}

/// A file that was copied.
pub(crate) fn line(job: &Job, done: &Done, way: &str) -> String {
    let Done { copied, took } = done;
    let name = match job.is_get {
        true => job.local.display().to_string(),
        false => job.remote.clone(),
    };
    let moved = copied.size.saturating_sub(copied.resumed);
    let mut line = format!("{}: {} bytes", plain(&name), copied.size);
    if copied.resumed > 0 {
        line += &format!(", {} of them were there", copied.resumed);
    }
    line += &format!(", {:.1} s, {:.1} MB/s, {way}", took.as_secs_f64(), rate(moved, *took));
    match copied.sum {
        Some(sum) => line + &format!(", xxh3 {sum:016x}"),
        None => line,
    }
}

/// 10^6 bytes in a second.
fn rate(bytes: u64, took: Duration) -> f64 {
    let seconds = took.as_secs_f64();
    if seconds > 0.0 { bytes as f64 / seconds / 1e6 } else { 0.0 }
}

/// All files, as one line.
pub(crate) fn copies(outcomes: &[Outcome], place: &Place, share: &Share, took: Duration) -> Value {
    let (connections, lost) = share.connections();
    let negotiated = share.negotiated();
    let files: Vec<Value> = outcomes
        .iter()
        .map(|Outcome { job, result }| {
            let done = result.as_ref().ok();
            json!({
                "remote": job.remote,
                "local": job.local.display().to_string(),
                "bytes": done.map(|done| done.copied.size),
                "resumed": done.map(|done| done.copied.resumed),
                "xxh3": done.and_then(|done| done.copied.sum).map(|sum| format!("{sum:016x}")),
                "seconds": done.map(|done| done.took.as_secs_f64()),
                "error": result.as_ref().err().map(|failure| job.told(failure)),
            })
        })
        .collect();
    json!({
        "server": place.host,
        "share": place.share,
        "way": ways(share),
        "dialect": negotiated.dialect.to_string(),
        "cipher": negotiated.cipher.map(|cipher| cipher.to_string()),
        "signing": negotiated.signing.to_string(),
        "connections": connections,
        "lost": lost,
        "seconds": took.as_secs_f64(),
        "failed": outcomes.iter().filter(|outcome| outcome.result.is_err()).count(),
        "files": files,
    })
}

/// Entries of a directory, as one line.
pub(crate) fn entries(entries: &[Entry]) -> Value {
    let entry = |entry: &Entry| {
        json!({
            "name": entry.name,
            "bytes": entry.stat.size,
            "directory": entry.stat.is_directory(),
            "written": unix(entry.stat.written),
        })
    };
    entries.iter().map(entry).collect()
}

/// An entry of a directory.
pub(crate) fn entry(entry: &Entry) -> String {
    let kind = if entry.stat.is_directory() { 'd' } else { '-' };
    let written = chrono::DateTime::from_timestamp(unix(entry.stat.written), 0);
    let written = written.map_or("?".into(), |written| written.format("%Y-%m-%d %H:%M").to_string());
    format!("{kind} {:>14} {written:16} {}", entry.stat.size, plain(&entry.name))
}

/// Seconds since 1970 of a FILETIME.
fn unix(filetime: u64) -> i64 {
    let seconds = |ticks: u64| i64::try_from(ticks / TICKS).unwrap_or(i64::MAX);
    seconds(filetime).saturating_sub(seconds(EPOCH))
}

/// A text of a server without anything that a terminal would act upon.
pub(crate) fn plain(text: &str) -> String {
    let replace = |c: char| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
    text.chars().map(replace).collect()
}

#[cfg(test)]
mod tests {
    use smbd_client::Stat;
    use smbd_smb2::wire::FileAttributes;

    use super::*;

    #[test]
    fn an_entry_has_its_kind_size_and_time_and_nothing_that_a_terminal_would_act_upon() {
        let written = EPOCH + 1_795_446_000 * TICKS;
        let stat = Stat { size: 1 << 40, created: 0, written, attributes: FileAttributes(0) };
        let told = entry(&Entry { name: "a\u{1b}[2Jb".into(), stat });
        assert_eq!(told, "-  1099511627776 2026-11-23 15:00 a\u{fffd}[2Jb");
        let stat = Stat { size: 0, written: 0, attributes: FileAttributes::DIRECTORY, ..stat };
        assert_eq!(entry(&Entry { name: "d".into(), stat }), "d              0 1601-01-01 00:00 d");
    }
}
