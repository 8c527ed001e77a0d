//! The state of a connection, and what all of its parts do with it: requests begin, end, and give back what they hold.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::mem::replace;

use smbd_core::Instant;

use super::config::Config;
use super::ids::{OperationId, SessionHandle};
use super::negotiate::{self, Negotiated};
use super::operation::{Kind, Stored};
use super::output::Access;
use super::reason::{Discarded, Failure, Reason};
use super::request::{Memory, Outcome, Owner, Region, Request, Wire};
use super::session::{Session, Tree};
use super::table::{Key, Table};
use super::window::Window;
use crate::security::PreauthHash;
use crate::wire::{
    Body, Command, CommandBody, EchoRequest, Header, LeaseBreakNotification, OplockBreak, RdmaTransformType,
    SessionId, Target, TreeId, WireError, write_element,
};

/// What is around the payload of a message at most: headers of an encrypted WRITE, and room for what servers put between.
pub(super) const OVERHEAD: u32 = 256;

/// Bytes for one credit (3.1.5.2).
pub(super) const CREDIT_BYTES: u32 = 65536;

#[derive(Debug)]
pub(super) struct Machine {
    pub(super) config: Config,
    pub(super) negotiated: Option<Negotiated>,
    /// Connection.PreauthIntegrityHashValue.
    pub(super) preauth: PreauthHash,
    pub(super) window: Window,
    pub(super) operations: Table<Running>,
    pub(super) requests: Table<Request>,
    pub(super) sessions: Table<Session>,
    pub(super) trees: Table<Tree>,
    /// Connection.OutstandingRequests, by MessageId, ascending: ids are given out in order.
    pub(super) outstanding: VecDeque<(u64, Key)>,
    /// What waits for credits, in order.
    pub(super) queue: VecDeque<Key>,
    pub(super) to_register: VecDeque<Key>,
    pub(super) to_deregister: VecDeque<Key>,
    pub(super) to_check: VecDeque<Key>,
    pub(super) to_cancel: VecDeque<Key>,
    /// Operations whose result has to be told.
    pub(super) finished: VecDeque<Key>,
    /// A message that is built for one `poll`.
    pub(super) scratch: Vec<u8>,
    /// The ECHO that is under way.
    pub(super) echo: Option<Key>,
    /// Whether an ECHO has asked for credits for what is first in the queue.
    pub(super) has_asked_for_credits: bool,
    /// No deadline of a request is earlier.
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
}

/// The end of a connection.
#[derive(Debug)]
pub(super) struct End {
    pub(super) reason: Reason,
    pub(super) is_told: bool,
}

/// What `poll` is about to say, by names: what is borrowed is looked up last.
#[derive(Debug)]
pub(super) enum Step {
    Negotiated,
    Send(Key),
    /// What is in `scratch`.
    SendScratch(u16),
    Protect(Key, Region, RdmaTransformType),
    Register(Key, Region, Access),
    Deregister(Key, bool),
    Check(Key, Region),
    Data {
        operation: OperationId,
        offset: u64,
        start: usize,
        end: usize,
    },
    Done(OperationId, Result<Stored, Failure>),
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
    OplockBreak(OplockBreak),
    LeaseBreak(LeaseBreakNotification),
    SessionExpired(SessionHandle),
    SessionEnded(SessionHandle),
    Discarded(Discarded),
    Close,
    Idle(Option<Instant>),
}

impl Machine {
    pub(super) fn new(config: Config) -> Self {
        let requests = usize::from(config.requests).saturating_add(1);
        let queue = || VecDeque::<Key>::with_capacity(requests);
        let mut machine = Self {
            negotiated: None,
            preauth: PreauthHash::new(),
            window: Window::new(config.credits),
            operations: Table::new(config.operations),
            // One more, so that an ECHO finds room.
            requests: Table::new(config.requests.saturating_add(1)),
            sessions: Table::new(config.sessions),
            trees: Table::new(config.trees),
            outstanding: VecDeque::with_capacity(requests),
            queue: queue(),
            to_register: queue(),
            to_deregister: queue(),
            to_check: queue(),
            to_cancel: queue(),
            finished: VecDeque::with_capacity(config.operations.into()),
            scratch: Vec::new(),
            echo: None,
            has_asked_for_credits: false,
            timer: None,
            heard: None,
            end: None,
            config,
        };
        let mut request = Request::new(Owner::Negotiate, Command::NEGOTIATE);
        let element = negotiate::with_request(&machine.config, |body| element(&own_header(body), body));
        // Its few short parts always fit.
        request.element = element.unwrap_or_default();
        machine.enqueue(request, None);
        machine
    }

    /// Puts a request behind the others; with its deadline.
    pub(super) fn enqueue(&mut self, mut request: Request, deadline: Option<Instant>) -> Option<Key> {
        let waits_for_memory = matches!(request.memory, Memory::Wanted(_));
        request.wire = if waits_for_memory { Wire::Idle } else { Wire::Queued };
        request.deadline = deadline;
        self.arm(deadline);
        let key = self.requests.insert(request)?;
        if waits_for_memory {
            self.to_register.push_back(key)
        } else {
            self.queue.push_back(key)
        }
        Some(key)
    }

    /// Lets the timer run no later than `deadline`.
    pub(super) fn arm(&mut self, deadline: Option<Instant>) {
        self.timer = match (self.timer, deadline) {
            (Some(timer), Some(deadline)) => Some(timer.min(deadline)),
            (timer, deadline) => timer.or(deadline),
        };
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

    /// Credits of a request with so many bytes of payload (3.1.5.2).
    pub(super) fn charge(payload: u32) -> u16 {
        let credits = payload.saturating_sub(1).checked_div(CREDIT_BYTES).unwrap_or(0).saturating_add(1);
        u16::try_from(credits).unwrap_or(u16::MAX)
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
        let mut request = Request::new(Owner::Echo, Command::ECHO);
        let body = EchoRequest::default();
        request.element = element(&own_header(&body), &body).unwrap_or_default();
        self.echo = self.enqueue(request, None);
        if let Some(echo) = self.queue.pop_back() {
            self.queue.push_front(echo);
        }
    }

    /// The header of a request, without what is known when it is sent.
    pub(super) fn header<M: CommandBody>(&self, _: &M, session: Option<Key>, tree: Option<Key>) -> Header {
        let session_id =
            session.and_then(|key| self.sessions.get(key)).map_or(SessionId::NONE, |session| session.id);
        let tree_id = tree.and_then(|key| self.trees.get(key)).map_or(TreeId::NONE, |tree| tree.id);
        Header { session_id, target: Target::Sync { process_id: 0, tree_id }, ..Header::request::<M>(0) }
    }

    /// Ends a request with this outcome: when its memory is back, if the server has been given some (3.2.5.11, 3.2.5.12).
    pub(super) fn release(&mut self, key: Key, outcome: Outcome, now: Instant) {
        let Some(request) = self.requests.get_mut(key) else { return };
        if matches!(request.wire, Wire::Queued | Wire::Held) {
            // It is not sent any more.
            request.wire = Wire::Idle;
        }
        match replace(&mut request.memory, Memory::None) {
            Memory::Valid(region) => {
                request.memory = Memory::Leaving(region, outcome);
                self.to_deregister.push_back(key);
            }
            Memory::Asked(region, first) => request.memory = Memory::Asked(region, first.or(Some(outcome))),
            // The first outcome counts.
            memory @ (Memory::Leaving(..) | Memory::Left(_) | Memory::Back(..)) => request.memory = memory,
            Memory::None | Memory::Bare(_) | Memory::Wanted(_) => self.settle(key, outcome, now),
        }
    }

    /// Takes the outcome of a request that holds no memory.
    pub(super) fn settle(&mut self, key: Key, outcome: Outcome, now: Instant) {
        let Some(request) = self.requests.get_mut(key) else { return };
        let Owner::Operation(operation) = request.owner else { return self.forget(key) };
        let failure = match outcome {
            Outcome::Again => return self.hold(key, now),
            Outcome::Moved(moved) => Ok(moved),
            Outcome::Failed(failure) => Err(failure),
        };
        let piece = request.piece;
        self.forget(key);
        let Some(running) = self.operations.get_mut(operation) else { return };
        match (&mut running.kind, piece) {
            (Kind::Transfer(transfer), Some(piece)) => {
                transfer.on_piece(piece, failure);
                self.advance(operation, now);
            }
            (Kind::Finished(_), _) => {}
            _ => self.finish(operation, Err(failure.err().unwrap_or(Failure::Closed))),
        }
    }

    /// Lets a request wait until its session has been authenticated again.
    fn hold(&mut self, key: Key, now: Instant) {
        let deadline = self.deadline(now);
        self.arm(deadline);
        let Some(request) = self.requests.get_mut(key) else { return };
        (request.wire, request.deadline) = (Wire::Held, deadline);
        let session = request.session.and_then(|session| self.sessions.get(session));
        if !session.is_some_and(|session| session.is_expired) {
            self.resume(key, now);
        }
    }

    /// Sends a request again that was held, and registers its memory again.
    pub(super) fn resume(&mut self, key: Key, now: Instant) {
        let Some(Request { owner: Owner::Operation(operation), piece, .. }) = self.requests.get(key) else {
            return;
        };
        let again = piece.and_then(|piece| self.wanted(*operation, piece));
        let deadline = self.deadline(now);
        let Some(request) = self.requests.get_mut(key) else { return };
        request.deadline = deadline;
        if let Some(region) = again {
            (request.memory, request.wire) = (Memory::Wanted(region), Wire::Idle);
            self.to_register.push_back(key);
        } else {
            request.wire = Wire::Queued;
            self.queue.push_back(key);
        }
    }

    /// Frees the place of a request; if its answer is still to come, when that has come.
    pub(super) fn forget(&mut self, key: Key) {
        match self.requests.get_mut(key) {
            Some(request) if request.sent().is_some() => {
                (request.owner, request.deadline) = (Owner::Nobody, None);
            }
            _ => _ = self.requests.remove(key),
        }
    }

    /// An operation has ended with this result.
    pub(super) fn finish(&mut self, operation: Key, result: Result<Stored, Failure>) {
        if let Some(running) = self.operations.get_mut(operation)
            && !matches!(running.kind, Kind::Finished(_))
        {
            if let (Kind::Validate(tree, _), Err(_)) = (&running.kind, &result) {
                self.trees.remove(*tree);
            }
            running.kind = Kind::Finished(result);
            self.finished.push_back(operation);
        }
    }

    /// The requests of an operation.
    pub(super) fn requests_of(&self, operation: Key) -> Vec<Key> {
        self.requests.keys(|request| request.owner == Owner::Operation(operation))
    }

    /// The connection ends. Operations whose memory the server may still use wait for [`Self::drained`].
    pub(super) fn close(&mut self, reason: Reason) {
        if self.end.is_some() {
            return;
        }
        self.end = Some(End { reason, is_told: false });
        // What is in memory is looked at when it is back.
        self.to_check.clear();
        for operation in self.operations.keys(|_| true) {
            let holds = self.requests.iter().any(|(_, request)| {
                let is_used = !matches!(request.memory, Memory::None | Memory::Bare(_) | Memory::Wanted(_));
                is_used && request.owner == Owner::Operation(operation)
            });
            if !holds {
                self.finish(operation, Err(Failure::Closed));
            }
        }
    }

    /// The transport connection is over, and no memory is registered any more.
    pub(super) fn drained(&mut self) {
        self.close(Reason::TransportEnded);
        if let Some(end) = &mut self.end {
            end.is_told = true;
        }
        self.check_all();
        for operation in self.operations.keys(|_| true) {
            self.finish(operation, Err(Failure::Closed));
        }
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
