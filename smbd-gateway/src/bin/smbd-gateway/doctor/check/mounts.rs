//! What this host has mounted itself.

use smbd_daemon::host::Mount;

use super::super::facts::Facts;
use smbd_daemon::finding::{Finding, Severity};

/// The longest READ and WRITE that an encrypted mount may have, in bytes, if the client does not look at the length of messages.
const SIZE_MAX: u64 = 128 << 10;

pub(super) fn check(facts: &Facts) -> Vec<Finding> {
    let is_told = |mount: &&Mount| {
        let has = |option: &str| mount.options.iter().any(|is| is == option);
        let is_signed =
            mount.options.iter().any(|option| option.starts_with("sec=") && option.ends_with('i'));
        let is_short =
            ["rsize=", "wsize="].iter().all(|name| size(mount, name).is_some_and(|size| size <= SIZE_MAX));
        has("rdma") && has("seal") && !is_signed && !has("sign") && !is_short
    };
    facts.mounts.iter().filter(is_told).map(|mount| {
        Finding::new(
            Severity::Warning,
            "seal-without-sign",
            format!("{} is mounted with `rdma,seal` and without `sign`", mount.folder),
            "the client of Linux then sends messages that are longer than the other side takes, and its connection ends at the first \
             large file",
            "mount it with `sign,seal`, or with `rsize=131072,wsize=131072`",
        )
    }).collect()
}

fn size(mount: &Mount, name: &str) -> Option<u64> {
    mount.options.iter().find_map(|option| option.strip_prefix(name)?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::super::super::facts::sound;
    use super::super::ids;
    use super::*;

    #[test]
    fn a_mount_with_seal_needs_sign_or_small_sizes() {
        for (options, id) in [
            ("rw,sec=ntlmssp,rdma,seal,rsize=4194304,wsize=4194304", Some("seal-without-sign")),
            ("rw,sec=ntlmsspi,rdma,seal,rsize=4194304,wsize=4194304", None),
            ("rw,sec=ntlmssp,rdma,seal,rsize=131072,wsize=131072", None),
            ("rw,sec=ntlmssp,rdma,seal,rsize=131072,wsize=4194304", Some("seal-without-sign")),
            ("rw,sec=krb5,seal,rsize=4194304", None),
            ("rw,sec=ntlmssp,rdma", None),
        ] {
            let options = options.split(',').map(str::to_owned).collect();
            let mounts = vec![Mount { folder: "/mnt".into(), options }];
            assert_eq!(ids(&Facts { mounts, ..sound::facts() }), Vec::from_iter(id));
        }
    }
}
