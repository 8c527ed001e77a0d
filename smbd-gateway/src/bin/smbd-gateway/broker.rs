//! Clients over SMB Direct, whose connections `smbd-broker` has.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use smbd_broker::client::{Broker, Connection, Incoming, connect};
use smbd_daemon::listeners::Service;
use smbd_daemon::trouble::Trouble;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::PROGRAM;
use crate::connection::Client;
use crate::settings::Settings;
use crate::shared::Shared;

/// How long to wait until a broker that is gone is asked for again.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Attaches to the broker, and takes what comes from it in a task of its own. One that is gone is waited for.
pub(crate) async fn open(shared: &Arc<Shared>, path: &Path) -> Result<(), Trouble> {
    let attached = attach(shared, path).await;
    let attached = attached.map_err(|why| Trouble::other(&format_args!("{}: {why}", path.display())))?;
    let take = take(Arc::clone(shared), shared.stop.subscribe(), path.to_owned(), attached);
    tokio::spawn(take);
    Ok(())
}

/// Takes all connections that no other server takes. What clients are offered is the broker's to say, as whom it admits.
async fn attach(shared: &Shared, path: &Path) -> Result<(Broker, Incoming), String> {
    let attached = async {
        let (broker, incoming) = connect(path, PROGRAM).await?;
        broker.listen(true).await?;
        Ok((broker, incoming))
    };
    let (broker, incoming) =
        attached.await.map_err(|error: smbd_broker::client::CallError| error.to_string())?;
    let instance = format_args!("{:016x}", broker.welcome().instance).to_string();
    shared.log().line("attached").with("broker", path.display()).with("instance", instance).write();
    Ok((broker, incoming))
}

async fn take(
    shared: Arc<Shared>,
    mut stop: watch::Receiver<bool>,
    path: PathBuf,
    attached: (Broker, Incoming),
) {
    let mut attached = Some(attached);
    let stopped = async {
        // Who could say so has gone; the program ends with it.
        let _ = stop.wait_for(|stops| *stops).await;
    };
    tokio::select! {
        never = serve(&shared, &path, &mut attached) => match never {},
        () = stopped => {}
    }
    // It is not waited for as for a connection.
    drop(stop);
    // Connections that are there end with their owner: it stays until they are over.
    if let Some((broker, mut incoming)) = attached {
        let _ = broker.listen(false).await;
        while incoming.next().await.is_some() {}
    }
}

async fn serve(
    shared: &Arc<Shared>,
    path: &Path,
    attached: &mut Option<(Broker, Incoming)>,
) -> std::convert::Infallible {
    loop {
        if let Some((_, incoming)) = attached {
            while let Some(connection) = incoming.next().await {
                enter(shared, connection);
            }
            *attached = None;
            shared.log().line("broker lost").with("broker", path.display()).write();
        }
        match attach(shared, path).await {
            Ok(again) => *attached = Some(again),
            Err(_) => sleep(AGAIN_AFTER).await,
        }
    }
}

/// Serves a client, if the limits let it in. Its network was the broker's to judge.
fn enter(shared: &Arc<Shared>, connection: Connection) {
    let unknown = SocketAddr::from(([0, 0, 0, 0], 0));
    let client = connection.newcomer().peer.parse().unwrap_or(unknown);
    let settings = shared.settings();
    let Some(backend) = settings.broker.as_ref().map(|broker| Arc::clone(&broker.backend)) else { return };
    match shared.admission.enter(client.ip(), &Settings::everywhere()) {
        Ok(pass) => {
            let client_task =
                Client { shared: Arc::clone(shared), _pass: pass, stop: shared.stop.subscribe(), backend };
            tokio::spawn(client_task.serve_brokered(connection, client));
        }
        Err(why) => shared.refused(client, &why),
    }
}
