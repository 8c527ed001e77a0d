//! Multichannel, by which clients of Windows find RDMA.

use super::super::facts::Facts;
use super::super::smb_conf::boolean;
use smbd_daemon::finding::{Finding, Severity};

pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let setting = facts.samba.as_ref().and_then(|(_, conf)| conf.global.get("server multi channel support"));
    let Some(setting) = setting.filter(|setting| boolean(&setting.text) == Some(false)) else {
        return vec![];
    };
    let finding = Finding::new(
        Severity::Warning,
        "multichannel",
        setting.to_string(),
        "clients of Windows ask the server over TCP which of its addresses have RDMA, and without multichannel it does not answer; \
         a client of Linux that mounts with `rdma` does not need it",
        "remove the line: since 4.15 Samba has it on by itself",
    );
    vec![finding.at(&setting.place)]
}

#[cfg(test)]
mod tests {
    use super::super::super::facts::sound;
    use super::super::ids;

    #[test]
    fn multichannel_that_is_off_is_told() {
        for (value, id) in [("no", Some("multichannel")), ("Off", Some("multichannel")), ("yes", None)] {
            let facts = sound::with_global(&format!("server multi channel support = {value}"));
            assert_eq!(ids(&facts), Vec::from_iter(id), "{value}");
        }
    }
}
