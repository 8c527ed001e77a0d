//! What is listened for, and what becomes of a client.

use std::net::SocketAddr;
use std::sync::Arc;

use smbd_daemon::admission::Pass;
use smbd_daemon::listeners::{Limits, Service, Wishes};
use smbd_daemon::network::Network;
use smbd_daemon::places::Rule;
use smbd_daemon::tasks::Core;
use tokio::net::TcpStream;

use super::Shared;
use super::connection::Client;
use super::settings::Settings;
use crate::basics::Basics;

impl Service for Shared {
    type Wishes = Settings;

    fn core(&self) -> &Core<Settings> {
        &self.core
    }

    fn serve_tcp(self: &Arc<Self>, stream: TcpStream, address: SocketAddr, pass: Pass, (): ()) {
        let client = Client { shared: Arc::clone(self), pass, stop: self.core.stop.subscribe(), address };
        tokio::spawn(client.serve(stream));
    }
}

impl Wishes for Settings {
    type Target = ();

    fn rules(&self) -> &[Rule<()>] {
        &self.listen
    }

    fn allow(&self) -> &[Network] {
        &self.admitted
    }

    fn limits(&self) -> Limits {
        let &Basics { connections, per_client, .. } = &self.basics;
        // None is pending: TCP is established before it is accepted.
        Limits { connections, per_client, pending: connections }
    }
}
