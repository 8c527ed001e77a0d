//! Settings that both directions have.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use smbd_core::Config;
use smbd_daemon::file::seconds;
use smbd_daemon::log::Format;
use smbd_daemon::options::Common;
use smbd_daemon::socket_path::SocketMode;
use smbd_verbs::footprint;

use crate::file::File;

/// Settings that both directions have.
#[derive(Debug)]
pub(crate) struct Basics {
    pub(crate) connections: u32,
    pub(crate) per_client: u32,
    /// Bytes of a connection at most.
    pub(crate) each: u64,
    /// Of those, bytes that it takes from its beginning on, for its device.
    pub(crate) device: u64,
    pub(crate) session: Duration,
    pub(crate) connect: Duration,
    pub(crate) drain: Duration,
    pub(crate) format: Format,
    pub(crate) metrics: Option<SocketAddr>,
    /// `None`: it tells nobody.
    pub(crate) status: Option<PathBuf>,
    pub(crate) status_mode: SocketMode,
}

impl Basics {
    /// Checks everything. `each` bytes are what a connection takes at most; `status` is the path in the file. An error is a text for whoever
    /// wrote it.
    pub(crate) fn new(
        options: &Common,
        file: &File,
        status: &str,
        config: &Config,
        each: u64,
    ) -> Result<Self, String> {
        let (limits, timeouts) = (&file.limits, &file.timeouts);
        Ok(Self {
            connections: limits.connections_of(each)?,
            per_client: limits.per_client,
            each,
            device: footprint(config),
            session: seconds("timeouts.session_s", timeouts.session_s)?,
            connect: seconds("timeouts.connect_s", timeouts.connect_s)?,
            drain: Duration::from_secs(timeouts.drain_s),
            format: options.format(&file.log),
            metrics: options.metrics(&file.metrics)?,
            status: options.status(status),
            status_mode: file.status.mode,
        })
    }
}
