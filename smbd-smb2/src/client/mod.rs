//! A client of SMB2 for one connection, without I/O: sessions, tree connects, operations, and RDMA channels.
//!
//! [`Client`] is told what its caller wants ([`Client::login`], [`Client::connect`], [`Client::submit`]) and what has happened: whole
//! messages of the server ([`Arrived`]), registrations made and taken back, time. [`Client::poll`] says what is to be done
//! ([`Output`]). It does no I/O, and has neither a clock nor randomness.
//!
//! - Dialects 3.0, 3.0.2 and 3.1.1.
//! - Each operation that begins ends in exactly one [`Output::Done`], whatever the server does: answers, says nothing, or goes.
//! - Memory that the server was given is back before the result is told, also on errors (3.2.5.11, 3.2.5.12), and when the connection
//!   ends: results that wait for memory come after [`Client::closed`].
//! - Nothing that a server sends makes it panic, loop or allocate more than the configuration says.
//!
//! # A file is opened and read
//!
//! ```
//! use smbd_core::Instant;
//! use smbd_smb2::client::{Arrived, Client, Config, Operation, OperationId, Output, Params, Read, Refused, Reply, TreeHandle};
//! use smbd_smb2::wire::{CreateRequest, FileId, Response, Text};
//!
//! /// What a program does between two waits: all that there is to do. `message` is what has come, if something has.
//! fn turn(client: &mut Client, now: Instant, message: Option<&mut [u8]>, out: &mut Vec<u8>) -> Vec<(OperationId, u64)> {
//!     let mut arrived = message.map_or(Arrived::nothing(), Arrived::new);
//!     let mut read = Vec::new();
//!     loop {
//!         match client.poll(now, &mut arrived) {
//!             Output::Idle(_) => return read,
//!             Output::Send { message, .. } => message.iter().for_each(|piece| out.extend_from_slice(piece)),
//!             Output::Done { operation, result: Ok(Reply::Read(count)), .. } => read.push((operation, count)),
//!             Output::Data { offset, data, .. } => println!("{} bytes at {offset}", data.len()),
//!             other => println!("{other:?}"),
//!         }
//!     }
//! }
//!
//! fn open(client: &mut Client, now: Instant, tree: TreeHandle) -> Result<OperationId, Refused> {
//!     let create = CreateRequest { name: Text::from("notes.txt"), ..CreateRequest::default() };
//!     client.submit(now, tree, &Operation::Create(create))
//! }
//!
//! fn read(client: &mut Client, now: Instant, tree: TreeHandle, file_id: FileId) -> Result<OperationId, Refused> {
//!     client.submit(now, tree, &Operation::Read(Read { file_id, length: 10 << 20, ..Read::default() }))
//! }
//!
//! let mut client = Client::new(Config::new(Params::default())?);
//! let mut out = Vec::new();
//! turn(&mut client, Instant::ORIGIN, None, &mut out);
//! assert!(out.starts_with(b"\xfeSMB"), "NEGOTIATE");
//! # Ok::<(), smbd_smb2::client::ConfigError>(())
//! ```
//!
//! # Decisions
//!
//! **The caller knows its files.** Operations name them by FileId; there is no table of opens, so none can be full. Breaks are told
//! with what the server says, and acknowledged by an operation (3.2.5.19).
//!
//! **Requests are the wire's.** An operation of one request is the structure of its request, and its result that of its answer. READ and
//! WRITE are of any length: they are cut to what server, transport and credits allow, several pieces are under way at once, and the result
//! is how many bytes were moved without a gap from the beginning. Any other error of a piece than the end of the file fails all of it.
//!
//! **MessageIds are a window, and so is the table.** Ids are given out in order, so requests that wait for answers are a queue that is
//! sorted: an answer is found by bisection. A request that was given up stays there until its answer has come, for its credits.
//!
//! **Credits.** Every request asks for what is missing to [`Params::credits`]: what there is, and what was asked for and not granted yet,
//! count. If there are too few for the next request and no answer is awaited that could bring some, an ECHO asks for them once; then the
//! request fails. A server that leaves none ends the connection (3.3.1.2).
//!
//! **The RDMA channel** is used where 3.2.4.6 and 3.2.4.7 allow it: in sessions and tree connects that neither sign nor encrypt, above
//! a threshold. All pieces of a transfer go the same way. Each has a registration of its own, since one message invalidates one token;
//! RDMA_V1_INVALIDATE is asked for from 3.0.2 on. An answer that invalidates nothing, or not all, is no error: the caller ends the rest.
//! A READ with a channel that is answered in the message fails ([`Failure::InlineData`]): it is not zero bytes.
//!
//! **RDMA transforms.** Where requests are signed or encrypted, the channel is used if, and only if, [`Params::rdma_transforms`] and the
//! server have the transform that goes with it (RT-1). Bytes are the caller's, so it is asked for them: [`Output::Sign`] and
//! [`Output::Encrypt`] come before a WRITE's buffer is registered, [`Output::Check`] after the access to a READ's has ended, and before
//! its result. What fails the check becomes zeros. Ciphertext that was made once is sent again as it is, never made twice.
//!
//! **What ends what.** A message that cannot be trusted ends the connection ([`Reason`]): a wrong signature or none, no encryption where
//! there has to be some, another command than the request's. The texts would discard some of these (3.2.5.1.3, 3.2.5.1.8); then their
//! operations would hang. Answers to no request are discarded and told ([`Discarded`]). A body that cannot be read fails its operation
//! (3.2.5.1.7). STATUS_USER_SESSION_DELETED ends its session, also unprotected: a server that has lost a session has lost its keys.
//!
//! **Signing.** A request that is signed needs a signed answer; so does, in 3.1.1, the last SESSION_SETUP and each TREE_CONNECT. Whatever
//! else is signed is verified too. Interim answers are not (3.2.5.1.3). Guests and nobody have no keys: they are refused where signing
//! or encryption is required, guests unless they are allowed.
//!
//! **Expired sessions** are told once ([`Output::SessionExpired`]). Their requests wait, and go again when the session has been
//! authenticated again, with new MessageIds and new registrations (3.2.5.1.6).
//!
//! **Several connections.** Each has a client. One logs the user in and gives the session to others ([`Client::export`]), which bind it
//! to theirs ([`Client::bind`]) with a signing key of its own (3.2.1.8). The keys that encrypt are the session's. No nonce is used twice
//! under one, without anything that the clients share: a nonce is a count and the number of the connection, which an export has and no
//! other. Who loses a connection tells the others by [`Client::set_channel_sequence`], and submits what was under way there by
//! [`Client::replay`], if that is safe ([`Operation::replay`]); [`Failure::Unsent`] is what nobody has seen. Sessions are authenticated
//! again on their first connection only.

mod answer;
mod arrived;
mod authenticate;
mod bind;
mod bind_error;
mod config;
mod cover;
mod end;
mod export;
mod facade;
mod ids;
mod login;
mod machine;
mod memory;
mod negotiate;
mod operation;
mod output;
mod paths;
mod pieces;
mod poll;
mod protect;
mod queue;
mod reason;
mod receive;
mod replay;
mod replay_error;
mod request;
mod scope;
mod send;
mod session;
mod submit;
mod table;
mod timer;
mod tokens;
mod transfer;
mod transform;
mod transform_error;
mod validate;
mod window;

pub use arrived::Arrived;
pub use bind_error::BindError;
pub use config::{Config, ConfigError, Params, Rdma, Transport};
pub use export::{SessionExport, TreeExport};
pub use facade::Client;
pub use ids::{BufferId, OperationId, RegistrationId, SessionHandle, TreeHandle};
pub use negotiate::{NegotiateError, Negotiated};
pub use operation::{Operation, Read, SingleMessage, Write, WriteData};
pub use output::{Access, DataPart, Output, Reply};
pub use paths::{Path, PathKind, interface_query, paths};
pub use reason::{Discarded, Failure, Reason, Refused};
pub use replay::Replay;
pub use replay_error::NotReplayable;
pub use session::Protection;
pub use transform_error::TransformError;
