//! A server of SMB2 with RDMA channels, without I/O.
//!
//! [`Connection`] is one connection of a [`Server`], which many share. It is given whole messages
//! ([`Connection::received`]), what came of operations on files ([`Connection::completed`]) and of transfers
//! ([`Connection::rdma_done`]), and says what to do ([`Connection::poll`]): send a message, move data by RDMA, carry out an operation on
//! a file. It does no I/O; time and entropy come in as arguments. Whoever drives it carries out operations at once, or in threads.
//!
//! [`FileSystem`] is what can be served, [`Files`] carries operations out on it, and [`Memory`] is such a file system in memory.
//!
//! # What it does
//!
//! | subject | | section |
//! |---|---|---|
//! | dialects | 3.0, 3.0.2, 3.1.1; a client of SMB1 that offers SMB 2.??? is answered | 3.3.5.3, 3.3.5.4 |
//! | users | NTLMv2 in SPNEGO; guests and anonymous users only if the configuration lets them in | 3.3.5.5 |
//! | signatures | whatever is signed is answered signed; required by the configuration, or by the client | 3.3.4.1.1, 3.3.5.2.4 |
//! | encryption | of the whole server or of a share: whatever is not encrypted is refused there | 3.3.5.2.9, 3.3.5.2.11 |
//! | channel | RDMA_V1 and RDMA_V1_INVALIDATE, several buffers; every final answer invalidates, an interim one does not | 3.3.5.12, 3.3.5.13 |
//! | transforms | data of a READ get the one by which its request is protected, those of a WRITE are looked at before a file is written | 2.2.43 |
//! | compounds | related ones are answered in one message, others each in its own | 3.3.5.2.7 |
//! | credits | as many as a client asks for, within the limit; never none | 3.3.1.2 |
//! | asynchronous | CHANGE_NOTIFY, and whatever the driver says may take long ([`Connection::prolong`]) | 3.3.4.2 |
//!
//! Declined: leases, oplocks and durable handles (no context comes back), multichannel, compression, DFS, pipes. IPC$ can be connected,
//! and nothing in it opened. No change of a directory is told: CHANGE_NOTIFY waits until it is cancelled, or the directory closed.
//!
//! # Decisions
//!
//! - Session.SigningRequired is what the client or the configuration requires. The last "Otherwise" of 3.3.5.5.3 would require it
//!   always, which no server does.
//! - In a compound of related requests, a CREATE that fails makes those behind it fail with its status. Any other that fails does not: a
//!   CLOSE at the end closes (3.3.5.2.7.2 leaves it open).
//! - A request that is not related, behind related ones, begins another chain, as Windows has it (3.3.5.2.7).
//! - One that has to wait is waited for in a compound too; only CHANGE_NOTIFY has to be the last (3.3.5.2.7).
//! - CLOSE waits for what is being done with the file. Locks that wait for others are cancelled by it.
//! - FileAllInformation has a name, though 3.3.5.20.1 advises against: Linux takes an answer without one for too short.
//! - A user who authenticates again has to be the same.
//! - Where session or share has to be signed or encrypted, data go by RDMA with that transform or not at all: STATUS_ACCESS_DENIED (RT-10).
//! - A READ whose answer the client could not receive is answered with fewer bytes.
//!
//! # How much is held
//!
//! A credit is good for 64 KiB of data, so [`Params::credits_max`] limits what a connection is asked to hold at one time: data of
//! WRITEs, answers of READs, and the rest of compounds. Sessions, tree connects, files and requests that wait have limits of their own.
//! Actions are kept until they are polled: whoever does not send should not receive.
//!
//! # Driving it
//!
//! ```
//! use std::sync::Arc;
//!
//! use smbd_smb2::server::{Action, Connection, Files, Memory, Params, Server, Share, Transport};
//! use smbd_smb2::security::NtHash;
//! use smbd_smb2::wire::{Dialect, Guid, Header, List, NegotiateRequest, Response, write_element};
//!
//! let mut params = Params::new(Guid([1; 16]), "SERVER");
//! params.shares.push(Share::new("data"));
//! let accounts = |user: &str, _: &str| (user == "tester").then(|| NtHash::of_password("correct horse"));
//! let server = Arc::new(Server::new(params, accounts)?);
//!
//! // Time and entropy: from where the program has them.
//! let now = 0x01dc_5000_0000_0000;
//! let mut files = Files::new(vec![Memory::new("data", now)]);
//! let mut connection = Connection::new(server, Transport::Tcp, now, [7; 32]);
//!
//! let request = NegotiateRequest { dialects: List::from(&[Dialect::SMB_3_0_2]), ..NegotiateRequest::default() };
//! let mut message = Vec::new();
//! write_element(&mut message, &Header::request::<NegotiateRequest>(0), &request)?;
//! connection.received(now, &mut message);
//! while let Some(action) = connection.poll() {
//!     match action {
//!         Action::Send { message, .. } => {
//!             let Response::Negotiate(response) = Response::parse(message.bytes())? else { panic!("not NEGOTIATE") };
//!             assert_eq!(response.dialect, Dialect::SMB_3_0_2);
//!         }
//!         // One connection: number 1.
//!         Action::File { id, operation } => {
//!             if let Some(completion) = files.carry_out(1, id, operation, None, now) {
//!                 connection.completed(now, id, completion)?;
//!             }
//!         }
//!         Action::Close(reason) => println!("closed: {reason}"),
//!         _ => {}
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod about;
mod action;
mod admit;
mod answer;
mod chain;
mod channel;
mod command;
mod config;
mod dispatch;
mod encode;
mod entropy;
mod file;
mod files;
mod inner;
mod locks;
mod memory;
mod negotiated;
mod path;
mod pattern;
mod pending;
mod protect;
mod reason;
mod receive;
mod session;
mod sharing;
mod status;
mod transform;
mod transport;
mod window;

use alloc::boxed::Box;
use alloc::sync::Arc;

pub use about::About;
pub use action::{
    Action, Change, Completion, Done, Handle, Misuse, OpenParameters, Operation, OperationId, Outgoing,
    ReadBuffer, WriteData,
};
pub use config::{ConfigError, Params, Server, Share};
pub use file::{Attributes, BasicChange, Entry, Volume};
pub use files::{ConnectionId, FileResult, FileSystem, Files};
use inner::Inner;
pub use locks::Locks;
pub use memory::{Memory, MemoryFile};
pub use path::SharePath;
use pending::WaitsFor;
pub use reason::Reason;
pub use sharing::Use;
pub use transport::Transport;

use crate::wire::SessionId;

/// A connection of a server. [The module](self) says what it does.
#[derive(Debug)]
pub struct Connection {
    state: State,
}

#[derive(Debug)]
enum State {
    Open(Box<Inner>),
    /// What was said before, and then the reason, are told once.
    Ending(Box<Inner>, Reason),
    Over,
}

impl Connection {
    /// A connection of which nothing has been received. `now` is a FILETIME: 100 ns since 1601, UTC. `seed` is from a source fit for
    /// keys, and another one for each connection.
    #[must_use]
    pub fn new(server: Arc<Server>, transport: Transport, now: u64, seed: [u8; 32]) -> Self {
        Self { state: State::Open(Box::new(Inner::new(server, transport, now, seed))) }
    }

    /// Takes a whole message of the client, without the length that it has over TCP. It is decrypted in place.
    pub fn received(&mut self, now: u64, message: &mut [u8]) {
        self.step(now, |inner| receive::receive(inner, message));
    }

    /// Takes how an operation ended. Operations end in any order.
    ///
    /// # Errors
    /// [`Misuse`]: no such operation is being carried out. After the end nothing is checked.
    pub fn completed(&mut self, now: u64, id: OperationId, completion: Completion) -> Result<(), Misuse> {
        let State::Open(inner) = &mut self.state else { return Ok(()) };
        if inner.was_silent(id) {
            return Ok(());
        }
        expect(inner, id, WaitsFor::File)?;
        self.step(now, |inner| receive::complete(inner, id, completion));
        Ok(())
    }

    /// Says that an operation may take long: the client gets an interim answer, and waits without a limit of time. It may be said once,
    /// or not at all.
    ///
    /// # Errors
    /// [`Misuse`]: no such operation is being carried out.
    pub fn prolong(&mut self, now: u64, id: OperationId) -> Result<(), Misuse> {
        let State::Open(inner) = &mut self.state else { return Ok(()) };
        // Nobody waits for it.
        if inner.is_silent(id) {
            return Ok(());
        }
        expect(inner, id, WaitsFor::File)?;
        self.step(now, |inner| receive::prolong(inner, id));
        Ok(())
    }

    /// Takes how a transfer ended. After one that failed the connection is over, as its queue pair is.
    ///
    /// # Errors
    /// [`Misuse`]: there is no such transfer.
    pub fn rdma_done(&mut self, now: u64, id: OperationId, is_success: bool) -> Result<(), Misuse> {
        let State::Open(inner) = &mut self.state else { return Ok(()) };
        let was_writing = inner.was_writing(id);
        if !was_writing {
            expect(inner, id, WaitsFor::Rdma)?;
        }
        self.step(now, |inner| match (is_success, was_writing) {
            (false, _) => Err(Reason::RdmaFailed),
            (true, true) => Ok(()),
            (true, false) => receive::complete(inner, id, Ok(Done::Nothing)),
        });
        Ok(())
    }

    /// Signs, encrypts, verifies or decrypts data that go by RDMA: all that [`Action::Transform`] asks for, in any number of pieces.
    /// What is not what its client sent becomes zeros, and its WRITE fails. So it does with STATUS_BAD_DATA if there are more or fewer
    /// bytes.
    ///
    /// # Errors
    /// [`Misuse`]: no such data are asked for. After the end nothing is done.
    pub fn transform(&mut self, now: u64, id: OperationId, pieces: &mut [&mut [u8]]) -> Result<(), Misuse> {
        let State::Open(inner) = &mut self.state else { return Ok(()) };
        expect(inner, id, WaitsFor::Transform)?;
        self.step(now, |inner| {
            let done = transform::apply(inner, id, pieces);
            receive::complete(inner, id, done)
        });
        Ok(())
    }

    /// Ends a session of this user, because the user has another one on another connection (3.3.5.5.3): see
    /// [`Action::SessionReplaced`].
    pub fn end_session(&mut self, now: u64, session_id: u64, user: &str) {
        self.step(now, |inner| {
            let session = inner.sessions.get(&session_id).and_then(session::Session::valid);
            let is_own = session.is_some_and(|session| session.is_of(user));
            if is_own {
                inner.end_session(SessionId(session_id));
            }
            receive::clean_up(inner)
        });
    }

    /// What is known of the client: for logs. Nothing after the end.
    #[must_use]
    pub fn about(&self) -> Option<About> {
        match &self.state {
            State::Open(inner) | State::Ending(inner, _) => Some(About::of(inner)),
            State::Over => None,
        }
    }

    /// When [`Self::timeout`] is to be called: a FILETIME.
    #[must_use]
    pub fn deadline(&self) -> Option<u64> {
        match &self.state {
            State::Open(inner) => inner.deadline,
            State::Ending(..) | State::Over => None,
        }
    }

    /// Says what time it is. Too early, it does nothing.
    pub fn timeout(&mut self, now: u64) {
        self.step(now, |inner| match inner.deadline {
            Some(deadline) if now >= deadline => Err(Reason::SetupTimeout),
            Some(_) | None => Ok(()),
        });
    }

    /// Says that the connection is over.
    pub fn closed(&mut self) {
        self.step(0, |_| Err(Reason::Closed));
    }

    /// The next thing to do. After [`Action::Close`] there is nothing to do any more.
    pub fn poll(&mut self) -> Option<Action> {
        match &mut self.state {
            State::Open(inner) => inner.actions.pop_front(),
            State::Ending(inner, _) => match inner.actions.pop_front() {
                Some(action) => Some(action),
                None => match core::mem::replace(&mut self.state, State::Over) {
                    State::Ending(_, reason) => Some(Action::Close(reason)),
                    State::Open(_) | State::Over => None,
                },
            },
            State::Over => None,
        }
    }

    fn step(&mut self, now: u64, step: impl FnOnce(&mut Inner) -> Result<(), Reason>) {
        let State::Open(inner) = &mut self.state else { return };
        inner.now = inner.now.max(now);
        let Err(reason) = step(inner) else { return };
        if let State::Open(inner) = core::mem::replace(&mut self.state, State::Over) {
            self.state = State::Ending(inner, reason);
        }
    }
}

/// Refuses an operation that does not wait for this.
fn expect(inner: &Inner, id: OperationId, waits_for: WaitsFor) -> Result<(), Misuse> {
    match inner.pending.get(&id) {
        Some(pending) if pending.waits_for == waits_for => Ok(()),
        Some(_) | None => Err(Misuse::Unknown(id)),
    }
}
