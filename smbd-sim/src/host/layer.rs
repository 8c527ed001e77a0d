//! The upper layer of a host, as the handler of a driven connection.

use smbd_core::backend::{BufferLookup, Payload};
use smbd_core::endpoint::EndpointEvent;
use smbd_core::error::RegistrationError;
use smbd_core::{Body, Connection, Endpoint, Event, Instant, OpId, RegId, backend};

use super::memory::Names;
use super::{Context, Upper};
use crate::Breach;
use crate::device::{Device, DeviceBackend};
use crate::fault::Faults;
use crate::machine::{Commands, Watched, plain};
use crate::memory::{Buffer, Range};
use crate::probe::Probe;

/// The upper layer, and the memory it has named.
#[derive(Debug)]
pub(super) struct Layer<'a, U> {
    pub(super) upper: &'a mut U,
    pub(super) names: &'a mut Names,
    pub(super) alarm: &'a mut Option<Instant>,
    pub(super) drained: &'a mut bool,
}

impl<U> BufferLookup<Range> for Layer<'_, U> {
    fn body(&self, body: Body) -> Option<Payload<'_, Range>> {
        self.names.body(body)
    }

    fn operation(&self, op: OpId) -> Option<&Range> {
        self.names.operation(op)
    }

    fn registration(&self, id: RegId) -> Option<&Range> {
        self.names.registration(id)
    }
}

impl<U: Upper, F: Faults, P: Probe> backend::Handler<DeviceBackend<'_, F, P>, Watched<Connection, P>>
    for Layer<'_, U>
{
    fn event(
        &mut self,
        connection: &mut Watched<Connection, P>,
        end: &mut DeviceBackend<'_, F, P>,
        event: Event,
    ) {
        let (commands, probe) = connection.watched_commands();
        self.hear(event, commands, end, &mut *probe.borrow_mut());
    }
}

impl<U: Upper, F: Faults, P: Probe> backend::Handler<DeviceBackend<'_, F, P>, Watched<Endpoint, P>>
    for Layer<'_, U>
{
    fn event(
        &mut self,
        endpoint: &mut Watched<Endpoint, P>,
        end: &mut DeviceBackend<'_, F, P>,
        event: EndpointEvent,
    ) {
        let (commands, probe) = endpoint.watched_commands();
        let mut probe = probe.borrow_mut();
        if let Some(event) = plain(&event) {
            return self.hear(event, commands, end, &mut *probe);
        }
        if let EndpointEvent::Message(message) = event {
            self.call(commands, end, &mut *probe, |upper, context| upper.message(message, context));
        }
    }
}

impl<U: Upper> Layer<'_, U> {
    #[inline(always)]
    fn hear<F: Faults, P: Probe>(
        &mut self,
        event: Event,
        commands: Commands<'_>,
        end: &mut DeviceBackend<'_, F, P>,
        probe: &mut P,
    ) {
        self.prepare(&event, end.device);
        self.call(commands, end, probe, |upper, context| upper.event(event, context));
    }

    #[inline(always)]
    fn call<F: Faults, P: Probe>(
        &mut self,
        commands: Commands<'_>,
        end: &mut DeviceBackend<'_, F, P>,
        probe: &mut P,
        upper: impl FnOnce(&mut U, &mut Context<'_>),
    ) {
        let mut context = Context {
            at: end.fabric.at(end.device.side),
            commands: Some(commands),
            nic: &mut end.device.nic,
            names: self.names,
            rng: &mut end.fabric.rng,
            probe,
            alarm: self.alarm,
        };
        upper(self.upper, &mut context);
    }
}

impl<U> Layer<'_, U> {
    /// What an event means for memory, before the upper layer hears of it.
    #[inline(always)]
    fn prepare(&mut self, event: &Event, device: &mut Device) {
        match event {
            Event::Sent { msg, result } => {
                if let Some(buffer) = self.names.take_message(*msg) {
                    self.give_back(buffer, result.is_ok(), device);
                }
            }
            // A connection that is dying serves nobody any more; what is left then is closed with `Drained`.
            Event::Registered { id, result: Err(RegistrationError::Work(_)) } => device.close_tokens(*id),
            Event::Deregistered { id, result: Ok(()) } => device.check_closed(*id),
            Event::Drained => self.on_drained(device),
            _ => {}
        }
    }

    /// Frees a message's buffer: at once when it was sent, else when the device is surely done with it.
    fn give_back(&mut self, buffer: Buffer, sent: bool, device: &mut Device) {
        if sent {
            device.nic.buffers.free(buffer);
        } else {
            self.names.deferred.push(buffer);
        }
    }

    fn on_drained(&mut self, device: &mut Device) {
        if std::mem::replace(self.drained, true) {
            return device.nic.breaches.record(Breach::Action("Notify(Drained)"));
        }
        if !device.nic.is_drained() {
            device.nic.breaches.record(Breach::Action("Notify(Drained) with work posted"));
        }
        device.close_all_registrations();
        for buffer in std::mem::take(&mut self.names.deferred) {
            device.nic.buffers.free(buffer);
        }
    }
}
