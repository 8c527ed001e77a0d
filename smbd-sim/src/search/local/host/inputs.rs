//! Gives the reports of the device and the network to the connection.

use smbd_core::error::WorkError;
use smbd_core::{BufferDescriptorV1, Input};

use super::super::device::{Kind, Work};
use super::Host;
use crate::oracle::Law;
use crate::probe::Probe;
use crate::search::wire::Message;

impl Host {
    pub(super) fn check_access(&mut self, allowed: bool, what: &str, part: &BufferDescriptorV1) {
        self.oracle
            .check(self.at(), Law::Tokens, allowed, || format!("{what} of {part:?}, which is not open"));
    }

    pub(super) fn on_connected(&mut self, seen: &mut dyn Probe) {
        self.link.connected = true;
        self.input(Input::Connected { limits: self.fixed.limits }, seen);
    }

    pub(super) fn input(&mut self, input: Input<'_>, seen: &mut dyn Probe) {
        let result = self.connection.handle(self.now, input);
        self.told = self.now;
        let at = self.at();
        seen.input(at, &input, result);
        self.oracle.input(at, &input, result);
        if let Err(misuse) = result {
            self.fail(Law::Device, format!("{input:?} refused: {misuse}"));
        }
    }

    pub(super) fn receive(&mut self, message: &Message, seen: &mut dyn Probe) {
        let len = message.len();
        let Some((id, room)) = self.device.recvs.pop_front() else {
            return self.fail(Law::Device, "a message arrived with no receive posted".to_owned());
        };
        if len > room {
            return self.fail(Law::Device, format!("a message of {len} bytes met a receive of {room}"));
        }
        if let Some(token) = message.invalidate {
            let was = self.device.invalidate(token);
            self.oracle
                .check(self.at(), Law::Tokens, was, || format!("{token} invalidated, which is not valid"));
        }
        if let Some(payload) = message.payload {
            self.device.landed.push_back((id, payload));
        }
        self.input(Input::Received { id, head: message.seen(), len, invalidated: message.invalidate }, seen);
    }

    pub(super) fn complete(&mut self, seen: &mut dyn Probe) {
        for _ in 0..self.device.completable().unwrap_or(0) {
            if let Some(work) = self.device.sends.pop_front() {
                self.finish(work, Ok(()), seen);
            }
        }
    }

    /// Work of the send queue has ended.
    pub(super) fn finish(&mut self, work: Work, result: Result<(), WorkError>, seen: &mut dyn Probe) {
        let input = match (work.kind, result) {
            (Kind::Send(id), Ok(())) => Input::Sent { id },
            (Kind::Write(id) | Kind::Read { id, .. }, Ok(())) => Input::RdmaDone { id },
            (Kind::Bind(id), Ok(())) => {
                let Some(region) = self.device.region(id) else { return };
                region.bound = true;
                // Else it hears of both at once.
                if !region.told {
                    return;
                }
                Input::BindComplete { id }
            }
            (Kind::Invalidate(id), Ok(())) => {
                self.device.forget(id);
                Input::Deregistered { id }
            }
            (Kind::Bind(id), Err(error)) => {
                self.device.notices.retain(|(of, _)| *of != id);
                self.device.forget(id);
                Input::Failed { id: id.into(), error }
            }
            (kind, Err(error)) => Input::Failed { id: kind.id(), error },
        };
        self.input(input, seen);
    }

    pub(super) fn registered(&mut self, seen: &mut dyn Probe) {
        let Some((id, _)) = self.device.notices.pop_front() else { return };
        let Some(region) = self.device.region(id) else { return };
        region.told = true;
        let (descriptor, bind_complete) = (region.descriptor, region.bound);
        self.input(Input::Registered { id, segments: &[descriptor], bind_complete }, seen);
    }

    pub(super) fn registration_fails(&mut self, error: WorkError, seen: &mut dyn Probe) {
        let Some((id, _)) = self.device.notices.pop_front() else { return };
        self.device.forget(id);
        self.input(Input::Failed { id: id.into(), error }, seen);
    }
}
