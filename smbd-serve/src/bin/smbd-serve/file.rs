//! The configuration file.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use smbd_daemon::file::{self, Log, Metrics};
use smbd_daemon::socket_path::SocketMode;

use crate::PROGRAM;

/// Where the server tells its status, unless it is said otherwise.
pub(crate) const STATUS_SOCKET: &str = "/run/smbd-serve/status.sock";

/// The file with all keys, their defaults and what they mean.
pub(crate) const DOCUMENTED: &str = include_str!("default.toml");

/// A configuration file. `default.toml` says what each key means.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct File {
    pub(crate) users: Option<PathBuf>,
    pub(crate) allow: Vec<String>,
    pub(crate) share: Vec<Share>,
    pub(crate) listener: Vec<Listener>,
    pub(crate) broker: Broker,
    pub(crate) security: Security,
    pub(crate) limits: Limits,
    pub(crate) timeouts: Timeouts,
    pub(crate) log: Log,
    pub(crate) metrics: Metrics,
    pub(crate) status: Status,
}

impl Default for File {
    fn default() -> Self {
        Self {
            users: None,
            allow: ["0.0.0.0/0", "::/0"].map(str::to_owned).into(),
            share: Vec::new(),
            listener: Vec::new(),
            broker: Broker::default(),
            security: Security::default(),
            limits: Limits::default(),
            timeouts: Timeouts::default(),
            log: Log::default(),
            metrics: Metrics::default(),
            status: Status::default(),
        }
    }
}

/// A directory that is served.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Share {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    #[serde(default)]
    pub(crate) read_only: bool,
    #[serde(default)]
    pub(crate) guest: bool,
    #[serde(default)]
    pub(crate) case_sensitive: bool,
    #[serde(default)]
    pub(crate) encrypt: bool,
    #[serde(default)]
    pub(crate) users: Vec<String>,
}

/// A listener.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Listener {
    pub(crate) address: Option<String>,
    pub(crate) device: Option<String>,
    pub(crate) port: Option<u16>,
    pub(crate) over: Option<Ways>,
    pub(crate) allow: Vec<String>,
}

/// What clients of a listener come over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Ways {
    Both,
    Tcp,
    Rdma,
}

/// Who has connections over SMB Direct.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Broker {
    pub(crate) socket: Option<PathBuf>,
    pub(crate) addresses: Vec<IpAddr>,
    pub(crate) fork: bool,
    pub(crate) children: u16,
}

impl Default for Broker {
    fn default() -> Self {
        Self { socket: None, addresses: Vec::new(), fork: false, children: 16 }
    }
}

/// What sessions have to be.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Security {
    pub(crate) sign: bool,
    pub(crate) encrypt: bool,
    pub(crate) rdma_transforms: bool,
}

impl Default for Security {
    fn default() -> Self {
        Self { sign: false, encrypt: false, rdma_transforms: true }
    }
}

/// Limits.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Limits {
    pub(crate) connections: u16,
    pub(crate) per_client: Option<u16>,
    pub(crate) logging_in: Option<u16>,
    pub(crate) pending: u32,
    pub(crate) channels: u8,
    pub(crate) memory_mib: u32,
}

impl Default for Limits {
    fn default() -> Self {
        let (per_client, logging_in) = (None, None);
        Self { connections: 64, per_client, logging_in, pending: 32, channels: 8, memory_mib: 4096 }
    }
}

/// Times in seconds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Timeouts {
    pub(crate) login_s: u16,
    pub(crate) drain_s: u16,
    pub(crate) addresses_s: u64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { login_s: 45, drain_s: 5, addresses_s: 5 }
    }
}

/// Where the server tells its status.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Status {
    pub(crate) socket: String,
    pub(crate) mode: SocketMode,
}

impl Default for Status {
    fn default() -> Self {
        Self { socket: STATUS_SOCKET.into(), mode: SocketMode::default() }
    }
}

impl File {
    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        file::read(path, PROGRAM)
    }

    /// Reads the text of a file.
    #[cfg(test)]
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        file::parse(text, PROGRAM)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_file_has_the_defaults() {
        assert_eq!(File::parse(DOCUMENTED).unwrap(), File::default());
    }

    #[test]
    fn keys_that_are_commented_out_in_the_documented_file_exist() {
        let file = File::parse(&file::with_all_keys(DOCUMENTED)).unwrap();
        assert_eq!((file.share.len(), file.listener.len()), (1, 1));
        assert!(file.metrics.address.is_some() && file.users.is_some() && file.broker.socket.is_some());
    }

    #[test]
    fn each_key_is_documented() {
        let sections = [
            "[[share]]",
            "[[listener]]",
            "[broker]",
            "[security]",
            "[limits]",
            "[timeouts]",
            "[log]",
            "[metrics]",
            "[status]",
        ];
        assert_eq!(file::undocumented::<File>(DOCUMENTED, &sections), [""; 0]);
    }

    #[test]
    fn an_unknown_key_is_refused_with_its_line_and_the_one_that_was_meant() {
        let said = File::parse("[limits]\n\nconections = 5\n").unwrap_err();
        assert!(said.contains("line 3") && said.contains("did you mean `connections`?"), "{said}");
        assert!(said.contains("`smbd-serve config` prints all keys"), "{said}");
        let said = File::parse("[[share]]\nname = 'a'\npath = '/a'\nreadonly = true\n").unwrap_err();
        assert!(said.contains("line 4") && said.contains("did you mean `read_only`?"), "{said}");
    }

    #[test]
    fn a_wrong_value_is_refused_with_its_line() {
        for (text, line) in [
            ("[limits]\nchannels = 'many'\n", "line 2"),
            ("[[listener]]\n\nover = 'udp'\n", "line 3"),
            ("[log]\nformat = 'xml'\n", "line 2"),
            ("allow = 7\n", "line 1"),
            ("[status]\nmode = '0777'\n", "line 2"),
            ("[broker]\naddresses = ['here']\n", "line 2"),
            ("[[share]]\nname = 'a'\n", "missing field `path`"),
        ] {
            let said = File::parse(text).unwrap_err();
            assert!(said.contains(line), "{line} is missing in: {said}");
        }
    }
}
