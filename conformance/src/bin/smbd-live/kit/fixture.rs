//! Pairs of ends on one device.

use std::net::{IpAddr, SocketAddr};
use std::thread;
use std::time::Duration;

use smbd_core::backend::kit::{Capabilities, Fixture, Lab, Peer, Situation};
use smbd_core::{Config, Role};
use smbd_verbs::quirks::Quirks;
use smbd_verbs::{Buffer, Clock, ListenOptions, Listener, VerbsConnection};

use super::acceptor::{Carrier, Side, Waiting};
use crate::case::Failure;
use crate::device;
use crate::nowhere::{self, NOWHERE};

/// First port used. Each fixture takes new ones: a device may still know the connections of the one before.
const FIRST_PORT: u16 = 20_000;

/// Makes fixtures on the device of an address.
#[derive(Debug)]
pub(super) struct VerbsLab<C> {
    address: IpAddr,
    port: u16,
    quirks: &'static Quirks,
    /// Lets time pass for these ends.
    pass: fn(&mut [[Side<C>; 2]], Duration),
}

/// Up to two connections.
#[derive(Debug)]
pub(super) struct VerbsFixture<C> {
    connections: Vec<[Side<C>; 2]>,
    pass: fn(&mut [[Side<C>; 2]], Duration),
}

/// Ends need nobody to let them do their work.
pub(super) fn sleep<C>(_: &mut [[Side<C>; 2]], time: Duration) {
    thread::sleep(time);
}

impl<C: Carrier> VerbsLab<C> {
    pub(super) fn new(address: IpAddr, pass: fn(&mut [[Side<C>; 2]], Duration)) -> Result<Self, Failure> {
        Ok(Self { address, port: FIRST_PORT, quirks: device::quirks(address)?, pass })
    }

    fn connection(&mut self, situation: Situation, config: &Config) -> Result<[Side<C>; 2], String> {
        self.port += 1;
        let clock = Clock::start();
        let here = SocketAddr::new(self.address, self.port);
        let (to, listens) = match situation {
            Situation::Connects | Situation::TwoConnections | Situation::LateConnected => (here, true),
            Situation::Refused | Situation::Silent => (here, false),
            Situation::Unreachable => (SocketAddr::new(NOWHERE, self.port), false),
        };
        let listener = if listens {
            let listener = Listener::bind(here, ListenOptions::default());
            Some(listener.map_err(|error| format!("listen at {here}: {error}"))?)
        } else {
            None
        };
        let initiator = VerbsConnection::connect(to, None, config, clock).and_then(C::carry);
        let initiator = initiator.map_err(|error| error.to_string())?;
        let acceptor = Waiting::new(listener, config, clock);
        Ok([Side::Ready(Box::new(initiator)), Side::Waiting(Box::new(acceptor))])
    }
}

impl<C: Carrier> Lab for VerbsLab<C> {
    type Fixture = VerbsFixture<C>;

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            refusal: true,
            two_connections: true,
            // No device delays the last message of a connection's set-up on demand.
            late_connected: false,
            refused: true,
            unreachable: !nowhere::is_routed(),
            // The connection manager of RoCE takes a minute to give up.
            silent: false,
            rdma: true,
            read_rights: !self.quirks.read_right_unchecked,
            invalidation_told: self.quirks.invalidated_flags != 0,
            peer_close_told: self.quirks.close_in_status,
            // The least time for what must not happen is a part of it.
            patience: Duration::from_secs(20),
        }
    }

    fn fixture(&mut self, situation: Situation, config: &Config) -> Result<VerbsFixture<C>, String> {
        let wanted = if situation == Situation::TwoConnections { 2 } else { 1 };
        let connections: Result<_, _> = (0..wanted).map(|_| self.connection(situation, config)).collect();
        Ok(VerbsFixture { connections: connections?, pass: self.pass })
    }
}

impl<C: Carrier> Fixture for VerbsFixture<C> {
    type Buffer = Buffer;
    type Backend<'a>
        = &'a mut Side<C>
    where
        Self: 'a;

    fn backend(&mut self, end: Peer) -> &mut Side<C> {
        let role = match end.role {
            Role::Initiator => 0,
            Role::Acceptor => 1,
        };
        &mut self.connections[end.connection.min(1)][role]
    }

    fn pass(&mut self, time: Duration) {
        (self.pass)(&mut self.connections, time);
    }

    fn refuse_after(&mut self, end: Peer, accepted: usize) {
        match self.backend(end) {
            Side::Ready(end) => end.end_mut().refuse_posts_after(accepted),
            Side::Waiting(waiting) => waiting.refuse_posts_after(accepted),
        }
    }
}
