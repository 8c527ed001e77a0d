//! Settings that are read again, and the time until the end.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinError, JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep_until};

use crate::listeners::{Listeners, Service};
use crate::log::Log;
use crate::notify::{Notify, State};
use crate::signals::Signals;
use crate::trouble::Trouble;

/// Follows the changes of addresses, at which it looks `every` so often, and of settings, until a signal says to stop. `read` reads settings and
/// may wait for a disk; `take` takes them, or says that it does not.
///
/// # Errors
/// Devices cannot be asked.
pub async fn follow<S: Service>(
    listeners: &mut Listeners<S>,
    signals: &mut Signals,
    notify: &mut Notify,
    every: impl Fn() -> Duration,
    read: impl Fn() -> Result<S::Wishes, String> + Send + Sync + 'static,
    take: impl Fn(Result<S::Wishes, String>),
) -> Result<(), Trouble> {
    let read = Arc::new(read);
    let mut reading: Option<JoinHandle<Result<S::Wishes, String>>> = None;
    let mut next = Instant::now() + every();
    loop {
        tokio::select! {
            () = signals.stop.came() => return Ok(()),
            // One that comes while a file is read waits until that is over.
            _ = signals.reload.recv(), if reading.is_none() => {
                notify.tell(State::Reloading, "");
                let read = Arc::clone(&read);
                reading = Some(spawn_blocking(move || read()));
                continue;
            }
            read = over(&mut reading) => {
                reading = None;
                take(read.unwrap_or_else(|error| Err(error.to_string())));
                listeners.look().await?;
                notify.tell(State::Ready, &listeners.to_string());
            }
            () = sleep_until(next) => listeners.look().await?,
            never = notify.keep_alive() => match never {},
        }
        next = Instant::now() + every();
    }
}

/// Waits for a task, if there is one.
async fn over<T>(task: &mut Option<JoinHandle<T>>) -> Result<T, JoinError> {
    match task {
        Some(task) => task.await,
        None => pending().await,
    }
}

/// Takes settings that were read, or keeps the old ones if they could not be read, and says so. `keep` leaves what cannot change as it is, and
/// names the keys; `take` takes them, and returns numbers for the line that says so. `log` is how lines are written then. Whether they were
/// taken.
pub fn reload<S>(
    log: impl Fn() -> Log,
    read: Result<S, String>,
    keep: impl FnOnce(&mut S) -> Vec<&'static str>,
    take: impl FnOnce(S) -> Vec<(&'static str, u64)>,
) -> bool {
    let mut settings = match read {
        Ok(settings) => settings,
        Err(why) => {
            let line = log().warning("not reloaded").with("why", why.trim_end());
            line.with("settings", "as before").write();
            return false;
        }
    };
    let unchanged = keep(&mut settings);
    let numbers = take(settings);
    let log = log();
    numbers.into_iter().fold(log.line("reloaded"), |line, (name, value)| line.number(name, value)).write();
    for key in unchanged {
        log.warning("not changed").with("key", key).with("why", "it takes a restart").write();
    }
    true
}

/// Leaves a value as it is. Its key, if it would have changed.
pub fn keep<T: Clone + PartialEq>(key: &'static str, old: &T, new: &mut T) -> Option<&'static str> {
    let is_other = old != new;
    new.clone_from(old);
    is_other.then_some(key)
}

#[cfg(test)]
mod tests;
