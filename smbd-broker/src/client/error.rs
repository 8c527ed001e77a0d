//! What can go wrong.

use std::io;

use thiserror::Error;

use crate::owner::BrokerError;
use crate::wire::Refusal;

/// A call was not carried out.
#[derive(Debug, Error)]
pub enum CallError {
    /// The broker refuses.
    #[error("the broker refuses: {0}")]
    Refused(#[from] Refusal),
    /// The socket cannot be made.
    #[error("the socket of the broker: {0}")]
    Socket(#[from] io::Error),
    /// There is no broker any more.
    #[error("the broker is gone")]
    Gone,
    /// An answer that belongs to another call, or has no file descriptor.
    #[error("the broker gives another answer than was asked for")]
    Answer,
}

/// The end of a connection, or of the socket to the broker.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Lost {
    /// The connection has ended.
    #[error("{0}")]
    Ended(String),
    /// The broker is gone, or the connection was moved to another owner.
    #[error("the broker has closed the socket: it is gone, or the connection was moved")]
    Closed,
    /// The broker does what it must not.
    #[error(transparent)]
    Broker(#[from] BrokerError),
}
