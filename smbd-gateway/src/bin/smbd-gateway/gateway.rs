//! The running gateway, from its start to its end.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::{JoinError, JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep, sleep_until};

use crate::file::STATUS_SOCKET;
use crate::limits;
use crate::listeners::Listeners;
use crate::metrics;
use crate::notify::{Notify, State};
use crate::options::Run;
use crate::reload::reload;
use crate::settings::Settings;
use crate::shared::Shared;
use crate::status::{self, Socket};
use crate::trouble::Trouble;

/// The time that connections have to end, beyond the deadline for those that are busy.
const END_WITHIN: Duration = Duration::from_secs(5);

/// Runs until a signal comes. `run` is what `settings` were made of, to be read again.
pub(crate) fn run(settings: Settings, run: Run) -> Result<(), Trouble> {
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(serve(settings, run));
    // Devices may need more than a minute to destroy what is over.
    runtime.shutdown_timeout(Duration::from_secs(1));
    result
}

async fn serve(settings: Settings, run: Run) -> Result<(), Trouble> {
    let mut notify =
        Notify::of_environment().map_err(|error| Trouble::other(&format!("NOTIFY_SOCKET: {error}")))?;
    let mut signals = Signals::new()?;
    let shared = Shared::new(settings);
    let settings = shared.settings();
    limits::raise(&shared);
    let line = shared.log().line("started").with("version", env!("CARGO_PKG_VERSION"));
    let line = line.number("connections_max", settings.connections.into());
    line.number("bytes_each", settings.each).write();
    if let Some(address) = settings.metrics {
        let listener = metrics::listen(address)
            .await
            .map_err(|error| Trouble::other(&format!("cannot listen at {address} for metrics: {error}")))?;
        let counted = Arc::clone(&shared);
        let text =
            move || counted.counters.text(counted.admission.connections(), counted.connections.memory());
        tokio::spawn(metrics::serve(listener, text));
    }
    let _status = tell_status(&shared).await?;
    let mut listeners = Listeners::open(Arc::clone(&shared)).await?;
    notify.tell(State::Ready, &listeners.to_string());
    follow(&mut listeners, &mut signals, &mut notify, (&shared, run)).await?;
    drop(listeners);
    drain(signals, notify, &shared).await;
    Ok(())
}

/// Lets connections end, as long as that may take.
async fn drain(mut signals: Signals, mut notify: Notify, shared: &Shared) {
    let drain = shared.settings().drain;
    let within = drain.saturating_add(END_WITHIN);
    notify.tell(State::Stopping(within.saturating_add(END_WITHIN)), "waiting for connections");
    let line = shared.log().line("stopping").number("connections", shared.admission.connections().into());
    line.number("deadline_s", drain.as_secs()).write();
    shared.stop.send_replace(true);
    let how = tokio::select! {
        how = ended(shared, within, signals.stop.came()) => how,
        never = notify.keep_alive() => match never {},
    };
    shared.log().line("stopped").with("why", how).write();
}

/// Waits until all connections are over, at most `within` and not beyond a second signal. Which it was.
async fn ended(shared: &Shared, within: Duration, second_signal: impl Future<Output = ()>) -> &'static str {
    tokio::select! {
        () = shared.stop.closed() => "all connections are over",
        () = sleep(within) => "some connections did not end in time",
        () = second_signal => "a second signal came",
    }
}

/// Follows the changes of addresses and of the configuration until a signal says to stop.
async fn follow(
    listeners: &mut Listeners,
    signals: &mut Signals,
    notify: &mut Notify,
    (shared, run): (&Shared, Run),
) -> Result<(), Trouble> {
    let run = Arc::new(run);
    let mut reading: Option<JoinHandle<Result<Settings, String>>> = None;
    let mut next = Instant::now() + shared.settings().addresses;
    loop {
        tokio::select! {
            () = signals.stop.came() => return Ok(()),
            // One that comes while a file is read waits until that is over.
            _ = signals.reload.recv(), if reading.is_none() => {
                notify.tell(State::Reloading, "");
                let run = Arc::clone(&run);
                reading = Some(spawn_blocking(move || Settings::new(&run)));
                continue;
            }
            read = over(&mut reading) => {
                reading = None;
                let read = read.unwrap_or_else(|error| Err(error.to_string()));
                if reload(shared, read) {
                    limits::raise(shared);
                }
                listeners.look().await?;
                notify.tell(State::Ready, &listeners.to_string());
            }
            () = sleep_until(next) => listeners.look().await?,
            never = notify.keep_alive() => match never {},
        }
        next = Instant::now() + shared.settings().addresses;
    }
}

/// Waits for a task, if there is one.
async fn over<T>(task: &mut Option<JoinHandle<T>>) -> Result<T, JoinError> {
    match task {
        Some(task) => task.await,
        None => pending().await,
    }
}

/// Tells the status until what it returns is dropped.
async fn tell_status(shared: &Arc<Shared>) -> Result<Option<Socket>, Trouble> {
    let settings = shared.settings();
    let Some(path) = &settings.status else { return Ok(None) };
    let of_socket = Arc::clone(shared);
    status::open(path, STATUS_SOCKET, settings.status_mode, shared.log(), move || of_socket.status()).await
}

struct Signals {
    stop: Stop,
    reload: Signal,
}

/// SIGTERM and SIGINT.
struct Stop {
    term: Signal,
    int: Signal,
}

impl Signals {
    fn new() -> Result<Self, Trouble> {
        let stop = Stop { term: signal(SignalKind::terminate())?, int: signal(SignalKind::interrupt())? };
        Ok(Self { stop, reload: signal(SignalKind::hangup())? })
    }
}

impl Stop {
    async fn came(&mut self) {
        tokio::select! {
            _ = self.term.recv() => {}
            _ = self.int.recv() => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::File;

    #[tokio::test(start_paused = true)]
    async fn the_end_waits_for_connections_up_to_the_deadline_and_for_nothing_after_a_second_signal() {
        let run = Run { server: vec!["127.0.0.1".into()], ..Run::default() };
        let shared = Shared::new(Settings::of(&run, &File::default()).unwrap());
        let (within, second) = (Duration::from_secs(15), Duration::from_secs(3));
        let start = Instant::now();
        assert_eq!(ended(&shared, within, pending()).await, "all connections are over");
        assert_eq!(start.elapsed(), Duration::ZERO);
        let connection = shared.stop.subscribe();
        assert_eq!(ended(&shared, within, sleep(second)).await, "a second signal came");
        assert_eq!(start.elapsed(), second);
        assert_eq!(ended(&shared, within, pending()).await, "some connections did not end in time");
        assert_eq!(start.elapsed(), second + within);
        drop(connection);
        assert_eq!(ended(&shared, within, pending()).await, "all connections are over");
    }
}
