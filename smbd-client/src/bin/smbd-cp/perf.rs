//! `perf`: how fast a share is.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use smbd_client::{Buffer, Error, File, PIECE_MAX, Share};
use smbd_smb2::wire::NtStatus;
use tokio::sync::Barrier;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::options::{Measure, Verb};
use crate::place::Url;
use crate::say;
use crate::summary::{self, plain};
use crate::trouble::Trouble;

/// What was measured.
struct Measured {
    verb: Verb,
    size: u32,
    at_once: u16,
    operations: u64,
    seconds: f64,
    way: String,
}

/// What one task has done.
struct Done {
    operations: u64,
    took: Duration,
}

/// One place of the file, and what is done there.
struct Place {
    file: Arc<File>,
    verb: Verb,
    /// Parts of it: where each begins, and memory as long as it.
    parts: Vec<(u64, Buffer)>,
    time: Duration,
}

/// Keeps operations under way on a file for a time, and tells how many there were.
pub(crate) async fn run(
    url: &Url,
    verb: Verb,
    measure: &Measure,
    as_json: bool,
    share: &Share,
) -> Result<(), Trouble> {
    let told = |error: Error| Trouble::Failed(format!("{}: {error}", plain(&url.path)));
    let needed = u64::from(measure.size).saturating_mul(measure.at_once.into());
    let file = match verb {
        Verb::Read => share.open(&url.path).await,
        Verb::Write => share.open_for_writing(&url.path).await,
    };
    let file = Arc::new(file.map_err(told)?);
    if verb == Verb::Read && file.size() < needed {
        return Err(Trouble::Failed(format!(
            "{}: the file has {} bytes, and {} operations of {} bytes at once read {needed}; `perf write` makes it longer",
            plain(&url.path),
            file.size(),
            measure.at_once,
            measure.size
        )));
    }
    let places = places(share, &file, verb, measure).await.map_err(told)?;
    let done = all(places).await.map_err(told)?;
    let longest = done.iter().map(|done| done.took).max().unwrap_or_default();
    let measured = Measured {
        verb,
        size: measure.size,
        at_once: measure.at_once,
        operations: done.iter().map(|done| done.operations).sum(),
        seconds: longest.as_secs_f64(),
        way: summary::ways(share),
    };
    if as_json { say::line(measured.json()) } else { say::line(measured) }
}

/// Places side by side, each with memory of its own.
async fn places(share: &Share, file: &Arc<File>, verb: Verb, measure: &Measure) -> Result<Vec<Place>, Error> {
    let max = match verb {
        Verb::Read => file.read_max(),
        Verb::Write => file.write_max(),
    };
    let (max, mut places, mut at) = (max.clamp(1, PIECE_MAX), Vec::new(), 0_u64);
    let time = Duration::from_secs_f64(measure.time);
    for _ in 0..measure.at_once {
        let (mut parts, mut left) = (Vec::new(), measure.size);
        while left > 0 {
            let buffer = share.buffer(left.min(max)).await?;
            left -= buffer.len();
            let offset = at;
            at += u64::from(buffer.len());
            parts.push((offset, buffer));
        }
        places.push(Place { file: Arc::clone(file), verb, parts, time });
    }
    Ok(places)
}

/// A task for each place. They begin together, when each has done one operation.
async fn all(places: Vec<Place>) -> Result<Vec<Done>, Error> {
    let barrier = Arc::new(Barrier::new(places.len()));
    let mut tasks = JoinSet::new();
    for place in places {
        let barrier = Arc::clone(&barrier);
        tasks.spawn(async move {
            let first = place.operate().await;
            // All of them, or the others would wait for ever.
            barrier.wait().await;
            first?;
            place.repeat().await
        });
    }
    let done = tasks.join_all().await;
    done.into_iter().collect()
}

impl Place {
    async fn repeat(&self) -> Result<Done, Error> {
        let (began, mut operations) = (Instant::now(), 0);
        loop {
            self.operate().await?;
            operations += 1;
            let took = began.elapsed();
            if took >= self.time {
                return Ok(Done { operations, took });
            }
        }
    }

    /// One operation. What is longer than a request may be is several, all of them under way.
    async fn operate(&self) -> Result<(), Error> {
        match self.verb {
            Verb::Read => self.read().await,
            Verb::Write => self.write().await,
        }
    }

    async fn read(&self) -> Result<(), Error> {
        let mut under_way = Vec::new();
        for (offset, buffer) in &self.parts {
            let read = self.file.start_read_into(*offset, buffer, buffer.len()).await?;
            under_way.push((buffer.len(), read));
        }
        for (len, read) in under_way {
            // Somebody has made the file shorter.
            if read.wait().await? < len {
                return Err(Error::Status(NtStatus::END_OF_FILE));
            }
        }
        Ok(())
    }

    async fn write(&self) -> Result<(), Error> {
        let mut under_way = Vec::new();
        for (offset, buffer) in &self.parts {
            let write = self.file.start_write_from(*offset, buffer, buffer.len()).await?;
            under_way.push((u64::from(buffer.len()), write));
        }
        for (len, write) in under_way {
            let left = len.saturating_sub(write.wait().await?);
            if left > 0 {
                return Err(Error::NotWritten { left: usize::try_from(left).unwrap_or(usize::MAX) });
            }
        }
        Ok(())
    }
}

impl Measured {
    const fn bytes(&self) -> u64 {
        self.operations.saturating_mul(self.size as u64)
    }

    fn json(&self) -> Value {
        json!({
            "operation": self.verb.name(),
            "size": self.size,
            "at_once": self.at_once,
            "operations": self.operations,
            "bytes": self.bytes(),
            "seconds": self.seconds,
            "way": self.way.to_string(),
        })
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { verb, size, at_once, operations, seconds, way } = self;
        let each = |count: f64| if *seconds > 0.0 { count / seconds } else { 0.0 };
        write!(
            f,
            "{}: {size} bytes, {at_once} at once, {:.1} MB/s, {:.0} operations/s, {seconds:.1} s, {way}",
            verb.name(),
            each(self.bytes() as f64) / 1e6,
            each(*operations as f64),
        )
    }
}
