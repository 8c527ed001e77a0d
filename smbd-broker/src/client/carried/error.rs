use smbd_core::backend::OutOfRange;
use thiserror::Error;

use crate::client::{Lost, TooFewSlots};
use crate::owner::{SendError, TransferError};

/// Why a connection that a broker has is no transport any more, or why an operation on it failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CarriedError {
    /// The connection has ended.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// The broker does not take a message.
    #[error(transparent)]
    Send(#[from] SendError),
    /// The broker does not take a transfer.
    #[error(transparent)]
    Transfer(#[from] TransferError),
    /// All slots together are too few for a transfer.
    #[error(transparent)]
    Slots(#[from] TooFewSlots),
    /// The system does not let this process use a slot.
    #[error("a slot cannot be used: {0}")]
    Slot(std::io::ErrorKind),
    /// A transfer is longer than its memory.
    #[error(transparent)]
    Range(#[from] OutOfRange),
    /// The device did not move all bytes of a transfer.
    #[error("not all bytes were moved")]
    NotMoved,
    /// Registrations are not possible.
    #[error("a broker registers no memory of its owners")]
    Register,
}
