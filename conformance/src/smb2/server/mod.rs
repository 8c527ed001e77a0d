//! An SMB2 server without I/O, for one connection: what a client needs to mount, list, read and write, and no more.
//!
//! A [`Server`] takes the messages of a client and says what comes of them. Everything but READ and WRITE it answers itself.
//! READs and WRITEs it hands out with their channels and buffer descriptors, and the caller says when and how they are
//! answered: with what [`serve_read`](Server::serve_read) and [`serve_write`](Server::serve_write) do for a plain file server, or
//! otherwise.
//!
//! Whoever authenticates by NTLMSSP is let in as a guest, so nothing is signed and nothing encrypted; unless there is a user who is let
//! in by a password ([`Secured`]). The files are in memory ([`Files`]), in one folder. There are no leases, no oplocks, no durable opens, no share modes and no locks, and nothing is
//! carried out later.

#![deny(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unreachable,
    clippy::unwrap_used
)]
#![cfg_attr(
    test,
    allow(
        clippy::arithmetic_side_effects,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::unwrap_used,
        reason = "a test that panics has failed"
    )
)]

mod authentication;
mod bad;
mod create;
mod data;
mod directory;
mod dispatch;
mod files;
mod info;
mod ioctl;
mod negotiate;
mod options;
mod record;
mod request;
mod security;
mod session;
mod simple;
mod state;
#[cfg(test)]
mod tests;

use smbd_smb2::security::{SecurityError, SessionKeys};
use smbd_smb2::wire::{Dialect, Message, NtStatus, Smb1Negotiate, header};

pub use bad::BadMessage;
pub use data::{Cover, Read, ReadAnswer, Transfer, Write, WriteAnswer};
pub use files::{FILES_MAX, FileError, Files, LEN_MAX, NAME_MAX, STORED_MAX};
pub use options::Options;
pub use security::Secured;
pub use state::{OPENS_MAX, SESSIONS_MAX, TREES_MAX};

use super::client::Protection;
use dispatch::{Before, Outcome};
use request::Reply;
use state::{Failed, State};

/// What may come before and behind the data of a WRITE or SET_INFO (3.3.5.2).
const AROUND_DATA: usize = 256;
/// Longest message of other commands, in bytes (3.3.5.2).
const SMALL_MAX: usize = 68 << 10;

/// What comes of a message of the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Served {
    /// This is to be sent: one message.
    Answer(Vec<u8>),
    /// A READ, to be answered with [`Server::answer_read`].
    Read(Box<Read>),
    /// A WRITE, to be answered with [`Server::answer_write`].
    Write(Box<Write>),
}

/// The server's side of one connection.
#[derive(Debug)]
pub struct Server {
    state: State,
}

impl Server {
    /// The server of a connection on which nothing has come yet.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self { state: State::new(options) }
    }

    /// Takes one message of the client, which can be a compound, and returns what comes of it, in order. The answers to the
    /// elements of a compound are one message, but not around a READ or WRITE. A CANCEL has no answer.
    ///
    /// # Errors
    /// The connection has to end, and nothing is to be answered.
    pub fn take(&mut self, message: &[u8]) -> Result<Vec<Served>, BadMessage> {
        let Some(security) = &mut self.state.security else { return self.served(message) };
        let plain = security.open(message)?;
        let mut served = self.served(&plain)?;
        for one in &mut served {
            if let (Served::Answer(answer), Some(security)) = (one, &mut self.state.security) {
                *answer = security.protect(std::mem::take(answer));
            }
        }
        Ok(served)
    }

    fn served(&mut self, message: &[u8]) -> Result<Vec<Served>, BadMessage> {
        let elements = match Message::parse(message)? {
            Message::Smb2(elements) => elements,
            Message::Smb1Negotiate(negotiate) => return self.negotiate_in_smb1(&negotiate),
            Message::Transform(_) | Message::Compressed(_) | Message::Other(_) => {
                // Of fewer bytes nobody can say what they are.
                let protocol = header::field::PROTOCOL_ID.get(message)?;
                return Err(BadMessage::Protocol(protocol));
            }
        };
        let options = &self.state.options;
        let max = options.max_transact.max(options.max_write) as usize;
        let max = max.saturating_add(AROUND_DATA).max(SMALL_MAX);
        if message.len() > max {
            return Err(BadMessage::TooLong { len: message.len(), max });
        }
        let (mut served, mut replies, mut before) = (Vec::new(), Vec::new(), Before::default());
        for element in elements {
            match dispatch::element(&mut self.state, &element?, &mut before)? {
                Outcome::Reply(reply) => replies.push(reply),
                Outcome::Read(read) => {
                    served.extend(joined(&mut replies));
                    served.push(Served::Read(read));
                }
                Outcome::Write(write) => {
                    served.extend(joined(&mut replies));
                    served.push(Served::Write(write));
                }
                Outcome::Nothing => {}
            }
        }
        served.extend(joined(&mut replies));
        Ok(served)
    }

    fn negotiate_in_smb1(&mut self, negotiate: &Smb1Negotiate<'_>) -> Result<Vec<Served>, BadMessage> {
        match negotiate::in_smb1(&mut self.state, negotiate) {
            Ok(reply) => Ok(vec![Served::Answer(reply.bytes)]),
            Err(Failed::End(bad)) => Err(bad),
            Err(Failed::With(_)) => Ok(Vec::new()),
        }
    }

    /// The bytes that a READ gets from its file.
    ///
    /// # Errors
    /// The status of the answer: the request is refused ([`Transfer::refusal`]), the file has gone, or STATUS_END_OF_FILE.
    pub fn serve_read(&self, read: &Read) -> Result<Vec<u8>, NtStatus> {
        data::bytes_of(&self.state, read)
    }

    /// Puts the data of a WRITE into its file: those of the request, or those that came by RDMA. Returns their number.
    ///
    /// # Errors
    /// The status of the answer: the request is refused, the file has gone, or there is no room.
    pub fn serve_write(&mut self, write: &Write, data: &[u8]) -> Result<u32, NtStatus> {
        data::store(&mut self.state, write, data)
    }

    /// The answer to a READ. It is sent with invalidation of [`Transfer::invalidates`].
    pub fn answer_read(&mut self, read: &Read, with: ReadAnswer<'_>) -> Vec<u8> {
        let answer = self.plain_answer(read, with);
        self.protected(&read.transfer, answer)
    }

    /// The same before it is protected.
    pub fn plain_answer(&mut self, read: &Read, with: ReadAnswer<'_>) -> Vec<u8> {
        let answer = data::answer_read(read, with);
        self.finished(&read.transfer, answer)
    }

    /// Protects an answer in any way.
    pub fn protect_as(&mut self, answer: Vec<u8>, protection: Protection) -> Vec<u8> {
        match &mut self.state.security {
            Some(security) => security.protect_as(answer, protection, false),
            None => answer,
        }
    }

    /// The keys of a user's session, once there are any.
    pub fn keys(&mut self) -> Option<&mut SessionKeys> {
        self.state.security.as_mut()?.keys_mut()
    }

    /// What the server would choose of a client's offers and does not find.
    #[must_use]
    pub fn lacks(&self) -> Option<&str> {
        self.state.security.as_ref()?.lacks().map(String::as_str)
    }

    /// Makes the data of a WRITE what they were before the client signed or encrypted them.
    ///
    /// # Errors
    /// They are not what a client with the session's keys has signed or encrypted.
    pub fn uncover(&self, write: &Write, data: &mut [u8]) -> Result<(), SecurityError> {
        let keys = self.state.security.as_ref().and_then(|security| security.keys());
        data::uncover(&write.transfer, keys, data)
    }

    /// The answer to a WRITE. It is sent with invalidation of [`Transfer::invalidates`].
    pub fn answer_write(&mut self, write: &Write, with: WriteAnswer) -> Vec<u8> {
        let answer = data::answer_write(&mut self.state, write, with);
        let answer = self.finished(&write.transfer, answer);
        self.protected(&write.transfer, answer)
    }

    fn protected(&mut self, transfer: &Transfer, answer: Vec<u8>) -> Vec<u8> {
        match &mut self.state.security {
            Some(security) => security.protect_late(answer, transfer.header()),
            None => answer,
        }
    }

    fn finished(&mut self, transfer: &Transfer, answer: Result<Reply, Failed>) -> Vec<u8> {
        let header = transfer.header();
        let status = match answer {
            Ok(mut reply) => {
                dispatch::grant(&mut self.state, header, &mut reply);
                return reply.bytes;
            }
            Err(Failed::With(status)) => status,
            Err(Failed::End(_)) => NtStatus::INTERNAL_ERROR,
        };
        dispatch::failure(&mut self.state, header, status).bytes
    }

    /// The files of the share.
    #[must_use]
    pub const fn files(&self) -> &Files {
        &self.state.files
    }

    /// The files of the share, to change them.
    pub const fn files_mut(&mut self) -> &mut Files {
        &mut self.state.files
    }

    /// The dialect that was agreed on; `None` before.
    #[must_use]
    pub fn dialect(&self) -> Option<Dialect> {
        self.state.agreed().map(|agreed| agreed.dialect)
    }

    /// How many files, and the folder, are open in all sessions.
    #[must_use]
    pub fn opens(&self) -> usize {
        self.state.sessions.values().map(|session| session.opens.len()).sum()
    }

    /// How many sessions there are, with those that are being set up.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.state.sessions.len()
    }
}

/// Makes one message of the answers to a compound (3.3.4.1.3); none if there are none.
fn joined(replies: &mut Vec<Reply>) -> Option<Served> {
    let mut message: Vec<u8> = Vec::new();
    let mut last = None;
    for reply in replies.drain(..) {
        let start = message.len().next_multiple_of(8);
        if let Some(last) = last.replace(start) {
            message.resize(start, 0);
            if let Some(element) = message.get_mut(last..) {
                // It has a header.
                let next = u32::try_from(start.saturating_sub(last)).unwrap_or(0);
                let _ = header::field::NEXT_COMMAND.set(element, next);
            }
        }
        message.extend(reply.bytes);
    }
    last.map(|_| Served::Answer(message))
}
