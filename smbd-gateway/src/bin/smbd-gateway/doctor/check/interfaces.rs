//! `interfaces`: what Samba tells clients of RDMA.

use std::collections::BTreeSet;

use smbd_daemon::host::Address;

use super::super::facts::Facts;
use super::super::smb_conf::{Interface, Setting, SmbConf, Speed, list};
use smbd_daemon::finding::{Finding, Severity};

const WHO: &str = "a client of Linux that mounts with `rdma` does not need it";

pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let (Some((_, conf)), Ok(addresses)) = (&facts.samba, &facts.host.addresses) else { return vec![] };
    if addresses.is_empty() {
        return vec![];
    }
    let setting = conf.global.get("interfaces");
    let found = match setting {
        Some(setting) if lacks_quotes(setting) => vec![without_quotes(addresses)],
        _ => of(conf, addresses),
    };
    found.into_iter().map(|finding| finding.maybe_at(setting.map(|setting| &setting.place))).collect()
}

/// Whether what belongs to one item is cut into several.
fn lacks_quotes(setting: &Setting) -> bool {
    let is_key = |item: &String| {
        ["capability=", "speed=", "if_index=", "options="]
            .iter()
            .any(|key| item.to_lowercase().starts_with(key))
    };
    list(&setting.text).iter().any(is_key)
}

fn without_quotes(addresses: &[Address]) -> Finding {
    Finding::new(
        Severity::Warning,
        "interfaces-quotes",
        "`interfaces` has `;` or `,` outside of quotes",
        "there they separate items, so what follows is an interface of its own for Samba, and clients of Windows are not told of RDMA",
        format!("quotes around the item: {}", example(addresses)),
    )
}

fn of(conf: &SmbConf, addresses: &[Address]) -> Vec<Finding> {
    let interfaces = conf.interfaces();
    if !interfaces.iter().any(|interface| interface.is_rdma) {
        return vec![Finding::new(
            Severity::Warning,
            "interfaces-rdma",
            "`interfaces` names no interface with `capability=RDMA`",
            format!(
                "clients of Windows learn from it which addresses have RDMA, and use no other for it; {WHO}"
            ),
            example(addresses),
        )];
    }
    let mut found = Vec::new();
    found.extend(untold(&interfaces, addresses));
    for interface in interfaces.iter().filter(|interface| interface.is_rdma) {
        let own: Vec<&Address> =
            addresses.iter().filter(|address| interface.names(address.address, &address.interface)).collect();
        found.extend(unknown(interface, &own));
        found.extend(slow(interface, &own));
        found.extend(without_index(interface));
    }
    found
}

/// Interfaces of RDMA devices of which no address has RDMA by the first item that names it. Samba passes over later ones.
fn untold(interfaces: &[Interface], addresses: &[Address]) -> Option<Finding> {
    let is_told = |address: &&Address| {
        let first = interfaces.iter().find(|interface| interface.names(address.address, &address.interface));
        first.is_some_and(|first| first.is_rdma)
    };
    let told: BTreeSet<&str> =
        addresses.iter().filter(is_told).map(|address| address.interface.as_str()).collect();
    let mut untold = addresses.iter().filter(|address| !told.contains(address.interface.as_str()));
    let Address { address, interface, device, .. } = untold.next()?;
    Some(Finding::new(
        Severity::Warning,
        "interfaces-missing",
        format!(
            "{interface} ({address}) of the RDMA device {device} has no `capability=RDMA` in `interfaces`"
        ),
        format!(
            "clients of Windows do not use RDMA there; the first item that names an interface or an address counts, later ones are \
             passed over; {WHO}"
        ),
        example(addresses),
    ))
}

fn unknown(interface: &Interface, own: &[&Address]) -> Option<Finding> {
    own.is_empty().then(|| {
        Finding::new(
            Severity::Warning,
            "interfaces-unknown",
            format!(
                "`{}` of `interfaces` has `capability=RDMA`, and is no address of an RDMA device",
                interface.name
            ),
            "clients of Windows try RDMA there in vain before they go on without it",
            "`rdma link` shows which network interface belongs to the device",
        )
    })
}

fn slow(interface: &Interface, own: &[&Address]) -> Option<Finding> {
    let is_unknown = own.iter().any(|address| address.speed_mbit.is_none());
    let what = match interface.speed {
        Speed::Bits(_) => return None,
        Speed::Useless => {
            format!("the speed of `{}` in `interfaces` is 0, or no number of bits per second", interface.name)
        }
        Speed::Unset if is_unknown => {
            format!(
                "`{}` of `interfaces` has no speed, and the system does not know it either",
                interface.name
            )
        }
        Speed::Unset => return None,
    };
    Some(Finding::new(
        Severity::Warning,
        "interfaces-speed",
        what,
        "of several interfaces clients use the fastest, so they may prefer one without RDMA",
        "bits per second, without a unit: `speed=100000000000` is 100 Gbit/s",
    ))
}

fn without_index(interface: &Interface) -> Option<Finding> {
    interface.lacks_index().then(|| {
        Finding::new(
            Severity::Warning,
            "interfaces-index",
            format!("`{}` of `interfaces` is an address with a mask", interface.name),
            "Samba does not look for the network interface then and tells its index as 0; clients of Windows pass over those",
            "the address without the mask, the name of the network interface, or `if_index=` with a number of its own",
        )
    })
}

/// The line that is right for this host.
fn example(addresses: &[Address]) -> String {
    let all: BTreeSet<(&str, Option<u64>)> =
        addresses.iter().map(|address| (address.interface.as_str(), address.speed_mbit)).collect();
    let items = all.into_iter().map(|(interface, speed)| {
        let bits = speed.unwrap_or(10_000).saturating_mul(1_000_000);
        format!(" \"{interface};capability=RDMA,speed={bits}\"")
    });
    format!("`interfaces = lo{}`, with their speed in bits per second", items.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::super::super::facts::sound;
    use super::super::ids;
    use super::*;

    fn with(interfaces: &str) -> Facts {
        sound::with_samba(sound::facts(), &format!("[global]\n{interfaces}\n"))
    }

    #[test]
    fn interfaces_have_to_tell_of_rdma_what_devices_have() {
        for (interfaces, id) in [
            (r#"interfaces = "eth0;capability=RDMA,speed=100""#, None),
            (r#"interfaces = lo "10.9.0.1;capability=RSS,capability=RDMA,speed=100""#, None),
            (r#"interfaces = lo "eth*;capability=RDMA""#, None),
            ("", Some("interfaces-rdma")),
            ("interfaces = lo eth0", Some("interfaces-rdma")),
            (r#"interfaces = "eth0;capability=RSS""#, Some("interfaces-rdma")),
            ("interfaces = lo 10.9.0.1;capability=RDMA,speed=100", Some("interfaces-quotes")),
            ("interfaces = lo 10.9.0.1;capability=RDMA", Some("interfaces-quotes")),
            (r#"interfaces = eth0 "eth0;capability=RDMA,speed=100""#, Some("interfaces-missing")),
            (r#"interfaces = "eth0;capability=RDMA,speed=0""#, Some("interfaces-speed")),
            (r#"interfaces = "eth0;capability=RDMA,speed=100G""#, Some("interfaces-speed")),
            (r#"interfaces = "10.9.0.1/24;capability=RDMA,speed=100""#, Some("interfaces-index")),
            (r#"interfaces = "10.9.0.1/24;capability=RDMA,speed=100,if_index=7""#, None),
        ] {
            assert_eq!(ids(&with(interfaces)), Vec::from_iter(id), "{interfaces}");
        }
    }

    #[test]
    fn an_address_without_a_device_is_told_as_well_as_the_device_without_an_item() {
        let facts = with(r#"interfaces = "192.0.2.1;capability=RDMA,speed=100""#);
        assert_eq!(ids(&facts), ["interfaces-missing", "interfaces-unknown"]);
    }

    #[test]
    fn the_speed_may_be_left_out_where_the_system_knows_it() {
        let mut facts = with(r#"interfaces = "eth0;capability=RDMA""#);
        assert_eq!(check(&facts), []);
        for address in facts.host.addresses.as_mut().unwrap() {
            address.speed_mbit = None;
        }
        assert_eq!(ids(&facts), ["interfaces-speed"]);
    }

    #[test]
    fn the_cure_is_a_line_that_is_no_finding_itself() {
        let cure = check(&with("")).remove(0).cure;
        let line = cure.split('`').nth(1).unwrap();
        assert_eq!(line, r#"interfaces = lo "eth0;capability=RDMA,speed=100000000000""#);
        assert_eq!(ids(&with(line)), [""; 0]);
    }

    #[test]
    fn a_host_without_addresses_or_without_samba_has_no_finding_of_interfaces() {
        let mut facts = with("");
        facts.host.addresses = Ok(vec![]);
        assert_eq!(check(&facts), []);
        assert_eq!(check(&Facts { samba: None, ..with("") }), []);
    }
}
