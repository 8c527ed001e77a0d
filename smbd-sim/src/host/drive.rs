//! The loop: a machine, its end of the connection and its upper layer.

use smbd_core::Instant;

use super::layer::Layer;
use super::{Host, Upper};
use crate::Breach;
use crate::breach::DriveFault;
use crate::device::DeviceBackend;
use crate::fabric::Fabric;
use crate::fault::Faults;
use crate::machine::breach_of;
use crate::probe::Probe;

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
        let now = fabric.now;
        let mut end = DeviceBackend::new(&mut self.device, fabric);
        let driving = driven.drive(now, &mut end, &mut layer);
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
