//! `hosts allow` and `hosts deny`: Samba sees the gateway's address as that of all clients.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::super::facts::Facts;
use super::super::smb_conf::{Section, Setting, folded, list, network};
use smbd_daemon::finding::{Finding, Severity};

pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let Some((_, conf)) = &facts.samba else { return vec![] };
    let mut opaque = facts.servers.iter().filter(|server| !server.is_transparent).peekable();
    if opaque.peek().is_none() && !facts.servers.is_empty() {
        return vec![];
    }
    let loopback = opaque.map(|server| server.address.ip().to_canonical()).find(IpAddr::is_loopback);
    let gateway = loopback.map(|address| match address {
        IpAddr::V4(_) => IpAddr::from(Ipv4Addr::LOCALHOST),
        IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
    });
    conf.sections().filter_map(|section| judge(section, gateway)).collect()
}

/// `gateway` is the address that Samba sees, if that is known.
fn judge(section: &Section, gateway: Option<IpAddr>) -> Option<Finding> {
    let (allow, deny) = (section.get("hosts allow"), section.get("hosts deny"));
    let is_denied = |gateway| deny.is_some_and(|deny| matches(deny, gateway));
    let is_allowed = |gateway| allow.is_some_and(|allow| matches(allow, gateway));
    // As Samba: loopback is let in unless it is denied, and not if it is allowed as well.
    if let (Some(gateway), Some(deny)) = (gateway, deny)
        && is_denied(gateway)
        && !is_allowed(gateway)
    {
        let finding = Finding::new(
            if section.name == "global" { Severity::Error } else { Severity::Warning },
            "hosts-denied",
            format!("{deny} in [{}] keeps the gateway out", section.name),
            format!("Samba sees {gateway} as the address of all clients that come through the gateway"),
            format!(
                "add {gateway} to `hosts allow`, and have the gateway admit the right clients with `--allow`"
            ),
        );
        return Some(finding.at(&deny.place));
    }
    let is_limit = |setting: &&Setting| !list(&setting.text).is_empty() && !admits_all(setting);
    let limit = allow.filter(is_limit).or(deny.filter(|deny| !list(&deny.text).is_empty()))?;
    let seen = gateway.map_or_else(|| "the gateway's address".to_owned(), |gateway| gateway.to_string());
    let finding = Finding::new(
        Severity::Warning,
        "hosts-passed",
        format!("{limit} in [{}] does not hold for clients of the gateway", section.name),
        format!(
            "Samba sees {seen} as the address of all of them, so whom these lines keep out may come in by RDMA"
        ),
        "the gateway admits the subnets that it listens on, and those of `--allow`: no others than the clients that may come in; a \
         packet filter does not see RDMA over RoCE and InfiniBand. With `transparent` in the gateway's configuration Samba sees the \
         clients' addresses",
    );
    Some(finding.at(&limit.place))
}

fn admits_all(setting: &Setting) -> bool {
    let items = list(&setting.text);
    items.len() == 1 && items.iter().all(|item| folded(item) == "all")
}

/// Whether a list has the address, and does not except it.
fn matches(setting: &Setting, address: IpAddr) -> bool {
    let items: Vec<String> = list(&setting.text).iter().map(|item| folded(item)).collect();
    let mut parts = items.split(|item| item == "except");
    let has = |items: &[String]| items.iter().any(|item| is_item(item, address));
    parts.next().is_some_and(has) && !parts.any(has)
}

/// Whether an item stands for a loopback address.
fn is_item(item: &str, address: IpAddr) -> bool {
    match item {
        "all" | "local" | "localhost" => true,
        _ if item.ends_with('.') => address.to_string().starts_with(item),
        _ => network(item).is_some_and(|(_, network)| network.contains(address)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::facts::sound;
    use super::super::ids;

    #[test]
    fn rules_by_address_are_told_because_they_do_not_hold() {
        for (lines, id) in [
            ("hosts allow = 10.9.0.", Some("hosts-passed")),
            ("hosts allow = 10.9.0.0/24 127.", Some("hosts-passed")),
            ("hosts deny = 192.0.2.1", Some("hosts-passed")),
            ("hosts deny = ALL\nhosts allow = 127.0.0.1 10.9.0.", Some("hosts-passed")),
            ("hosts allow = ALL EXCEPT 192.0.2.1", Some("hosts-passed")),
            ("hosts allow = ALL", None),
            ("hosts allow =", None),
            ("[open]\nhosts allow = 10.9.0.1", Some("hosts-passed")),
        ] {
            assert_eq!(ids(&sound::with_global(lines)), Vec::from_iter(id), "{lines}");
        }
    }

    #[test]
    fn who_denies_loopback_keeps_the_gateway_out() {
        for lines in [
            "hosts deny = ALL",
            "hosts deny = 127.",
            "deny hosts = 127.0.0.0/255.0.0.0\nhosts allow = 10.9.0.",
            "hosts deny = 0.0.0.0/0",
            "hosts deny = localhost",
            "[data]\nhosts deny = ALL EXCEPT 10.9.0.1",
        ] {
            assert_eq!(ids(&sound::with_global(lines)), ["hosts-denied"], "{lines}");
        }
        assert_eq!(ids(&sound::with_global("hosts deny = ALL EXCEPT 127.0.0.1")), ["hosts-passed"]);
    }

    #[test]
    fn a_server_that_sees_the_clients_addresses_has_rules_that_hold() {
        for lines in ["hosts allow = 10.9.0.", "hosts deny = ALL"] {
            let mut facts = sound::with_global(lines);
            facts.servers[0].is_transparent = true;
            assert_eq!(ids(&facts), [""; 0], "{lines}");
        }
    }

    #[test]
    fn of_a_server_elsewhere_the_address_is_not_known() {
        let mut facts = sound::with_global("hosts deny = ALL");
        facts.servers[0].address = "192.0.2.1:445".parse().unwrap();
        assert_eq!(ids(&facts), ["hosts-passed"]);
    }
}
