//! What is told.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use smbd_broker::broker::{Broker, ConnectionOverview, ConnectionState, OwnerId, OwnerOverview};
use smbd_broker::socket::Credentials;

use crate::news::word;
use crate::settings::Settings;

/// The broker at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Snapshot {
    /// Version of the broker.
    pub(crate) version: String,
    /// Owners and connections at the same time, at most.
    pub(crate) owners_max: usize,
    pub(crate) connections_max: usize,
    /// Bytes that are shared with owners, and how many there may be.
    pub(crate) memory: u64,
    pub(crate) memory_max: u64,
    /// Its owners, and its connections, the oldest first.
    pub(crate) owners: Vec<Owner>,
    pub(crate) connections: Vec<Connection>,
}

/// An owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owner {
    pub(crate) owner: u64,
    pub(crate) name: String,
    pub(crate) pid: Option<i32>,
    pub(crate) uid: Option<u32>,
    /// It is gone, and the device still uses its slots.
    pub(crate) is_gone: bool,
    /// It takes what no rule matches.
    pub(crate) is_acceptor: bool,
    pub(crate) connections: usize,
    pub(crate) sessions: usize,
    pub(crate) clients: usize,
    pub(crate) slots: u16,
    pub(crate) slots_in_use: u16,
}

/// A connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Connection {
    pub(crate) connection: u64,
    pub(crate) client: String,
    /// `None`: nobody has it yet.
    pub(crate) owner: Option<u64>,
    /// The rule that led it there: session, client, default, or taken from another owner.
    pub(crate) by: Option<String>,
    /// waiting, held, moving or ending.
    pub(crate) state: String,
    pub(crate) messages_in: u64,
    pub(crate) messages_out: u64,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    pub(crate) rdma_in: u64,
    pub(crate) rdma_out: u64,
    /// Transfers under way.
    pub(crate) transfers: usize,
    /// Messages that the client has not taken.
    pub(crate) sends: usize,
    /// Bytes of messages that the owner has not taken.
    pub(crate) untaken: u64,
}

impl Snapshot {
    pub(crate) fn of(broker: &Broker, who: &BTreeMap<OwnerId, Credentials>, settings: &Settings) -> Self {
        let quotas = settings.broker.quotas;
        let owner = |owner: OwnerOverview| Owner::new(owner, who);
        Self {
            version: env!("CARGO_PKG_VERSION").into(),
            owners_max: quotas.owners_max,
            connections_max: quotas.connections_max,
            memory: broker.memory(),
            memory_max: quotas.memory_max,
            owners: broker.owner_overviews().into_iter().map(owner).collect(),
            connections: broker.connection_overviews().into_iter().map(Connection::from).collect(),
        }
    }

    /// What whoever asks is told: a line of JSON.
    pub(crate) fn line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }
}

impl Owner {
    fn new(owner: OwnerOverview, who: &BTreeMap<OwnerId, Credentials>) -> Self {
        let who = who.get(&owner.id);
        Self {
            owner: owner.id.0,
            name: owner.name,
            pid: who.map(|who| who.pid),
            uid: who.map(|who| who.uid),
            is_gone: owner.is_gone,
            is_acceptor: owner.is_acceptor,
            connections: owner.connections,
            sessions: owner.sessions,
            clients: owner.clients,
            slots: owner.slots,
            slots_in_use: owner.slots_in_use,
        }
    }
}

impl From<ConnectionOverview> for Connection {
    fn from(connection: ConnectionOverview) -> Self {
        let state = match connection.state {
            ConnectionState::Waiting => "waiting",
            ConnectionState::Held => "held",
            ConnectionState::Moving => "moving",
            ConnectionState::Ending => "ending",
        };
        let taken = (connection.state == ConnectionState::Held).then_some("taken");
        let counts = connection.counts;
        Self {
            connection: connection.id.0,
            client: connection.client,
            owner: connection.owner.map(|owner| owner.0),
            by: connection.rule.map(word).or(taken).map(str::to_owned),
            state: state.into(),
            messages_in: counts.messages_in,
            messages_out: counts.messages_out,
            bytes_in: counts.bytes_in,
            bytes_out: counts.bytes_out,
            rdma_in: counts.rdma_in,
            rdma_out: counts.rdma_out,
            transfers: connection.transfers,
            sends: connection.sends,
            untaken: connection.untaken,
        }
    }
}

#[cfg(test)]
mod tests {
    use smbd_broker::broker::{self, Peer};
    use smbd_core::Instant;

    use super::*;
    use crate::file::File;
    use crate::options::Run;

    #[test]
    fn what_is_told_is_one_line_of_json_that_can_be_read_again() {
        let settings = Settings::of(&Run::default(), &File::default()).unwrap();
        let mut broker = Broker::new(broker::Settings::default(), 1).unwrap();
        let owner = broker.owner_joined().unwrap();
        let peer =
            Peer { max_send_size: 1 << 20, max_read_write_size: 8 << 20, address: "10.9.0.2:5".into() };
        broker.connected(peer, Instant::ORIGIN).unwrap();
        let who = BTreeMap::from([(owner, Credentials { uid: 7, gid: 8, pid: 9 })]);
        let snapshot = Snapshot::of(&broker, &who, &settings);
        let line = snapshot.line();
        insta::assert_snapshot!(line);
        assert_eq!(serde_json::from_str::<Snapshot>(&line).unwrap(), snapshot);
    }
}
