//! The running gateway, from its start to its end.

use std::sync::Arc;
use std::time::Duration;

use smbd_daemon::drain::{END_WITHIN, ended};
use smbd_daemon::limits::{self, Needs};
use smbd_daemon::listeners::Listeners;
use smbd_daemon::notify::{Notify, State};
use smbd_daemon::outcome::{Done, Failure};
use smbd_daemon::reload::follow;
use smbd_daemon::signals::Signals;
use smbd_daemon::trouble::Trouble;
use tokio::runtime::Builder;

use crate::broker;
use crate::file::STATUS_SOCKET;
use crate::options::Run;
use crate::reload::reload;
use crate::settings::{Settings, Shared};

/// File descriptors of a connection: five of the device, one of the server.
const DESCRIPTORS: u64 = 6;

/// Runs until a signal comes.
pub(crate) fn run(run: Run) -> Result<Done, Failure> {
    let settings = Settings::new(&run).map_err(Failure::Usage)?;
    if run.common.check {
        return Ok(Done::Checked);
    }
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(serve(settings, run));
    // Devices may need more than a minute to destroy what is over.
    runtime.shutdown_timeout(Duration::from_secs(1));
    result?;
    Ok(Done::Served)
}

/// Serves until a signal comes. `run` is what `settings` were made of, to be read again.
async fn serve(settings: Settings, run: Run) -> Result<(), Trouble> {
    let mut notify = Notify::of_environment()?;
    let mut signals = Signals::new()?;
    let shared = Shared::new(settings);
    let settings = shared.core.settings();
    raise_limits(&shared);
    let _status = shared.start(STATUS_SOCKET).await?;
    if let Some(broker) = &settings.broker {
        broker::open(&shared, &broker.path).await?;
    }
    let mut listeners = Listeners::open(Arc::clone(&shared)).await?;
    notify.tell(State::Ready, &listeners.to_string());
    let take = |read| {
        if reload(&shared, read) {
            raise_limits(&shared);
        }
    };
    let every = || shared.core.settings().addresses;
    follow(&mut listeners, &mut signals, &mut notify, every, move || Settings::new(&run), take).await?;
    drop(listeners);
    drain(signals, notify, &shared).await;
    Ok(())
}

/// Lets connections end, as long as that may take.
async fn drain(mut signals: Signals, mut notify: Notify, shared: &Shared) {
    let within = shared.stop();
    notify.tell(State::Stopping(within.saturating_add(END_WITHIN)), "waiting for connections");
    let how = tokio::select! {
        how = ended(&shared.core.stop, within, signals.stop.came()) => how,
        never = notify.keep_alive() => match never {},
    };
    shared.core.log().line("stopped").with("why", how).write();
}

/// Has the system allow what as many connections need as may come.
fn raise_limits(shared: &Shared) {
    let settings = shared.core.settings();
    let needs = Needs {
        connections: settings.basics.connections,
        descriptors: DESCRIPTORS,
        locked: settings.locked,
        locked_beside: 0,
    };
    limits::raise(needs, shared.core.log());
}
