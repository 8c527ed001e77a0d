//! Versions of SMB.

use super::super::facts::Facts;
use super::super::smb_conf::{Protocol, SmbConf, protocol};
use smbd_daemon::finding::{Finding, Severity};

/// What Samba does without a setting.
const MAX: Protocol = Protocol::Smb311;
const MIN: Protocol = Protocol::Smb202;

pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let Some((_, conf)) = &facts.samba else { return vec![] };
    let (max, min) = (of(conf, "server max protocol", MAX), of(conf, "server min protocol", MIN));
    let name = if max < Protocol::Smb300 { "server max protocol" } else { "server min protocol" };
    let Some(setting) = conf.global.get(name) else { return vec![] };
    let what = setting.to_string();
    let found = if max < Protocol::Smb300 {
        Finding::new(
            Severity::Error,
            "protocol-old",
            format!("{what}: no version that has SMB Direct"),
            "SMB Direct begins with version 3.0 of SMB; clients that mount by RDMA get no older one",
            "`server max protocol = SMB3`, or no such line: that is what Samba does by itself",
        )
    } else if min > max {
        Finding::new(
            Severity::Error,
            "protocol-none",
            format!("{what} is above `server max protocol`"),
            "no version is left, so no client can connect",
            "remove one of both lines",
        )
    } else {
        return vec![];
    };
    vec![found.at(&setting.place)]
}

fn of(conf: &SmbConf, name: &str, default: Protocol) -> Protocol {
    let set = conf.global.get(name).and_then(|setting| protocol(&setting.text));
    set.filter(|protocol| *protocol != Protocol::Default).unwrap_or(default)
}

#[cfg(test)]
mod tests {
    use super::super::super::facts::sound;
    use super::super::ids;

    #[test]
    fn smb_direct_needs_version_3() {
        for (line, id) in [
            ("server max protocol = SMB2", Some("protocol-old")),
            ("max protocol = NT1", Some("protocol-old")),
            ("protocol = SMB2_10", Some("protocol-old")),
            ("server max protocol = SMB3_00", None),
            ("server max protocol = SMB3", None),
            ("server max protocol = default", None),
            ("server max protocol = default\nserver min protocol = default", None),
            ("server min protocol = SMB3_11", None),
            ("server max protocol = SMB3_00\nserver min protocol = SMB3", Some("protocol-none")),
        ] {
            assert_eq!(ids(&sound::with_global(line)), Vec::from_iter(id), "{line}");
        }
    }
}
