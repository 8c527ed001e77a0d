//! What is told.

use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use smbd_serve::Host;

use crate::connection::{Connection, protection, user};
use crate::shared::Shared;

/// The server at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Snapshot {
    /// Version of the server.
    pub(crate) version: String,
    /// Whether it takes no more clients.
    pub(crate) is_stopping: bool,
    /// Connections, or children, that it lets in at the same time.
    pub(crate) connections_max: u32,
    /// Files that clients have open.
    pub(crate) open_files: usize,
    /// Its shares.
    pub(crate) shares: Vec<String>,
    /// Its connections, the oldest first.
    pub(crate) connections: Vec<Row>,
}

/// A connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) client: SocketAddr,
    /// tcp, rdma or broker.
    pub(crate) over: String,
    /// `None`: nobody has logged in.
    pub(crate) user: Option<String>,
    pub(crate) dialect: Option<String>,
    /// The algorithms, if messages are.
    pub(crate) signed: Option<String>,
    pub(crate) encrypted: Option<String>,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    pub(crate) rdma_in: u64,
    pub(crate) rdma_out: u64,
    /// Files that the client has open, over all of its connections.
    pub(crate) open_files: usize,
    /// The process that serves it, with `fork`.
    pub(crate) child: Option<u32>,
    /// How long it has been there, in seconds.
    pub(crate) age_s: u64,
}

impl Snapshot {
    pub(crate) fn of(shared: &Shared) -> Self {
        let settings = shared.core.settings();
        Self {
            version: env!("CARGO_PKG_VERSION").into(),
            is_stopping: *shared.core.stop.borrow(),
            connections_max: settings.places.all.into(),
            open_files: shared.host.open_count(),
            shares: settings.shares.iter().map(|share| share.name.clone()).collect(),
            connections: shared.connections.list(|connection, age| Row::new(connection, &shared.host, age)),
        }
    }

    /// What whoever asks is told: a line of JSON.
    pub(crate) fn line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }
}

impl Row {
    fn new(connection: &Connection, host: &Host, age: Duration) -> Self {
        let about = connection.about.as_ref();
        let [signed, encrypted] = about.map(protection).unwrap_or_default();
        let counts = connection.traffic.counts();
        Self {
            client: connection.client,
            over: connection.way.word().into(),
            user: about.and_then(user).map(str::to_owned),
            dialect: about.and_then(|about| about.dialect).map(|dialect| dialect.to_string()),
            signed,
            encrypted,
            bytes_in: counts.messages_in,
            bytes_out: counts.messages_out,
            rdma_in: counts.rdma_in,
            rdma_out: counts.rdma_out,
            open_files: connection.number.map_or(0, |number| host.open_count_of(number)),
            child: connection.child,
            age_s: age.as_secs(),
        }
    }
}
