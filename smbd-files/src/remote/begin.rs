//! Commands of handles begin, and their operations end.

use std::task::{Context, Poll};

use bytes::Bytes;
use smbd_core::Instant;
use smbd_smb2::client::{
    BufferId, Client, Operation, OperationId, Protection, Read, Refused, SessionHandle, TreeHandle, Write,
    WriteData,
};
use smbd_smb2::wire::{FileId, SessionId};

use super::answer::Done;
use super::command::{Command, Connected, Reply, What};
use super::commands::Commands;
use super::login::{fresh, initiator};
use super::running::{Kind, Running};
use super::settings::{PIECE_MAX, Way};
use crate::Error;
use crate::transport::{Lost, Memory};

/// Why a command does not begin.
enum Not {
    /// There is no room for it now.
    Yet,
    Ever(Error),
}

impl From<Error> for Not {
    fn from(error: Error) -> Self {
        Self::Ever(error)
    }
}

impl<M: Memory> Commands<M> {
    /// Takes the next command and begins it. Returns whether one was taken.
    pub(super) fn begin_next(
        &mut self,
        client: &mut Client,
        now: Instant,
        cx: &mut Context<'_>,
    ) -> Result<bool, Lost> {
        let command = match self.next.take() {
            Some(command) => command,
            None => match self.asked.poll_recv(cx) {
                Poll::Ready(Some(command)) => command,
                Poll::Ready(None) => return Err(Lost::because("it was closed")),
                Poll::Pending => return Ok(false),
            },
        };
        let Command { what, answer } = command;
        Ok(match self.start(client, now, &what) {
            Ok((operation, kind)) => {
                self.running.insert(operation, Running { kind, answer });
                true
            }
            Err(Not::Yet) => {
                self.next = Some(Command { what, answer });
                false
            }
            Err(Not::Ever(error)) => {
                // Whoever asked may have gone.
                let _ = answer.send(Err(error));
                true
            }
        })
    }

    fn start(&mut self, client: &mut Client, now: Instant, what: &What) -> Result<(OperationId, Kind), Not> {
        let is_busy = !self.running.is_empty();
        let begun = match what {
            What::Login(user) => {
                if client.negotiated().is_none() {
                    return Err(Not::Yet);
                }
                let fresh = fresh()?;
                let begun = client.login(now, initiator(user, &self.server), fresh, SessionId::NONE);
                begun.map(|operation| (operation, Kind::Login(user.clone())))
            }
            What::Logoff(session) => client.logoff(now, *session).map(plain),
            What::Connect(session, path) => client.connect(now, *session, path).map(plain),
            What::Disconnect(tree) => client.disconnect(now, *tree).map(plain),
            What::File(tree, request) => client.submit(now, *tree, &request.operation()).map(plain),
            What::Read { tree, file_id, offset, len } => {
                return self.start_read((client, now), *tree, *file_id, (*offset, *len));
            }
            What::Write { tree, file_id, offset, data } => {
                return self.start_write((client, now), *tree, *file_id, (*offset, data));
            }
        };
        begun.map_err(|refused| not(refused, is_busy))
    }

    fn start_read(
        &mut self,
        (client, now): (&mut Client, Instant),
        tree: TreeHandle,
        file_id: FileId,
        (offset, len): (u64, u32),
    ) -> Result<(OperationId, Kind), Not> {
        let buffer = self.buffer(client, tree, len.into())?;
        let read = Read { file_id, offset, length: len.into(), buffer, ..Read::default() };
        let begun = client.submit(now, tree, &Operation::Read(read));
        let operation = self.or_give_back(buffer, begun)?;
        Ok((operation, Kind::Read { len: len as usize, data: Vec::new(), buffer }))
    }

    fn start_write(
        &mut self,
        (client, now): (&mut Client, Instant),
        tree: TreeHandle,
        file_id: FileId,
        (offset, data): (u64, &Bytes),
    ) -> Result<(OperationId, Kind), Not> {
        let buffer = self.buffer(client, tree, data.len() as u64)?;
        let is_encrypted = client.protection(tree) == Some(Protection::Encrypted);
        let filled = buffer.map_or(Ok(()), |buffer| self.pool.fill(buffer, data, is_encrypted));
        let begun = match filled {
            Ok(()) => {
                let data = WriteData::Bytes(data.clone(), buffer);
                let write = Write { file_id, offset, flags: smbd_smb2::wire::WriteFlags(0), data };
                client.submit(now, tree, &Operation::Write(write))
            }
            Err(error) => {
                self.give_back(buffer);
                return Err(Not::Ever(error.into()));
            }
        };
        let operation = self.or_give_back(buffer, begun)?;
        Ok((operation, Kind::Write { buffer }))
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

    fn or_give_back(
        &mut self,
        buffer: Option<BufferId>,
        begun: Result<OperationId, Refused>,
    ) -> Result<OperationId, Not> {
        if begun.is_err() {
            self.give_back(buffer);
        }
        begun.map_err(|refused| not(refused, !self.running.is_empty()))
    }

    fn give_back(&mut self, buffer: Option<BufferId>) {
        if let Some(buffer) = buffer {
            self.pool.give_back(buffer);
        }
    }

    /// Authenticates the user of a session again (3.2.5.1.6). Whether that succeeds is seen by what waits for it.
    pub(super) fn authenticate(
        &mut self,
        client: &mut Client,
        now: Instant,
        session: SessionHandle,
    ) -> Result<(), Lost> {
        let Some(user) = self.users.get(&session) else { return Ok(()) };
        let begun =
            fresh().map(|fresh| client.reauthenticate(now, session, initiator(user, &self.server), fresh));
        match begun {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(_)) | Err(_) => {
                Err(Lost::because("a session has expired, and its user cannot be authenticated again"))
            }
        }
    }

    /// An operation has ended.
    pub(super) fn answer(&mut self, client: &Client, operation: OperationId, result: Result<Done, Error>) {
        // One of nobody's is the authentication of a session that had expired.
        let Some(Running { kind, answer }) = self.running.remove(&operation) else { return };
        let result = match (result, kind) {
            (Err(error), Kind::Read { buffer, .. } | Kind::Write { buffer }) => {
                self.give_back(buffer);
                Err(error)
            }
            (Err(error), Kind::Plain | Kind::Login(_)) => Err(error),
            (Ok(Done::Session(session)), Kind::Login(user)) => {
                self.users.insert(session, user);
                Ok(Reply::Session(session))
            }
            (Ok(Done::Read(count)), Kind::Read { len, data, buffer }) => self.read(count, len, data, buffer),
            (Ok(Done::Reply(reply)), Kind::Write { buffer }) => {
                self.give_back(buffer);
                Ok(reply)
            }
            (Ok(Done::Reply(reply)), _) => Ok(reply),
            (Ok(Done::Tree(tree)), _) => Ok(Reply::Tree(self.connected(client, tree))),
            (Ok(Done::Session(_) | Done::Read(_)), _) => Err(Error::Answer("any that was sent")),
        };
        // After the connection's end that is the reason, whatever it was for the operation.
        let result = match result {
            Err(Error::Failure(smbd_smb2::client::Failure::Closed)) => Err(Error::Ended(self.why_ended())),
            other => other,
        };
        // Whoever asked may have gone.
        let _ = answer.send(result);
    }

    /// The data of a READ.
    fn read(
        &mut self,
        count: u64,
        len: usize,
        mut data: Vec<u8>,
        buffer: Option<BufferId>,
    ) -> Result<Reply, Error> {
        let count = usize::try_from(count).unwrap_or(usize::MAX).min(len);
        if let Some(buffer) = buffer {
            let brought = self.pool.read(buffer, count);
            self.pool.give_back(buffer);
            data = brought?;
        }
        data.truncate(count);
        Ok(Reply::Data(data.into()))
    }

    fn connected(&self, client: &Client, tree: TreeHandle) -> Connected {
        let limits = self.limits;
        let negotiated = client.negotiated();
        let (read_max, write_max) =
            negotiated.map_or((PIECE_MAX, PIECE_MAX), |it| (it.max_read_size, it.max_write_size));
        let protection = client.protection(tree).unwrap_or(Protection::None);
        let uses_channel = client.uses_channel(tree, PIECE_MAX.into());
        let way = match limits.rdma {
            Some(_) if uses_channel => Way::Rdma(protection),
            Some(_) => Way::RdmaMessages(protection),
            None => Way::Tcp(protection),
        };
        let rdma = limits.rdma.filter(|_| uses_channel).map_or(PIECE_MAX, |rdma| rdma.max_read_write);
        let max = |server: u32| server.min(rdma).clamp(1, PIECE_MAX);
        Connected { tree, way, read_max: max(read_max), write_max: max(write_max) }
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
