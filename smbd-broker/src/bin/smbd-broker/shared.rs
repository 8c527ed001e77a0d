//! What all tasks share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smbd_broker::broker::{Broker, OwnerId};
use smbd_broker::server::Hub;
use smbd_broker::socket::Credentials;
use smbd_broker::verbs::Linux;
use smbd_daemon::admission::Admission;
use smbd_daemon::log::Log;
use smbd_daemon::tasks::Core;

use crate::counters::{Counters, Now};
use crate::news;
use crate::settings::Settings;
use crate::status::Snapshot;

/// What all tasks share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) core: Core<Settings>,
    pub(crate) counters: Counters,
    pub(crate) hub: Hub<Linux>,
    /// Who the owners are.
    owners: Mutex<BTreeMap<OwnerId, Credentials>>,
}

impl Shared {
    /// `instance` is a number that no other process has.
    pub(crate) fn new(settings: Settings, instance: u64) -> Result<Arc<Self>, String> {
        let broker = Broker::new(settings.broker.clone(), instance).map_err(|error| error.to_string())?;
        let admission = Admission::new(settings.connections(), settings.per_client);
        let core = Core::new(settings, admission);
        let of_log = core.follow_settings();
        let system = Linux::new(move |told| news::tell(Log::new(of_log.borrow().format), told));
        Ok(Arc::new(Self {
            core,
            counters: Counters::default(),
            hub: Hub::new(broker, system),
            owners: Mutex::default(),
        }))
    }

    /// Takes new settings. What is there stays, beyond limits too.
    pub(crate) fn set_settings(&self, settings: Settings) {
        self.hub.set_quotas(settings.broker.quotas);
        self.core.set_settings(settings);
    }

    /// What `smbd-broker status` gets.
    pub(crate) fn status(&self) -> String {
        let settings = self.core.settings();
        let owners = self.owners().clone();
        self.hub.look(|broker| Snapshot::of(broker, &owners, &settings)).line()
    }

    /// What is told to whoever collects metrics.
    pub(crate) fn metrics(&self) -> String {
        self.counters.text(self.hub.look(|broker| Now::from(broker)), self.core.refused_count())
    }

    /// Who the owners are. Nothing that can panic happens under the lock.
    pub(crate) fn owners(&self) -> MutexGuard<'_, BTreeMap<OwnerId, Credentials>> {
        self.owners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
