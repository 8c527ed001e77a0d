//! Options that every program has.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use crate::file::{Log, Metrics};
use crate::log::Format;

// Without a text of its own, which would take the place of the command's.
#[allow(missing_docs, reason = "clap shows the text of a group in the place of that of its command")]
#[derive(Clone, Debug, Default, Args)]
pub struct Common {
    /// A configuration file, for all the rest: the command `config` prints one. Options come before it.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Checks these options and the configuration file, and ends: 0 if they are valid, otherwise 2 and what is wrong.
    #[arg(long)]
    pub check: bool,
    /// How log lines look.
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub log: Option<Format>,
    /// Where metrics can be fetched by HTTP, in the text format of Prometheus.
    #[arg(long, value_name = "ADDR:PORT")]
    pub metrics: Option<String>,
    /// Where the command `status --socket PATH` asks; none if it is empty.
    #[arg(long, value_name = "PATH")]
    pub status_socket: Option<String>,
}

impl Common {
    /// How log lines look, by these options or else by the file.
    #[must_use]
    pub fn format(&self, file: &Log) -> Format {
        self.log.unwrap_or(file.format)
    }

    /// Where metrics are wanted, by these options or else by the file.
    ///
    /// # Errors
    /// It is no address with a port.
    pub fn metrics(&self, file: &Metrics) -> Result<Option<SocketAddr>, String> {
        let text = self.metrics.as_ref().or(file.address.as_ref());
        text.map(|text| text.parse().map_err(|_| format!("'{text}' is no ADDR:PORT for metrics"))).transpose()
    }

    /// Where the status is told, by these options or else by the file; `None`: nowhere.
    #[must_use]
    pub fn status(&self, file: &str) -> Option<PathBuf> {
        let path = self.status_socket.as_deref().unwrap_or(file);
        (!path.is_empty()).then(|| PathBuf::from(path))
    }
}
