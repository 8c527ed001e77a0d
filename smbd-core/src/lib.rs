//! SMB Direct ([MS-SMBD] 12.0: SMB2 over RDMA) as a sans-IO protocol core.
//!
//! A [`Connection`] is a state machine for both roles. It is told what happened ([`Connection::handle`]) and asked what to
//! do ([`Connection::poll_action`]) until it says [`Action::Wait`]. It has no clock, no randomness, no I/O, no threads and
//! no callbacks, and allocates only when it is created. A [`Backend`](backend::Backend) carries its actions out on a real
//! RNIC, in a simulator, or over anything else that has the semantics of a reliable connection. [`backend::drive()`] is the
//! loop between the two.
//!
//! # An echo
//!
//! Add `smbd-core` with the feature `kit`, and `bytes`, and run this. The kit's backend connects two endpoints in memory; any
//! other backend takes its place.
//!
//! ```
//! use std::{error::Error, time::Duration};
//!
//! use bytes::Bytes;
//! use smbd_core::backend::kit::{Fixture, Lab, Peer, Situation, reference::Reference};
//! use smbd_core::backend::{Backend, BufferLookup, Handler, drive};
//! use smbd_core::endpoint::{EndpointEvent, Message};
//! use smbd_core::{Close, Config, Endpoint, Params, Role};
//!
//! /// The upper layer: the initiator sends a message and closes when it is back.
//! struct App(Role);
//!
//! // It names no memory of its own: the endpoint has the messages, and there is no RDMA.
//! impl<M> BufferLookup<M> for App {}
//!
//! impl<B: Backend> Handler<B, Endpoint> for App {
//!     fn event(&mut self, endpoint: &mut Endpoint, backend: &mut B, event: EndpointEvent) {
//!         let now = backend.now();
//!         match event {
//!             EndpointEvent::Established(_) if self.0 == Role::Initiator => {
//!                 endpoint.send(now, Bytes::from_static(b"hello"), None).expect("room for one");
//!             }
//!             EndpointEvent::Message(message) => {
//!                 let bytes = Bytes::copy_from_slice(message.bytes(backend).expect("a sound backend"));
//!                 // It is still in a receive buffer, which the peer needs.
//!                 if let Message::Borrowed(fragment) = message {
//!                     endpoint.release(now, fragment).expect("own fragment");
//!                 }
//!                 println!("{:?} received {bytes:?}", self.0);
//!                 match self.0 {
//!                     Role::Acceptor => drop(endpoint.send(now, bytes, None).expect("room")),
//!                     Role::Initiator => endpoint.close(now, Close::Abort),
//!                 }
//!             }
//!             event => println!("{:?}: {event:?}", self.0),
//!         }
//!     }
//! }
//!
//! fn main() -> Result<(), Box<dyn Error>> {
//!     let config = Config::try_from(Params::windows())?;
//!     // Two backends in memory. On RDMA devices they are smbd_verbs::VerbsConnection.
//!     let mut network = Reference::default().fixture(Situation::Connects, &config)?;
//!     let mut sides = [Peer::INITIATOR, Peer::ACCEPTOR].map(|peer| {
//!         let endpoint = Endpoint::new(peer.role, &config, network.backend(peer).now());
//!         (peer, endpoint, App(peer.role))
//!     });
//!     while !sides.iter().all(|(_, endpoint, _)| endpoint.is_drained()) {
//!         for (peer, endpoint, app) in &mut sides {
//!             let _deadline = drive(endpoint, &mut network.backend(*peer), app)?;
//!         }
//!         // A program sleeps here: until its backend has something, or the deadline.
//!         network.pass(Duration::from_millis(1));
//!     }
//!     Ok(())
//! }
//! ```
//!
//! It prints what both sides are told, among it:
//!
//! ```text
//! Acceptor received b"hello"
//! Initiator received b"hello"
//! Initiator: Closed(Local)
//! ```
//!
//! # Which layer do I need?
//!
//! | I have | I use |
//! |---|---|
//! | RDMA devices under Linux, and want calls that wait, an event loop or tokio | the crate `smbd-verbs` |
//! | another backend that can be waited for, and want the same | the crate `smbd-link` |
//! | an RDMA device and a loop of my own | `smbd_verbs::VerbsConnection`, [`Endpoint`] and [`drive()`](backend::drive()) |
//! | another transport, kernel or provider | a [`Backend`](backend::Backend) of my own, with [`WorkQueues`](backend::WorkQueues) and [`TransportReports`](backend::TransportReports), held against the [`kit`](backend) |
//! | messages that I put together myself, or that the core must not own | [`Connection`] instead of [`Endpoint`]: events with fragments, sends by length |
//! | a loop that must decide about each action | [`Connection::poll_action`] and [`Connection::handle`] |
//! | a capture or a fuzzer | [`wire`] alone |
//!
//! The traits, in the order in which the author of a backend meets them: [`ReceiveMemory`](backend::ReceiveMemory) (where
//! received messages are), [`Backend`](backend::Backend) (carries out operations, reports inputs),
//! [`HostMemory`](backend::HostMemory) (buffers that the host can fill), and for the tests the kit's `Lab` and `Fixture`. An
//! upper layer implements [`BufferLookup`](backend::BufferLookup) (which memory belongs to an id) and
//! [`Handler`](backend::Handler) (takes events). [`Protocol`](backend::Protocol) is what is driven: [`Connection`] and
//! [`Endpoint`] implement it.
//!
//! [The examples](https://github.com/smbd-rs/smbd/tree/main/examples/examples): `echo` (above), `minimal` (a loop and a backend
//! in under 150 lines), `rdma` (registration, RDMA Read and Write), `third_backend` (the contract over Unix sockets),
//! `async_tokio`, `tokio_verbs`.
//!
//! # Features
//!
//! `endpoint` (default): [`Endpoint`] and the dependency on `bytes`. `kit`: the backend test kit and its reference backend.
//! `search`: what a search over all states needs besides [`Connection::fingerprint`]. The crate is `no_std` with `alloc`; it
//! contains no unsafe code.
//!
//! # Laws
//!
//! What holds after every call, whatever the peer sends and whatever order a backend reports things in. The simulator
//! (`smbd-sim`) checks each of them after every step of every run.
//!
//! 1. **Ledger.** Every id handed out in an [`Action`] ends in exactly one completion or failure. A second or a made-up
//!    one is [`Misuse::UnknownWork`] and changes nothing: ids carry a generation.
//! 2. **Drain.** [`Event::Drained`] comes once, last, and only when [`Connection::outstanding`] is all zero and the
//!    transport connection is gone. Only then may buffers and registered memory be freed.
//! 3. **Grants are covered.** Credits granted and not used never exceed posted receives.
//! 4. **Credits are kept.** Nothing is sent without a credit, and the last one is spent only on a message that grants.
//! 5. **Order.** A receive is handed out before the send that grants it; a backend carries actions out in poll order.
//! 6. **Bounded work.** Between two inputs a bounded number of actions comes out, then [`Action::Wait`] for ever. Any
//!    number of inputs may be given between two drains.
//! 7. **Bounded memory.** A connection allocates nothing after its creation. RDMA descriptors stay the caller's
//!    (`Arc<[BufferDescriptorV1]>`); a command that does not fit returns `NoRoom` and changes nothing.
//! 8. **Quiet.** Two idle established peers exchange nothing until the keepalive, however many receive slots their
//!    upper layers hold.
//! 9. **Tokens.** No token is invalidated twice, none is valid twice.
//! 10. **Results.** Every command ends in exactly one result, also when the connection dies; results come before
//!     [`Event::Closed`], and a connection never seen established says [`Event::ConnectFailed`] instead, once.
//!
//! # Whose fault it is
//!
//! What the peer does wrong ends the connection with a [`Violation`](error::Violation) that carries the values and the
//! section. What the transport does wrong ends it with a [`WorkError`](error::WorkError). What the caller does wrong
//! comes back as `Err` and has no effect. Nothing panics.
//!
//! # Time
//!
//! Calls that can start a clock take `now`, an [`Instant`] of the caller's own monotonic clock. The deadline in
//! [`Action::Wait`] is the only timer to set; at it, give [`Input::Timeout`].
//!
//! [MS-SMBD]: https://learn.microsoft.com/openspecs/windows_protocols/ms-smbd/
#![no_std]
#![deny(
    clippy::arithmetic_side_effects,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::todo,
    clippy::unimplemented,
    clippy::unreachable,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm
)]
#![cfg_attr(
    test,
    allow(
        clippy::arithmetic_side_effects,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::panic,
        clippy::unwrap_used,
        clippy::wildcard_enum_match_arm,
        reason = "a test that panics has failed"
    )
)]
extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod backend;
mod config;
mod connection;
#[cfg(feature = "endpoint")]
pub mod endpoint;
pub mod error;
mod id;
mod interface;
mod slice;
mod stats;
mod table;
mod time;
pub mod wire;

pub use config::{Budget, Config, ConfigError, Keepalive, Params, Role};
pub use connection::{Close, Connection, Credits, Outstanding, PhaseName, Segment};
#[cfg(feature = "endpoint")]
pub use endpoint::Endpoint;
pub use error::Misuse;
pub use id::{MsgId, OpId, RdmaId, RecvId, RegId, SendId, WrId};
pub use interface::{Access, Action, Body, Event, Fragment, Head, Input, Limits, Negotiated, RdmaVerb};
pub use stats::{Stats, Tolerances, Traffic};
pub use time::Instant;
pub use wire::{BufferDescriptorV1, Token};
