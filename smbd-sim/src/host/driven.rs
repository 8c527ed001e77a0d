//! The loop: a machine, its end of the connection and its upper layer.

use std::rc::Rc;

use smbd_core::backend::{DriveError, drive};
use smbd_core::{Config, Connection, Endpoint, Input, Instant, Misuse};

use super::commands::Commands;
use super::layer::Layer;
use super::watched::{ACTIONS_MAX, Watched};
use super::{Host, Machines, Upper};
use crate::breach::DriveFault;
use crate::device::DeviceEnd;
use crate::fabric::Fabric;
use crate::fault::Faults;
use crate::probe::Probe;
use crate::{Breach, Side};

/// What is driven.
#[derive(Debug)]
pub(super) enum Driven<P> {
    Connection(Watched<Connection, P>),
    Endpoint(Watched<Endpoint, P>),
}

impl<P: Probe> Driven<P> {
    pub(super) fn new<F: Faults>(
        machine: Machines,
        side: Side,
        config: &Config,
        fabric: &Fabric<F, P>,
    ) -> Self {
        let (now, probe) = (fabric.now, Rc::clone(fabric.probe()));
        match machine {
            Machines::Connection => {
                let connection = Connection::new(side.into(), config, now);
                Self::Connection(Watched::new(connection, side, now, probe))
            }
            Machines::Endpoint => {
                probe.borrow_mut().begin_whole(fabric.at(side));
                Self::Endpoint(Watched::new(Endpoint::new(side.into(), config, now), side, now, probe))
            }
        }
    }

    /// Tells it something that is not from its device.
    pub(super) fn tell(&mut self, now: Instant, input: Input<'_>) -> Result<(), Misuse> {
        match self {
            Self::Connection(connection) => connection.tell(now, input),
            Self::Endpoint(endpoint) => endpoint.tell(now, input),
        }
    }

    /// To give it commands.
    pub(super) const fn commands(&mut self) -> Commands<'_> {
        match self {
            Self::Connection(connection) => {
                connection.commanded();
                Commands::Connection(&mut connection.machine)
            }
            Self::Endpoint(endpoint) => {
                endpoint.commanded();
                Commands::Endpoint(&mut endpoint.machine, &mut endpoint.books)
            }
        }
    }

    /// What is wrong with how it was driven.
    fn fault(&mut self, until: Option<Instant>, given: u64) -> Option<Breach> {
        let (turn, endless, fault) = match self {
            Self::Connection(machine) => (machine.end(until, given), machine.is_endless(), None),
            Self::Endpoint(machine) => {
                (machine.end(until, given), machine.is_endless(), machine.books.fault.take())
            }
        };
        let endless = endless.then_some(Breach::Endless(ACTIONS_MAX));
        endless.or(turn.err().map(Breach::Drive)).or(fault.map(Breach::Endpoint))
    }
}

impl<P> Driven<P> {
    pub(super) const fn connection(&self) -> &Connection {
        match self {
            Self::Connection(connection) => &connection.machine,
            Self::Endpoint(endpoint) => endpoint.machine.connection(),
        }
    }
}

impl<U: Upper, P: Probe> Host<U, P> {
    /// Drives the connection, which sees what the device shows by now.
    pub(crate) fn drive<F: Faults>(&mut self, fabric: &mut Fabric<F, P>) {
        let sees = self.device.due.take_if(|due| *due <= fabric.now).is_some();
        let Some(driven) = &mut self.driven else { return };
        self.device.begin_look(Some(if sees { self.device.batch() } else { 0 }));
        let mut layer = Layer {
            upper: &mut self.upper,
            names: &mut self.names,
            alarm: &mut self.alarm,
            drained: &mut self.drained,
        };
        let mut end = DeviceEnd::new(&mut self.device, fabric);
        let driving = match driven {
            Driven::Connection(connection) => {
                connection.begin(end.fabric.now);
                drive(connection, &mut end, &mut layer)
            }
            Driven::Endpoint(endpoint) => {
                endpoint.begin(end.fabric.now);
                drive(endpoint, &mut end, &mut layer)
            }
        };
        match driving {
            Ok(until) => self.wait(until, fabric),
            Err(error) => {
                self.device.nic.breaches.record(breach_of(error));
                self.deadline = None;
            }
        }
    }

    /// What was driven waits: for whatever the device sees, and for a time.
    fn wait<F: Faults>(&mut self, until: Option<Instant>, fabric: &mut Fabric<F, P>) {
        let Some(driven) = &mut self.driven else { return };
        if let Some(breach) = driven.fault(until, self.device.given()) {
            self.device.nic.breaches.record(breach);
        } else if self.device.has_chain() {
            self.device.nic.breaches.record(Breach::Drive(DriveFault::NoDoorbell));
        }
        self.deadline = until.map(|at| at.saturating_add(fabric.timer_late(self.side)));
        if until.is_some_and(|at| at <= fabric.now) {
            // There is more to do, which was seen already.
            self.device.due = Some(fabric.now);
        } else if self.device.has_more() {
            self.device.look(fabric);
        }
    }
}

const fn breach_of(error: DriveError) -> Breach {
    match error {
        DriveError::Backend(misuse) => Breach::Misuse(misuse),
        DriveError::Receive(short) => Breach::ShortReceive(short),
        DriveError::Upper(no_memory) => Breach::NoMemory(no_memory.0),
        _ => Breach::Action("drive"),
    }
}
