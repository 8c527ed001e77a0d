//! The other way round: clients over direct TCP, a server over SMB Direct. Clients that know TCP only use its RDMA.
//!
//! [`Reverse`] stands on one connection, like [`Relay`](super::Relay). It is given what has arrived from both sides ([`Arrived`]), how
//! much each of them takes ([`Room`]) and what else has happened ([`Event`]); it says what to do ([`Action`]). It does no I/O, has
//! no clock, and needs no key.
//!
//! # What is rewritten
//!
//! A READ or WRITE that is neither signed nor encrypted gets a channel, with memory of the gateway that is registered for this one
//! request. Every other byte passes as it is. NEGOTIATE in particular is not touched: in 3.1.1 its bytes are hashed into all keys.
//!
//! | rule | | section |
//! |---|---|---|
//! | which | READs and WRITEs of [`Params::threshold`] bytes and more, unsigned, alone in their message, in a dialect of SMB 3, after a SESSION_SETUP was successful, within the server's MaxReadWriteSize and the buffers. | 3.2.4.6, 3.2.4.7 |
//! | READ | It gets a channel, and loses the request to compress the answer; Length stays. | 2.2.19 |
//! | READ's answer | The answer that says how many bytes came by RDMA is followed by these bytes. One with data of its own passes. | 2.2.20, 3.2.5.11 |
//! | WRITE | Its data go into buffers, and the request without them to the server. The answer passes. | 2.2.21, 3.3.5.13 |
//! | zeros | What the server may read or write was filled with this client's data, or zeros, since the last request that used it. | |
//! | end of access | Nothing of a final answer, whatever it says, goes to the client before the server's access to the buffers of its request has ended. With RDMA_V1_INVALIDATE the server ends that of the first one itself; [`Action::Deregister`] comes all the same. | 3.2.5.11, 3.2.5.12 |
//! | DataRemaining | More than Length ends the connection ([`Reason::TooMuchData`]). Less is all that goes: no byte behind it is sent. | 2.2.20 |
//! | interim answers | STATUS_PENDING of an asynchronous command passes; the server keeps its access. | 3.3.4.2 |
//! | order | The server gets the client's messages in the client's order: what waits for a buffer or a registration holds up what is behind it, so CANCEL, CLOSE, TREE_DISCONNECT and LOGOFF need no rule. | 3.3.5.16 |
//! | compounds | They pass as they are. | 3.2.4.1.4 |
//! | answers in compounds | If one has the final answer to a request with a channel, each of its elements goes alone. | 3.3.4.1.3 |
//! | without a buffer | If all are in use, a request passes as it is, if it can: no request waits for the answer to another one. | |
//! | sizes | What passes and is longer than the server receives ends the connection, with advice ([`Reason::AboveMaxFragmentedSize`]): a signed or encrypted WRITE, a compound. An unsigned READ that passes is lowered to what can be received of the answer. | MS-SMBD 3.1.4.2 |
//! | channels | A client over TCP has none. A READ or WRITE that names one ends the connection ([`Reason::ChannelOverTcp`]): the server would use memory that this client has chosen. | 3.3.5.12 |
//! | broken messages | A message that begins like one of SMB2 and whose elements cannot be told apart ends the connection ([`Reason::BrokenMessage`]): a server that reads it otherwise may see a channel. | 3.3.5.2.7 |
//! | ends | The end of one side is the end of the other. | |
//!
//! # Whose bytes are seen
//!
//! Buffers belong to one connection. The server has access to a buffer from [`Action::Register`] to the end of
//! [`Action::Deregister`], for reading or for writing, never both: there are buffers for WRITEs ([`Way::ToServer`](super::Way)) and
//! others for READs ([`Way::ToClient`](super::Way)). Before each registration all of a buffer is filled: with the data of the WRITE
//! and zeros behind them, or with zeros. So a server that says that it has written what it has not written shows zeros, and one that
//! writes later than it says shows nothing.
//!
//! # How much is held
//!
//! Messages pass in pieces, and at most [`Params::held_max`] bytes of one are kept until it is clear what becomes of it. Data of
//! READs and WRITEs with a channel are in buffers of the driver, which has a fixed number of them ([`Config::buffers`]), from the
//! request to its answer. A side that is slow holds up the other one: its bytes are left in [`Arrived`], and
//! [`Idle`] says so. Only a WRITE that is longer than the server receives waits for buffers, and these come with answers to
//! earlier WRITEs.

mod action;
mod answer;
mod client;
mod config;
mod deliver;
mod memory;
mod prepare;
mod request;
mod server;
mod shared;
mod step;
mod table;

use alloc::boxed::Box;

pub use action::{Action, Arrived, Event, ServerBytes};
use client::Upstream;
pub use config::{Config, Params};
use server::Downstream;
use shared::Shared;
use step::{Step, ToClient, ToServer};

use super::{Idle, Misuse, Placement, Reason, Room, Side, Source, Statistics};
use crate::wire::Dialect;

/// A connection through the gateway. [The module](self) says what it does.
#[derive(Debug)]
pub struct Reverse {
    state: State,
    shared: Shared,
}

#[derive(Debug)]
enum State {
    Open(Box<Open>),
    /// The reason was not told yet.
    Ending(Reason),
    Over,
}

#[derive(Debug)]
struct Open {
    upstream: Upstream,
    downstream: Downstream,
    /// Who is asked first; it changes with each turn.
    first: Side,
}

impl Reverse {
    /// For a connection of which nothing has been received.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let open = Open { upstream: Upstream::new(), downstream: Downstream::new(), first: Side::Client };
        Self { state: State::Open(Box::new(open)), shared: Shared::new(config) }
    }

    /// The next thing to do. It takes bytes off the front of `arrived`, and gives neither side more than its `room`.
    ///
    /// Called until it returns [`Action::Idle`], and again when more has arrived, there is more room, or after [`Self::handle`].
    /// After [`Action::Close`] there is nothing to do any more.
    pub fn poll<'r, 'a: 'r>(&'r mut self, arrived: &mut Arrived<'a>, room: Room) -> Action<'r> {
        match self.step(arrived, room) {
            Ok(Some(step)) => self.action(step),
            Ok(None) => Action::Idle(Idle {
                pause_client: !arrived.client.is_empty(),
                pause_server: !arrived.server.bytes.is_empty(),
            }),
            Err(reason) => {
                self.state = State::Over;
                Action::Close(reason)
            }
        }
    }

    /// Takes what has happened.
    ///
    /// # Errors
    /// [`Misuse`]: the buffer is not used for what was reported, or its descriptor is shorter than the buffer. Nothing has changed.
    /// After the end nothing is checked.
    pub fn handle(&mut self, event: Event) -> Result<(), Misuse> {
        let State::Open(open) = &mut self.state else { return Ok(()) };
        let memory = &mut self.shared.memory;
        match event {
            Event::Registered { buffer, descriptor } => memory.on_registered(buffer, descriptor)?,
            Event::Deregistered { buffer } => memory.on_deregistered(buffer)?,
            Event::Failed { buffer } => {
                memory.on_failed(buffer)?;
                self.state = State::Ending(Reason::RegistrationFailed);
            }
            Event::Sent { buffer, len } => memory.on_sent(buffer, len)?,
            Event::Placed { buffer, len } => open.upstream.on_placed(buffer, len, &self.shared)?,
            Event::Ended(Side::Client) => self.state = State::Ending(Reason::ClientEnded),
            Event::Ended(Side::Server) => self.state = State::Ending(Reason::ServerEnded),
        }
        Ok(())
    }

    /// Where the driver can put the next bytes of the client's stream, instead of offering them: straight from its socket into a
    /// buffer, without [`Action::Store`]. To be asked for when [`Self::poll`] has said [`Action::Idle`] and has taken all that it
    /// was offered of the client; [`Event::Placed`] says how many bytes came. What does not come can be offered after all.
    #[must_use]
    pub fn placement(&self) -> Option<Placement> {
        match &self.state {
            State::Open(open) => open.upstream.placement(&self.shared),
            State::Ending(_) | State::Over => None,
        }
    }

    /// What has passed so far. Bytes of RDMA are counted when a WRITE is forwarded, and when a READ was answered; nothing is refused.
    #[must_use]
    pub const fn statistics(&self) -> &Statistics {
        &self.shared.statistics
    }

    /// The dialect that the server has chosen, once it has.
    #[must_use]
    pub const fn dialect(&self) -> Option<Dialect> {
        self.shared.seen.dialect
    }

    /// Whether a session is established.
    #[must_use]
    pub const fn has_session(&self) -> bool {
        self.shared.seen.has_session
    }

    /// The configuration.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.shared.config
    }

    /// What one of the directions does next. Neither can keep the other from its turn.
    fn step<'a>(&mut self, arrived: &mut Arrived<'a>, room: Room) -> Result<Option<Step<'a>>, Reason> {
        let open = match &mut self.state {
            State::Open(open) => open,
            State::Ending(reason) => return Err(*reason),
            State::Over => return Ok(None),
        };
        let shared = &mut self.shared;
        // The end of an answer may free the buffers that the other direction waits for.
        for _ in 0..3 {
            let step = match open.first {
                Side::Client => open.upstream.step(&mut arrived.client, room.server, shared)?,
                Side::Server => open.downstream.step(&mut arrived.server, room.client, shared)?,
            };
            open.first = open.first.other();
            if step.is_some() {
                return Ok(step);
            }
        }
        Ok(None)
    }

    /// A step with its bytes.
    fn action<'r, 'a: 'r>(&'r self, step: Step<'a>) -> Action<'r> {
        match step {
            Step::ToServer { bytes, remaining } => {
                Action::ToServer { bytes: self.bytes_of_client(bytes), remaining }
            }
            Step::ToClient(ToClient::Buffer { buffer, offset, len }) => {
                Action::ToClient(Source::Buffer { head: &[], buffer, offset, len })
            }
            Step::ToClient(bytes) => Action::ToClient(Source::Bytes(self.bytes_of_server(bytes))),
            Step::Store { buffer, offset, bytes } => {
                Action::Store { buffer, offset, bytes: self.bytes_of_client(bytes) }
            }
            Step::Zero { buffer, offset, len } => Action::Zero { buffer, offset, len },
            Step::Register { buffer, access } => Action::Register { buffer, access },
            Step::Deregister { buffer } => Action::Deregister { buffer },
        }
    }

    fn bytes_of_client<'r, 'a: 'r>(&'r self, bytes: ToServer<'a>) -> &'r [u8] {
        match (bytes, &self.state) {
            (ToServer::Stream(bytes), _) => bytes,
            (ToServer::Held(len), State::Open(open)) => open.upstream.taken(len),
            (ToServer::Request { start, end }, State::Open(open)) => open.upstream.request(start, end),
            (ToServer::Held(_) | ToServer::Request { .. }, State::Ending(_) | State::Over) => &[],
        }
    }

    fn bytes_of_server<'r, 'a: 'r>(&'r self, bytes: ToClient<'a>) -> &'r [u8] {
        match (bytes, &self.state) {
            (ToClient::Stream(bytes), _) => bytes,
            (ToClient::Held(len), State::Open(open)) => open.downstream.taken(len),
            (ToClient::Front { start, end }, State::Open(open)) => open.downstream.front(start, end),
            (ToClient::Held(_) | ToClient::Front { .. }, State::Ending(_) | State::Over) => &[],
            (ToClient::Buffer { .. }, _) => &[],
        }
    }
}
