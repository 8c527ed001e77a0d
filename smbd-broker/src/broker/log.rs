//! What people who run a broker want to know.

use super::action::{ConnectionId, OwnerId};
use super::reason::Reason;
use crate::wire::Rule;

/// Something for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Log {
    /// An owner has said who it is.
    OwnerJoined {
        /// The owner.
        owner: OwnerId,
        /// Its name, as it says.
        name: String,
    },
    /// An owner is gone.
    OwnerLeft {
        /// The owner.
        owner: OwnerId,
        /// What it did wrong, if that is why.
        fault: Option<String>,
    },
    /// An owner takes what no rule matches, or does not any more.
    Listens {
        /// The owner.
        owner: OwnerId,
        /// Whether it does.
        is_on: bool,
    },
    /// A connection was given to an owner.
    Routed {
        /// The connection.
        connection: ConnectionId,
        /// The owner.
        owner: OwnerId,
        /// By which rule.
        rule: Rule,
    },
    /// A connection has gone from one owner to another.
    Moved {
        /// The connection.
        connection: ConnectionId,
        /// The former owner.
        from: OwnerId,
        /// The new one.
        to: OwnerId,
    },
    /// The broker ends a connection.
    Ends {
        /// The connection.
        connection: ConnectionId,
        /// Why.
        reason: Reason,
    },
    /// A connection has ended.
    Ended {
        /// The connection.
        connection: ConnectionId,
        /// Whose it was.
        owner: Option<OwnerId>,
        /// Why, in the words of the transport.
        why: String,
    },
}
