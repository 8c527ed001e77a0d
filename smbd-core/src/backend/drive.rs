//! The loop between a connection and its backend.

use thiserror::Error;

use super::{Backend, LocalMemory, NoMemory, Step};
use crate::{Action, Connection, Event, Input, Instant, Misuse};

/// The upper layer of a driven connection: knows its memory, hears its events.
pub trait Upper<B: Backend>: LocalMemory<B::Buffer> {
    /// Something the upper layer has to know. It may give commands at once; those of `send`, `rdma` and `register`
    /// return names whose memory it must know when this returns. Received bytes are in `backend`.
    fn event(&mut self, connection: &mut Connection, backend: &mut B, event: Event);
}

/// Why a drive stopped: a fault on this side of the border, never the peer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DriveError {
    /// The backend reported what cannot be. See the kit.
    #[error("backend broke its contract: {0}")]
    Backend(#[from] Misuse),
    /// The upper layer has no memory for what it commanded.
    #[error("upper layer: {0}")]
    Upper(#[from] NoMemory),
}

/// Carries inputs of `backend` to `connection` and its actions back, until neither has anything left. Returns when
/// to come back at the latest; earlier, as soon as the backend has something or a command was given.
///
/// # Errors
/// If backend or upper layer broke the contract. The connection should be dropped then.
pub fn drive<B: Backend, U: Upper<B>>(
    connection: &mut Connection,
    backend: &mut B,
    upper: &mut U,
) -> Result<Option<Instant>, DriveError> {
    loop {
        let deadline = drain(connection, backend, upper)?;
        backend.ring();
        let now = backend.now();
        let mut quiet = true;
        while let Some(input) = backend.next_input() {
            connection.handle(now, input)?;
            quiet = false;
        }
        if quiet {
            match deadline {
                Some(at) if at <= now => connection.handle(now, Input::Timeout)?,
                _ => return Ok(deadline),
            }
        }
    }
}

/// Executes what the connection has to say now; returns the deadline it ends with.
fn drain<B: Backend, U: Upper<B>>(
    connection: &mut Connection,
    backend: &mut B,
    upper: &mut U,
) -> Result<Option<Instant>, DriveError> {
    loop {
        match connection.poll_action() {
            Action::Notify(event) => upper.event(connection, backend, event),
            Action::Wait(deadline) => return Ok(deadline),
            action @ (Action::Connect
            | Action::Accept
            | Action::Disconnect
            | Action::PostRecv { .. }
            | Action::PostSend { .. }
            | Action::PostRdma { .. }
            | Action::Register { .. }
            | Action::Deregister { .. }) => {
                if let Some(step) = Step::of(&action, connection, upper)? {
                    backend.execute(step);
                }
            }
        }
    }
}
