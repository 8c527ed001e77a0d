//! The loop between a connection and its backend.

use thiserror::Error;

use super::{Backend, BackendOp, BufferLookup, ReceiveMemory, ShortReceive, UnknownBuffer};
use crate::{Action, Connection, Event, Input, Instant, Misuse};

/// What can be driven: a [`Connection`], or something built on one that has other events.
pub trait Protocol {
    /// What it tells its upper layer.
    type Event;

    /// Takes in what happened, as [`Connection::handle`].
    ///
    /// # Errors
    /// The backend reported what cannot be.
    fn handle(&mut self, now: Instant, input: Input<'_>) -> Result<(), Misuse>;

    /// What to do next, as [`Connection::poll_action`]; `memory` holds the messages received.
    ///
    /// # Errors
    /// Bytes that were reported as received are not in `memory`.
    fn poll_action(&mut self, memory: &impl ReceiveMemory) -> Result<Action<Self::Event>, ShortReceive>;

    /// Whether all is over: nothing is posted, borrowed or expected any more.
    fn is_drained(&self) -> bool;

    /// What `action` asks of a backend, as [`BackendOp::of`]; `memory` is that of the upper layer.
    ///
    /// # Errors
    /// The memory of something is not known.
    fn backend_op<'a, M>(
        &'a self,
        action: &'a Action<Self::Event>,
        memory: &'a impl BufferLookup<M>,
    ) -> Result<Option<BackendOp<'a, M>>, UnknownBuffer>;
}

impl Protocol for Connection {
    type Event = Event;

    fn handle(&mut self, now: Instant, input: Input<'_>) -> Result<(), Misuse> {
        self.handle(now, input)
    }

    fn poll_action(&mut self, _memory: &impl ReceiveMemory) -> Result<Action, ShortReceive> {
        Ok(self.poll_action())
    }

    fn is_drained(&self) -> bool {
        self.is_drained()
    }

    #[inline(always)]
    fn backend_op<'a, M>(
        &'a self,
        action: &'a Action,
        memory: &'a impl BufferLookup<M>,
    ) -> Result<Option<BackendOp<'a, M>>, UnknownBuffer> {
        BackendOp::of(action, self, memory)
    }
}

/// The upper layer of a driven connection: knows its memory, hears its events.
pub trait Handler<B: Backend, C: Protocol = Connection>: BufferLookup<B::Buffer> {
    /// Something the upper layer has to know. It may give commands at once; the memory behind the names they return
    /// must be known when this returns. Received bytes are in `backend`.
    fn event(&mut self, connection: &mut C, backend: &mut B, event: C::Event);
}

/// Why a drive stopped: a fault on this side of the interface, never the peer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DriveError {
    /// The backend reported what cannot be. See the kit.
    #[error("backend broke its contract: {0}")]
    Backend(#[from] Misuse),
    /// The backend does not have what it reported as received.
    #[error("backend broke its contract: {0}")]
    Receive(#[from] ShortReceive),
    /// The upper layer has no memory for what it commanded.
    #[error("upper layer: {0}")]
    Handler(#[from] UnknownBuffer),
}

/// Rounds after which [`drive`] returns although there is more to do.
const ROUNDS_MAX: u32 = 64;
/// Inputs of one round.
const INPUTS_MAX: usize = 64;

/// Carries inputs of `backend` to `connection` and its actions back, until neither has anything left, or for a bounded
/// time if there is always something: other connections of the thread want their turn. Returns when to come back at the
/// latest (at once, if there is more to do); earlier, as soon as the backend has something or a command was given.
///
/// # Errors
/// If backend or upper layer broke the contract. The connection should be dropped then.
pub fn drive<B: Backend, C: Protocol, U: Handler<B, C>>(
    connection: &mut C,
    backend: &mut B,
    upper: &mut U,
) -> Result<Option<Instant>, DriveError> {
    for _ in 0..ROUNDS_MAX {
        let deadline = drain(connection, backend, upper)?;
        backend.ring_doorbell();
        let now = backend.now();
        let quiet = take_inputs(connection, backend, now)? == 0;
        // Also when there was something: a busy connection has timers, too.
        if deadline.is_some_and(|at| at <= now) {
            connection.handle(now, Input::Timeout)?;
        } else if quiet {
            return Ok(deadline);
        }
    }
    Ok(Some(backend.now()))
}

/// Hands over what the backend has to say, up to a limit; returns how many inputs it was.
fn take_inputs<B: Backend, C: Protocol>(
    connection: &mut C,
    backend: &mut B,
    now: Instant,
) -> Result<usize, Misuse> {
    for taken in 0..INPUTS_MAX {
        let Some(input) = backend.next_input() else { return Ok(taken) };
        connection.handle(now, input)?;
    }
    Ok(INPUTS_MAX)
}

/// Executes what the connection has to say now; returns the deadline it ends with.
fn drain<B: Backend, C: Protocol, U: Handler<B, C>>(
    connection: &mut C,
    backend: &mut B,
    upper: &mut U,
) -> Result<Option<Instant>, DriveError> {
    loop {
        // Looked at where it lies: `?` would move it.
        match connection.poll_action(backend) {
            Err(short) => return Err(short.into()),
            Ok(Action::Notify(event)) => upper.event(connection, backend, event),
            Ok(Action::Wait(deadline)) => return Ok(deadline),
            Ok(
                ref action @ (Action::Connect
                | Action::Accept
                | Action::Disconnect
                | Action::PostRecv { .. }
                | Action::PostSend { .. }
                | Action::PostRdma { .. }
                | Action::Register { .. }
                | Action::Deregister { .. }),
            ) => {
                if let Some(step) = connection.backend_op(action, upper)? {
                    backend.execute(step);
                }
            }
        }
    }
}
