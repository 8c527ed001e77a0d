//! What is told.

use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::connections::{Connection, Connections, memory};

/// The gateway at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Snapshot {
    /// Version of the gateway.
    pub(crate) version: String,
    /// Whether it takes no more clients.
    pub(crate) is_stopping: bool,
    /// Connections that it lets in at the same time.
    pub(crate) connections_max: u32,
    /// Bytes that are allocated for their devices and for RDMA.
    #[serde(default)]
    pub(crate) memory: u64,
    /// Its connections, the oldest first.
    pub(crate) connections: Vec<Row>,
}

/// A connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) client: SocketAddr,
    pub(crate) server: SocketAddr,
    pub(crate) server_port: u16,
    pub(crate) dialect: Option<String>,
    pub(crate) session: String,
    /// Why READs and WRITEs do not go by RDMA.
    pub(crate) no_rdma: Option<String>,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    pub(crate) rdma_in: u64,
    pub(crate) rdma_out: u64,
    /// Bytes that are allocated for its device and for RDMA.
    #[serde(default)]
    pub(crate) memory: u64,
    /// How long it has been there, in seconds.
    pub(crate) age_s: u64,
}

impl Snapshot {
    /// What whoever asks is told now: a line of JSON.
    pub(crate) fn line(connections: &Connections, connections_max: u32, is_stopping: bool) -> String {
        let snapshot = Self {
            version: env!("CARGO_PKG_VERSION").into(),
            is_stopping,
            connections_max,
            memory: memory(connections),
            connections: connections.list(Row::new),
        };
        serde_json::to_string(&snapshot).unwrap_or_default() + "\n"
    }
}

impl Row {
    fn new(connection: &Connection, age: Duration) -> Self {
        let Connection { names, kind, bytes, memory } = connection;
        Self {
            client: names.client,
            server: names.server,
            server_port: names.server_port,
            dialect: kind.dialect.map(|dialect| dialect.to_string()),
            session: kind.word(),
            no_rdma: kind.why_no_rdma().map(str::to_owned),
            bytes_in: bytes.from_client,
            bytes_out: bytes.to_client,
            rdma_in: bytes.rdma_read,
            rdma_out: bytes.rdma_write,
            memory: *memory,
            age_s: age.as_secs(),
        }
    }
}

#[cfg(test)]
mod tests {
    use smbd_smb2::relay::Bytes;
    use smbd_smb2::wire::Dialect;

    use super::*;
    use crate::connections::Names;
    use crate::report::Kind;

    #[test]
    fn what_is_told_is_one_line_of_json_that_can_be_read_again() {
        let names = Names {
            client: "[fd09::2]:45501".parse().unwrap(),
            server: "127.0.0.1:445".parse().unwrap(),
            server_port: 35000,
        };
        let kind =
            Kind { dialect: Some(Dialect::SMB_3_1_1), has_session: true, is_signed: true, ..Kind::default() };
        let mut bytes = Bytes::default();
        (bytes.from_client, bytes.to_client) = (5, 6);
        let signed = Connection { names, kind, bytes, memory: 900 };
        let age = Duration::from_millis(7999);
        (bytes.rdma_read, bytes.rdma_write) = (70, 80);
        let fresh = Connection { kind: Kind::default(), bytes, ..signed };
        let snapshot = Snapshot {
            version: "0.1.0".into(),
            is_stopping: false,
            connections_max: 256,
            memory: 1800,
            connections: vec![Row::new(&signed, age), Row::new(&fresh, age)],
        };
        let text = serde_json::to_string(&snapshot).unwrap();
        insta::assert_snapshot!(text);
        assert_eq!(serde_json::from_str::<Snapshot>(&text).unwrap(), snapshot);
    }
}
