//! The calls.

use alloc::boxed::Box;
use alloc::vec::Vec;

use smbd_core::Instant;
use smbd_core::wire::{BufferDescriptorV1, Token};

use super::arrived::Arrived;
use super::bind_error::BindError;
use super::config::Config;
use super::ids::{BufferId, OperationId, RegistrationId, SessionHandle, TreeHandle};
use super::login::{Login, Target};
use super::machine::{Machine, Step};
use super::negotiate::Negotiated;
use super::operation::{Kind, Operation, SingleMessage};
use super::output::{Access, DataPart, Output, Reply};
use super::reason::{Discarded, Failure, Reason, Refused};
use super::session::{Home, Protection};
use super::table::Key;
use super::transfer::Piece;
use crate::security::{Fresh, Initiator, Secret};
use crate::wire::{
    Command, ErrorResponse, Header, LogoffRequest, RdmaTransformType, Response, SessionId, Text,
    TreeConnectRequest, TreeDisconnectRequest,
};

/// A client on one connection. See the [module](super).
#[derive(Debug)]
pub struct Client {
    pub(super) machine: Box<Machine>,
}

impl Client {
    /// For a transport that is connected. The first [`Self::poll`] gives NEGOTIATE.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { machine: Box::new(Machine::new(config)) }
    }

    /// The configuration.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.machine.config
    }

    /// What was negotiated, once it is.
    #[must_use]
    pub const fn negotiated(&self) -> Option<&Negotiated> {
        self.machine.negotiated.as_ref()
    }

    /// Why the connection has ended, if it has.
    #[must_use]
    pub fn end(&self) -> Option<&Reason> {
        self.machine.end.as_ref().map(|end| &end.reason)
    }

    /// Logs a user in (3.2.4.2.3). `previous` is a session of this user that a lost connection had, or [`SessionId::NONE`]. The result
    /// is [`Reply::Session`].
    ///
    /// # Errors
    /// [`Refused`].
    pub fn login(
        &mut self,
        now: Instant,
        initiator: Initiator,
        fresh: Fresh,
        previous: SessionId,
    ) -> Result<OperationId, Refused> {
        let machine = &mut *self.machine;
        machine.ready()?;
        if machine.scopes.sessions.free_count() <= machine.coming_sessions() {
            return Err(Refused::Full("sessions"));
        }
        machine.leave_ids()?;
        let preauth = machine.preauth;
        let target = Target::New { session_id: SessionId::NONE, preauth, previous };
        machine.begin_login(Login::new(initiator, fresh, target), None, now)
    }

    /// Authenticates the user of a session again (3.2.4.2.3.1): when it has expired, or before. Its keys stay. The result is
    /// [`Reply::Reauthenticated`]. On a connection to which the session was bound it is refused: its first one does it.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn reauthenticate(
        &mut self,
        now: Instant,
        session: SessionHandle,
        initiator: Initiator,
        fresh: Fresh,
    ) -> Result<OperationId, Refused> {
        self.machine.ready()?;
        if let Home::Bound = self.machine.live(session.0)?.home {
            return Err(BindError::NotFirst.into());
        }
        let login = Login::new(initiator, fresh, Target::Again(session.0));
        self.machine.begin_login(login, Some(session.0), now)
    }

    /// Ends a session (3.2.4.23). Its tree connects are gone, and its other operations fail, when the server has answered. The result is
    /// [`Reply::LoggedOff`].
    ///
    /// # Errors
    /// [`Refused`].
    pub fn logoff(&mut self, now: Instant, session: SessionHandle) -> Result<OperationId, Refused> {
        self.machine.ready()?;
        self.machine.live(session.0)?;
        let scope = (Some(session.0), None);
        self.machine.begin(Kind::Logoff(session.0), scope, &LogoffRequest::default(), now)
    }

    /// Connects a share, `\\server\share` (3.2.4.2.4). The result is [`Reply::Tree`]; in 3.0 and 3.0.2 it comes when the server has
    /// confirmed what was negotiated (3.2.5.5).
    ///
    /// # Errors
    /// [`Refused`].
    pub fn connect(
        &mut self,
        now: Instant,
        session: SessionHandle,
        path: &str,
    ) -> Result<OperationId, Refused> {
        let machine = &mut *self.machine;
        machine.ready()?;
        machine.live(session.0)?;
        let coming = machine
            .operations
            .iter()
            .filter(|(_, running)| matches!(running.kind, Kind::Connect) && running.result.is_none());
        if machine.scopes.trees.free_count() <= coming.count() {
            return Err(Refused::Full("tree connects"));
        }
        let body = TreeConnectRequest { path: Text::from(path), ..TreeConnectRequest::default() };
        machine.begin(Kind::Connect, (Some(session.0), None), &body, now)
    }

    /// Disconnects a share (3.2.4.22). The result is [`Reply::Disconnected`].
    ///
    /// # Errors
    /// [`Refused`].
    pub fn disconnect(&mut self, now: Instant, tree: TreeHandle) -> Result<OperationId, Refused> {
        self.machine.ready()?;
        let scope = self.machine.scope(tree)?;
        self.machine.begin(Kind::Disconnect(tree.0), scope, &TreeDisconnectRequest::default(), now)
    }

    /// Begins an operation in a tree connect.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn submit(
        &mut self,
        now: Instant,
        tree: TreeHandle,
        operation: &Operation<'_>,
    ) -> Result<OperationId, Refused> {
        self.machine.submit(tree, operation, false, now)
    }

    /// Begins several operations in one message (3.2.4.1.4). Each but the first uses the file of the one before it if its FileId is
    /// [`FileId::RELATED`](crate::wire::FileId::RELATED). The ids are in their order. READs and WRITEs have to fit into one piece, and go
    /// without the RDMA channel.
    ///
    /// # Errors
    /// [`Refused`]: then none has begun.
    pub fn submit_related(
        &mut self,
        now: Instant,
        tree: TreeHandle,
        operations: &[Operation<'_>],
    ) -> Result<Vec<OperationId>, Refused> {
        self.machine.submit_related(tree, operations, now)
    }

    /// Sends a single message that belongs to no tree connect, or, without a session, to none of these: for who tests a server.
    ///
    /// # Errors
    /// [`Refused`].
    pub fn message(
        &mut self,
        now: Instant,
        session: Option<SessionHandle>,
        message: SingleMessage<'_>,
    ) -> Result<OperationId, Refused> {
        if let Some(session) = session {
            self.machine.live(session.0)?;
        }
        let scope = (session.map(|session| session.0), None);
        self.machine.submit_message(scope, &message, now)
    }

    /// Has an operation cancelled (3.2.4.24). It still ends in its one result: what has not been sent fails with
    /// [`Failure::Cancelled`], and otherwise the server says what came of it. Members of a compound go on until they are sent.
    ///
    /// # Errors
    /// [`Refused::Unknown`] if it has ended.
    pub fn cancel(&mut self, now: Instant, operation: OperationId) -> Result<(), Refused> {
        self.machine.cancel_operation(operation.0, now)
    }

    /// Whether READs and WRITEs of so many bytes go by RDMA in this tree connect (3.2.4.6, 3.2.4.7).
    #[must_use]
    pub fn uses_channel(&self, tree: TreeHandle, length: u64) -> bool {
        self.machine.place(tree).is_ok_and(|place| self.machine.channel(&place, length).is_some())
    }

    /// How READs, WRITEs and most other requests in a tree connect are protected: by the wish of the session, of the share, or of the
    /// configuration. `None` if the tree connect is not there any more.
    #[must_use]
    pub fn protection(&self, tree: TreeHandle) -> Option<Protection> {
        let scope = self.machine.scope(tree).ok()?;
        Some(self.machine.protection(scope, Command::READ, false))
    }

    /// The session's SessionId.
    #[must_use]
    pub fn session_id(&self, session: SessionHandle) -> Option<SessionId> {
        self.machine.live(session.0).ok().map(|session| session.id)
    }

    /// Session.ApplicationKey (3.2.4.25); `None` for guests and nobody.
    #[must_use]
    pub fn application_key(&self, session: SessionHandle) -> Option<&Secret> {
        self.machine.live(session.0).ok()?.application_key.as_ref()
    }

    /// A buffer that was to be registered is, with these descriptors, in order and together as long as it.
    ///
    /// # Errors
    /// [`Refused`], if these descriptors are not possible: then they are not used, and [`Self::not_registered`] is left.
    pub fn registered(
        &mut self,
        registration: RegistrationId,
        descriptors: &[BufferDescriptorV1],
    ) -> Result<(), Refused> {
        if self.machine.end.is_some() {
            Ok(())
        } else {
            self.machine.on_registered(registration.0, descriptors)
        }
    }

    /// A buffer that was to be registered could not be. Its operation fails.
    ///
    /// # Errors
    /// [`Refused::Unknown`].
    pub fn not_registered(&mut self, now: Instant, registration: RegistrationId) -> Result<(), Refused> {
        if self.machine.end.is_some() { Ok(()) } else { self.machine.on_not_registered(registration.0, now) }
    }

    /// The server can use a buffer no longer that was to be deregistered. If that is not possible, the connection has to end.
    ///
    /// # Errors
    /// [`Refused::Unknown`].
    pub fn deregistered(&mut self, now: Instant, registration: RegistrationId) -> Result<(), Refused> {
        if self.machine.end.is_some() { Ok(()) } else { self.machine.on_deregistered(registration.0, now) }
    }

    /// The server has invalidated a token, with the message that comes next (MS-SMBD 3.1.5.8).
    ///
    /// # Errors
    /// [`Refused::Unknown`] if it is none of a valid registration.
    pub fn invalidated(&mut self, token: Token) -> Result<(), Refused> {
        if self.machine.end.is_some() { Ok(()) } else { self.machine.on_invalidated(token) }
    }

    /// The transport connection has ended, and no memory is registered with it any more. All operations fail that have not ended.
    pub fn closed(&mut self) {
        self.machine.drained();
    }

    /// What is to be done next. `arrived` is what has come from the server; until [`Output::Idle`] it stays the same. To be called after
    /// every other call, and when the time of [`Output::Idle`] has come.
    pub fn poll<'a>(&'a mut self, now: Instant, arrived: &'a mut Arrived<'_>) -> Output<'a> {
        if arrived.is_taken()
            && let Some(due) = self.machine.idle_until(now)
        {
            return Output::Idle(Some(due));
        }
        if let Some(operation) = self.machine.first_result() {
            return self.machine.tell_first(operation);
        }
        self.turn(now, arrived)
    }

    /// A [`Self::poll`] that finds something to do.
    #[inline(never)]
    fn turn<'a>(&'a mut self, now: Instant, arrived: &'a mut Arrived<'_>) -> Output<'a> {
        let step = self.machine.poll(now, arrived);
        self.output(step, arrived)
    }

    fn output<'a>(&'a mut self, step: Step, arrived: &'a Arrived<'_>) -> Output<'a> {
        let machine = &mut *self.machine;
        let part = |start: usize, end: usize| arrived.bytes.get(start..end).unwrap_or_default();
        match step {
            Step::Negotiated => match machine.negotiated {
                Some(negotiated) => Output::Negotiated(negotiated),
                None => Output::Idle(None),
            },
            Step::Send(key) => {
                let request = machine.requests.get(key);
                let message = request.map_or([&[][..]; 2], |request| [&request.element, &request.data]);
                Output::Send { message, invalidations: request.map_or(0, |request| request.invalidations()) }
            }
            Step::SendScratch(count) => {
                let invalidations = u16::try_from(count).unwrap_or(u16::MAX);
                Output::Send { message: [&machine.scratch, &[]], invalidations }
            }
            Step::Protect(key, buffer, RdmaTransformType::ENCRYPTION) => {
                Output::Encrypt(data_part(machine, key, buffer))
            }
            Step::Protect(key, buffer, _) => Output::Sign(data_part(machine, key, buffer)),
            Step::Check(key, buffer) => Output::Check(data_part(machine, key, buffer)),
            Step::Register { key, buffer, piece: Piece { offset, len }, is_read } => {
                let access = if is_read { Access::RemoteWrite } else { Access::RemoteRead };
                Output::Register { registration: RegistrationId(key), buffer, offset, len, access }
            }
            Step::Deregister { key, is_invalidated } => {
                Output::Deregister { registration: RegistrationId(key), is_invalidated }
            }
            Step::Data { operation, offset, start, end } => {
                Output::Data { operation, offset, data: part(start, end) }
            }
            Step::Done(key) => machine.done(key),
            Step::Answer { operation, start, end } => answer(operation, part(start, end)),
            Step::Message { operation, start, end } => {
                Output::Done { operation, result: Ok(Reply::Message(part(start, end))), error: None }
            }
            Step::Unasked { start, end } => unsolicited(part(start, end)),
            Step::SessionExpired(session) => Output::SessionExpired(session),
            Step::SessionEnded(session) => Output::SessionEnded(session),
            Step::Unknown(message_id) => Output::Discarded(Discarded::UnknownMessageId(message_id)),
            Step::Late(message_id) => Output::Discarded(Discarded::Late(message_id)),
            Step::Close => match &machine.end {
                Some(end) => Output::Close(end.reason.clone()),
                None => Output::Idle(None),
            },
            Step::Idle(deadline) => Output::Idle(deadline),
        }
    }
}

fn data_part(machine: &Machine, key: Key, buffer: BufferId) -> DataPart {
    let piece = machine.requests.get(key).and_then(|request| request.piece).unwrap_or_default();
    DataPart { registration: RegistrationId(key), buffer, offset: piece.offset, len: piece.len }
}

/// What a server says unasked (3.2.5.1.2, 3.2.5.19).
fn unsolicited(element: &[u8]) -> Output<'_> {
    match (Header::parse(element), Response::parse(element)) {
        (Ok(Header { command, .. }), _) if command != Command::OPLOCK_BREAK => {
            Output::Discarded(Discarded::Unsolicited(command))
        }
        (_, Ok(Response::OplockBreak(notification))) => Output::OplockBreak(notification),
        (_, Ok(Response::LeaseBreakNotification(notification))) => Output::LeaseBreak(notification),
        (_, Ok(_)) => Output::Discarded(Discarded::Unsolicited(Command::OPLOCK_BREAK)),
        (_, Err(error)) => Output::Discarded(Discarded::Break(error)),
    }
}

/// The answer to an operation, read as what its command has (3.2.5.1.7).
fn answer(operation: OperationId, element: &[u8]) -> Output<'_> {
    let (mut error, parsed): (Option<ErrorResponse<'_>>, _) = (None, Response::parse(element));
    let result = match (Header::parse(element), parsed) {
        (Err(broken), _) | (_, Err(broken)) => Err(broken.into()),
        (Ok(header), Ok(Response::Error(body))) => {
            error = Some(body);
            Err(Failure::Status(header.status))
        }
        (Ok(header), Ok(_)) if header.status.is_error() => Err(Failure::Status(header.status)),
        (Ok(header), Ok(response)) => Ok(Reply::Answer(header.status, response)),
    };
    Output::Done { operation, result, error }
}
