//! How much one READ or WRITE may carry.

use super::super::facts::Facts;
use super::super::smb_conf::bytes;
use smbd_daemon::finding::{Finding, Severity};

/// What Samba does without a setting, and the most that it takes, in bytes.
const DEFAULT: u64 = 8 << 20;
const MAX: u64 = 0x00FF_FF00;

pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let Some((_, conf)) = &facts.samba else { return vec![] };
    let limit = u64::from(facts.max_read_write_size);
    let judge = |(name, id)| {
        let setting = conf.global.get(name);
        let size = setting.and_then(|setting| bytes(&setting.text)).unwrap_or(DEFAULT).min(MAX);
        (size > limit).then(|| {
            let finding = Finding::new(
                Severity::Warning,
                id,
                format!("`{name}` is {size} bytes, and the gateway's longest RDMA operation {limit}"),
                "a client that makes READs and WRITEs as long as the server lets it has those refused that are longer",
                format!(
                    "`{name} = {limit}`, or `max_read_write_size = {size}` in the gateway's configuration (`smbd-gateway config`)"
                ),
            );
            finding.maybe_at(setting.map(|setting| &setting.place))
        })
    };
    [("smb2 max read", "max-read"), ("smb2 max write", "max-write")].into_iter().filter_map(judge).collect()
}

#[cfg(test)]
mod tests {
    use super::super::super::facts::sound;
    use super::super::ids;
    use super::*;

    #[test]
    fn samba_may_not_let_clients_have_more_than_the_gateway_takes() {
        for (lines, expected) in [
            ("smb2 max read = 16M", &["max-read"][..]),
            ("smb2 max write = 8388609", &["max-write"]),
            ("smb2 max read = 8388608\nsmb2 max write = 1M", &[]),
        ] {
            assert_eq!(ids(&sound::with_global(lines)), expected, "{lines}");
        }
    }

    #[test]
    fn a_gateway_that_takes_less_than_samba_does_by_itself_is_told() {
        let facts = Facts { max_read_write_size: 1 << 20, ..sound::facts() };
        assert_eq!(ids(&facts), ["max-read", "max-write"]);
    }
}
