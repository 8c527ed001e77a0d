//! A gateway between SMB Direct and direct TCP, without I/O: the client's READs and WRITEs move their data by RDMA, and the server
//! sees none of it.
//!
//! [`Relay`] stands on one connection: a client over SMB Direct, a server over direct TCP (2.1). It is given what has arrived from
//! both ([`Arrived`]), how much each of them takes ([`Room`]) and what else has happened ([`Event`]); it says what to do
//! ([`Action`]). It does no I/O, has no clock, and needs no key.
//!
//! # What is rewritten
//!
//! Clients order RDMA transfers only in sessions that are neither signed nor encrypted (3.2.4.6, 3.2.4.7). There a READ or WRITE
//! carries no signature, so these, and their answers, are rewritten; every other byte passes as it is. NEGOTIATE in particular is
//! not touched: in 3.1.1 its bytes are hashed into all keys.
//!
//! | rule | | section |
//! |---|---|---|
//! | READ | The channel is taken out, and the request to compress the answer; Length stays. | 2.2.19, 3.3.5.12 |
//! | READ's answer | Data of a success, or of STATUS_BUFFER_OVERFLOW, are written to the client's memory; the answer of 80 bytes follows, with DataRemaining. | 2.2.20, 3.3.5.12 |
//! | WRITE | Its data are read from the client's memory and follow at offset 0x70. The answer passes. | 2.2.21, 3.3.5.13 |
//! | errors | They pass as they come. | 3.3.4.4 |
//! | invalidation | With RDMA_V1_INVALIDATE the final answer, whatever it says, invalidates the token of the first descriptor. | 3.3.5.12, 3.3.5.13 |
//! | interim answers | STATUS_PENDING of an asynchronous command passes, and invalidates nothing. The final answer has the same MessageId. | 3.3.4.2 |
//! | order | The server gets the client's messages in the client's order: what waits for data holds up what is behind it, so CANCEL, CLOSE, TREE_DISCONNECT and LOGOFF need no rule. | 3.3.5.16 |
//! | bad requests | One whose transfer is not possible is forwarded in a form that the server refuses: answered here, it would leave a hole in the server's sequence of MessageIds, and credits would end. | 3.3.1.1, [`Refusal`] |
//! | compounds | If one has an element with a channel, all of it is rebuilt, with new offsets and padding. | 3.2.4.1.4 |
//! | answers in compounds | If one has the answer to a request with a channel, each of its elements goes alone: one message invalidates one token. | 3.3.4.1.3 |
//! | signatures | A signed READ or WRITE with a channel ends the connection ([`Reason::SignedChannel`]): passed, it would be answered inline, and a client reads that as 0 bytes. So does a signed element in a compound that is rebuilt or split. | 3.1.4.1 |
//! | sizes | An unsigned READ without a channel is lowered to what the client can receive of the answer, MinimumCount too. Any other answer that is too long ends the connection, with advice ([`Reason::AnswerTooLarge`]). | 2.2.19 |
//! | ends | The end of one side is the end of the other. Servers take an acknowledgement of TCP for the delivery of a lease break. | 3.3.4.7 |
//!
//! # How much is held
//!
//! Messages pass in pieces. Of each, the front is kept until it is clear what becomes of it, at most [`Params::held_max`] bytes; what
//! comes behind is handed on as it arrived, or waits where it is. Data of READs and WRITEs are in buffers of the driver, which has
//! a fixed number of them ([`Config::buffers`]). Of requests with a channel, descriptors, tokens and MessageIds are kept, at most
//! [`Params::descriptors_max`] and [`Params::requests_max`].
//!
//! So a side that is slow holds up the other one: its bytes are left in [`Arrived`], and [`Idle`] says so. The two directions share
//! no buffers and wait for nothing of each other, so there is no order in which they could wait for ever.
//!
//! Over [`smbd_core`], the client's connection is given [`Action::RdmaRead`] and [`Action::RdmaWrite`] as RDMA operations, which needs
//! as many places for these as there are buffers of both ways, and each message of [`Action::ToClient`] as one send, with its token,
//! behind the RDMA operation that came with it; commanded in this order, the answer to a READ arrives behind the data.
//!
//! # Driving it
//!
//! ```
//! use smbd_smb2::relay::{Action, Arrived, ClientBytes, Config, Event, Params, Relay, Room, Side};
//!
//! let mut relay = Relay::new(&Config::new(&Params::default())?);
//! // An encrypted message, of which 60 bytes have come.
//! let message = [&b"\xfdSMB"[..], &[0; 96]].concat();
//! let client = ClientBytes { bytes: &message[..60], remaining: 40 };
//! let mut arrived = Arrived { client, server: &[] };
//! let room = Room { client: 1 << 20, server: 1 << 20 };
//! let mut sent = Vec::new();
//! loop {
//!     match relay.poll(&mut arrived, room) {
//!         Action::ToServer(smbd_smb2::relay::Source::Bytes(bytes)) => sent.extend_from_slice(bytes),
//!         Action::Idle(_) if arrived.client.remaining == 40 => {
//!             arrived.client = ClientBytes { bytes: &message[60..], remaining: 0 };
//!         }
//!         _ => break,
//!     }
//! }
//! assert_eq!(sent, [&[0, 0, 0, 100], &message[..]].concat());
//!
//! relay.handle(Event::Ended(Side::Client))?;
//! assert!(matches!(relay.poll(&mut arrived, room), Action::Close(_)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The other way round
//!
//! [`reverse`] is a gateway from a client over direct TCP to a server over SMB Direct. It rewrites other messages, and moves data the
//! other way, with the same parts: a message while it arrives (`incoming`), elements, buffers, statistics. What is of this way only is
//! in `client`, `server`, `elements`, `position`, `queue`, `pending`, `rewrite` and `deliver`.

mod action;
mod answer;
mod client;
mod config;
mod deliver;
mod element;
mod elements;
mod incoming;
mod lists;
mod pending;
mod position;
mod queue;
mod reason;
mod request;
pub mod reverse;
mod rewrite;
mod seen;
mod server;
mod session;
mod shared;
mod slots;
mod statistics;
mod step;

use alloc::boxed::Box;
use core::mem::replace;

use crate::wire::Dialect;
pub use action::{
    Action, Arrived, BufferId, ClientBytes, Event, Idle, Misuse, Placement, Room, Side, Source, Transfer, Way,
};
use client::Upstream;
pub use config::{Config, ConfigError, Params};
pub use reason::{Reason, Refusal};
use server::Downstream;
use shared::Shared;
pub use statistics::{Bytes, Commands, Refusals, Sessions, Statistics};

/// A connection through the gateway. [The module](self) says what it does.
#[derive(Debug)]
pub struct Relay {
    state: State,
    shared: Shared,
    /// Who is asked first; it changes with each turn.
    first: Side,
}

#[derive(Debug)]
enum State {
    Open(Box<Open>),
    /// The reason was not told yet.
    Ending(Reason),
    Over,
}

/// Who has something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Nobody,
    Client,
    Server,
    Both,
    /// The connection is over, or will be.
    Ended,
}

#[derive(Debug)]
struct Open {
    upstream: Upstream,
    downstream: Downstream,
}

impl Relay {
    /// A relay for a connection of which nothing has been received.
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let (upstream, downstream) = (Upstream::new(config), Downstream::new(config));
        let open = Open { upstream, downstream };
        Self { state: State::Open(Box::new(open)), shared: Shared::new(config), first: Side::Client }
    }

    /// The next thing to do. It takes bytes off the front of `arrived`, and gives neither side more than its `room`.
    ///
    /// Called until it returns [`Action::Idle`], and again when more has arrived, there is more room, or after [`Self::handle`].
    /// After [`Action::Close`] there is nothing to do any more.
    #[inline]
    pub fn poll<'r, 'a: 'r>(&'r mut self, arrived: &mut Arrived<'a>, room: Room) -> Action<'r> {
        match self.turn(arrived) {
            // Drivers ask after all that they do, and mostly that was all.
            Turn::Nobody => Action::Idle(Idle::default()),
            Turn::Client => self.client(arrived, room, None),
            Turn::Server => self.server(arrived, room, None),
            Turn::Both => self.both(arrived, room),
            Turn::Ended => self.poll_ended(arrived),
        }
    }

    /// Whose turn it is.
    #[inline]
    fn turn(&self, arrived: &Arrived<'_>) -> Turn {
        let State::Open(open) = &self.state else { return Turn::Ended };
        let client = !arrived.client.bytes.is_empty() || !open.upstream.is_idle();
        let buffer_len = self.shared.config.params().buffer_len;
        let server = !arrived.server.is_empty() || !open.downstream.is_idle(buffer_len);
        match (client, server) {
            (false, false) => Turn::Nobody,
            (true, false) => Turn::Client,
            (false, true) => Turn::Server,
            (true, true) => Turn::Both,
        }
    }

    /// Neither side can keep the other from its turn.
    #[inline(never)]
    fn both<'r, 'a: 'r>(&'r mut self, arrived: &mut Arrived<'a>, room: Room) -> Action<'r> {
        match self.first {
            Side::Client => self.client(arrived, room, Some(Side::Server)),
            Side::Server => self.server(arrived, room, Some(Side::Client)),
        }
    }

    /// What is to be done with the client's messages; if that is nothing, it is the turn of `other`.
    #[inline(never)]
    fn client<'r, 'a: 'r>(
        &'r mut self,
        arrived: &mut Arrived<'a>,
        room: Room,
        other: Option<Side>,
    ) -> Action<'r> {
        self.first = Side::Server;
        let State::Open(open) = &mut self.state else { return Action::Idle(Idle::default()) };
        let step = match open.upstream.step(&mut arrived.client, room.server, &mut self.shared) {
            Ok(Some(step)) => step,
            Ok(None) if other.is_some() => return self.server(arrived, room, None),
            Ok(None) => return Action::Idle(Idle::with(arrived)),
            Err(reason) => return self.close(*reason),
        };
        let State::Open(open) = &mut self.state else { return Action::Idle(Idle::default()) };
        open.upstream.action(step, &mut arrived.client, &mut self.shared)
    }

    /// What is to be done with the server's messages; if that is nothing, it is the turn of `other`.
    #[inline(never)]
    fn server<'r, 'a: 'r>(
        &'r mut self,
        arrived: &mut Arrived<'a>,
        room: Room,
        other: Option<Side>,
    ) -> Action<'r> {
        self.first = Side::Client;
        let State::Open(open) = &mut self.state else { return Action::Idle(Idle::default()) };
        let step = match open.downstream.step(&mut arrived.server, room.client, &mut self.shared) {
            Ok(Some(step)) => step,
            Ok(None) if other.is_some() => return self.client(arrived, room, None),
            Ok(None) => return Action::Idle(Idle::with(arrived)),
            Err(reason) => return self.close(*reason),
        };
        let State::Open(open) = &mut self.state else { return Action::Idle(Idle::default()) };
        open.downstream.action(step, &mut arrived.server, &mut self.shared)
    }

    #[cold]
    fn close(&mut self, reason: Reason) -> Action<'static> {
        self.state = State::Over;
        Action::Close(reason)
    }

    #[cold]
    #[inline(never)]
    fn poll_ended(&mut self, arrived: &Arrived<'_>) -> Action<'static> {
        match replace(&mut self.state, State::Over) {
            State::Ending(reason) => Action::Close(reason),
            State::Open(_) | State::Over => Action::Idle(Idle::with(arrived)),
        }
    }

    /// Takes what has happened.
    ///
    /// # Errors
    /// [`Misuse`]: the buffer is not used for what was reported. Nothing has changed. After the end nothing is checked.
    pub fn handle(&mut self, event: Event) -> Result<(), Misuse> {
        let State::Open(open) = &mut self.state else { return Ok(()) };
        match event {
            Event::RdmaDone { buffer, is_success } => {
                match buffer.way {
                    Way::ToServer => open.upstream.on_read(buffer)?,
                    Way::ToClient => open.downstream.on_written(buffer)?,
                }
                if !is_success {
                    self.state = State::Ending(Reason::RdmaFailed);
                }
            }
            Event::Sent { buffer, len } => match buffer.way {
                Way::ToServer => open.upstream.on_sent(buffer, len)?,
                Way::ToClient => return Err(Misuse { event: "Sent", buffer }),
            },
            Event::Placed { buffer, len } => match buffer.way {
                Way::ToServer => return Err(Misuse { event: "Placed", buffer }),
                Way::ToClient => open.downstream.on_placed(buffer, len, &self.shared)?,
            },
            Event::Ended(Side::Client) => self.state = State::Ending(Reason::ClientEnded),
            Event::Ended(Side::Server) => self.state = State::Ending(Reason::ServerEnded),
        }
        Ok(())
    }

    /// Where the driver can put the next bytes of the server's stream, instead of offering them: straight from its socket into a
    /// buffer, without [`Action::Store`]. To be asked for when [`Self::poll`] has said [`Action::Idle`] and has taken all that it
    /// was offered of the server; [`Event::Placed`] says how many bytes came. What does not come can be offered after all.
    pub fn placement(&mut self) -> Option<Placement> {
        match &mut self.state {
            State::Open(open) => open.downstream.placement(&self.shared),
            State::Ending(_) | State::Over => None,
        }
    }

    /// Whether a message of the server has come in part, or has not gone to the client yet. [`Statistics::outstanding`] counts a
    /// final answer by its header, so its data may still be to come.
    #[must_use]
    pub fn is_amid_answer(&self) -> bool {
        match &self.state {
            State::Open(open) => open.downstream.is_amid_message(),
            State::Ending(_) | State::Over => false,
        }
    }

    /// What has passed so far.
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
}
