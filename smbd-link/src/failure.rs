use thiserror::Error;

use smbd_core::backend::DriveError;
use smbd_core::error::{
    Aborted, CloseReason, CommandError, ConnectError, OpError, ProbeError, RdmaError, RegisterError,
    RegistrationError, SendError,
};

/// The error of a call on a connection. `E` is the error of the backend.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Failure<E> {
    /// The connection was not established.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The connection has ended, for this reason.
    #[error("connection ended: {0}")]
    Closed(CloseReason),
    /// The time limit of the call passed first.
    #[error("nothing came in time")]
    TimedOut,
    /// The message was refused. Nothing was sent.
    #[error(transparent)]
    Send(#[from] SendError),
    /// The RDMA operation was refused. Nothing was posted.
    #[error(transparent)]
    Rdma(#[from] RdmaError),
    /// The RDMA operation was accepted and failed.
    #[error(transparent)]
    Operation(#[from] OpError),
    /// The registration or deregistration was refused. Nothing has changed.
    #[error(transparent)]
    Register(#[from] RegisterError),
    /// The registration or deregistration was accepted and failed.
    #[error(transparent)]
    Registration(#[from] RegistrationError),
    /// The command was refused because of the phase, or because there is no room.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The probe was sent and measured no time.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// The connection ended before the command did.
    #[error(transparent)]
    Aborted(#[from] Aborted),
    /// The backend or the upper layer broke its contract.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The driver of the connection was dropped.
    #[error("the connection's driver was dropped")]
    NoDriver,
    /// The backend failed: an error of the system or of the device.
    #[error(transparent)]
    Backend(E),
}
