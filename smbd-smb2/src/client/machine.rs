//! The state of a connection, and what all of its parts do with it: requests begin, end, and give back what they hold.

use alloc::boxed::Box;
use alloc::vec::Vec;

use smbd_core::Instant;

use super::config::Config;
use super::ids::{BufferId, OperationId, SessionHandle};
use super::negotiate::{self, Negotiated};
use super::operation::{Kind, Stored};
use super::queue::Queue;
use super::reason::{Failure, Reason};
use super::request::{Memory, Outcome, Owner, Request, Spare, Wire};
use super::scope::{Scope, Scopes};
use super::table::{Key, Table};
use super::transfer::Piece;
use super::window::Window;
use crate::security::PreauthHash;
use crate::wire::{
    Body, Command, CommandBody, EchoRequest, Header, MessageId, RdmaTransformType, WireError, write_element,
};

/// What is around the payload of a message at most: headers of an encrypted WRITE, and room for what servers put between.
pub(super) const OVERHEAD: u32 = 256;

#[derive(Debug)]
pub(super) struct Machine {
    pub(super) config: Config,
    pub(super) negotiated: Option<Negotiated>,
    /// Connection.PreauthIntegrityHashValue.
    pub(super) preauth: PreauthHash,
    pub(super) window: Window,
    pub(super) operations: Table<Running>,
    pub(super) requests: Table<Box<Request>>,
    pub(super) scopes: Scopes,
    /// Connection.OutstandingRequests, by MessageId, ascending: ids are given out in order.
    pub(super) outstanding: Queue<(u64, Key)>,
    /// What waits for credits, in order.
    pub(super) queue: Queue<Key>,
    /// What waits for nothing, in order.
    pub(super) tasks: Queue<Task>,
    /// A message that is built for one `poll`.
    pub(super) scratch: Vec<u8>,
    pub(super) spare: Spare,
    /// The ECHO that is under way.
    pub(super) echo: Option<Key>,
    /// Whether an ECHO has asked for credits for what is first in the queue.
    pub(super) has_asked_for_credits: bool,
    /// Nothing is due before; `None` if that has to be worked out.
    pub(super) timer: Option<Instant>,
    /// When the server was heard last.
    pub(super) heard: Option<Instant>,
    pub(super) end: Option<End>,
}

/// An operation under way.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) session: Option<Key>,
    pub(super) tree: Option<Key>,
    pub(super) kind: Kind,
    /// What came of it; it has to be told.
    pub(super) result: Option<Result<Stored, Box<Failure>>>,
}

/// The end of a connection.
#[derive(Debug)]
pub(super) struct End {
    pub(super) reason: Reason,
    pub(super) is_told: bool,
}

/// What can be done at once.
#[derive(Clone, Copy, Debug)]
pub(super) enum Task {
    /// The memory of a request is to be registered.
    Register(Key),
    /// It is to be taken back.
    Deregister(Key),
    /// It is back, and to be looked at.
    Check(Key),
    /// CANCEL of a request is to be sent.
    Cancel(Key),
    /// The result of an operation is to be told.
    Tell(Key),
}

/// What `poll` is about to say, by names: what is borrowed is looked up last.
#[derive(Debug)]
pub(super) enum Step {
    Negotiated,
    Send(Key),
    /// What is in `scratch`, and how many tokens its answers may invalidate.
    SendScratch(usize),
    Protect(Key, BufferId, RdmaTransformType),
    Register {
        key: Key,
        buffer: BufferId,
        piece: Piece,
        is_read: bool,
    },
    Deregister {
        key: Key,
        is_invalidated: bool,
    },
    Check(Key, BufferId),
    Data {
        operation: OperationId,
        offset: u64,
        start: usize,
        end: usize,
    },
    /// The result of an operation that has one.
    Done(Key),
    Answer {
        operation: OperationId,
        start: usize,
        end: usize,
    },
    Message {
        operation: OperationId,
        start: usize,
        end: usize,
    },
    /// An element that answers no request: OPLOCK_BREAK, if anything.
    Unasked {
        start: usize,
        end: usize,
    },
    SessionExpired(SessionHandle),
    SessionEnded(SessionHandle),
    /// It is the MessageId of no request.
    Unknown(MessageId),
    /// The operation of its request has ended.
    Late(MessageId),
    Close,
    Idle(Option<Instant>),
}

impl Machine {
    pub(super) fn new(config: Config) -> Self {
        let requests = usize::from(config.requests).saturating_add(1);
        let mut machine = Self {
            negotiated: None,
            preauth: PreauthHash::new(),
            window: Window::new(config.credits),
            operations: Table::new(config.operations),
            // One more, so that an ECHO finds room.
            requests: Table::new(config.requests.saturating_add(1)),
            scopes: Scopes {
                sessions: Table::new(config.sessions),
                trees: Table::new(config.trees),
                ended: 0,
            },
            outstanding: Queue::new(requests),
            queue: Queue::new(requests),
            tasks: Queue::new(requests.saturating_add(config.operations.into())),
            scratch: Vec::new(),
            spare: Spare::new(requests),
            echo: None,
            has_asked_for_credits: false,
            timer: None,
            heard: None,
            end: None,
            config,
        };
        let mut request = machine.spare.take(Owner::Negotiate, Command::NEGOTIATE);
        let element = negotiate::with_request(&machine.config, |body| element(&own_header(body), body));
        // Its few short parts always fit.
        request.element = element.unwrap_or_default();
        machine.enqueue(request, None);
        machine
    }

    /// Puts a request behind the others; with its deadline.
    #[inline(always)]
    pub(super) fn enqueue(&mut self, mut request: Box<Request>, deadline: Option<Instant>) -> Option<Key> {
        let waits_for_memory = request.memory == Memory::Wanted;
        request.wire = if waits_for_memory { Wire::Idle } else { Wire::Queued };
        request.deadline = deadline;
        self.arm(deadline);
        let key = self.requests.insert(request)?;
        if waits_for_memory {
            self.tasks.push_back(Task::Register(key));
        } else {
            self.queue.push_back(key);
        }
        Some(key)
    }

    /// Lets the timer run no later than `deadline`.
    pub(super) fn arm(&mut self, deadline: Option<Instant>) {
        if let (Some(timer), Some(deadline)) = (self.timer, deadline) {
            self.timer = Some(timer.min(deadline));
        }
    }

    pub(super) fn deadline(&self, now: Instant) -> Option<Instant> {
        Some(now.saturating_add(self.config.timeout))
    }

    /// Whether another request finds room, besides an ECHO.
    pub(super) fn has_room(&self) -> bool {
        self.requests.free_count() > usize::from(!self.has_echo())
    }

    /// Whether an ECHO of the client's own is under way.
    pub(super) fn has_echo(&self) -> bool {
        self.echo.is_some_and(|key| self.requests.get(key).is_some())
    }

    /// An ECHO, before all others.
    pub(super) fn queue_echo(&mut self) {
        let is_there = self.echo.filter(|key| self.requests.get(*key).is_some());
        if let Some(echo) = is_there {
            self.queue.retain(|key| *key != echo);
            if matches!(self.requests.get(echo).map(|request| request.wire), Some(Wire::Queued)) {
                self.queue.push_front(echo);
            }
            return;
        }
        let mut request = self.spare.take(Owner::Echo, Command::ECHO);
        let body = EchoRequest::default();
        request.element = element(&own_header(&body), &body).unwrap_or_default();
        self.echo = self.enqueue(request, None);
        if let Some(echo) = self.queue.pop_back() {
            self.queue.push_front(echo);
        }
    }

    /// Writes the element of a request, without what is known when it is sent.
    pub(super) fn write_request<M: CommandBody>(
        &self,
        element: &mut Vec<u8>,
        body: &M,
        scope: Scope,
    ) -> Result<(), WireError> {
        element.clear();
        write_element(element, &self.scopes.header(M::COMMAND, scope), body)
    }

    /// Ends a request with this outcome: when its memory is back, if the server has been given some (3.2.5.11, 3.2.5.12).
    #[inline(always)]
    pub(super) fn release(&mut self, key: Key, outcome: Outcome, now: Instant) {
        let Some(request) = self.requests.get_mut(key) else { return };
        if matches!(request.wire, Wire::Queued | Wire::Held) {
            // It is not sent any more.
            request.wire = Wire::Idle;
        }
        if !request.memory.is_given() {
            return self.settle(key, outcome, now);
        }
        if request.memory == Memory::Valid {
            request.memory = Memory::Leaving;
            self.tasks.push_back(Task::Deregister(key));
        }
        // The first outcome counts.
        if request.outcome.is_none() {
            request.outcome = Some(outcome);
        }
    }

    /// Takes the outcome of a request that holds no memory.
    #[inline]
    pub(super) fn settle(&mut self, key: Key, outcome: Outcome, now: Instant) {
        let Some(request) = self.requests.get(key) else { return };
        let (owner, piece) = (request.owner, request.piece);
        let Owner::Operation(operation) = owner else { return self.forget(key) };
        let moved = match outcome {
            Outcome::Again => return self.hold(key, now),
            Outcome::Moved(moved) => Ok(moved),
            Outcome::Failed(failure) => Err(failure),
        };
        self.forget(key);
        let Some(running) = self.operations.get_mut(operation) else { return };
        if let (Kind::Transfer(transfer), Some(piece)) = (&mut running.kind, piece) {
            transfer.on_piece(piece, moved);
            if !transfer.is_cut() {
                self.advance(operation, now);
            } else if running.is_done() {
                self.tasks.push_back(Task::Tell(operation));
            }
        } else {
            self.finish(operation, Err(moved.err().map_or(Failure::Closed, |failure| *failure)));
        }
    }

    /// Lets a request wait until its session has been authenticated again.
    fn hold(&mut self, key: Key, now: Instant) {
        let deadline = self.deadline(now);
        self.arm(deadline);
        let Some(request) = self.requests.get_mut(key) else { return };
        (request.wire, request.deadline) = (Wire::Held, deadline);
        let session = request.session.and_then(|session| self.scopes.sessions.get(session));
        if !session.is_some_and(|session| session.is_expired) {
            self.resume(key, now);
        }
    }

    /// Sends a request again that was held, and registers its memory again.
    pub(super) fn resume(&mut self, key: Key, now: Instant) {
        let deadline = self.deadline(now);
        let Some(request) = self.requests.get_mut(key) else { return };
        if !matches!(request.owner, Owner::Operation(_)) {
            return;
        }
        request.deadline = deadline;
        if request.buffer.is_some() {
            (request.memory, request.wire) = (Memory::Wanted, Wire::Idle);
            self.tasks.push_back(Task::Register(key));
        } else {
            request.wire = Wire::Queued;
            self.queue.push_back(key);
        }
    }

    /// Frees the place of a request; if its answer is still to come, when that has come.
    #[inline(always)]
    pub(super) fn forget(&mut self, key: Key) {
        let Some(request) = self.requests.get_mut(key) else { return };
        if request.owner == Owner::Echo {
            self.timer = None;
        }
        if request.sent().is_some() {
            (request.owner, request.deadline) = (Owner::Nobody, None);
        } else if let Some(request) = self.requests.take(key) {
            self.spare.put(request);
        }
    }

    /// An operation has ended with this result.
    pub(super) fn finish(&mut self, operation: Key, result: Result<Stored, Failure>) {
        if let Some(running) = self.operations.get_mut(operation)
            && running.result.is_none()
        {
            if let (Kind::Validate(tree), Err(_)) = (&running.kind, &result) {
                self.scopes.trees.remove(tree.0);
            }
            running.result = Some(result.map_err(Box::new));
            self.tasks.push_back(Task::Tell(operation));
        }
    }

    /// The requests of an operation.
    pub(super) fn requests_of(&self, operation: Key) -> Vec<Key> {
        self.requests.keys(|request| request.owner == Owner::Operation(operation))
    }
}

/// An element of its own.
pub(super) fn element(header: &Header, body: &impl Body) -> Result<Vec<u8>, WireError> {
    let mut element = Vec::new();
    write_element(&mut element, header, body)?;
    Ok(element)
}

/// The header of a request outside of a session.
fn own_header<M: CommandBody>(_: &M) -> Header {
    Header::request::<M>(0)
}
