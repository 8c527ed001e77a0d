//! From facts to findings: a file for each subject.

mod broker;
mod elsewhere;
mod encryption;
mod hosts;
mod interfaces;
mod ksmbd;
mod loopback;
mod mounts;
mod multichannel;
mod protocol;
mod server;
mod signing;
mod sizes;
mod value;

use smbd_daemon::finding::Finding;
use smbd_daemon::host;

use super::facts::Facts;

type Check = fn(&Facts) -> Vec<Finding>;

/// In the order in which somebody would look.
const CHECKS: [Check; 15] = [
    of_host,
    broker::check,
    server::check,
    ksmbd::check,
    elsewhere::check,
    value::check,
    protocol::check,
    signing::check,
    encryption::check,
    multichannel::check,
    interfaces::check,
    loopback::check,
    hosts::check,
    sizes::check,
    mounts::check,
];

/// Devices, ports and memory; those of a broker are its own doctor's to look at.
fn of_host(facts: &Facts) -> Vec<Finding> {
    if facts.broker.is_some() {
        return Vec::new();
    }
    host::check(&facts.host, "gateway")
}

/// All that keeps clients from RDMA, what matters most first.
pub(crate) fn all(facts: &Facts) -> Vec<Finding> {
    let mut found: Vec<Finding> = CHECKS.iter().flat_map(|check| check(facts)).collect();
    found.sort_by_key(|finding| finding.severity);
    found
}

/// What all checks find, by name. A test that seeds a fault says by it that the fault is found, and nothing else is.
#[cfg(test)]
pub(crate) fn ids(facts: &Facts) -> Vec<&'static str> {
    all(facts).into_iter().map(|finding| finding.id).collect()
}

#[cfg(test)]
mod tests {
    use smbd_daemon::host::PortState;

    use super::super::facts::sound;
    use super::*;
    use smbd_daemon::finding::Severity;

    #[test]
    fn nothing_is_found_on_a_host_that_is_sound() {
        assert_eq!(all(&sound::facts()), []);
        assert_eq!(all(&Facts { samba: None, ..sound::facts() }), []);
    }

    #[test]
    fn what_matters_most_comes_first() {
        let mut facts = sound::with_global("server multi channel support = no\nserver signing = required");
        facts.host.listeners[0].state = PortState::InUse;
        facts.has_ksmbd = true;
        assert_eq!(ids(&facts), ["port-in-use", "signing", "ksmbd", "multichannel"]);
        let severities: Vec<Severity> = all(&facts).iter().map(|finding| finding.severity).collect();
        assert!(severities.is_sorted());
    }

    #[test]
    fn each_finding_says_why_it_matters_and_what_to_do() {
        let mut facts = sound::with_global(
            "server signing = required\nsmb encrypt = required\nhosts deny = ALL\nmax protocol = SMB2\n\
             bind interfaces only = yes\ninterfaces = eth1\nserver multi channel support = no\ninclude = registry\n\
             smb2 max read = 16M",
        );
        facts.has_ksmbd = true;
        facts.host.memory.locked_max = Some(0);
        for Finding { id, what, why, cure, .. } in all(&facts) {
            for text in [what, why, cure] {
                assert!(text.len() > 20 && !text.ends_with('.'), "{id}: {text}");
            }
        }
    }
}
