//! Commands of handles begin.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use smbd_core::Instant;
use smbd_smb2::client::{
    BufferId, Client, Operation, OperationId, Protection, Read, Refused, SessionHandle, TreeExport,
    TreeHandle, Write, WriteData,
};
use smbd_smb2::wire::{FileId, SessionId};

use super::buffer::Allocation;
use super::channels::Command;
use super::command::{Bindable, Reply, Request, What};
use super::commands::Commands;
use super::login::{fresh, initiator, leaving};
use super::running::{Kind, Running};
use super::settings::PIECE_MAX;
use super::surroundings::Surroundings;
use crate::Error;
use crate::Lost;
use smbd_core::backend::OutOfMemory;
use smbd_link::transport::Memory;

/// Why a command does not begin.
enum Not {
    /// There is no room for it now.
    Yet,
    Ever(Error),
}

/// What comes of a command that begins.
enum Begun {
    Running(OperationId, Kind),
    /// It is over.
    Over(Reply),
}

const NO_SESSION: Refused = Refused::Unknown("the session");

impl From<Error> for Not {
    fn from(error: Error) -> Self {
        Self::Ever(error)
    }
}

impl<M: Memory + Clone, S: Surroundings> Commands<M, S> {
    /// Takes the next command and begins it. Returns whether one was taken.
    pub(super) fn begin_next(
        &mut self,
        client: &mut Client,
        now: Instant,
        cx: &mut Context<'_>,
    ) -> Result<bool, Lost> {
        let Some(mut command) = self.next_command(cx)? else { return Ok(false) };
        self.tell_sequence(client, &command);
        Ok(match self.start(client, now, &mut command) {
            Ok(Begun::Running(operation, kind)) => {
                self.running.insert(operation, Running { kind, command });
                true
            }
            Ok(Begun::Over(reply)) => {
                command.answer(Ok(reply));
                true
            }
            Err(Not::Yet) => {
                self.next = Some(command);
                false
            }
            Err(Not::Ever(error)) => {
                command.answer(Err(error));
                true
            }
        })
    }

    /// The next command: first what has waited, then what another connection has left.
    fn next_command(&mut self, cx: &mut Context<'_>) -> Result<Option<Command>, Lost> {
        if let Some(command) = self.next.take().or_else(|| self.later.next(cx)) {
            return Ok(Some(command));
        }
        if let Poll::Ready(Some(command)) = self.inlet.moved.poll_recv(cx) {
            return Ok(Some(command));
        }
        match self.inlet.asked.poll_recv(cx) {
            Poll::Ready(Some(command)) => Ok(Some(command)),
            Poll::Ready(None) => Err(Lost::because("it was closed")),
            Poll::Pending => Ok(None),
        }
    }

    /// Tells the client how many connections the session of a command has lost (3.2.7.1).
    fn tell_sequence(&mut self, client: &mut Client, command: &Command) {
        let sequence = command.home().map_or(0, |home| home.sequence());
        let Some(id) = command.what.session().filter(|_| sequence > 0) else { return };
        if self.sequences.get(&id) != Some(&sequence)
            && let Some(session) = self.sessions.get(&id)
        {
            // A server that does not look at it has no other connections.
            let _ = client.set_channel_sequence(*session, sequence);
            self.sequences.insert(id, sequence);
        }
    }

    fn start(&mut self, client: &mut Client, now: Instant, command: &mut Command) -> Result<Begun, Not> {
        let is_busy = !self.running.is_empty();
        let is_replay = command.is_replay;
        let begun = match &mut command.what {
            What::Login(user, key) => {
                if client.negotiated().is_none() {
                    return Err(Not::Yet);
                }
                let fresh = fresh(&self.surroundings)?;
                let initiator = match key {
                    Some(place) => leaving(user, &self.server, place),
                    None => initiator(user, &self.server),
                };
                let begun = client.login(now, initiator, fresh, SessionId::NONE);
                begun.map(|operation| (operation, Kind::Login(user.clone())))
            }
            What::Export(id) => return self.export(client, *id).map(Begun::Over),
            What::Bind(bindable) => {
                let Some(session) = bindable.as_ref().map(|it| &it.session) else {
                    return Err(Error::Refused(NO_SESSION).into());
                };
                if client.negotiated().is_none() {
                    return Err(Not::Yet);
                }
                client.can_bind(session).map_err(|refused| not(refused, is_busy))?;
                let (fresh, bindable) = (fresh(&self.surroundings)?, bindable.take());
                let bound = bindable.map_or(Err(NO_SESSION), |bindable| {
                    client.bind(now, bindable.session, initiator(&bindable.user, &self.server), fresh)
                });
                bound.map(|operation| (operation, Kind::Bind))
            }
            What::Logoff(id) => self.session(*id).and_then(|session| client.logoff(now, session)).map(plain),
            What::Connect(id, path) => {
                self.session(*id).and_then(|session| client.connect(now, session, path)).map(plain)
            }
            What::Disconnect(tree) => {
                let handle = self.tree(client, tree);
                self.trees.remove(tree);
                handle.and_then(|tree| client.disconnect(now, tree)).map(plain)
            }
            What::File(tree, request) => {
                // What is opened twice is closed with the session.
                let is_replay = is_replay && !matches!(request, Request::Open(_));
                let operation = request.operation();
                let handle = self.tree(client, tree);
                handle.and_then(|tree| submit(client, now, tree, &operation, is_replay)).map(plain)
            }
            What::Read { tree, file_id, offset, len } => {
                let place = (*file_id, *offset, is_replay);
                let tree = self.tree(client, tree).map_err(Error::Refused)?;
                return self.start_read((client, now), tree, place, *len);
            }
            What::Write { tree, file_id, offset, data } => {
                let place = (*file_id, *offset, is_replay);
                let tree = self.tree(client, tree).map_err(Error::Refused)?;
                return self.start_write((client, now), tree, place, data);
            }
            What::Allocate(len) => return self.allocate(*len).map(Begun::Over),
            What::ReadInto { tree, file_id, offset, len, buffer } => {
                let place = (*file_id, *offset, is_replay);
                let tree = self.tree(client, tree).map_err(Error::Refused)?;
                return self.read_into((client, now), tree, place, (*len, buffer));
            }
            What::WriteFrom { tree, file_id, offset, len, buffer } => {
                let place = (*file_id, *offset, is_replay);
                let tree = self.tree(client, tree).map_err(Error::Refused)?;
                return self.write_from((client, now), tree, place, (*len, buffer));
            }
        };
        let begun = begun.map_err(|refused| not(refused, is_busy));
        begun.map(|(operation, kind)| Begun::Running(operation, kind))
    }

    /// Gives a session away, for another connection.
    fn export(&self, client: &mut Client, id: SessionId) -> Result<Reply, Not> {
        let session = self.session(id).map_err(Error::Refused)?;
        let user = self.users.get(&session).ok_or(Error::Refused(NO_SESSION))?.clone();
        let session = client.export(session).map_err(Error::Refused)?;
        Ok(Reply::Bindable(Box::new(Bindable { session, user })))
    }

    fn session(&self, id: SessionId) -> Result<SessionHandle, Refused> {
        self.sessions.get(&id).copied().ok_or(NO_SESSION)
    }

    /// A tree connect of a session: one that another connection has made is known here as well.
    fn tree(&mut self, client: &mut Client, tree: &TreeExport) -> Result<TreeHandle, Refused> {
        if let Some(handle) = self.trees.get(tree) {
            return Ok(*handle);
        }
        let handle = client.share_tree(self.session(tree.session_id())?, tree)?;
        self.trees.insert(*tree, handle);
        Ok(handle)
    }

    /// New memory for the caller: such as the device knows, if data go by RDMA.
    fn allocate(&mut self, len: u32) -> Result<Reply, Not> {
        if len == 0 || len > PIECE_MAX {
            return Err(Error::from(OutOfMemory { len }).into());
        }
        if self.limits.rdma.is_none() {
            return Ok(Reply::Allocated(Allocation::plain(len).map_err(Error::from)?));
        }
        let (buffer, memory) = self.pool.allocate(len).map_err(Error::from)?;
        Ok(Reply::Allocated(Allocation { len, memory, home: Some((Arc::clone(&self.inlet.ended), buffer)) }))
    }

    /// The caller's buffer, if its data can go by RDMA as they are there: neither signed nor encrypted.
    fn own(&self, client: &Client, tree: TreeHandle, (len, buffer): (u32, &Allocation)) -> Option<BufferId> {
        let is_plain = client.protection(tree) == Some(Protection::None);
        let buffer = buffer.at(&self.inlet.ended).filter(|_| len <= buffer.len)?;
        (is_plain && client.uses_channel(tree, len.into())).then_some(buffer)
    }

    fn read_into(
        &mut self,
        (client, now): (&mut Client, Instant),
        tree: TreeHandle,
        place: (FileId, u64, bool),
        (len, buffer): (u32, &Allocation),
    ) -> Result<Begun, Not> {
        let len = len.min(buffer.len);
        let own = self.own(client, tree, (len, buffer));
        // By RDMA, but not into this memory: it is another device's, or the data are signed or encrypted.
        if own.is_none() && client.uses_channel(tree, len.into()) {
            return self.start_read((client, now), tree, place, len);
        }
        let (file_id, offset, is_replay) = place;
        let read = Read { file_id, offset, length: len.into(), buffer: own, ..Read::default() };
        self.running((client, now), tree, (&Operation::Read(read), is_replay), (None, Kind::Into { len }))
    }

    fn write_from(
        &mut self,
        (client, now): (&mut Client, Instant),
        tree: TreeHandle,
        place: (FileId, u64, bool),
        (len, buffer): (u32, &Allocation),
    ) -> Result<Begun, Not> {
        let len = len.min(buffer.len);
        let Some(own) = self.own(client, tree, (len, buffer)) else {
            let (data, copied) = self.chunks.write(|out| buffer.memory.append_to(0, len, out));
            copied.map_err(Error::from)?;
            return self.start_write((client, now), tree, place, &data.freeze());
        };
        let (file_id, offset, is_replay) = place;
        let data = WriteData::Buffer(own, len.into());
        let write = Write { file_id, offset, flags: smbd_smb2::wire::WriteFlags(0), data };
        let kind = Kind::Write { buffer: None };
        self.running((client, now), tree, (&Operation::Write(write), is_replay), (None, kind))
    }

    fn start_read(
        &mut self,
        (client, now): (&mut Client, Instant),
        tree: TreeHandle,
        (file_id, offset, is_replay): (FileId, u64, bool),
        len: u32,
    ) -> Result<Begun, Not> {
        let buffer = self.buffer(client, tree, len.into())?;
        let read = Read { file_id, offset, length: len.into(), buffer, ..Read::default() };
        let kind = Kind::Read { len: len as usize, data: Vec::new(), buffer };
        self.running((client, now), tree, (&Operation::Read(read), is_replay), (buffer, kind))
    }

    fn start_write(
        &mut self,
        (client, now): (&mut Client, Instant),
        tree: TreeHandle,
        (file_id, offset, is_replay): (FileId, u64, bool),
        data: &Bytes,
    ) -> Result<Begun, Not> {
        let buffer = self.buffer(client, tree, data.len() as u64)?;
        let is_encrypted = client.protection(tree) == Some(Protection::Encrypted);
        if let Some(taken) = buffer {
            let filled = self.pool.fill(taken, data, is_encrypted);
            filled.inspect_err(|_| self.give_back(buffer)).map_err(Error::from)?;
        }
        let data = WriteData::Bytes(data.clone(), buffer);
        let write = Write { file_id, offset, flags: smbd_smb2::wire::WriteFlags(0), data };
        let kind = Kind::Write { buffer };
        self.running((client, now), tree, (&Operation::Write(write), is_replay), (buffer, kind))
    }

    /// A buffer for so many bytes, if they go by RDMA.
    fn buffer(&mut self, client: &Client, tree: TreeHandle, len: u64) -> Result<Option<BufferId>, Not> {
        if !client.uses_channel(tree, len) {
            return Ok(None);
        }
        match self.pool.take() {
            Ok(Some(buffer)) => Ok(Some(buffer)),
            Ok(None) => Err(Not::Yet),
            Err(error) => Err(Not::Ever(error.into())),
        }
    }

    /// Submits an operation. Its buffer is given back if it does not begin.
    fn running(
        &mut self,
        (client, now): (&mut Client, Instant),
        tree: TreeHandle,
        (operation, is_replay): (&Operation<'_>, bool),
        (buffer, kind): (Option<BufferId>, Kind),
    ) -> Result<Begun, Not> {
        match submit(client, now, tree, operation, is_replay) {
            Ok(operation) => Ok(Begun::Running(operation, kind)),
            Err(refused) => {
                self.give_back(buffer);
                Err(not(refused, !self.running.is_empty()))
            }
        }
    }

    pub(super) fn give_back(&mut self, buffer: Option<BufferId>) {
        if let Some(buffer) = buffer {
            self.pool.give_back(buffer);
        }
    }
}

/// Submits an operation, or one again that was under way on a connection that is lost.
fn submit(
    client: &mut Client,
    now: Instant,
    tree: TreeHandle,
    operation: &Operation<'_>,
    is_replay: bool,
) -> Result<OperationId, Refused> {
    match is_replay {
        true => client.replay(now, tree, operation),
        false => client.submit(now, tree, operation),
    }
}

const fn plain(operation: OperationId) -> (OperationId, Kind) {
    (operation, Kind::Plain)
}

/// Whether a command that was refused may begin later: when something ends.
const fn not(refused: Refused, is_busy: bool) -> Not {
    match refused {
        Refused::NotNegotiated => Not::Yet,
        Refused::Full(_) if is_busy => Not::Yet,
        other => Not::Ever(Error::Refused(other)),
    }
}
