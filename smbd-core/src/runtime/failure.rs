use thiserror::Error;

use crate::backend::DriveError;
use crate::error::{
    Aborted, CloseReason, CommandError, ConnectError, OpError, ProbeError, RdmaError, RegisterError,
    RegistrationError, SendError,
};

/// A call did not bring what was asked for. `E` is the error of the backend.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Failure<E> {
    /// The connection did not come up.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The connection has ended.
    #[error("connection ended: {0}")]
    Closed(CloseReason),
    /// Nothing came in time.
    #[error("nothing came in time")]
    TimedOut,
    /// The message cannot be sent.
    #[error(transparent)]
    Send(#[from] SendError),
    /// The RDMA operation cannot be done.
    #[error(transparent)]
    Rdma(#[from] RdmaError),
    /// The RDMA operation failed.
    #[error(transparent)]
    Operation(#[from] OpError),
    /// The buffer cannot be registered.
    #[error(transparent)]
    Register(#[from] RegisterError),
    /// The registration failed.
    #[error(transparent)]
    Registration(#[from] RegistrationError),
    /// The command is not possible now.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The probe failed.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// The command was given up because the connection ended.
    #[error(transparent)]
    Aborted(#[from] Aborted),
    /// This side broke a contract.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// Nobody drives the connection any more: its driver was dropped.
    #[error("the connection's driver was dropped")]
    NoDriver,
    /// The system or the device failed.
    #[error(transparent)]
    Backend(E),
}
