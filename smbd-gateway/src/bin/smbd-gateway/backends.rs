//! Servers to which listeners lead.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// Servers of which each connection takes the first that answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Backend {
    /// `None`: those that all listeners have that name no other.
    pub(crate) name: Option<String>,
    pub(crate) servers: Vec<SocketAddr>,
    /// Whether servers see the addresses of clients as theirs.
    pub(crate) transparent: bool,
}

/// Where clients come from that this process does not listen for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Broker {
    /// Its socket.
    pub(crate) path: PathBuf,
    /// Where they go.
    pub(crate) backend: Arc<Backend>,
}

/// Addresses that are listened on.
pub(crate) type Rule = smbd_daemon::places::Rule<Arc<Backend>>;

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name.as_deref().unwrap_or("server"))
    }
}
