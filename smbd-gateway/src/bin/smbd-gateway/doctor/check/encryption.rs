//! Encryption.

use super::super::facts::Facts;
use super::super::smb_conf::{Level, Section, Setting, level};
use smbd_daemon::finding::{Finding, Severity};

const CURE: &str = "`server smb encrypt = if_required` leaves it to the clients. What that risks: whoever sees packets between client \
                    and server reads the files. Only in a network whose hosts are trusted. If it stays: clients of Linux mount with \
                    `sign,seal`, because with `seal` alone they send messages that are longer than they announce";

pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let Some((_, conf)) = &facts.samba else { return vec![] };
    if let Some(setting) = encrypting(&conf.global) {
        let finding = Finding::new(
            Severity::Error,
            "encryption",
            format!("{setting} has all sessions encrypted"),
            "encryption is what keeps clients from RDMA here: they use it only in sessions that are neither signed nor encrypted. They \
             work through the gateway all the same, but all data pass in messages, which are slower",
            CURE,
        );
        return vec![finding.at(&setting.place)];
    }
    let of_shares = conf.shares.iter().filter_map(|share| Some((share, encrypting(share)?)));
    of_shares
        .map(|(share, setting)| {
            let finding = Finding::new(
                Severity::Warning,
                "encryption-share",
                format!("{setting} has all of the share [{}] encrypted", share.name),
                "clients do not use RDMA for it: they do so only where nothing is signed or encrypted",
                CURE,
            );
            finding.at(&setting.place)
        })
        .collect()
}

/// What has clients that can encrypt do so: all that can use SMB Direct can.
fn encrypting(section: &Section) -> Option<&Setting> {
    let setting = section.get("server smb encrypt")?;
    matches!(level(&setting.text), Some(Level::Required | Level::Desired)).then_some(setting)
}

#[cfg(test)]
mod tests {
    use super::super::super::facts::sound;
    use super::super::ids;
    use super::*;

    #[test]
    fn encryption_of_all_is_told_once() {
        for line in ["server smb encrypt = required", "smb encrypt = mandatory", "smb encrypt = desired"] {
            assert_eq!(ids(&sound::with_global(&format!("{line}\n[a]\n{line}"))), ["encryption"], "{line}");
        }
    }

    #[test]
    fn encryption_of_a_share_is_told_with_its_name() {
        let facts = sound::with_global("[data]\nsmb encrypt = required\n[open]\nsmb encrypt = off");
        assert_eq!(ids(&facts), ["encryption-share"]);
        assert!(check(&facts)[0].what.contains("[data]"));
    }

    #[test]
    fn encryption_that_clients_may_ask_for_is_no_finding() {
        for value in ["if_required", "default", "off", "auto", "yes"] {
            assert_eq!(check(&sound::with_global(&format!("server smb encrypt = {value}"))), [], "{value}");
        }
    }
}
