//! The running server, from its start to its end.

use std::sync::Arc;
use std::time::Duration;

use smbd_daemon::drain::{END_WITHIN, Ended, ended};
use smbd_daemon::listeners::{Listeners, can_listen};
use smbd_daemon::notify::{Notify, State};
use smbd_daemon::outcome::{Done, Failure};
use smbd_daemon::places::{Over, wanted};
use smbd_daemon::reload::follow;
use smbd_daemon::signals::Signals;
use smbd_daemon::trouble::Trouble;
use smbd_daemon::{metrics, status};
use smbd_smb2::wire::Guid;
use tokio::runtime::Builder;
use tokio::sync::watch;

use crate::file::STATUS_SOCKET;
use crate::fork::{ENDS_WITHIN, Program};
use crate::host::{devices, host, new_guid};
use crate::options::Run;
use crate::reload::reload;
use crate::settings::Settings;
use crate::shared::Shared;
use crate::status::Snapshot;
use crate::{broker, child};

/// Threads that may wait for disks.
const THREADS_MAX: usize = 64;

/// Runs until a signal comes, or looks whether it could.
pub(crate) fn run(run: &Run) -> Result<Done, Failure> {
    if run.common.check {
        // Whatever is wrong, the caller has to write something else.
        return match Settings::new(run).and_then(|settings| check(&settings)) {
            Err(Failure::Trouble(trouble)) => Err(Failure::Usage(trouble.to_string())),
            checked => checked.map(|()| Done::Checked),
        };
    }
    let settings = Settings::new(run)?;
    let guid = run.child.map_or_else(new_guid, Ok)?;
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(THREADS_MAX)
        .enable_all()
        .build()?;
    let parents = settings.broker.as_ref().filter(|_| run.child.is_some()).map(|broker| broker.path.clone());
    let result = match parents {
        Some(path) => runtime.block_on(child::run(&path, settings, guid)),
        None => runtime.block_on(serve(settings, run, guid)),
    };
    // A disk that does not answer is not waited for.
    runtime.shutdown_background();
    result.map(|()| Done::Served)
}

/// Looks at all that is served, and at the addresses, of which it uses no port.
fn check(settings: &Settings) -> Result<(), Failure> {
    let devices = devices();
    let users = watch::Sender::new(Arc::clone(&settings.users));
    host(settings, new_guid()?, &devices, users.subscribe())?;
    for (over, address) in wanted(&settings.listeners, &devices).into_keys() {
        let wrong = |why: &str| Err(Failure::Usage(format!("--listen {over}:{address}: {why}")));
        match over {
            Over::Tcp => {
                if let Err(unopened) = can_listen(address) {
                    let check = unopened.check.map_or_else(String::new, |check| format!("; check: {check}"));
                    return wrong(&format!("{}{check}", unopened.why));
                }
            }
            Over::Rdma => {
                let is_there = devices.iter().any(|device| device.address == address.ip());
                if !is_there && !address.ip().is_unspecified() {
                    return wrong("no RDMA device has the address: `rdma link` shows devices");
                }
            }
        }
    }
    Ok(())
}

/// Serves until a signal comes. `run` is what `settings` were made of, to be read again.
async fn serve(settings: Settings, run: &Run, guid: Guid) -> Result<(), Failure> {
    let mut notify = Notify::of_environment()?;
    let mut signals = Signals::new()?;
    let users = watch::Sender::new(Arc::clone(&settings.users));
    let host = host(&settings, guid, &devices(), users.subscribe())?;
    let admission = settings.places.admission();
    let shared = Shared::new(settings, admission, host, users);
    let settings = shared.core.settings();
    #[cfg(feature = "verbs")]
    raise_limits(&settings, shared.core.log());
    let counted = Arc::clone(&shared);
    metrics::open(settings.metrics, move || counted.metrics()).await?;
    let broker = match &settings.broker {
        Some(broker) => {
            let program = broker.fork.then(|| Program::new(guid, settings.drain));
            Some(broker::open(&shared, broker.path.clone(), program).await?)
        }
        None => None,
    };
    let mut listeners = Listeners::open(Arc::clone(&shared)).await?;
    let told = Arc::clone(&shared);
    let (path, mode) = (settings.status.as_deref(), settings.status_mode);
    let _status =
        status::open(path, STATUS_SOCKET, mode, shared.core.log(), move || Snapshot::of(&told).line())?;
    let line = shared.core.log().line("started").with("version", env!("CARGO_PKG_VERSION"));
    line.number("connections_max", settings.places.all.into()).write();
    notify.tell(State::Ready, &listeners.to_string());
    let every = || shared.core.settings().addresses;
    let again = run.clone();
    let read = move || Settings::new(&again).map_err(|failure| failure.to_string());
    let take = |read| reload(&shared, read);
    follow(&mut listeners, &mut signals, &mut notify, every, read, take).await?;
    drop(listeners);
    let ended = drain(signals, notify, &shared).await;
    if let Some(task) = broker.filter(|_| ended != Ended::All) {
        // Children that are left are killed.
        task.abort();
        let _ = task.await;
    }
    match ended {
        Ended::All => {
            shared.core.log().line("ended").write();
            Ok(())
        }
        Ended::Late => Err(Trouble::other(&"some clients were not finished in time").into()),
        Ended::AtOnce => Err(Trouble::other(&"ended at once; clients were not finished").into()),
    }
}

/// Lets clients end, as long as that may take.
async fn drain(mut signals: Signals, mut notify: Notify, shared: &Shared) -> Ended {
    let settings = shared.core.settings();
    shared.core.log().line("ending").number("seconds", settings.drain.as_secs()).write();
    shared.core.stop.send_replace(true);
    let beyond = if settings.forks() { ENDS_WITHIN } else { Duration::ZERO };
    let within = settings.drain.saturating_add(beyond).saturating_add(END_WITHIN);
    notify.tell(State::Stopping(within.saturating_add(END_WITHIN)), "waiting for clients");
    tokio::select! {
        how = ended(&shared.core.stop, within, signals.stop.came()) => how,
        never = notify.keep_alive() => match never {},
    }
}

/// Has the system allow the memory that devices know. File descriptors are divided among clients.
#[cfg(feature = "verbs")]
fn raise_limits(settings: &Settings, log: smbd_daemon::log::Log) {
    use smbd_daemon::limits::{Needs, raise};

    if settings.listeners.iter().all(|rule| matches!(rule.place, smbd_daemon::places::Place::Tcp(_))) {
        return;
    }
    let Ok(config) = smbd_serve::rdma::config() else { return };
    let locked = smbd_verbs::footprint(&config);
    let connections = settings.connections.into();
    raise(Needs { connections, descriptors: 0, locked, locked_beside: 0 }, log);
}
