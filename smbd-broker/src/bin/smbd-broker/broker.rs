//! The running broker, from its start to its end.

use std::sync::Arc;
use std::time::Duration;

use smbd_daemon::limits;
use smbd_daemon::listeners::Listeners;
use smbd_daemon::metrics;
use smbd_daemon::notify::{Notify, State};
use smbd_daemon::outcome::{Done, Failure};
use smbd_daemon::reload::follow;
use smbd_daemon::signals::Signals;
use smbd_daemon::status;
use smbd_daemon::trouble::Trouble;
use tokio::runtime::Builder;

use crate::file::STATUS_SOCKET;
use crate::options::Run;
use crate::owners;
use crate::reload::reload;
use crate::settings::Settings;
use crate::shared::Shared;

/// The time that the end may take.
const END_WITHIN: Duration = Duration::from_secs(5);

/// Runs until a signal comes.
pub(crate) fn run(run: Run) -> Result<Done, Failure> {
    let settings = Settings::new(&run).map_err(Failure::Usage)?;
    if run.common.check {
        return Ok(Done::Checked);
    }
    let mut instance = [0; 8];
    getrandom::fill(&mut instance)
        .map_err(|error| Trouble::other(&format!("the system has no entropy: {error}")))?;
    let shared =
        Shared::new(settings, u64::from_le_bytes(instance)).map_err(|error| Trouble::other(&error))?;
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let result = runtime.block_on(serve(shared, run));
    // A device that does not answer is not waited for.
    runtime.shutdown_background();
    result?;
    Ok(Done::Served)
}

async fn serve(shared: Arc<Shared>, run: Run) -> Result<(), Trouble> {
    let mut notify = Notify::of_environment()?;
    let mut signals = Signals::new()?;
    let settings = shared.core.settings();
    limits::raise(settings.needs(), shared.core.log());
    let line = shared.core.log().line("started").with("version", env!("CARGO_PKG_VERSION"));
    line.number("connections_max", settings.connections().into()).write();
    let counted = Arc::clone(&shared);
    metrics::open(settings.metrics, move || counted.metrics()).await?;
    let told = Arc::clone(&shared);
    let (path, mode) = (settings.status.as_deref(), settings.status_mode);
    let _status = status::open(path, STATUS_SOCKET, mode, shared.core.log(), move || told.status())?;
    let (_path, listener) = owners::listen(&shared)?;
    let attending = tokio::spawn(owners::take(listener, Arc::clone(&shared)));
    let mut listeners = Listeners::open(Arc::clone(&shared)).await?;
    notify.tell(State::Ready, &listeners.to_string());
    let take = |read| {
        if reload(&shared, read) {
            limits::raise(shared.core.settings().needs(), shared.core.log());
        }
    };
    let every = || shared.core.settings().addresses;
    follow(&mut listeners, &mut signals, &mut notify, every, move || Settings::new(&run), take).await?;
    drop(listeners);
    notify.tell(State::Stopping(END_WITHIN), "");
    attending.abort();
    let _ = attending.await;
    shared.core.log().line("ended").write();
    Ok(())
}
