//! What is listened for, and what becomes of a client.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::Arc;

use smbd_broker::server::serve;
use smbd_core::Config;
use smbd_daemon::admission::{Admission, Pass};
use smbd_daemon::listeners::{Limits, Service, Wishes};
use smbd_daemon::log::Log;
use smbd_daemon::network::Network;
use smbd_daemon::places::Rule;
use smbd_daemon::trouble::why;
use smbd_verbs::RejectReason;
use smbd_verbs::tokio::{Incoming, Options};
use tokio::sync::watch;

use crate::counters::Counters;
use crate::settings::Settings;
use crate::shared::Shared;

impl Service for Shared {
    type Wishes = Settings;

    fn wishes(&self) -> watch::Receiver<Arc<Settings>> {
        self.follow_settings()
    }

    fn log(&self) -> Log {
        Self::log(self)
    }

    fn admission(&self) -> &Arc<Admission> {
        &self.admission
    }

    fn refused(&self, client: SocketAddr, why: &dyn Display) {
        Self::refused(self, client, why);
    }

    fn serve(self: &Arc<Self>, incoming: Incoming, pass: Pass, (): ()) {
        let client = incoming.peer_addr();
        let Some(config) = self.hub.config() else {
            Self::refused(self, client, "no server would take it");
            // The client may be gone by now.
            let _ = incoming.reject(RejectReason::Unwanted);
            return;
        };
        tokio::spawn(attend(Arc::clone(self), incoming, pass, config));
    }
}

impl Wishes for Settings {
    type Target = ();

    fn rules(&self) -> &[Rule<()>] {
        &self.listeners
    }

    fn allow(&self) -> &[Network] {
        &self.allow
    }

    fn limits(&self) -> Limits {
        Limits { connections: self.connections(), per_client: self.per_client, pending: self.pending }
    }
}

/// Serves a client to its end.
async fn attend(shared: Arc<Shared>, incoming: Incoming, pass: Pass, config: Config) {
    let client = incoming.peer_addr();
    match incoming.link(&config, Options::default()).await {
        Ok(connection) => {
            Counters::count(&shared.counters.taken);
            shared.log().line("client connected").with("client", client).write();
            if !serve(shared.hub.clone(), connection, client.to_string()).await {
                shared.refused(client, "too many connections (limits.connections)");
            }
        }
        Err(failure) => {
            Counters::count(&shared.counters.failed);
            shared.log().warning("client failed").with("client", client).with("why", why(&failure)).write();
        }
    }
    drop(pass);
}
