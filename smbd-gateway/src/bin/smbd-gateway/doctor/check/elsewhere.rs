//! Settings of Samba that are not read here.

use super::super::facts::Facts;
use smbd_daemon::finding::{Finding, Severity};

pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let Some((_, conf)) = &facts.samba else { return vec![] };
    let elsewhere = conf.elsewhere.iter().map(|elsewhere| {
        let (parameter, value) = (&elsewhere.parameter, &elsewhere.value);
        let finding = Finding::new(
            Severity::Advice,
            "settings-elsewhere",
            format!("`{parameter} = {value}`: settings that are there were not looked at"),
            "they may keep clients from RDMA all the same",
            "`net conf list >FILE` writes those of the registry into a file, and `smbd-gateway doctor --smb-conf FILE` reads it; \
             so with a file whose name depends on the client",
        );
        finding.at(&elsewhere.place)
    });
    let refused = conf.refused.iter().map(|place| {
        let finding = Finding::new(
            Severity::Error,
            "settings-refused",
            "Samba does not understand this line",
            "it refuses the whole file, and does not start",
            "a section is `[name]`, a parameter `name = value`, and `copy` names an earlier share; `testparm` checks the file",
        );
        finding.at(place)
    });
    refused.chain(elsewhere).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::facts::sound;
    use super::super::ids;
    use super::*;

    #[test]
    fn settings_that_were_not_looked_at_are_told() {
        assert_eq!(check(&sound::with_global("include = /missing.conf")), []);
        for line in ["include = /etc/%m.conf", "config backend = registry"] {
            assert_eq!(ids(&sound::with_global(line)), ["settings-elsewhere"], "{line}");
        }
    }

    #[test]
    fn a_file_that_samba_does_not_understand_is_told() {
        assert_eq!(ids(&sound::with_global("[share\npath = /data")), ["settings-refused"]);
    }
}
