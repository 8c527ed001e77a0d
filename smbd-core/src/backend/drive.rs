//! The loop between a connection and its backend.

use thiserror::Error;

use super::{Backend, BackendOp, BufferLookup, ReceiveMemory, ShortReceive, UnknownBuffer};
use crate::{Action, Connection, Event, Input, Instant, Misuse};

/// What [`drive`] drives: a [`Connection`], or a type that wraps one and has other events.
pub trait Protocol {
    /// Its events for the upper layer.
    type Event;

    /// Handles one input, as [`Connection::handle`].
    ///
    /// # Errors
    /// The input is not possible.
    fn handle(&mut self, now: Instant, input: Input<'_>) -> Result<(), Misuse>;

    /// Handles one input, as [`handle`](Self::handle). An event that follows from it, and that no other waits before, is returned, and is
    /// to be given to [`deliver`](Self::deliver) before anything else.
    ///
    /// # Errors
    /// The input is not possible.
    #[inline(always)]
    fn handle_and_tell(&mut self, now: Instant, input: Input<'_>) -> Result<Option<Event>, Misuse> {
        self.handle(now, input).map(|()| None)
    }

    /// The next action, as [`Connection::poll_action`]. An event in it is to be given to [`deliver`](Self::deliver).
    fn poll_action(&mut self) -> Action;

    /// Makes an event of the connection one for the upper layer, and gives it to `upper`, with what it was called with.
    /// `upper` is not called if the upper layer hears nothing of it. `backend` has the received messages.
    ///
    /// # Errors
    /// Bytes that were reported as received are not in `backend`.
    fn deliver<B: ReceiveMemory>(
        &mut self,
        event: Event,
        backend: &mut B,
        upper: impl FnOnce(&mut Self, &mut B, Self::Event),
    ) -> Result<(), ShortReceive>;

    /// Whether the connection is drained: over, and nothing is posted, borrowed or registered any more.
    fn is_drained(&self) -> bool;

    /// The operation of `action` for the backend, as [`BackendOp::of`]. `memory` is that of the upper layer.
    ///
    /// # Errors
    /// `memory` has no buffer for the action.
    fn backend_op<'a, M>(
        &'a self,
        action: &'a Action,
        memory: &'a impl BufferLookup<M>,
    ) -> Result<Option<BackendOp<'a, M>>, UnknownBuffer>;
}

impl Protocol for Connection {
    type Event = Event;

    fn handle(&mut self, now: Instant, input: Input<'_>) -> Result<(), Misuse> {
        self.handle(now, input)
    }

    #[inline(always)]
    fn handle_and_tell(&mut self, now: Instant, input: Input<'_>) -> Result<Option<Event>, Misuse> {
        self.notice(now, input)
    }

    #[inline(always)]
    fn poll_action(&mut self) -> Action {
        self.next_action()
    }

    #[inline(always)]
    fn deliver<B: ReceiveMemory>(
        &mut self,
        event: Event,
        backend: &mut B,
        upper: impl FnOnce(&mut Self, &mut B, Event),
    ) -> Result<(), ShortReceive> {
        upper(self, backend, event);
        Ok(())
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

/// The upper layer of a driven connection. It takes events, and looks up buffers ([`BufferLookup`]).
pub trait Handler<B: Backend, C: Protocol = Connection>: BufferLookup<B::Buffer> {
    /// Takes one event. It may give commands to `connection`; the buffers of the ids that they return must be known to
    /// [`BufferLookup`] when this method returns. `backend` has the received bytes. It should not block: [`drive`]
    /// waits for it.
    fn event(&mut self, connection: &mut C, backend: &mut B, event: C::Event);
}

/// Why [`drive`] failed: a fault of the backend or of the upper layer, never of the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DriveError {
    /// The backend reported an input that is not possible. The kit finds the cause.
    #[error("backend broke its contract: {0}")]
    Backend(#[from] Misuse),
    /// The backend does not have what it reported as received.
    #[error("backend broke its contract: {0}")]
    Receive(#[from] ShortReceive),
    /// The upper layer has no buffer for one of its commands.
    #[error("upper layer: {0}")]
    Handler(#[from] UnknownBuffer),
}

/// Rounds after which [`drive`] returns although there is more to do.
const ROUNDS_MAX: u32 = 64;
/// Inputs of one round.
const INPUTS_MAX: usize = 64;
/// Rounds for which the clock is read once: nothing in them waits, and timers are of milliseconds at least.
const ROUNDS_OF_TIME: u32 = 4;

/// Gives the inputs of `backend` to `connection` and the actions of `connection` to `backend` and `upper`, until there
/// are no more. Returns after 64 rounds of 64 inputs each even if there are, so that other connections of the thread
/// get their turn.
///
/// The clock is read once, and again every fourth round. Commands of an upper layer in an event need no other time than
/// [`Connection::now`].
///
/// A backend that had nothing more to say is asked again only after it was given an operation: an upper layer that makes its backend
/// have an input by other means calls `drive` again for it.
///
/// Returns the deadline of the next call: `backend.now()` if there is more to do, `None` if there is no timer. Call it
/// earlier when the backend has an input or the upper layer has given a command. Never blocks if `backend` and `upper`
/// do not.
///
/// # Errors
/// The backend or the upper layer broke its contract. Drop the connection then.
pub fn drive<B: Backend, C: Protocol, U: Handler<B, C>>(
    connection: &mut C,
    backend: &mut B,
    upper: &mut U,
) -> Result<Option<Instant>, DriveError> {
    let now = backend.now();
    drive_at(now, connection, backend, upper)
}

/// Does the same as [`drive`], for a caller that has just read the clock of `backend`: `now`.
///
/// # Errors
/// As [`drive`].
#[inline]
pub fn drive_at<B: Backend, C: Protocol, U: Handler<B, C>>(
    mut now: Instant,
    connection: &mut C,
    backend: &mut B,
    upper: &mut U,
) -> Result<Option<Instant>, DriveError> {
    // What the backend had to say is heard.
    let mut is_heard = false;
    for round in 0..ROUNDS_MAX {
        let drained = drain(connection, backend, upper)?;
        backend.ring_doorbell();
        // If it was given nothing to do since, it has no more to say.
        let is_quiet = if is_heard && !drained.has_posted {
            true
        } else {
            if round % ROUNDS_OF_TIME == ROUNDS_OF_TIME - 1 {
                now = backend.now();
            }
            let taken = take_inputs(connection, backend, upper, now)?;
            is_heard = taken < INPUTS_MAX;
            taken == 0
        };
        // Also when there was something: a busy connection has timers, too.
        if drained.deadline.is_some_and(|at| at <= now) {
            connection.handle(now, Input::Timeout)?;
        } else if is_quiet {
            return Ok(drained.deadline);
        }
    }
    Ok(Some(backend.now()))
}

/// Hands over what the backend has to say, up to a limit; returns how many inputs it was.
#[inline(always)]
fn take_inputs<B: Backend, C: Protocol, U: Handler<B, C>>(
    connection: &mut C,
    backend: &mut B,
    upper: &mut U,
    now: Instant,
) -> Result<usize, DriveError> {
    for taken in 0..INPUTS_MAX {
        let Some(input) = backend.next_input() else { return Ok(taken) };
        // Arms of their own, as below, for those whose event may be the next.
        match input {
            Input::Received { .. } => {
                if let Some(event) = connection.handle_and_tell(now, input)? {
                    tell(connection, backend, upper, event)?;
                }
            }
            Input::Sent { .. } => {
                if let Some(event) = connection.handle_and_tell(now, input)? {
                    tell(connection, backend, upper, event)?;
                }
            }
            Input::RdmaDone { .. } => {
                if let Some(event) = connection.handle_and_tell(now, input)? {
                    tell(connection, backend, upper, event)?;
                }
            }
            Input::Connected { .. }
            | Input::ConnectFailed { .. }
            | Input::Disconnected { .. }
            | Input::Timeout
            | Input::Registered { .. }
            | Input::BindComplete { .. }
            | Input::Deregistered { .. }
            | Input::Failed { .. } => connection.handle(now, input)?,
        }
    }
    Ok(INPUTS_MAX)
}

#[inline(always)]
fn tell<B: Backend, C: Protocol, U: Handler<B, C>>(
    connection: &mut C,
    backend: &mut B,
    upper: &mut U,
    event: Event,
) -> Result<(), ShortReceive> {
    connection.deliver(event, backend, |connection, backend, event| {
        upper.event(connection, backend, event);
    })
}

/// Tells the upper layer of an event that did not follow at once from an input.
#[inline(never)]
fn tell_later<B: Backend, C: Protocol, U: Handler<B, C>>(
    connection: &mut C,
    backend: &mut B,
    upper: &mut U,
    event: Event,
) -> Result<(), ShortReceive> {
    tell(connection, backend, upper, event)
}

/// What a connection had to say.
struct Drained {
    /// The deadline it ended with.
    deadline: Option<Instant>,
    /// The backend was given something to do.
    has_posted: bool,
}

/// Executes what the connection has to say now.
#[inline(always)]
fn drain<B: Backend, C: Protocol, U: Handler<B, C>>(
    connection: &mut C,
    backend: &mut B,
    upper: &mut U,
) -> Result<Drained, DriveError> {
    let mut has_posted = false;
    loop {
        // Looked at where it lies: `?` would move it.
        match connection.poll_action() {
            Action::Notify(event) => tell_later(connection, backend, upper, event)?,
            Action::Wait(deadline) => return Ok(Drained { deadline, has_posted }),
            // Arms of their own: each knows what it has, so that neither the operation nor the backend asks again.
            ref action @ Action::PostRecv { .. } => {
                has_posted |= execute(connection, backend, upper, action)?;
            }
            ref action @ Action::PostSend { .. } => {
                has_posted |= execute(connection, backend, upper, action)?;
            }
            ref action @ Action::PostRdma { .. } => {
                has_posted |= execute(connection, backend, upper, action)?;
            }
            ref action @ (Action::Connect
            | Action::Accept
            | Action::Disconnect
            | Action::Register { .. }
            | Action::Deregister { .. }) => {
                has_posted |= execute_other(connection, backend, upper, action)?;
            }
        }
    }
}

/// Has the backend execute one action. Whether it was one for a backend.
#[inline(always)]
fn execute<B: Backend, C: Protocol, U: Handler<B, C>>(
    connection: &C,
    backend: &mut B,
    upper: &U,
    action: &Action,
) -> Result<bool, UnknownBuffer> {
    match connection.backend_op(action, upper)? {
        Some(operation) => {
            backend.execute(operation);
            Ok(true)
        }
        None => Ok(false),
    }
}

/// The same of what is not frequent: in the loop it would take registers from what is.
#[cold]
#[inline(never)]
fn execute_other<B: Backend, C: Protocol, U: Handler<B, C>>(
    connection: &C,
    backend: &mut B,
    upper: &U,
    action: &Action,
) -> Result<bool, UnknownBuffer> {
    execute(connection, backend, upper, action)
}
