//! What a broker has now, for people.

use super::connection::{Connection, Held, Phase};
use super::counts::Counts;
use super::ids::{ConnectionId, OwnerId};
use super::owner;
use super::state::State;
use crate::wire::Rule;

/// An owner.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OwnerOverview {
    /// Which it is.
    pub id: OwnerId,
    /// Its name, as it says; empty before HELLO.
    pub name: String,
    /// Whether it is gone, and the device still uses its slots.
    pub is_gone: bool,
    /// Whether it takes what no rule matches.
    pub is_acceptor: bool,
    /// Connections that it has, or is about to have.
    pub connections: usize,
    /// Sessions that it holds.
    pub sessions: usize,
    /// Clients that it holds.
    pub clients: usize,
    /// Its slots.
    pub slots: u16,
    /// Of those, how many the device uses.
    pub slots_in_use: u16,
}

/// A connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectionOverview {
    /// Which it is.
    pub id: ConnectionId,
    /// The address of the client.
    pub client: String,
    /// Whose it is; `None` if nobody has it yet.
    pub owner: Option<OwnerId>,
    /// By which rule it came to its owner; `None` if that took it from another one, or nobody has it.
    pub rule: Option<Rule>,
    /// What becomes of it.
    pub state: ConnectionState,
    /// What has passed.
    pub counts: Counts,
    /// Transfers under way.
    pub transfers: usize,
    /// Messages that the transport has not taken.
    pub sends: usize,
    /// Bytes of messages that the owner has not taken.
    pub untaken: u64,
}

/// What becomes of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionState {
    /// Nobody has it yet.
    Waiting,
    /// An owner has it.
    Held,
    /// It is on its way to another owner.
    Moving,
    /// It is being ended.
    Ending,
}

pub(super) fn owners(state: &State) -> Vec<OwnerOverview> {
    let of = |(id, owner): (&OwnerId, &owner::Owner)| {
        let (sessions, clients) = state.routes.held_by(*id);
        OwnerOverview {
            id: *id,
            name: owner.name.clone(),
            is_gone: matches!(owner.phase, owner::Phase::Gone),
            is_acceptor: state.routes.acceptor == Some(*id),
            connections: state.connections.values().filter(|one| one.belongs_to(*id)).count(),
            sessions,
            clients,
            slots: owner.slots.len(),
            slots_in_use: owner.slots.in_use(),
        }
    };
    state.owners.iter().map(of).collect()
}

pub(super) fn connections(state: &State) -> Vec<ConnectionOverview> {
    state.connections.iter().map(|(id, connection)| overview(*id, connection)).collect()
}

fn overview(id: ConnectionId, connection: &Connection) -> ConnectionOverview {
    let (owner, rule, becomes, untaken) = match &connection.phase {
        Phase::Waiting(_) => (None, None, ConnectionState::Waiting, 0),
        Phase::Held(Held { owner, rule, moving, given, .. }) => {
            let becomes = if moving.is_some() { ConnectionState::Moving } else { ConnectionState::Held };
            (Some(*owner), *rule, becomes, given.len())
        }
        Phase::Ending { owner, .. } => (*owner, None, ConnectionState::Ending, 0),
    };
    ConnectionOverview {
        id,
        client: connection.peer.address.clone(),
        owner,
        rule,
        state: becomes,
        counts: connection.counts,
        transfers: connection.transfers.len(),
        sends: connection.sends.len(),
        untaken,
    }
}
