//! The other way round: clients that know TCP only use a server over SMB Direct.

mod connection;
mod listeners;
mod options;
mod settings;

use std::sync::Arc;
use std::time::Duration;

use smbd_daemon::drain::ended;
use smbd_daemon::listeners::{Listeners, addresses, no_address};
use smbd_daemon::outcome::{Done, Failure};
use smbd_daemon::signals::Stop;
use smbd_daemon::trouble::Trouble;
use tokio::runtime::Builder;

use crate::file::REVERSE_STATUS_SOCKET;
pub(crate) use options::Reverse;
use settings::Settings;

type Shared = crate::shared::Shared<Settings>;

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
    let _status = shared.start(REVERSE_STATUS_SOCKET).await?;
    // Without RDMA no client would get through.
    if addresses().await?.is_empty() {
        no_address(
            shared.core.log(),
            "no RDMA device has one from which the server could be reached; waiting for one",
        );
    }
    let listeners = Listeners::open(Arc::clone(&shared)).await?;
    stop.came().await;
    drop(listeners);
    let within = shared.stop();
    let how = ended(&shared.core.stop, within, stop.came()).await;
    shared.core.log().line("stopped").with("why", how).write();
    Ok(())
}
