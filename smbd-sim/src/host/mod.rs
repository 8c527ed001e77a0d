//! One host: device, connection and upper layer, driven by [`smbd_core::backend::drive()`] as every backend.

mod context;
mod drive;
mod layer;
mod memory;
mod upper;

use std::rc::Rc;

use smbd_core::{Config, Connection, Input, Instant, Misuse};

pub use context::Context;
pub use upper::{Listener, Upper};

use crate::Side;
use crate::device::{Device, Polling};
use crate::fabric::Fabric;
use crate::fault::Faults;
use crate::machine::Driven;
pub use crate::machine::Machines;
use crate::nic::NicConfig;
use crate::probe::Probe;
use memory::Names;

/// What a host is made of.
#[derive(Debug)]
pub struct HostConfig<U> {
    /// Of its connection.
    pub config: Config,
    /// Of its device.
    pub nic: NicConfig,
    /// Its upper layer.
    pub upper: U,
}

/// A host.
#[derive(Debug)]
pub struct Host<U, P> {
    /// Which one.
    pub side: Side,
    /// Its upper layer.
    pub upper: U,
    /// Its device, memory and tokens, and the breaches found there.
    pub device: Device,
    /// What it drives, from its next connection on.
    pub machine: Machines,
    config: Config,
    driven: Option<Driven<P>>,
    /// Somebody else drives its device: it has no connection.
    bare: bool,
    names: Names,
    drained: bool,
    /// When the connection wants to be told the time.
    pub(crate) deadline: Option<Instant>,
    /// When the upper layer wants to be called.
    pub(crate) alarm: Option<Instant>,
}

impl<U: Upper, P: Probe> Host<U, P> {
    pub(crate) fn new(side: Side, parts: HostConfig<U>, polling: Polling) -> Self {
        Self {
            side,
            upper: parts.upper,
            device: Device::new(side, parts.nic, &parts.config.budget(), polling),
            config: parts.config,
            machine: Machines::default(),
            driven: None,
            bare: false,
            names: Names::default(),
            drained: false,
            deadline: None,
            alarm: None,
        }
    }

    /// It gets no connection: somebody else drives its device.
    pub(crate) const fn make_bare(&mut self) {
        self.bare = true;
    }

    /// Ready for another connection on the same device, memory and upper layer.
    pub(crate) fn renew(&mut self) {
        self.device.renew();
        self.driven = None;
        self.names = Names::default();
        self.drained = false;
        (self.deadline, self.alarm) = (None, None);
    }

    /// Its process is gone: nothing of it is driven any more.
    pub(crate) fn die<F: Faults>(&mut self, fabric: &mut Fabric<F, P>) {
        self.driven = None;
        self.drained = true;
        (self.deadline, self.alarm) = (None, None);
        self.device.die(fabric);
    }

    /// When its connection wants to be told the time.
    #[must_use]
    pub const fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Its connection, once there is one.
    #[must_use]
    pub fn connection(&self) -> Option<&Connection> {
        self.driven.as_ref().map(Driven::connection)
    }

    /// Whether its connection said `Drained`.
    #[must_use]
    pub const fn is_drained(&self) -> bool {
        self.drained
    }

    /// The connection begins: now, for the initiator; when the request is in, for the acceptor.
    pub(crate) fn start<F: Faults>(&mut self, fabric: &mut Fabric<F, P>) {
        if self.bare {
            return self.device.requested(fabric);
        }
        if self.driven.is_none() {
            // A listener has the request before it makes a connection.
            if self.side == Side::Acceptor {
                self.device.requested(fabric);
            }
            self.driven = Some(Driven::new(
                self.machine,
                self.side,
                &self.config,
                fabric.now,
                Rc::clone(fabric.probe()),
            ));
            self.drive(fabric);
        }
    }

    /// The time the connection asked for has come.
    pub(crate) fn timeout<F: Faults>(&mut self, fabric: &mut Fabric<F, P>) {
        self.deadline = None;
        self.drive(fabric);
    }

    /// The upper layer asked to be called now.
    pub(crate) fn wake<F: Faults>(&mut self, fabric: &mut Fabric<F, P>) {
        self.alarm = None;
        self.with_upper(fabric, Upper::wake);
        self.drive(fabric);
    }

    /// Calls the upper layer.
    pub(crate) fn with_upper<F: Faults, R>(
        &mut self,
        fabric: &mut Fabric<F, P>,
        call: impl FnOnce(&mut U, &mut Context<'_>) -> R,
    ) -> R {
        let at = fabric.at(self.side);
        let probe = Rc::clone(fabric.probe());
        let mut context = Context {
            at,
            commands: self.driven.as_mut().map(Driven::commands),
            nic: &mut self.device.nic,
            names: &mut self.names,
            rng: &mut fabric.rng,
            probe: &mut *probe.borrow_mut(),
            alarm: &mut self.alarm,
        };
        call(&mut self.upper, &mut context)
    }

    /// Tells the connection something that did not happen.
    pub(crate) fn forge<F: Faults>(
        &mut self,
        input: Input<'_>,
        fabric: &Fabric<F, P>,
    ) -> Option<Result<(), Misuse>> {
        Some(self.driven.as_mut()?.tell(fabric.now, input))
    }
}
