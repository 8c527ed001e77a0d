//! New settings for a gateway that runs.

use smbd_daemon::reload::keep;

use crate::settings::{Settings, Shared};

/// Takes new settings, or keeps the old ones if they could not be read, and says so. Whether they were taken.
pub(crate) fn reload(shared: &Shared, read: Result<Settings, String>) -> bool {
    let take = |settings: Settings| {
        let (connections, each) = (settings.basics.connections, settings.basics.each);
        shared.core.set_settings(settings);
        vec![("connections_max", connections.into()), ("bytes_each", each)]
    };
    smbd_daemon::reload::reload(|| shared.core.log(), read, |new| restore(&shared.core.settings(), new), take)
}

/// Leaves what cannot change as it is. The keys that would have changed.
fn restore(old: &Settings, new: &mut Settings) -> Vec<&'static str> {
    let path = |settings: &Settings| settings.broker.as_ref().map(|broker| broker.path.clone());
    let broker = (path(old) != path(new)).then(|| {
        new.broker.clone_from(&old.broker);
        new.listeners.clone_from(&old.listeners);
        "broker"
    });
    let metrics = keep("metrics.address", &old.basics.metrics, &mut new.basics.metrics);
    let status = keep("status.socket", &old.basics.status, &mut new.basics.status);
    let mode = keep("status.mode", &old.basics.status_mode, &mut new.basics.status_mode);
    [broker, metrics, status, mode].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use smbd_daemon::log::Format;
    use smbd_daemon::places::Place;

    use crate::file::File;
    use crate::options::Run;

    fn settings(text: &str) -> Result<Settings, String> {
        Settings::of(&Run::default(), &File::parse(text)?)
    }

    fn shared() -> Arc<Shared> {
        Shared::new(settings("server = ['127.0.0.1']").unwrap())
    }

    #[test]
    fn what_is_new_holds_from_then_on_for_who_comes_and_a_connection_keeps_what_it_had() {
        let shared = shared();
        let of_connection = shared.core.settings();
        let mut follower = shared.core.follow_settings();
        let text = "
            server = ['127.0.0.2']
            allow = ['fd09::/64']
            [[listener]]
            device = 'siw0'
            [limits]
            connections = 5
            per_client = 1
            pending = 3
            [timeouts]
            drain_s = 99
            [log]
            format = 'json'";
        assert!(reload(&shared, settings(text)));
        assert!(follower.has_changed().unwrap());
        let new = follower.borrow_and_update().clone();
        assert_eq!(new.listeners[0].place, Place::Device("siw0".into()));
        assert_eq!(new.listeners[0].target.servers[0].to_string(), "127.0.0.2:445");
        assert_eq!((new.allow.len(), new.pending, new.basics.drain), (1, 3, Duration::from_secs(99)));
        assert_eq!((new.basics.format, of_connection.basics.format), (Format::Json, Format::Text));
        let networks = new.allow.clone();
        let enter = || shared.core.admission.enter("fd09::2".parse().unwrap(), &networks);
        let _first = enter().unwrap();
        assert!(enter().is_err());
        assert_eq!(of_connection.listeners[0].place, Place::Any);
    }

    #[test]
    fn a_file_with_a_fault_leaves_all_as_it_was() {
        let shared = shared();
        let old = shared.core.settings();
        for wrong in ["sever = []", "server = ['127.0.0.1']\n[limits]\nconnections = 0", "server = []"] {
            assert!(!reload(&shared, settings(wrong)), "{wrong}");
            assert!(Arc::ptr_eq(&old, &shared.core.settings()), "{wrong}");
        }
    }

    #[test]
    fn what_takes_a_restart_is_named_each_time_and_stays() {
        let old = settings("server = ['127.0.0.1']").unwrap();
        let text = "
            server = ['127.0.0.1']
            [metrics]
            address = '127.0.0.1:9445'
            [status]
            socket = '/run/other'
            mode = '0660'";
        let mut new = settings(text).unwrap();
        assert_eq!(restore(&old, &mut new), ["metrics.address", "status.socket", "status.mode"]);
        assert_eq!(
            (new.basics.metrics, &new.basics.status, new.basics.status_mode),
            (None, &old.basics.status, old.basics.status_mode)
        );
        let mut again = settings(text).unwrap();
        assert_eq!(restore(&new, &mut again).len(), 3);
        assert_eq!(restore(&old, &mut settings("server = ['127.0.0.2']").unwrap()), [""; 0]);
    }
}
