//! Clients connect.

use std::net::SocketAddr;
use std::time::Duration;

use smbd_broker::server::{Hub, serve};
use smbd_broker::verbs::Linux;
use smbd_core::Config;
use smbd_verbs::tokio::{Incoming, Listener, Options};
use smbd_verbs::{ListenOptions, RejectReason};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::log::line;

/// How long to wait when no client can be taken: too many files are open, for example.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

pub(crate) fn listen(address: SocketAddr) -> Result<Listener, String> {
    Listener::bind(address, ListenOptions::default()).map_err(|error| format!("rdma:{address}: {error}"))
}

/// Serves clients until it is dropped.
pub(crate) async fn take(mut listener: Listener, hub: Hub<Linux>) {
    let mut tasks = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = tasks.join_next() => continue,
        };
        match accepted {
            Ok(incoming) => enter(incoming, &hub, &mut tasks),
            Err(error) => {
                line(format_args!("listener failed why={:?}", error.to_string()));
                sleep(AGAIN_AFTER).await;
            }
        }
    }
}

fn enter(incoming: Incoming, hub: &Hub<Linux>, tasks: &mut JoinSet<()>) {
    let client = incoming.peer_addr();
    let Some(config) = hub.config() else {
        line(format_args!("client refused client={client} why=\"no server would take it\""));
        // The client may be gone by now.
        let _ = incoming.reject(RejectReason::Unwanted);
        return;
    };
    let hub = hub.clone();
    tasks.spawn(async move {
        match establish(incoming, &config).await {
            Ok(connection) => {
                line(format_args!("client connected client={client}"));
                if !serve(hub, connection, client.to_string()).await {
                    line(format_args!("client refused client={client} why=\"--connections\""));
                }
            }
            Err(why) => line(format_args!("client failed client={client} why={why:?}")),
        }
    });
}

async fn establish(incoming: Incoming, config: &Config) -> Result<smbd_verbs::tokio::Connection, String> {
    incoming.accept_with(config, Options::default()).await.map_err(|failure| failure.to_string())
}
