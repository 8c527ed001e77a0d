//! The other way round: clients that know TCP only use a server over SMB Direct.

mod connection;
mod options;
mod settings;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use smbd_daemon::drain::ended;
use smbd_daemon::listeners::{addresses, no_address};
use smbd_daemon::log::{Line, Log};
use smbd_daemon::signals::Stop;
use smbd_daemon::trouble::Trouble;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::file::REVERSE_STATUS_SOCKET;
use connection::Client;
pub(crate) use options::Reverse;
use settings::Settings;

type Shared = crate::shared::Shared<Settings>;

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
    let settings = shared.settings();
    let mut stop = Stop::new()?;
    let _status = shared.start(REVERSE_STATUS_SOCKET).await?;
    // Without RDMA no client would get through.
    if addresses().await?.is_empty() {
        no_address(
            shared.log(),
            "no RDMA device has one from which the server could be reached; waiting for one",
        );
    }
    let mut listeners = JoinSet::new();
    for address in &settings.listen {
        let (listener, line) = listen(*address, shared.log()).await?;
        line.write();
        listeners.spawn(accept(listener, Arc::clone(&shared)));
    }
    stop.came().await;
    listeners.shutdown().await;
    let within = shared.stop();
    let how = ended(&shared.stop, within, stop.came()).await;
    shared.log().line("stopped").with("why", how).write();
    Ok(())
}

/// Listens, and the line that says so.
async fn listen(address: SocketAddr, log: Log) -> Result<(TcpListener, Line), Trouble> {
    let listener = TcpListener::bind(address).await;
    let listener =
        listener.map_err(|error| Trouble::other(&format!("cannot listen at {address}: {error}")))?;
    let line = log.line("listening").with("address", listener.local_addr().unwrap_or(address));
    Ok((listener, line))
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let settings = shared.settings();
    loop {
        let (stream, address) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                shared.log().warning("listener failed").with("why", error).write();
                // The reason, such as too few file descriptors, may last.
                sleep(Duration::from_secs(1)).await;
                continue;
            }
        };
        match shared.admission.enter(address.ip(), &settings.admitted) {
            Ok(pass) => {
                let (of_client, stop) = (Arc::clone(&shared), shared.stop.subscribe());
                let client = Client { shared: of_client, pass, stop, address };
                tokio::spawn(client.serve(stream));
            }
            Err(why) => shared.refused(address, why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_listens_on_this_host_and_says_where() {
        let address = "127.0.0.1:0".parse().unwrap();
        let (listener, line) = listen(address, Log::default()).await.unwrap();
        let at = listener.local_addr().unwrap();
        assert!(at.ip().is_loopback() && at.port() != 0);
        let said = format!("{line:?}");
        assert!(said.contains("\"listening\"") && said.contains(&at.to_string()), "{said}");
        let failed = listen(at, Log::default()).await.err().map(|trouble| format!("{trouble:?}"));
        assert!(failed.is_some_and(|why| why.contains(&format!("cannot listen at {at}: "))));
    }
}
