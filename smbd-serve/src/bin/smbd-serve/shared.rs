//! What all tasks share.

use std::sync::Arc;

use smbd_daemon::admission::Admission;
use smbd_daemon::live::Live;
use smbd_daemon::tasks::Core;
use smbd_serve::Host;
use tokio::sync::watch;

use crate::connection::Connection;
use crate::counters::Counters;
use crate::settings::Settings;
use crate::users::Users;

/// What all tasks share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) core: Core<Settings>,
    pub(crate) host: Arc<Host>,
    users: watch::Sender<Arc<Users>>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) connections: Live<Connection>,
}

impl Shared {
    /// `users` is what `host` asks.
    pub(crate) fn new(
        settings: Settings,
        admission: Arc<Admission>,
        host: Host,
        users: watch::Sender<Arc<Users>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            core: Core::new(settings, admission),
            host: Arc::new(host),
            users,
            counters: Arc::default(),
            connections: Live::default(),
        })
    }

    /// Takes new settings, and users. What is there stays, beyond limits too.
    pub(crate) fn set_settings(&self, settings: Settings) {
        self.users.send_replace(Arc::clone(&settings.users));
        self.core.set_settings(settings);
    }

    /// What is told to whoever collects metrics.
    pub(crate) fn metrics(&self) -> String {
        self.counters.text(&self.core, self.host.open_count())
    }
}
