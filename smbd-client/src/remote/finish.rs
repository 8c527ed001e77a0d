//! Operations of commands end.

use smbd_core::Instant;
use smbd_smb2::client::{
    BufferId, Client, Failure, OperationId, Protection, Refused, SessionHandle, TreeHandle,
};
use smbd_smb2::wire::NtStatus;

use super::answer::Done;
use super::channels::Command;
use super::command::{Connected, Reply};
use super::commands::Commands;
use super::login::{fresh, initiator};
use super::running::{Kind, Running};
use super::settings::PIECE_MAX;
use super::surroundings::Surroundings;
use crate::Error;
use crate::Lost;
use smbd_link::transport::Memory;

impl<M: Memory + Clone, S: Surroundings> Commands<M, S> {
    /// Authenticates the user of a session again (3.2.5.1.6). Whether that succeeds is seen by what waits for it.
    pub(super) fn authenticate(
        &mut self,
        client: &mut Client,
        now: Instant,
        session: SessionHandle,
    ) -> Result<(), Lost> {
        let Some(user) = self.users.get(&session) else {
            // Its first connection sees it too, where what was under way here goes on.
            return Err(Lost::because("a session has expired that was bound to this connection"));
        };
        let begun = fresh(&self.surroundings)
            .map(|fresh| client.reauthenticate(now, session, initiator(user, &self.server), fresh));
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
        let Some(Running { kind, command }) = self.running.remove(&operation) else { return };
        let result = match (result, kind) {
            (Err(error), Kind::Read { buffer, .. } | Kind::Write { buffer }) => {
                self.give_back(buffer);
                Err(error)
            }
            (Err(error), Kind::Plain | Kind::Login(_) | Kind::Bind | Kind::Into { .. }) => Err(error),
            (Ok(Done::Session(session)), Kind::Login(user)) => {
                self.users.insert(session, user);
                self.logged_in(client, session)
            }
            (Ok(Done::Session(session)), Kind::Bind) => self.logged_in(client, session),
            (Ok(Done::Read(count)), Kind::Read { len, data, buffer }) => {
                let data = self.read(count, len, data, buffer);
                data.and_then(|data| match command.what.buffer() {
                    Some(into) => {
                        into.memory.fill(0, &data).map(|()| filled(data.len() as u64)).map_err(Error::from)
                    }
                    None => Ok(Reply::Data(data.into())),
                })
            }
            (Ok(Done::Read(count)), Kind::Into { len }) => Ok(filled(count.min(len.into()))),
            (Ok(Done::Reply(reply)), Kind::Write { buffer }) => {
                self.give_back(buffer);
                Ok(reply)
            }
            (Ok(Done::Reply(reply)), _) => Ok(reply),
            (Ok(Done::Tree(tree)), _) => self.connected(client, tree).map(Reply::Tree),
            (Ok(Done::Session(_) | Done::Read(_)), _) => Err(Error::Answer("any that was sent")),
        };
        match result {
            // After the connection's end that is the reason, whatever it was for the operation.
            Err(Error::Failure(Failure::Closed)) => command.go_on(true, self.why_ended()),
            Err(Error::Failure(Failure::Unsent)) => command.go_on(false, self.why_ended()),
            Err(Error::Status(NtStatus::FILE_NOT_AVAILABLE)) if command.can_wait() => self.put_off(command),
            // It was closed on the connection that is lost.
            Err(Error::Status(NtStatus::FILE_CLOSED)) if command.closes_again() => {
                command.answer(Ok(Reply::Nothing));
            }
            other => command.answer(other),
        }
    }

    /// The server has not ended yet what a lost connection has left there, or has heard of the loss on another one first (3.2.5.12).
    fn put_off(&mut self, mut command: Command) {
        command.is_replay = true;
        if let Some(command) = self.later.put(command) {
            command.answer(Err(Error::Status(NtStatus::FILE_NOT_AVAILABLE)));
        }
    }

    fn logged_in(&mut self, client: &Client, session: SessionHandle) -> Result<Reply, Error> {
        let id = client.session_id(session).ok_or(Error::Refused(Refused::Unknown("the session")))?;
        self.sessions.insert(id, session);
        if let Some(negotiated) = client.negotiated() {
            self.inlet.carries.negotiated(negotiated.rdma_transforms);
        }
        Ok(Reply::Session(id))
    }

    /// The data of a READ.
    fn read(
        &mut self,
        count: u64,
        len: usize,
        mut data: Vec<u8>,
        buffer: Option<BufferId>,
    ) -> Result<Vec<u8>, Error> {
        let count = usize::try_from(count).unwrap_or(usize::MAX).min(len);
        if let Some(buffer) = buffer {
            let brought = self.pool.read(buffer, count);
            self.pool.give_back(buffer);
            data = brought?;
        }
        data.truncate(count);
        Ok(data)
    }

    fn connected(&mut self, client: &Client, handle: TreeHandle) -> Result<Connected, Error> {
        let tree = client.export_tree(handle)?;
        self.trees.insert(tree, handle);
        let limits = self.limits;
        let negotiated = *client.negotiated().ok_or(Refused::NotNegotiated)?;
        let protection = client.protection(handle).unwrap_or(Protection::None);
        let uses_channel = client.uses_channel(handle, PIECE_MAX.into());
        let rdma = limits.rdma.filter(|_| uses_channel).map_or(PIECE_MAX, |rdma| rdma.max_read_write);
        let max = |server: u32| server.min(rdma).clamp(1, PIECE_MAX);
        let (read_max, write_max) = (max(negotiated.max_read_size), max(negotiated.max_write_size));
        let way = self.inlet.carries.way(protection);
        Ok(Connected { tree, protection, way, negotiated, read_max, write_max })
    }
}

/// No buffer has more bytes than a u32 counts.
fn filled(count: u64) -> Reply {
    Reply::Filled(u32::try_from(count).unwrap_or(u32::MAX))
}
