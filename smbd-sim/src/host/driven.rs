//! The loop: a machine, its end of the connection and its upper layer.

use std::rc::Rc;

use smbd_core::backend::{DriveError, drive};
use smbd_core::{Config, Connection, Input, Instant, Misuse, Role};

use super::context::Commands;
use super::layer::Layer;
use super::watched::{ACTIONS_MAX, Turn, Watched};
use super::{Host, Upper};
use crate::breach::DriveFault;
use crate::device::{Device, DeviceEnd};
use crate::fabric::Fabric;
use crate::fault::Faults;
use crate::probe::Probe;
use crate::{Breach, Side};

/// What is driven.
#[derive(Debug)]
pub(super) enum Driven<P> {
    Connection(Watched<Connection, P>),
}

impl<P: Probe> Driven<P> {
    pub(super) fn new<F: Faults>(role: Role, config: &Config, fabric: &Fabric<F, P>) -> Self {
        let side = match role {
            Role::Initiator => Side::Initiator,
            Role::Acceptor => Side::Acceptor,
        };
        let connection = Connection::new(role, config, fabric.now);
        Self::Connection(Watched::new(connection, side, fabric.now, Rc::clone(fabric.probe())))
    }

    /// Tells it something that is not from its device.
    pub(super) fn tell(&mut self, now: Instant, input: Input<'_>) -> Result<(), Misuse> {
        match self {
            Self::Connection(connection) => connection.tell(now, input),
        }
    }

    /// To give it commands.
    pub(super) const fn commands(&mut self) -> Commands<'_> {
        match self {
            Self::Connection(connection) => {
                connection.commanded();
                Commands::Connection(&mut connection.machine)
            }
        }
    }

    const fn turn(&self) -> &Turn {
        match self {
            Self::Connection(connection) => connection.turn(),
        }
    }

    const fn taken(&self) -> u64 {
        match self {
            Self::Connection(connection) => connection.taken(),
        }
    }

    const fn waits_until(&self) -> Option<Instant> {
        match self {
            Self::Connection(connection) => connection.waits_until(),
        }
    }
}

impl<P> Driven<P> {
    pub(super) const fn connection(&self) -> &Connection {
        match self {
            Self::Connection(connection) => &connection.machine,
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
        let Some(driven) = &self.driven else { return };
        if let Some(fault) = fault_of(driven, &self.device, until, fabric.now) {
            self.device.nic.breaches.record(Breach::Drive(fault));
        }
        if driven.turn().endless {
            self.device.nic.breaches.record(Breach::Endless(ACTIONS_MAX));
        }
        self.deadline = until.map(|at| at.saturating_add(fabric.timer_late(self.side)));
        if self.device.has_more() {
            self.device.look(fabric);
        }
    }
}

/// What was wrong with a turn, by the books of both ends of the loop.
fn fault_of<P: Probe>(
    driven: &Driven<P>,
    device: &Device,
    until: Option<Instant>,
    now: Instant,
) -> Option<DriveFault> {
    let (given, taken) = (device.given(), driven.taken());
    let deadline = driven.waits_until();
    // There is more to do: it comes back at once.
    let at_once = until.is_some_and(|at| at <= now);
    if device.has_chain() {
        Some(DriveFault::NoDoorbell)
    } else if given != taken {
        Some(DriveFault::Inputs { given, taken })
    } else if !at_once && (until != deadline || deadline.is_some_and(|at| at <= now)) {
        Some(DriveFault::Waits { until, deadline })
    } else {
        driven.turn().fault
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
