//! The other way round: clients that know TCP only use a server over SMB Direct.

mod connection;
mod options;
mod settings;
mod shared;

use std::sync::Arc;
use std::time::Duration;

use smbd_daemon::drain::{END_WITHIN, ended};
use smbd_daemon::listeners::{addresses, no_address};
use smbd_daemon::signals::Stop;
use smbd_daemon::trouble::Trouble;
use smbd_daemon::{metrics, status};
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::file::REVERSE_STATUS_SOCKET;
use connection::Client;
pub(crate) use options::Reverse;
use settings::Settings;
use shared::Shared;

/// Why it does not run.
pub(crate) enum Failure {
    /// Wrong usage, with a text for whoever wrote it.
    Usage(String),
    Trouble(Trouble),
}

/// What it has done.
pub(crate) enum Done {
    /// It looked at its settings only, which are valid.
    Checked,
    /// It served until a signal came.
    Served,
}

impl<T: Into<Trouble>> From<T> for Failure {
    fn from(trouble: T) -> Self {
        Self::Trouble(trouble.into())
    }
}

/// Runs until a signal comes.
pub(crate) fn run(options: Reverse) -> Result<Done, Failure> {
    let only_check = options.common.check;
    let settings = Settings::new(options).map_err(Failure::Usage)?;
    if only_check {
        return Ok(Done::Checked);
    }
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let result = runtime.block_on(serve(settings));
    // Devices may need more than a minute to destroy what is over.
    runtime.shutdown_timeout(Duration::from_secs(1));
    result?;
    Ok(Done::Served)
}

async fn serve(settings: Settings) -> Result<(), Trouble> {
    let shared = Shared::new(settings);
    let mut stop = Stop::new()?;
    let line = shared.log.line("started").with("version", env!("CARGO_PKG_VERSION"));
    let line = line.number("connections_max", shared.settings.connections.into());
    line.number("bytes_each", shared.settings.each).write();
    let counted = Arc::clone(&shared);
    let text = move || counted.counters.text(counted.admission.connections(), counted.connections.memory());
    metrics::open(shared.settings.metrics, text).await?;
    let told = Arc::clone(&shared);
    let (path, mode) = (shared.settings.status.as_deref(), shared.settings.status_mode);
    let _status = status::open(path, REVERSE_STATUS_SOCKET, mode, shared.log, move || told.status())?;
    // Without RDMA no client would get through.
    if addresses().await?.is_empty() {
        no_address(
            shared.log,
            "no RDMA device has one from which the server could be reached; waiting for one",
        );
    }
    let mut listeners = JoinSet::new();
    for address in &shared.settings.listen {
        let listener = TcpListener::bind(address).await;
        let listener =
            listener.map_err(|error| Trouble::other(&format!("cannot listen at {address}: {error}")))?;
        shared.log.line("listening").with("address", listener.local_addr().unwrap_or(*address)).write();
        listeners.spawn(accept(listener, Arc::clone(&shared)));
    }
    stop.came().await;
    listeners.shutdown().await;
    let line = shared.log.line("stopping").number("connections", shared.admission.connections().into());
    line.number("deadline_s", shared.settings.drain.as_secs()).write();
    shared.stop.send_replace(true);
    let within = shared.settings.drain.saturating_add(END_WITHIN);
    let how = ended(&shared.stop, within, stop.came()).await;
    shared.log.line("stopped").with("why", how).write();
    Ok(())
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let (stream, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                shared.log.warning("listener failed").with("why", error).write();
                // The reason, such as too few file descriptors, may last.
                sleep(Duration::from_secs(1)).await;
                continue;
            }
        };
        match shared.admission.enter(address.ip(), &shared.settings.admitted) {
            Ok(pass) => {
                let (of_client, stop) = (Arc::clone(&shared), shared.stop.subscribe());
                let client = Client { shared: of_client, pass, stop, address };
                tokio::spawn(client.serve(stream));
            }
            Err(why) => shared.refused(address, why),
        }
    }
}
