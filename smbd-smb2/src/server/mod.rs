//! A server of SMB2 with RDMA channels, without I/O.
//!
//! [`Connection`] is one connection of a [`Server`], which many share. It is given whole messages
//! ([`Connection::received`]), what came of operations on files ([`Connection::completed`]) and of transfers
//! ([`Connection::rdma_done`]), and says what to do ([`Connection::poll`]): send a message, move data by RDMA, carry out an operation on
//! a file. It does no I/O; time and entropy come in as arguments. Whoever drives it carries out operations at once, or in threads.
//!
//! [`Client`] is the same for all connections of one client, which can have sessions in common: a [`Connection`] is one whose client has
//! no other. [`client_guid`] tells whose a connection is that has come.
//!
//! [`FileSystem`] is what can be served, [`Files`] carries operations out on it, and [`Memory`] is such a file system in memory.
//! [`Loopback`] is a connection together with its files, for tests of clients.
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
//! | channels | sessions on several connections, as many as [`Params::channels_max`] says; files survive all of them but the last | 3.3.5.5, 3.3.7.1 |
//! | replays | WRITE, SET_INFO and IOCTL only when nothing from before is under way, and nothing from before later | 3.3.5.2.10 |
//! | asynchronous | CHANGE_NOTIFY, and whatever the driver says may take long ([`Connection::prolong`]) | 3.3.4.2 |
//!
//! Declined: leases, oplocks and durable handles (no context comes back), compression, DFS, pipes. IPC$ can be connected,
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
//! - What is one machine is not a connection but a client: all connections with one ClientGuid, since 3.3.5.5 binds a session to no other.
//!   So sessions, files and nonces have one owner and no lock. A connection has what 3.3.1.7 gives it but Connection.SessionTable, which
//!   is derived: each session knows its channels.
//! - A session is bound by what is like its first connection: dialect, cipher and signing algorithm (CH-2).
//! - Open.OutstandingPreRequestCount is not counted but looked up: requests under way whose ChannelSequence is another one.
//! - What a lost connection has asked for is finished if it is with the driver: a WRITE is written, a CREATE closed again (CH-5).
//!
//! # How much is held
//!
//! A credit is good for 64 KiB of data, so [`Params::credits_max`] limits what a connection is asked to hold at one time: data of
//! WRITEs, answers of READs, and the rest of compounds. Sessions, tree connects, files and requests that wait have limits of their own,
//! for each connection: whoever knows the ClientGuid of another takes no places away.
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
mod channels;
mod client;
mod command;
mod config;
mod connection;
mod dispatch;
mod encode;
mod entropy;
mod few;
mod file;
mod files;
mod group;
mod inner;
mod link;
mod locks;
mod loopback;
mod lost;
mod memory;
mod negotiated;
mod offer;
mod past;
mod path;
mod pattern;
mod pending;
mod protect;
mod reason;
mod receive;
mod refused;
mod session;
mod sharing;
mod status;
mod transform;
mod transport;
mod window;

pub use about::About;
pub use action::{
    Action, Change, Completion, Done, Handle, LinkId, Misuse, OpenParameters, Operation, OperationId,
    Outgoing, ReadBuffer, WriteData,
};
pub use client::Client;
pub use config::{ConfigError, Params, Server, Share};
pub use connection::Connection;
pub use file::{Attributes, BasicChange, Entry, TimeChange, Volume};
pub use files::{ConnectionId, FileResult, FileSystem, Files, carry_out, close, open_done};
pub use locks::Locks;
pub use loopback::Loopback;
pub use memory::{Memory, MemoryFile};
pub use offer::client_guid;
pub use path::SharePath;
pub use reason::Reason;
pub use refused::Refused;
pub use sharing::Use;
pub use transport::Transport;
