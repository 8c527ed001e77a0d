//! New settings for a broker that runs.

use smbd_daemon::reload::keep;

use crate::settings::Settings;
use crate::shared::Shared;

/// Takes new settings, or keeps the old ones if they could not be read, and says so. Whether they were taken.
pub(crate) fn reload(shared: &Shared, read: Result<Settings, String>) -> bool {
    let take = |settings: Settings| {
        let connections = settings.connections();
        shared.set_settings(settings);
        vec![("connections_max", connections.into())]
    };
    smbd_daemon::reload::reload(|| shared.core.log(), read, |new| restore(&shared.core.settings(), new), take)
}

/// Leaves what cannot change as it is: owners were told of their slots, and sockets are where they are. The keys that would have changed.
fn restore(old: &Settings, new: &mut Settings) -> Vec<&'static str> {
    let (slots, other) = (&old.broker.limits, &mut new.broker.limits);
    let keys = [
        keep("owners.socket", &old.socket, &mut new.socket),
        keep("owners.mode", &old.socket_mode, &mut new.socket_mode),
        keep("slots.length_kib", &slots.slot_len, &mut other.slot_len),
        keep("slots.per_owner", &slots.slots_max, &mut other.slots_max),
        keep("smb_direct", &old.broker.params, &mut new.broker.params),
        keep("metrics.address", &old.metrics, &mut new.metrics),
        keep("status.socket", &old.status, &mut new.status),
        keep("status.mode", &old.status_mode, &mut new.status_mode),
    ];
    // A connection takes what its parameters say.
    new.locked = old.locked;
    keys.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::File;
    use crate::options::Run;

    fn settings(text: &str) -> Result<Settings, String> {
        Settings::of(&Run::default(), &File::parse(text)?)
    }

    #[test]
    fn limits_are_new_at_once_and_a_file_with_a_fault_leaves_all_as_it_was() {
        let shared = Shared::new(settings("").unwrap(), 1).unwrap();
        let text = "[limits]\nconnections = 5\n[owners]\nmax = 1\nuids = [7]\n[timeouts]\nsetup_s = 9";
        assert!(reload(&shared, settings(text)));
        let new = shared.core.settings();
        assert_eq!((new.connections(), &new.uids), (5, &vec![7]));
        assert_eq!(shared.hub.look(|broker| broker.setup_within().as_secs()), 9);
        for wrong in ["[limit]", "[limits]\nconnections = 0"] {
            assert!(!reload(&shared, settings(wrong)), "{wrong}");
            assert!(std::sync::Arc::ptr_eq(&new, &shared.core.settings()), "{wrong}");
        }
    }

    #[test]
    fn what_takes_a_restart_is_named_and_stays() {
        let old = settings("").unwrap();
        let text = "
            [owners]
            socket = '/run/other'
            mode = '0660'
            [slots]
            length_kib = 64
            per_owner = 3
            [smb_direct]
            keepalive_s = 7
            [metrics]
            address = '127.0.0.1:9446'
            [status]
            socket = '/run/another'
            mode = '0660'";
        let mut new = settings(text).unwrap();
        let keys = [
            "owners.socket",
            "owners.mode",
            "slots.length_kib",
            "slots.per_owner",
            "smb_direct",
            "metrics.address",
            "status.socket",
            "status.mode",
        ];
        assert_eq!(restore(&old, &mut new), keys);
        assert_eq!(format!("{new:?}"), format!("{old:?}"));
    }
}
