//! Where Samba listens for the gateway.

use std::net::IpAddr;

use super::super::facts::Facts;
use super::super::smb_conf::boolean;
use smbd_daemon::finding::{Finding, Severity};

pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let Some((_, conf)) = &facts.samba else { return vec![] };
    let setting = conf.global.get("bind interfaces only");
    let Some(setting) = setting.filter(|setting| boolean(&setting.text) == Some(true)) else { return vec![] };
    let interfaces = conf.interfaces();
    let is_left_out = |address: &IpAddr| {
        address.is_loopback() && !interfaces.iter().any(|interface| interface.names_loopback(*address))
    };
    let mut servers = facts.servers.iter().map(|server| server.address.ip().to_canonical());
    let Some(address) = servers.find(is_left_out) else { return vec![] };
    let finding = Finding::new(
        Severity::Error,
        "loopback",
        format!("{setting}, and `interfaces` does not name {address}"),
        "Samba does not listen on the loopback interface then, by which the gateway reaches it",
        "`lo` as an item of `interfaces`, such as `interfaces = lo eth0`; for another address than 127.0.0.1 and ::1 an item like \
         `127.0.0.2/8`",
    );
    vec![finding.at(&setting.place)]
}

#[cfg(test)]
mod tests {
    use super::super::super::facts::sound;
    use super::super::ids;
    use super::*;

    #[test]
    fn samba_has_to_listen_where_the_gateway_looks_for_it() {
        let rdma = r#""eth0;capability=RDMA""#;
        for (lines, id) in [
            (format!("bind interfaces only = yes\ninterfaces = {rdma}"), Some("loopback")),
            (format!("bind interfaces only = yes\ninterfaces = lo {rdma}"), None),
            (format!("bind interfaces only = yes\ninterfaces = 127.0.0.0/8 {rdma}"), None),
            (format!("bind interfaces only = no\ninterfaces = {rdma}"), None),
            (format!("interfaces = {rdma}"), None),
        ] {
            assert_eq!(ids(&sound::with_global(&lines)), Vec::from_iter(id), "{lines}");
        }
    }

    #[test]
    fn a_server_elsewhere_needs_no_loopback() {
        let mut facts =
            sound::with_global("bind interfaces only = yes\ninterfaces = \"eth0;capability=RDMA\"");
        facts.servers[0].address = "10.9.0.1:445".parse().unwrap();
        assert_eq!(check(&facts), []);
    }
}
