//! Why an operation is not submitted again.

use thiserror::Error;

use crate::wire::{Capabilities, ControlCode};

/// Why an operation is not submitted again: carried out twice it does something else than carried out once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NotReplayable {
    /// The server recognizes a CREATE by the CreateGuid of a durable open only.
    #[error("CREATE is submitted again with SMB2_CREATE_DURABLE_HANDLE_REQUEST_V2 only (3.2.7.1)")]
    Create,
    /// The file may have its new name already.
    #[error(
        "SET_INFO with FileInfoClass {class} may have been carried out: a file has no name twice (3.3.5.21)"
    )]
    SetInfo {
        /// FileInfoClass.
        class: u8,
    },
    /// Of this control code nothing is known.
    #[error(
        "IOCTL with CtlCode {0} may have been carried out, and may do something else the second time (3.3.5.15)"
    )]
    Ioctl(ControlCode),
    /// A listing goes on where the server has stopped, which may be further than what came.
    #[error("QUERY_DIRECTORY goes on behind what may be lost, unless Flags have RESTART_SCANS (3.3.5.18)")]
    QueryDirectory,
    /// A command that counts how often it is carried out.
    #[error("{0} may have been carried out, and does something else the second time")]
    Command(&'static str),
    /// The server does not look at ChannelSequence.
    #[error("Capabilities of the server are 0x{:08x}: with neither MULTI_CHANNEL nor PERSISTENT_HANDLES it knows no replays (3.2.4.1)", .0.0)]
    Server(Capabilities),
}
