//! Values that Samba does not know.

use super::super::facts::Facts;
use super::super::smb_conf::{Section, boolean, bytes, is_domain_controller, level, protocol};
use smbd_daemon::finding::{Finding, Severity};

type Parameter = (&'static str, fn(&str) -> bool);

/// Those of `[global]` that are looked at here, and whether Samba knows a value.
const GLOBAL: [Parameter; 9] = [
    ("server signing", |text| level(text).is_some()),
    ("server smb encrypt", |text| level(text).is_some()),
    ("server max protocol", |text| protocol(text).is_some()),
    ("server min protocol", |text| protocol(text).is_some()),
    ("server role", |text| is_domain_controller(text).is_some()),
    ("bind interfaces only", |text| boolean(text).is_some()),
    ("server multi channel support", |text| boolean(text).is_some()),
    ("smb2 max read", |text| bytes(text).is_some()),
    ("smb2 max write", |text| bytes(text).is_some()),
];
/// The same of a share. Samba passes over other ones there.
const SHARE: [Parameter; 1] = [("server smb encrypt", |text| level(text).is_some())];

pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let Some((_, conf)) = &facts.samba else { return vec![] };
    let of_shares = conf.shares.iter().flat_map(|share| judge(share, &SHARE));
    judge(&conf.global, &GLOBAL).into_iter().chain(of_shares).collect()
}

fn judge(section: &Section, parameters: &[Parameter]) -> Vec<Finding> {
    let unknown = parameters.iter().filter_map(|(name, is_known)| {
        let setting = section.get(name)?;
        (!is_known(&setting.text)).then(|| {
            let finding = Finding::new(
                Severity::Error,
                "settings-value",
                format!("{setting} is no value that Samba 4.17 knows"),
                "it refuses the whole file, and does not start",
                "`man smb.conf` has the values; `testparm` checks the file",
            );
            finding.at(&setting.place)
        })
    });
    unknown.collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::facts::sound;
    use super::super::ids;
    use super::*;

    #[test]
    fn a_value_that_samba_does_not_know_is_told() {
        for line in [
            "server signing = maybe",
            "smb encrypt = strong",
            "max protocol = SMB4",
            "server min protocol = 3",
            "server role = boss",
            "bind interfaces only = maybe",
            "server multi channel support = auto",
            "smb2 max read = 0x100000",
            "smb2 max write = much",
            "[data]\nsmb encrypt = strong",
        ] {
            assert_eq!(ids(&sound::with_global(line)), ["settings-value"], "{line}");
        }
        assert_eq!(check(&sound::with_global("[data]\nserver signing = maybe")), []);
    }
}
