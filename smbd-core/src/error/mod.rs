//! Errors, ordered by cause: the peer ([`Violation`], inside a close reason), the transport ([`WorkError`],
//! [`ConnectReason`], [`DisconnectReason`]), and the caller ([`Misuse`] and the errors of commands).

mod command;
mod outcome;
mod violation;

pub use command::{
    Aborted, CommandError, Misuse, OpError, ProbeError, RdmaError, RegisterError, RegistrationError,
    SendError,
};
pub use outcome::{CloseReason, ConnectError, ConnectReason, DisconnectReason, WorkError};
pub use violation::Violation;
