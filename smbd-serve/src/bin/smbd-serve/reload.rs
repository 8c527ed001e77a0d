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

#[cfg(test)]
mod tests {
    use smbd_daemon::log::Format;

    use super::*;
    use crate::file::File;
    use crate::options::Run;

    const BASE: &str = "users = 'u'\n[[share]]\nname = 'a'\npath = '/a'\n[[listener]]\naddress = '127.0.0.1:1'\nover = 'tcp'\n";

    fn settings(more: &str) -> Settings {
        Settings::of(&Run::default(), &File::parse(&format!("{BASE}{more}")).unwrap()).unwrap()
    }

    #[test]
    fn what_takes_a_restart_is_named_each_time_and_stays() {
        let old = settings("");
        let text = "
            [[share]]
            name = 'b'
            path = '/b'
            [broker]
            socket = '/run/broker'
            [security]
            sign = true
            [limits]
            connections = 65
            channels = 2
            memory_mib = 9999
            [timeouts]
            login_s = 7
            [metrics]
            address = '127.0.0.1:9447'
            [status]
            socket = '/run/other'
            mode = '0660'";
        let keys = [
            "share",
            "broker",
            "security",
            "limits.channels",
            "limits.memory_mib",
            "timeouts.login_s",
            "metrics.address",
            "status.socket",
            "status.mode",
            "limits.connections",
        ];
        let mut new = settings(text);
        assert_eq!(restore(&old, &mut new), keys);
        assert_eq!(restore(&new, &mut settings(text)), keys);
        assert_eq!((new.shares.len(), new.security.sign, new.places), (1, false, old.places));
    }

    #[test]
    fn fewer_connections_need_no_restart_and_neither_do_as_many_as_at_the_start_or_another_log() {
        let old = settings("");
        let text =
            "[limits]\nconnections = 9\nper_client = 2\n[timeouts]\ndrain_s = 9\n[log]\nformat = 'json'";
        let mut fewer = settings(text);
        assert_eq!(restore(&old, &mut fewer), [""; 0]);
        assert_eq!((fewer.places.all, fewer.drain.as_secs(), fewer.format), (9, 9, Format::Json));
        let mut again = settings("");
        assert_eq!(restore(&fewer, &mut again), [""; 0]);
        assert_eq!(again.places, old.places);
        assert_eq!(restore(&fewer, &mut settings("[limits]\nconnections = 65")), ["limits.connections"]);
    }
}
