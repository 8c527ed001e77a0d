//! What all tasks share.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smbd_broker::broker::{Broker, OwnerId};
use smbd_broker::server::Hub;
use smbd_broker::socket::Credentials;
use smbd_broker::verbs::Linux;
use smbd_daemon::admission::Admission;
use smbd_daemon::log::Log;
use smbd_daemon::refusals::Refusals;
use tokio::sync::watch;

use crate::counters::{Counters, Now};
use crate::news;
use crate::settings::Settings;
use crate::status::Snapshot;

/// What all tasks share.
#[derive(Debug)]
pub(crate) struct Shared {
    settings: watch::Sender<Arc<Settings>>,
    pub(crate) admission: Arc<Admission>,
    pub(crate) counters: Counters,
    pub(crate) hub: Hub<Linux>,
    refusals: Refusals,
    /// Who the owners are.
    owners: Mutex<BTreeMap<OwnerId, Credentials>>,
}

impl Shared {
    /// `instance` is a number that no other process has.
    pub(crate) fn new(settings: Settings, instance: u64) -> Result<Arc<Self>, String> {
        let broker = Broker::new(settings.broker.clone(), instance).map_err(|error| error.to_string())?;
        let admission = Admission::new(settings.connections(), settings.per_client);
        let settings = watch::Sender::new(Arc::new(settings));
        let of_log = settings.subscribe();
        let system = Linux::new(move |told| news::tell(Log::new(of_log.borrow().format), told));
        Ok(Arc::new(Self {
            settings,
            admission,
            counters: Counters::default(),
            hub: Hub::new(broker, system),
            refusals: Refusals::default(),
            owners: Mutex::default(),
        }))
    }

    /// The settings of now.
    pub(crate) fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.borrow())
    }

    /// The settings, as they are and as they change.
    pub(crate) fn follow_settings(&self) -> watch::Receiver<Arc<Settings>> {
        self.settings.subscribe()
    }

    /// Takes new settings. What is there stays, beyond limits too.
    pub(crate) fn set_settings(&self, settings: Settings) {
        self.admission.set_limits(settings.connections(), settings.per_client);
        self.hub.set_quotas(settings.broker.quotas);
        self.settings.send_replace(Arc::new(settings));
    }

    /// Where lines are written.
    pub(crate) fn log(&self) -> Log {
        Log::new(self.settings.borrow().format)
    }

    /// What `smbd-broker status` gets.
    pub(crate) fn status(&self) -> String {
        let settings = self.settings();
        let owners = self.owners().clone();
        self.hub.look(|broker| Snapshot::of(broker, &owners, &settings)).line()
    }

    /// What is told to whoever collects metrics.
    pub(crate) fn metrics(&self) -> String {
        self.counters.text(self.hub.look(|broker| Now::from(broker)))
    }

    /// A client was refused.
    pub(crate) fn refused(&self, client: SocketAddr, why: impl std::fmt::Display) {
        Counters::count(&self.counters.refused);
        self.refusals.tell(self.log(), client, why);
    }

    /// Who the owners are. Nothing that can panic happens under the lock.
    pub(crate) fn owners(&self) -> MutexGuard<'_, BTreeMap<OwnerId, Credentials>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
