//! What is listened for, and what becomes of a client.

use std::sync::Arc;

use smbd_daemon::admission::Pass;
use smbd_daemon::listeners::{Limits, Service, Wishes};
use smbd_daemon::log::Line;
use smbd_daemon::network::Network;
use smbd_daemon::places::Rule;
use smbd_daemon::tasks::Core;
use smbd_verbs::tokio::Incoming;

use crate::backends::Backend;
use crate::basics::Basics;
use crate::connection::Client;
use crate::settings::{Settings, Shared};

impl Service for Shared {
    type Wishes = Settings;

    fn core(&self) -> &Core<Settings> {
        &self.core
    }

    fn tell(line: Line, backend: &Arc<Backend>) -> Line {
        line.maybe("backend", backend.name.as_ref())
    }

    fn serve(self: &Arc<Self>, incoming: Incoming, pass: Pass, backend: Arc<Backend>) {
        let client =
            Client { shared: Arc::clone(self), _pass: pass, stop: self.core.stop.subscribe(), backend };
        tokio::spawn(client.serve(incoming));
    }
}

impl Wishes for Settings {
    type Target = Arc<Backend>;

    fn rules(&self) -> &[Rule<Arc<Backend>>] {
        &self.listeners
    }

    fn allow(&self) -> &[Network] {
        &self.allow
    }

    fn limits(&self) -> Limits {
        let &Basics { connections, per_client, .. } = &self.basics;
        Limits { connections, per_client, pending: self.pending }
    }
}
