//! What `/proc` and `/sys` say, below a root that tests choose.

use std::fs;
use std::path::Path;

use super::facts::{Device, Mount};

/// The number of `CAP_IPC_LOCK` among the capabilities: with it a process may lock as much memory as it likes.
const CAP_IPC_LOCK: u32 = 14;

/// The text of a file; empty if it cannot be read.
fn text(root: &Path, path: &str) -> String {
    fs::read(root.join(path)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// The names in a folder, in their order; none if it cannot be read.
fn names(root: &Path, path: &str) -> Vec<String> {
    let entries = fs::read_dir(root.join(path)).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    names
}

/// RDMA devices.
pub(super) fn devices(root: &Path) -> Vec<Device> {
    let all = "sys/class/infiniband";
    let states = |device: &str| {
        let ports = format!("{all}/{device}/ports");
        let state = |port: String| {
            // Such as "4: ACTIVE".
            let text = text(root, &format!("{ports}/{port}/state"));
            text.rsplit(": ").next().unwrap_or_default().trim().to_owned()
        };
        names(root, &ports).into_iter().map(state).collect()
    };
    names(root, all).into_iter().map(|name| Device { port_states: states(&name), name }).collect()
}

/// The speed of a network interface in Mbit/s; `None` if the system does not know it.
pub(super) fn speed_mbit(root: &Path, interface: &str) -> Option<u64> {
    // -1 is a speed that is not known.
    text(root, &format!("sys/class/net/{interface}/speed")).trim().parse().ok().filter(|speed| *speed > 0)
}

/// The number of a process of this name that was called with `run`.
pub(super) fn running(root: &Path, program: &str) -> Option<String> {
    // Cut at 15 characters.
    let name: String = program.chars().take(15).collect();
    let is_process = |name: &String| name.chars().all(|c| c.is_ascii_digit());
    names(root, "proc").into_iter().filter(is_process).find(|process| {
        text(root, &format!("proc/{process}/comm")).trim() == name
            && text(root, &format!("proc/{process}/cmdline")).split('\0').nth(1) == Some("run")
    })
}

/// How many bytes a process may have locked, if that is limited, and whether the limit does not hold for it.
pub(super) fn locked_memory(root: &Path, process: &str) -> (Option<u64>, bool) {
    let limits = text(root, &format!("proc/{process}/limits"));
    let line = limits.lines().find_map(|line| line.strip_prefix("Max locked memory"));
    let max = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    let status = text(root, &format!("proc/{process}/status"));
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let capabilities = line.and_then(|line| u64::from_str_radix(line.trim(), 16).ok()).unwrap_or(0);
    (max, capabilities >> CAP_IPC_LOCK & 1 == 1)
}

/// Whether ksmbd is running. Its module may be loaded without that.
pub(super) fn has_ksmbd(root: &Path) -> bool {
    text(root, "sys/class/ksmbd-control/stats").split_whitespace().any(|word| word == "running")
}

/// What is mounted over SMB Direct.
pub(super) fn mounts(root: &Path) -> Vec<Mount> {
    let all = text(root, "proc/self/mounts");
    let mounts = all.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        let (folder, kind, options) = (words.next()?, words.next()?, words.next()?);
        let options: Vec<String> = options.split(',').map(str::to_owned).collect();
        let is_rdma = ["cifs", "smb3"].contains(&kind) && options.iter().any(|option| option == "rdma");
        is_rdma.then(|| Mount { folder: folder.to_owned(), options })
    });
    mounts.collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// A folder that stands for a host with these files, removed at the end.
    struct Host(PathBuf);

    impl Host {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let root = std::env::temp_dir().join(format!("smbd-daemon-{}-{name}", std::process::id()));
            for (path, text) in files {
                let path = root.join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            Self(root)
        }
    }

    impl Drop for Host {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn devices_are_told_with_the_states_of_their_ports() {
        let host = Host::new(
            "devices",
            &[
                ("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n"),
                ("sys/class/infiniband/mlx5_0/ports/2/state", "1: DOWN\n"),
                ("sys/class/infiniband/siw0/node_type", "4: RNIC\n"),
                ("sys/class/net/eth0/speed", "100000\n"),
                ("sys/class/net/eth1/speed", "-1\n"),
                ("sys/class/net/eth3/speed", "0\n"),
            ],
        );
        let found: Vec<_> =
            devices(&host.0).into_iter().map(|device| (device.name, device.port_states.join(" "))).collect();
        assert_eq!(found, [("mlx5_0".into(), "ACTIVE DOWN".into()), ("siw0".into(), String::new())]);
        let speeds = ["eth0", "eth1", "eth2", "eth3"].map(|interface| speed_mbit(&host.0, interface));
        assert_eq!(speeds, [Some(100_000), None, None, None]);
        assert_eq!(devices(Path::new("/nowhere")), []);
    }

    #[test]
    fn limits_are_those_of_the_program_that_runs() {
        let limits = |max: &str| {
            format!("Limit  Soft  Hard  Units\nMax locked memory         {max}    {max}    bytes\n")
        };
        let host = Host::new(
            "limits",
            &[
                ("proc/12/comm", "smbd-gateway\n"),
                ("proc/12/cmdline", "smbd-gateway\0doctor\0"),
                ("proc/34/comm", "smbd-gateway\n"),
                ("proc/34/cmdline", "/usr/bin/smbd-gateway\0run\0--server\0::1\0"),
                ("proc/34/limits", &limits("8388608")),
                ("proc/34/status", "Name:\tsmbd-gateway\nCapEff:\t0000000000000400\n"),
                ("proc/self/limits", &limits("unlimited")),
                ("proc/self/status", "CapEff:\t000001ffffffffff\n"),
                ("proc/version", "Linux"),
            ],
        );
        assert_eq!(running(&host.0, "smbd-gateway").as_deref(), Some("34"));
        assert_eq!(locked_memory(&host.0, "34"), (Some(8 << 20), false));
        assert_eq!(locked_memory(&host.0, "self"), (None, true));
        assert_eq!(running(Path::new("/nowhere"), "smbd-gateway"), None);
    }

    #[test]
    fn ksmbd_runs_if_it_says_so() {
        for (name, stats, runs) in [
            ("running", "2 running 0 1\n", true),
            ("startup", "2 startup 0 0\n", false),
            ("shutdown", "", false),
        ] {
            let host = Host::new(name, &[("sys/class/ksmbd-control/stats", stats)]);
            assert_eq!(has_ksmbd(&host.0), runs, "{name}");
        }
    }

    #[test]
    fn mounts_over_smb_direct_are_told_and_no_others() {
        let host = Host::new(
            "mounts",
            &[(
                "proc/self/mounts",
                "//10.9.0.1/a /mnt/a cifs rw,sec=ntlmssp,rdma,seal 0 0\n//10.9.0.1/b /mnt/b cifs rw 0 0\n\
                 10.9.0.1:/c /mnt/c nfs rw,rdma 0 0\nshort\n",
            )],
        );
        let folders: Vec<_> = mounts(&host.0).into_iter().map(|mount| mount.folder).collect();
        assert_eq!(folders, ["/mnt/a"]);
    }
}
