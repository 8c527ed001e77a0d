//! What is listened for, and what becomes of a client.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::Arc;

use smbd_daemon::admission::{Admission, Pass};
use smbd_daemon::listeners::{Service, Wishes};
use smbd_daemon::log::{Line, Log};
use smbd_daemon::network::Network;
use smbd_daemon::places::Rule;
use smbd_verbs::tokio::Incoming;
use smbd_verbs::{ListenOptions, Ports};
use tokio::sync::watch;

use crate::backends::Backend;
use crate::connection::Client;
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
        Counters::add(&self.counters.refused, 1);
        self.refusals.tell(Self::log(self), client, why);
    }

    fn tell(line: Line, backend: &Arc<Backend>) -> Line {
        line.maybe("backend", backend.name.as_ref())
    }

    fn serve(self: &Arc<Self>, incoming: Incoming, pass: Pass, backend: Arc<Backend>) {
        let client = Client { shared: Arc::clone(self), pass, stop: self.stop.subscribe(), backend };
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

    /// One client more than may be let in: admission is what refuses it, and says so at once.
    fn options(&self) -> ListenOptions {
        ListenOptions {
            ports: Ports::Fixed,
            max_pending: self.pending,
            max_connections: self.connections.saturating_add(1),
            max_per_host: self.per_client.saturating_add(1),
            ..ListenOptions::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::File;
    use crate::options::Run;

    #[test]
    fn a_listener_has_room_for_the_client_that_admission_refuses() {
        let room = |connections, per_client| {
            let run = Run { server: vec!["127.0.0.1:445".into()], ..Run::default() };
            let mut file = File::default();
            (file.limits.connections, file.limits.per_client) = (connections, per_client);
            let ListenOptions { max_connections, max_per_host, .. } =
                Settings::of(&run, &file).unwrap().options();
            (max_connections, max_per_host)
        };
        assert_eq!(room(2, 1), (3, 2));
        assert_eq!(room(1, u32::MAX), (2, u32::MAX));
    }
}
