//! Clients over SMB Direct, whose connections `smbd-broker` has.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use smbd_broker::client::{Accepted, Acceptor, Connection};
use smbd_daemon::trouble::Trouble;
use tokio::sync::watch;

use crate::PROGRAM;
use crate::connection::Client;
use crate::passing::stopped;
use crate::settings::Shared;

/// Attaches to the broker, and takes all connections that no other server takes, in a task of its own. What clients are offered is the
/// broker's to say, as whom it admits.
pub(crate) async fn open(shared: &Arc<Shared>, path: &Path) -> Result<(), Trouble> {
    let attached = Acceptor::attach(path.to_owned(), PROGRAM).await;
    let (acceptor, instance) =
        attached.map_err(|why| Trouble::other(&format_args!("{}: {why}", path.display())))?;
    is_attached(shared, path, instance);
    tokio::spawn(take(Arc::clone(shared), shared.core.stop.subscribe(), path.to_owned(), acceptor));
    Ok(())
}

fn is_attached(shared: &Shared, path: &Path, instance: u64) {
    let instance = format_args!("{instance:016x}").to_string();
    shared.core.log().line("attached").with("broker", path.display()).with("instance", instance).write();
}

async fn take(shared: Arc<Shared>, mut stop: watch::Receiver<bool>, path: PathBuf, mut acceptor: Acceptor) {
    loop {
        let accepted = tokio::select! {
            accepted = acceptor.next() => accepted,
            () = stopped(&mut stop) => break,
        };
        match accepted {
            Accepted::Connection(connection) => enter(&shared, *connection),
            Accepted::Lost => shared.core.log().warning("broker lost").with("broker", path.display()).write(),
            Accepted::Attached { instance } => is_attached(&shared, &path, instance),
        }
    }
    // This is not waited for as a connection is.
    drop(stop);
    acceptor.refuse().await;
}

/// Serves a client, if the limits let it in. Its network was the broker's to judge.
fn enter(shared: &Arc<Shared>, connection: Connection) {
    let client = connection.newcomer().peer_addr();
    let settings = shared.core.settings();
    // No reload takes it away.
    let Some(broker) = &settings.broker else { return };
    match shared.core.admission.enter_of_any(client.ip()) {
        Ok(pass) => {
            let (stop, backend) = (shared.core.stop.subscribe(), Arc::clone(&broker.backend));
            let admitted = Client { shared: Arc::clone(shared), _pass: pass, stop, backend };
            tokio::spawn(admitted.serve_brokered(connection, client));
        }
        Err(why) => shared.core.refused(client, why),
    }
}
