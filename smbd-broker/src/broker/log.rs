//! What people who run a broker want to know.

use std::fmt;

use super::counts::Counts;
use super::ids::{ConnectionId, OwnerId};
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
        /// What has passed.
        counts: Counts,
        /// Why, in the words of the transport.
        why: String,
    },
}

impl fmt::Display for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // A name that an owner made up is one word.
            Self::OwnerJoined { owner, name } => write!(f, "owner joined owner={} name={name:?}", owner.0),
            Self::OwnerLeft { owner, fault: None } => write!(f, "owner left owner={}", owner.0),
            Self::OwnerLeft { owner, fault: Some(why) } => {
                write!(f, "owner left owner={} fault={why:?}", owner.0)
            }
            Self::Listens { owner, is_on: true } => write!(f, "owner takes the rest owner={}", owner.0),
            Self::Listens { owner, is_on: false } => {
                write!(f, "owner takes the rest no more owner={}", owner.0)
            }
            Self::Routed { connection, owner, rule } => {
                let rule = match rule {
                    Rule::SessionId => "session",
                    Rule::ClientGuid => "client",
                    Rule::Default => "default",
                };
                write!(f, "connection routed connection={} owner={} rule={rule}", connection.0, owner.0)
            }
            Self::Moved { connection, from, to } => {
                write!(f, "connection moved connection={} from={} to={}", connection.0, from.0, to.0)
            }
            Self::Ends { connection, reason } => {
                write!(f, "connection ends connection={} why={:?}", connection.0, reason.to_string())
            }
            Self::Ended { connection, owner: Some(owner), why, .. } => {
                write!(f, "connection ended connection={} owner={} why={why:?}", connection.0, owner.0)
            }
            Self::Ended { connection, owner: None, why, .. } => {
                write!(f, "connection ended connection={} why={why:?}", connection.0)
            }
        }
    }
}
