//! The configuration file.

use std::path::Path;

use serde::Deserialize;
use smbd_broker::broker::Settings;
use smbd_core::Params;
use smbd_daemon::file::{self, Log, Metrics};
use smbd_daemon::socket_path::SocketMode;

use crate::PROGRAM;

/// Where owners attach, unless it is said otherwise.
pub(crate) const SOCKET: &str = "/run/smbd-broker/socket";
/// Where the broker tells its status, unless it is said otherwise.
pub(crate) const STATUS_SOCKET: &str = "/run/smbd-broker/status.sock";

/// The file with all keys, their defaults and what they mean.
pub(crate) const DOCUMENTED: &str = include_str!("default.toml");

/// A configuration file. `default.toml` says what each key means.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct File {
    pub(crate) allow: Vec<String>,
    pub(crate) listener: Vec<Listener>,
    pub(crate) owners: Owners,
    pub(crate) limits: Limits,
    pub(crate) slots: Slots,
    pub(crate) smb_direct: SmbDirect,
    pub(crate) timeouts: Timeouts,
    pub(crate) log: Log,
    pub(crate) metrics: Metrics,
    pub(crate) status: Status,
}

/// A listener.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Listener {
    pub(crate) address: Option<String>,
    pub(crate) device: Option<String>,
    pub(crate) port: Option<u16>,
    pub(crate) allow: Vec<String>,
}

/// Who may attach.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Owners {
    pub(crate) socket: String,
    pub(crate) mode: SocketMode,
    pub(crate) uids: Vec<u32>,
    pub(crate) gids: Vec<u32>,
    pub(crate) max: u16,
}

impl Default for Owners {
    fn default() -> Self {
        let (socket, mode) = (SOCKET.into(), SocketMode::default());
        Self { socket, mode, uids: Vec::new(), gids: Vec::new(), max: 256 }
    }
}

/// Limits.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Limits {
    pub(crate) connections: u32,
    pub(crate) per_client: u32,
    pub(crate) per_owner: u32,
    pub(crate) rules_per_owner: u32,
    pub(crate) pending: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 256, per_client: 32, per_owner: 256, rules_per_owner: 1024, pending: 32 }
    }
}

/// Memory of owners.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Slots {
    pub(crate) length_kib: u32,
    pub(crate) per_owner: u16,
    pub(crate) memory_mib: u64,
}

impl Default for Slots {
    fn default() -> Self {
        Self { length_kib: 1024, per_owner: 64, memory_mib: 4096 }
    }
}

/// Parameters of SMB Direct.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SmbDirect {
    pub(crate) max_fragmented_recv_size: u32,
    pub(crate) max_read_write_size: u32,
    pub(crate) keepalive_s: u64,
    pub(crate) max_send_size: u32,
    pub(crate) max_receive_size: u32,
    pub(crate) receive_credit_max: u16,
}

impl Default for SmbDirect {
    fn default() -> Self {
        let Params {
            max_fragmented_recv_size,
            max_read_write_size,
            keepalive,
            max_send_size,
            max_receive_size,
            receive_credit_max,
            ..
        } = Settings::default().params;
        let keepalive_s = keepalive.map_or(0, |keepalive| keepalive.interval.as_secs());
        Self {
            max_fragmented_recv_size,
            max_read_write_size,
            keepalive_s,
            max_send_size,
            max_receive_size,
            receive_credit_max,
        }
    }
}

/// Times in seconds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Timeouts {
    pub(crate) setup_s: u64,
    pub(crate) addresses_s: u64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { setup_s: 45, addresses_s: 5 }
    }
}

/// Where the broker tells its status.
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
        assert_eq!(file.listener.len(), 1);
        assert!(file.metrics.address.is_some());
    }

    #[test]
    fn each_key_is_documented() {
        let sections = [
            "[[listener]]",
            "[owners]",
            "[limits]",
            "[slots]",
            "[smb_direct]",
            "[timeouts]",
            "[log]",
            "[metrics]",
            "[status]",
        ];
        assert_eq!(file::undocumented::<File>(DOCUMENTED, &sections), [""; 0]);
    }

    #[test]
    fn an_unknown_key_is_refused_with_its_line_and_the_one_that_was_meant() {
        insta::assert_snapshot!(File::parse("[owners]\nsokcet = \"/run/x\"\n").unwrap_err());
    }
}
