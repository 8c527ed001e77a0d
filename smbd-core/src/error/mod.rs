//! Errors, by whose fault they are: the peer's ([`Violation`], inside a close reason), the transport's
//! ([`WorkError`], [`ConnectReason`], [`DisconnectReason`]), the caller's ([`Misuse`] and the errors of commands).

mod command;
mod outcome;
mod violation;

pub use command::{
    Aborted, CommandError, Misuse, OpError, ProbeError, RdmaError, RegisterError, RegistrationError,
    SendError,
};
pub use outcome::{CloseReason, ConnectError, ConnectReason, DisconnectReason, WorkError};
pub use violation::Violation;
