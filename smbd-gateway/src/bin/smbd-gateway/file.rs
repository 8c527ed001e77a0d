//! The configuration file.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use smbd_daemon::file::{self, Log, Metrics, at_least};
use smbd_daemon::socket_path::SocketMode;

use crate::PROGRAM;

/// Where the gateway tells its status, unless it is said otherwise.
pub(crate) const STATUS_SOCKET: &str = "/run/smbd-gateway/status.sock";

/// The same of `smbd-gateway reverse`.
pub(crate) const REVERSE_STATUS_SOCKET: &str = "/run/smbd-gateway/reverse.sock";

/// The longest message of direct TCP (MS-SMB2 2.1), in bytes.
pub(crate) const MESSAGE_MAX: u32 = 0x00FF_FFFF;

/// The file with all keys, their defaults and what they mean.
pub(crate) const DOCUMENTED: &str = include_str!("default.toml");

/// A configuration file. `default.toml` says what each key means.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct File {
    pub(crate) server: Vec<String>,
    pub(crate) transparent: bool,
    pub(crate) allow_plaintext_backend: bool,
    pub(crate) broker: Option<PathBuf>,
    pub(crate) allow: Vec<String>,
    pub(crate) backend: Vec<Backend>,
    pub(crate) listener: Vec<Listener>,
    pub(crate) limits: Limits,
    pub(crate) relay: Relay,
    pub(crate) reverse: Reverse,
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
    pub(crate) backend: Option<String>,
    pub(crate) allow: Vec<String>,
}

/// Servers with a name.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Backend {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) server: Vec<String>,
    #[serde(default)]
    pub(crate) transparent: bool,
}

/// Limits.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Limits {
    pub(crate) connections: u32,
    pub(crate) per_client: u32,
    pub(crate) pending: u32,
    pub(crate) memory_mib: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 256, per_client: 32, pending: 32, memory_mib: 4096 }
    }
}

/// What a connection may hold, in bytes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Relay {
    pub(crate) budget: u32,
    pub(crate) buffer_len: u32,
    pub(crate) held_max: u32,
}

impl Default for Relay {
    fn default() -> Self {
        let params = smbd_smb2::relay::Params::default();
        Self { budget: params.budget, buffer_len: params.buffer_len, held_max: params.held_max }
    }
}

/// The other way round: where it listens, its servers, and what a connection may hold, in bytes.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Reverse {
    pub(crate) server: Vec<String>,
    pub(crate) listen: Vec<String>,
    pub(crate) allow: Vec<String>,
    pub(crate) status_socket: String,
    pub(crate) budget: u32,
    pub(crate) buffer_len: u32,
    pub(crate) threshold: u32,
}

impl Default for Reverse {
    fn default() -> Self {
        let smbd_smb2::relay::reverse::Params { budget, buffer_len, threshold, .. } = Default::default();
        let (server, listen, allow) = (Vec::new(), Vec::new(), Vec::new());
        let status_socket = REVERSE_STATUS_SOCKET.into();
        Self { server, listen, allow, status_socket, budget, buffer_len, threshold }
    }
}

/// Parameters of SMB Direct.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SmbDirect {
    pub(crate) profile: Profile,
    pub(crate) max_fragmented_recv_size: u32,
    pub(crate) max_fragmented_send_size: u32,
    pub(crate) max_read_write_size: u32,
    pub(crate) keepalive_s: u64,
    pub(crate) max_send_size: Option<u32>,
    pub(crate) max_receive_size: Option<u32>,
    pub(crate) receive_credit_max: Option<u16>,
}

impl Default for SmbDirect {
    fn default() -> Self {
        Self {
            profile: Profile::Gateway,
            max_fragmented_recv_size: MESSAGE_MAX,
            max_fragmented_send_size: 1 << 20,
            max_read_write_size: 8 << 20,
            keepalive_s: 120,
            max_send_size: None,
            max_receive_size: None,
            receive_credit_max: None,
        }
    }
}

/// A set of parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Profile {
    #[default]
    Gateway,
    LinuxServer,
    Windows,
}

/// Times in seconds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Timeouts {
    pub(crate) negotiation_s: Option<u64>,
    pub(crate) session_s: u64,
    pub(crate) connect_s: u64,
    pub(crate) drain_s: u64,
    pub(crate) addresses_s: u64,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { negotiation_s: None, session_s: 30, connect_s: 5, drain_s: 10, addresses_s: 5 }
    }
}

/// Where the gateway tells its status.
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

impl Limits {
    /// Connections at the same time, of which each may take so many bytes.
    pub(crate) fn connections_of(&self, each: u64) -> Result<u32, String> {
        at_least("limits.connections", self.connections.into(), 1)?;
        at_least("limits.per_client", self.per_client.into(), 1)?;
        at_least("limits.memory_mib", self.memory_mib, each.div_ceil(1 << 20))
            .map_err(|wrong| format!("{wrong}: a connection may take {each} bytes"))?;
        let fit = self.memory_mib.saturating_mul(1 << 20).checked_div(each).unwrap_or(0);
        Ok(self.connections.min(u32::try_from(fit).unwrap_or(u32::MAX)))
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
        assert_eq!((file.smb_direct.max_send_size, file.listener.len()), (Some(1364), 1));
        assert_eq!(file.listener[0].backend.as_ref(), Some(&file.backend[0].name));
        assert!(file.metrics.address.is_some());
    }

    #[test]
    fn each_key_is_documented() {
        let sections = [
            "[[backend]]",
            "[[listener]]",
            "[limits]",
            "[relay]",
            "[reverse]",
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
        let said = File::parse("server = [\"127.0.0.1:445\"]\n\n[limits]\nconections = 5\n").unwrap_err();
        insta::assert_snapshot!(said);
    }

    #[test]
    fn a_wrong_value_is_refused_with_its_line() {
        let said = File::parse("[log]\nformat = \"xml\"\n").unwrap_err();
        insta::assert_snapshot!(said);
    }
}
