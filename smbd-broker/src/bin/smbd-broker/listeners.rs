//! What is listened for, and what becomes of a client.

use std::sync::Arc;

use smbd_broker::server::serve;
use smbd_core::Config;
use smbd_daemon::admission::Pass;
use smbd_daemon::listeners::{Limits, Service, Wishes};
use smbd_daemon::network::Network;
use smbd_daemon::places::Rule;
use smbd_daemon::tasks::Core;
use smbd_daemon::trouble::why;
use smbd_verbs::RejectReason;
use smbd_verbs::tokio::{Incoming, Options};

use crate::counters::Counters;
use crate::settings::Settings;
use crate::shared::Shared;

impl Service for Shared {
    type Wishes = Settings;

    fn core(&self) -> &Core<Settings> {
        &self.core
    }

    fn serve(self: &Arc<Self>, incoming: Incoming, pass: Pass, (): ()) {
        let client = incoming.peer_addr();
        let Some(config) = self.hub.config() else {
            self.core.refused(client, "no server would take it");
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
            shared.core.log().line("client connected").with("client", client).write();
            if !serve(shared.hub.clone(), connection, client.to_string()).await {
                shared.core.refused(client, "too many connections (limits.connections)");
            }
        }
        Err(failure) => {
            Counters::count(&shared.counters.failed);
            shared
                .core
                .log()
                .warning("client failed")
                .with("client", client)
                .with("why", why(&failure))
                .write();
        }
    }
    drop(pass);
}
