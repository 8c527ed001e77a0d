//! The broker: which connection belongs to whom, and which slot to which side.
//!
//! A [`Broker`] is told what has happened, and asked what to do ([`Broker::poll`]) until it has nothing. It does no I/O, knows no time but
//! what it is given, and owns neither sockets nor memory. One value has all owners and connections: what one owner does must not reach
//! another, and that is decided here.
//!
//! # Laws
//! 1. A message of a client goes to one owner, once, and those of a connection in their order.
//! 2. A slot belongs to one side at a time, and comes back when the device does not use it any more.
//! 3. An owner's mistake ends its connection, or its own socket. It does nothing to others.
//! 4. Each call has one answer, each transfer one result; the last event of a connection is that it was lost.
//! 5. Everything is bounded by [`Settings`].

mod action;
mod clients;
mod commands;
mod config;
mod connection;
mod counts;
mod given;
mod history;
mod ids;
mod log;
mod mailbox;
mod moves;
mod negotiate;
mod offer;
mod overview;
mod owner;
mod owners;
mod reason;
mod routes;
mod slots;
mod state;
#[cfg(test)]
mod tests;
mod transfers;

pub use action::{Action, Attachment, ConnectionId, OwnerId, TransferId};
pub use config::{Quotas, Settings};
pub use connection::Peer;
pub use counts::Counts;
pub use log::Log;
pub use negotiate::answer;
pub use overview::{ConnectionOverview, ConnectionState, OwnerOverview};
pub use reason::Reason;

use std::time::Duration;

use bytes::Bytes;
use smbd_core::{Config, ConfigError, Instant};

use crate::wire::{Limits, Negotiation};
use connection::Phase;
use state::State;

/// A broker.
#[derive(Debug)]
pub struct Broker(State);

impl Broker {
    /// One without owners. `instance` is a number that no other process has.
    ///
    /// # Errors
    /// The parameters of connections are not valid.
    pub fn new(settings: Settings, instance: u64) -> Result<Self, ConfigError> {
        let config = Config::try_from(settings.params.clone())?;
        Ok(Self(State::new(settings, config, instance)))
    }

    /// How a connection is configured that comes now.
    #[must_use]
    pub const fn config(&self) -> &Config {
        &self.0.config
    }

    /// With what NEGOTIATE is answered now, if it is not for owners.
    #[must_use]
    pub const fn negotiation(&self) -> Option<&Negotiation> {
        self.0.negotiation.as_ref()
    }

    /// Whether anybody might take a connection. If nobody does, a connection is better rejected by the connection manager.
    #[must_use]
    pub fn takes_connections(&self) -> bool {
        self.0.routes.has_any()
    }

    /// A process has connected. `None` if there are too many.
    pub fn owner_joined(&mut self) -> Option<OwnerId> {
        owners::joined(&mut self.0)
    }

    /// A packet has come on the socket of an owner. `sockets` are the file descriptors that came with it: the connection of which it is the
    /// owner's socket, or nothing. All of them are closed afterwards.
    pub fn owner_packet(&mut self, owner: OwnerId, packet: &[u8], sockets: &[Option<ConnectionId>]) {
        owners::packet(&mut self.0, owner, packet, sockets);
    }

    /// The socket of an owner is closed.
    pub fn owner_left(&mut self, owner: OwnerId) {
        owners::left(&mut self.0, owner);
    }

    /// What was asked for by [`Action::MakeMemory`] was made, or could not be.
    pub fn memory_made(&mut self, owner: OwnerId, is_made: bool) {
        owners::memory_made(&mut self.0, owner, is_made);
    }

    /// A connection is established. `None` if there are too many.
    pub fn connected(&mut self, peer: Peer, now: Instant) -> Option<ConnectionId> {
        clients::connected(&mut self.0, peer, now)
    }

    /// Whether a message of the client is wanted. The others wait in the transport, which holds up the client.
    #[must_use]
    pub fn wants_message(&self, connection: ConnectionId) -> bool {
        match self.0.connections.get(&connection).map(|connection| &connection.phase) {
            Some(Phase::Waiting(waiting)) => !waiting.is_answering,
            Some(Phase::Held(held)) => {
                held.moving.is_none() && held.given.is_below(self.0.settings.limits.receive_bytes_max)
            }
            Some(Phase::Ending { .. }) | None => false,
        }
    }

    /// A message of the client has come.
    pub fn received(&mut self, connection: ConnectionId, message: Bytes) {
        clients::received(&mut self.0, connection, message);
    }

    /// NEGOTIATE was answered ([`Action::Negotiate`]), or cannot be.
    pub fn negotiated(&mut self, connection: ConnectionId, response: Option<Bytes>) {
        clients::negotiated(&mut self.0, connection, response);
    }

    /// A packet has come on the socket of a connection.
    pub fn packet(&mut self, connection: ConnectionId, packet: &[u8]) {
        commands::packet(&mut self.0, connection, packet);
    }

    /// All that was in the socket of a connection was given ([`Action::DrainSocket`]).
    pub fn drained(&mut self, connection: ConnectionId) {
        moves::drained(&mut self.0, connection);
    }

    /// The owner has closed the socket of a connection, and all that was in it was given. A connection that is on its way to another owner
    /// goes on.
    pub fn socket_closed(&mut self, connection: ConnectionId) {
        owners::socket_closed(&mut self.0, connection);
    }

    /// The transport has taken the message that was to be sent first ([`Action::Send`]).
    pub fn sent(&mut self, connection: ConnectionId) {
        commands::sent(&mut self.0, connection);
    }

    /// A transfer has ended ([`Action::Transfer`]): the device uses neither the slots nor the client's memory any more.
    pub fn transfer_done(&mut self, connection: ConnectionId, transfer: TransferId, is_success: bool) {
        transfers::done(&mut self.0, connection, transfer, is_success);
    }

    /// A connection has ended, and all its transfers before it. It may do so by itself, or by [`Action::Disconnect`].
    pub fn ended(&mut self, connection: ConnectionId, why: String) {
        clients::ended(&mut self.0, connection, why);
    }

    /// When to call [`timeout`](Self::timeout).
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        clients::deadline(&self.0)
    }

    /// It is so late.
    pub fn timeout(&mut self, now: Instant) {
        clients::timeout(&mut self.0, now);
    }

    /// What is to be done next.
    pub fn poll(&mut self) -> Option<Action> {
        self.0.poll()
    }

    /// What an owner may use.
    #[must_use]
    pub const fn limits(&self) -> Limits {
        self.0.settings.limits
    }

    /// How long a client may take until its SESSION_SETUP.
    #[must_use]
    pub const fn setup_within(&self) -> Duration {
        self.0.settings.quotas.setup_within
    }

    /// Bytes of the slots of all owners.
    #[must_use]
    pub const fn memory(&self) -> u64 {
        self.0.memory
    }

    /// Owners, among them those whose slots the device still uses.
    #[must_use]
    pub fn owners(&self) -> usize {
        self.0.owners.len()
    }

    /// Connections.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.0.connections.len()
    }

    /// All owners, those that have come first before others.
    #[must_use]
    pub fn owner_overviews(&self) -> Vec<OwnerOverview> {
        overview::owners(&self.0)
    }

    /// All connections, those that have come first before others.
    #[must_use]
    pub fn connection_overviews(&self) -> Vec<ConnectionOverview> {
        overview::connections(&self.0)
    }

    /// What has passed on all connections, those that have ended among them.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.0.connections.values().fold(self.0.past, |mut sum, connection| {
            sum += connection.counts;
            sum
        })
    }

    /// Other quotas, from now on. What is beyond them stays.
    pub const fn set_quotas(&mut self, quotas: Quotas) {
        self.0.settings.quotas = quotas;
    }
}
