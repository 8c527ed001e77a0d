//! What is listened for, and what becomes of a client.

use std::fmt::Display;
use std::net::SocketAddr;
use std::sync::Arc;

use smbd_daemon::admission::{Admission, Pass};
use smbd_daemon::listeners::{Limits, Service, Wishes};
use smbd_daemon::log::Log;
use smbd_daemon::network::Network;
use smbd_daemon::places::Rule;
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::Shared;
use super::connection::Client;
use super::settings::Settings;
use crate::basics::Basics;

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

    fn serve_tcp(self: &Arc<Self>, stream: TcpStream, address: SocketAddr, pass: Pass, (): ()) {
        let client = Client { shared: Arc::clone(self), pass, stop: self.stop.subscribe(), address };
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
