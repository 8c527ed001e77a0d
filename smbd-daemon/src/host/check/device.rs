//! RDMA devices, their ports and addresses.

use super::super::Facts;
use crate::finding::{Finding, Severity};

pub(super) fn check(facts: &Facts, word: &str) -> Vec<Finding> {
    let names: Vec<&str> = facts.devices.iter().map(|device| device.name.as_str()).collect();
    let names = names.join(", ");
    let is_active = |state: &String| state == "ACTIVE";
    let found = if facts.devices.is_empty() {
        Finding::new(
            Severity::Error,
            "no-device",
            "this host has no RDMA device",
            "SMB Direct is SMB over RDMA, and there is nothing to listen on",
            "for an adapter that has RDMA, load its driver and check `rdma link`; to try it without one, make a software device: \
             `rdma link add siw0 type siw netdev eth0`",
        )
    } else if !facts.devices.iter().any(|device| device.port_states.iter().any(is_active)) {
        Finding::new(
            Severity::Error,
            "no-active-port",
            format!("no port of an RDMA device ({names}) is active"),
            "no packet comes in or goes out",
            "check the cable, `ip link set INTERFACE up`, on InfiniBand that a subnet manager runs; `rdma link` shows the state",
        )
    } else {
        match &facts.addresses {
            Ok(addresses) if addresses.is_empty() => Finding::new(
                Severity::Error,
                "no-address",
                format!("no RDMA device ({names}) has an IP address"),
                format!(
                    "clients connect to an address, and the {word} listens at those of RDMA devices; loopback and link-local ones do \
                     not count"
                ),
                "give the network interface of the device one: `rdma link` shows which it is, `ip address add 10.9.0.1/24 dev \
                 INTERFACE`",
            ),
            Ok(_) => return vec![],
            Err(why) => Finding::new(
                Severity::Error,
                "no-connection-manager",
                format!("the RDMA connection manager cannot be asked: {why}"),
                "connections are established by it",
                "`modprobe rdma_ucm`; this user needs to open what is in /dev/infiniband: `ls -l /dev/infiniband`",
            ),
        }
    };
    vec![found]
}

#[cfg(test)]
mod tests {
    use super::super::ids;
    use super::super::sound;
    use super::*;

    #[test]
    fn a_host_without_a_device_is_told_once() {
        let facts = Facts { devices: vec![], addresses: Err("no such device".into()), ..sound::facts() };
        assert_eq!(ids(&facts), ["no-device"]);
    }

    #[test]
    fn one_active_port_is_enough() {
        let mut facts = sound::facts();
        assert_eq!(check(&facts, "gateway"), []);
        facts.devices[0].port_states = vec!["INIT".into(), "DOWN".into()];
        assert_eq!(ids(&facts), ["no-active-port"]);
    }

    #[test]
    fn a_device_needs_an_address() {
        let facts = Facts { addresses: Ok(vec![]), ..sound::facts() };
        assert_eq!(ids(&facts), ["no-address"]);
        let facts = Facts { addresses: Err("Permission denied".into()), ..sound::facts() };
        assert_eq!(ids(&facts), ["no-connection-manager"]);
        assert!(check(&facts, "gateway")[0].what.contains("Permission denied"));
    }
}
