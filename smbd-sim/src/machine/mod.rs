//! What is driven, a connection or an endpoint, and its watchers.

mod commands;
mod endpoint;
mod watched;

use std::cell::RefCell;
use std::rc::Rc;

use smbd_core::backend::{Backend, DriveError, Handler, drive};
use smbd_core::{Config, Connection, Endpoint, Input, Instant, Misuse};

pub(crate) use commands::{Commands, Source};
pub(crate) use endpoint::plain;
pub(crate) use watched::Watched;

use crate::probe::{At, Probe};
use crate::{Breach, Side};
use watched::ACTIONS_MAX;

/// What a host drives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Machines {
    /// A [`Connection`]: its upper layer gets fragments.
    #[default]
    Connection,
    /// An [`Endpoint`]: its upper layer gets whole messages.
    Endpoint,
}

/// What is driven.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one for each host, and it is used for every message")]
pub(crate) enum Driven<P> {
    Connection(Watched<Connection, P>),
    Endpoint(Watched<Endpoint, P>),
}

impl<P: Probe> Driven<P> {
    pub(crate) fn new(
        machine: Machines,
        side: Side,
        config: &Config,
        now: Instant,
        probe: Rc<RefCell<P>>,
    ) -> Self {
        match machine {
            Machines::Connection => {
                let connection = Connection::new(side.into(), config, now);
                Self::Connection(Watched::new(connection, side, now, probe))
            }
            Machines::Endpoint => {
                probe.borrow_mut().begin_whole(At { now, side });
                Self::Endpoint(Watched::new(Endpoint::new(side.into(), config, now), side, now, probe))
            }
        }
    }

    /// Drives it, as whoever embeds it does.
    pub(crate) fn drive<B, U>(
        &mut self,
        now: Instant,
        backend: &mut B,
        upper: &mut U,
    ) -> Result<Option<Instant>, DriveError>
    where
        B: Backend,
        U: Handler<B, Watched<Connection, P>> + Handler<B, Watched<Endpoint, P>>,
    {
        match self {
            Self::Connection(connection) => {
                connection.begin(now);
                drive(connection, backend, upper)
            }
            Self::Endpoint(endpoint) => {
                endpoint.begin(now);
                drive(endpoint, backend, upper)
            }
        }
    }

    /// Tells it something that is not from its backend.
    pub(crate) fn tell(&mut self, now: Instant, input: Input<'_>) -> Result<(), Misuse> {
        match self {
            Self::Connection(connection) => connection.tell(now, input),
            Self::Endpoint(endpoint) => endpoint.tell(now, input),
        }
    }

    /// To give it commands.
    pub(crate) fn commands(&mut self) -> Commands<'_> {
        match self {
            Self::Connection(connection) => connection.commands(),
            Self::Endpoint(endpoint) => endpoint.commands(),
        }
    }

    /// What is wrong with how it was driven, by a loop that comes back at `until` and a backend that has given so many
    /// inputs.
    pub(crate) fn fault(&mut self, until: Option<Instant>, given: u64) -> Option<Breach> {
        let (turn, endless, fault) = match self {
            Self::Connection(machine) => (machine.end(until, given), machine.is_endless(), None),
            Self::Endpoint(machine) => {
                (machine.end(until, given), machine.is_endless(), machine.records.fault.take())
            }
        };
        let endless = endless.then_some(Breach::Endless(ACTIONS_MAX));
        endless.or(turn.err().map(Breach::Drive)).or(fault.map(Breach::Endpoint))
    }
}

impl<P> Driven<P> {
    pub(crate) const fn connection(&self) -> &Connection {
        match self {
            Self::Connection(connection) => &connection.machine,
            Self::Endpoint(endpoint) => endpoint.machine.connection(),
        }
    }
}

/// What broke the loop.
pub(crate) const fn breach_of(error: DriveError) -> Breach {
    match error {
        DriveError::Backend(misuse) => Breach::Misuse(misuse),
        DriveError::Receive(short) => Breach::ShortReceive(short),
        DriveError::Handler(no_memory) => Breach::UnknownBuffer(no_memory.0),
        _ => Breach::Action("drive"),
    }
}
