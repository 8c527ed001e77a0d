//! New settings for a server that runs.

use smbd_daemon::reload::keep;

use crate::settings::Settings;
use crate::shared::Shared;

/// Takes new settings, or keeps the old ones if they could not be read, and says so.
pub(crate) fn reload(shared: &Shared, read: Result<Settings, String>) {
    let take = |settings: Settings| {
        let numbers =
            vec![("connections_max", u64::from(settings.places.all)), ("users", settings.users.len() as u64)];
        shared.set_settings(settings);
        numbers
    };
    let log = || shared.core.log();
    smbd_daemon::reload::reload(log, read, |new| restore(&shared.core.settings(), new), take);
}

/// Leaves what cannot change as it is: what clients were told, and what is divided among them. The keys that would have changed.
fn restore(old: &Settings, new: &mut Settings) -> Vec<&'static str> {
    let keys = [
        keep("share", &old.shares, &mut new.shares),
        keep("broker", &old.broker, &mut new.broker),
        keep("security", &old.security, &mut new.security),
        keep("limits.channels", &old.channels, &mut new.channels),
        keep("limits.memory_mib", &old.memory_mib, &mut new.memory_mib),
        keep("timeouts.login_s", &old.login, &mut new.login),
        keep("metrics.address", &old.metrics, &mut new.metrics),
        keep("status.socket", &old.status, &mut new.status),
        keep("status.mode", &old.status_mode, &mut new.status_mode),
        more_places(old, new),
    ];
    keys.into_iter().flatten().collect()
}

/// Memory and file descriptors are divided among as many clients as may come at the start. Fewer can be let in.
fn more_places(old: &Settings, new: &mut Settings) -> Option<&'static str> {
    (new.connections, new.places_max) = (old.connections, old.places_max);
    (new.places.all > old.places_max).then(|| {
        new.places = old.places;
        if old.forks() { "broker.children" } else { "limits.connections" }
    })
}
