//! The broker that has the device.

use smbd_daemon::finding::{Finding, Severity};

use super::super::facts::{Broker, Facts};

pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let Some(Broker { path, answer: Err(why) }) = &facts.broker else { return Vec::new() };
    let what = format!("the broker at {} does not take this user: {why}", path.display());
    let why = "clients come from there: without it the gateway does not start";
    let cure = "start smbd-broker, and let the user of the gateway attach (its keys [owners] socket, mode, uids and gids); \
                `smbd-broker doctor` looks at devices and ports";
    vec![Finding::new(Severity::Error, "no-broker", what, why, cure)]
}

#[cfg(test)]
mod tests {
    use super::super::super::facts::{Broker, sound};
    use super::super::ids;

    #[test]
    fn a_broker_that_does_not_answer_is_found_and_devices_are_looked_at_only_without_one() {
        let mut facts = sound::facts();
        facts.host.devices.clear();
        facts.host.addresses = Ok(Vec::new());
        facts.host.listeners.clear();
        assert!(!ids(&facts).is_empty());
        let broker = |answer| Some(Broker { path: "/run/b".into(), answer });
        facts.broker = broker(Ok(()));
        assert!(ids(&facts).is_empty());
        facts.broker = broker(Err("No such file or directory".into()));
        assert_eq!(ids(&facts), ["no-broker"]);
    }
}
