use smbd_core::error::{CommandError, RdmaError, RegisterError, SendError};
use thiserror::Error;

/// A connection refused a command, or the command named memory that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CommandRefused {
    /// `send`.
    #[error(transparent)]
    Send(#[from] SendError),
    /// `rdma`.
    #[error(transparent)]
    Rdma(#[from] RdmaError),
    /// `register` or `deregister`.
    #[error(transparent)]
    Register(#[from] RegisterError),
    /// Any other.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// There is no connection yet.
    #[error("no connection yet")]
    NoConnection,
    /// The memory named is not there.
    #[error("the buffer is gone")]
    NoBuffer,
}
