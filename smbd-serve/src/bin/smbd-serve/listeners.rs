//! What is listened for, and what becomes of a client.

use std::net::SocketAddr;
use std::sync::Arc;

use smbd_daemon::admission::Pass;
use smbd_daemon::listeners::{Limits, Service, Wishes};
use smbd_daemon::network::Network;
use smbd_daemon::places::Rule;
use smbd_daemon::tasks::Core;
use smbd_link::tcp::Tcp;
use tokio::net::TcpStream;

use crate::clients::attend;
use crate::connection::Way;
use crate::settings::Settings;
use crate::shared::Shared;

/// The longest message that a client may send over TCP, in bytes: a WRITE of 8 MiB and what is around it.
const TCP_MAX: u32 = (8 << 20) + 4096;

impl Service for Shared {
    type Wishes = Settings;

    fn core(&self) -> &Core<Settings> {
        &self.core
    }

    #[cfg(feature = "verbs")]
    fn serve(self: &Arc<Self>, incoming: smbd_verbs::tokio::Incoming, pass: Pass, (): ()) {
        tokio::spawn(rdma::establish(Arc::clone(self), incoming, self.core.stop.subscribe(), pass));
    }

    fn serve_tcp(self: &Arc<Self>, stream: TcpStream, client: SocketAddr, pass: Pass, (): ()) {
        let link = Tcp::over(stream).receiving(TCP_MAX);
        tokio::spawn(attend(Arc::clone(self), self.core.stop.subscribe(), (client, Way::Tcp), link, pass));
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

    /// `allow` names all networks.
    fn admits_subnets(&self) -> bool {
        false
    }

    fn limits(&self) -> Limits {
        let (connections, per_client) = (self.places.all.into(), self.places.per_client());
        Limits { connections, per_client, pending: self.pending }
    }
}

#[cfg(feature = "verbs")]
mod rdma {
    use smbd_daemon::trouble::why;
    use smbd_serve::rdma::{accept, config};
    use smbd_verbs::tokio::Incoming;
    use tokio::sync::watch;

    use super::{Arc, Pass, Shared, Way, attend};
    use crate::counters::Counters;

    /// Serves a client to its end.
    pub(super) async fn establish(
        shared: Arc<Shared>,
        incoming: Incoming,
        stop: watch::Receiver<bool>,
        pass: Pass,
    ) {
        let client = incoming.peer_addr();
        let link = match config() {
            Ok(config) => accept(incoming, &config).await.map_err(|failure| why(&failure)),
            Err(error) => Err(error.to_string()),
        };
        match link {
            Ok(link) => attend(shared, stop, (client, Way::Rdma), link, pass).await,
            Err(why) => {
                Counters::count(&shared.counters.failed);
                shared.core.log().warning("client failed").with("client", client).with("why", why).write();
            }
        }
    }
}
