//! Registration with the device: plain, or by binding memory windows.

use smbd_core::error::WorkError;
use smbd_core::{Access, BufferDescriptorV1, Input, RegId, WrId};

use super::local::Stage;
use super::{Host, Local, Upper};
use crate::fault::Faults;
use crate::memory::{Hold, Kind, Range};
use crate::nic::{Operation, QpState, SendWork};
use crate::probe::Probe;
use crate::world::{Fabric, Happening};

/// Invalid argument.
const EINVAL: i32 = 22;

impl<U: Upper> Host<U> {
    pub(super) fn register<F: Faults, P: Probe>(
        &mut self,
        id: RegId,
        access: Access,
        segments_max: u16,
        fabric: &mut Fabric<F, P>,
    ) {
        let answer = match self.try_register(id, access, segments_max, fabric) {
            Ok(()) => Local::Registered(id),
            Err(error) => {
                if let Some(registration) = self.local.registration(id).filter(|r| r.requests > 0) {
                    // The binds before it asked for no completion: nothing more is heard of them. What they opened is
                    // closed before it is told.
                    registration.stage = Stage::Failed;
                } else {
                    self.close_tokens(id);
                }
                Local::RegistrationFailed(id, error)
            }
        };
        self.later(answer, fabric);
    }

    /// Answers now, or as late as the faults have it.
    fn later<F: Faults, P: Probe>(&mut self, answer: Local, fabric: &mut Fabric<F, P>) {
        let late = fabric.faults.registration_late(fabric.now, self.side, &mut fabric.rng);
        if late.is_zero() {
            self.notice(answer, fabric);
        } else {
            fabric.schedule_in(late, Happening::Local(self.side, answer));
        }
    }

    fn try_register<F: Faults, P: Probe>(
        &mut self,
        id: RegId,
        access: Access,
        segments_max: u16,
        fabric: &mut Fabric<F, P>,
    ) -> Result<(), WorkError> {
        let Some(range) = self.local.range_of(id) else {
            self.no_memory(id);
            return Err(WorkError::LocalProtection);
        };
        if self.refusing || self.nic.state() != QpState::Ready {
            return Err(WorkError::Flushed);
        }
        if let Some(error) = fabric.faults.fail_registration(fabric.now, self.side, &mut fabric.rng) {
            return Err(error);
        }
        let piece_len = self.nic.config.segment_len_max.max(1);
        let pieces = range.len.div_ceil(piece_len);
        if pieces == 0 || pieces > u32::from(segments_max) {
            return Err(WorkError::Refused { errno: EINVAL });
        }
        for piece in 0..pieces {
            let offset = piece * piece_len;
            let part = range.part(offset, piece_len.min(range.len - offset));
            let part = part.ok_or(WorkError::LocalProtection)?;
            self.open(id, access, part)?;
            if self.nic.config.windows {
                let signal = piece + 1 == pieces;
                let work = SendWork { id: id.into(), operation: Operation::Bind, signal };
                if !self.post(work, false, fabric) {
                    return Err(WorkError::Refused { errno: EINVAL });
                }
                if let Some(registration) = self.local.registration(id) {
                    registration.stage = Stage::Binding;
                    registration.requests += 1;
                }
            }
        }
        Ok(())
    }

    fn open(&mut self, id: RegId, access: Access, part: Range) -> Result<(), WorkError> {
        let kind = if self.nic.config.windows { Kind::Window } else { Kind::Region };
        let domain = self.nic.domain();
        let opened = self.nic.tokens.enable(&self.nic.buffers, domain, kind, access, part);
        let segment = opened.ok_or(WorkError::LocalProtection)?;
        self.nic.buffers.hold(part.buffer, Hold::Write);
        if let Some(registration) = self.local.registration(id) {
            registration.segments.push(segment);
        }
        Ok(())
    }

    /// One bind or invalidation of a registration is complete.
    pub(super) fn on_registration_work<F: Faults, P: Probe>(
        &mut self,
        id: RegId,
        result: Result<(), WorkError>,
        fabric: &mut Fabric<F, P>,
    ) {
        let Some(registration) = self.local.registration(id) else { return };
        registration.error = registration.error.or(result.err());
        registration.requests = registration.requests.saturating_sub(1);
        if registration.requests > 0 {
            return;
        }
        if registration.stage == Stage::Failed {
            return;
        }
        let stage = std::mem::replace(&mut registration.stage, Stage::Idle);
        let error = registration.error.take();
        let input = match (stage, error) {
            (_, Some(error)) => {
                if stage == Stage::Binding && !registration.told {
                    registration.stage = Stage::Failed;
                }
                Input::Failed { id: WrId::Reg(id), error }
            }
            (Stage::Invalidating, None) => {
                self.receive_all(fabric);
                Input::Deregistered { id }
            }
            // Complete before the connection heard of it: then it will hear of both at once.
            (Stage::Binding | Stage::Idle | Stage::Failed, None) if !registration.told => return,
            (Stage::Binding | Stage::Idle | Stage::Failed, None) => Input::Bound { id },
        };
        if error.is_some() && stage == Stage::Binding {
            self.close_tokens(id);
        }
        self.report(input, fabric);
    }

    /// `live` are its tokens which the peer has not invalidated.
    pub(super) fn deregister<F: Faults, P: Probe>(
        &mut self,
        id: RegId,
        live: &[BufferDescriptorV1],
        fabric: &mut Fabric<F, P>,
    ) {
        if let Some(error) = fabric.faults.fail_deregistration(fabric.now, self.side, &mut fabric.rng) {
            return self.later(Local::RegistrationFailed(id, error), fabric);
        }
        let mut live = live.to_vec();
        if let Some(registration) = self.local.registration(id) {
            // An earlier attempt may have invalidated some of them.
            live.retain(|segment| registration.segments.contains(segment));
        }
        if !self.nic.config.windows || self.nic.state() != QpState::Ready {
            self.close_tokens(id);
            return self.later(Local::Deregistered(id), fabric);
        }
        let mut posted = 0;
        for (at, segment) in live.iter().enumerate() {
            let operation = Operation::Invalidate(segment.token);
            let work = SendWork { id: id.into(), operation, signal: at + 1 == live.len() };
            if !self.post(work, false, fabric) {
                break;
            }
            posted += 1;
            if let Some(registration) = self.local.registration(id) {
                registration.segments.retain(|s| s != segment);
            }
        }
        if let Some(registration) = self.local.registration(id)
            && posted > 0
        {
            registration.stage = Stage::Invalidating;
            registration.requests = posted;
            if (posted as usize) < live.len() {
                registration.error = Some(WorkError::Refused { errno: EINVAL });
            }
            return;
        }
        let answer = if live.is_empty() {
            Local::Deregistered(id)
        } else {
            Local::RegistrationFailed(id, WorkError::Refused { errno: EINVAL })
        };
        self.later(answer, fabric);
    }

    /// Ends all access that a registration still gives.
    pub(super) fn close_tokens(&mut self, id: RegId) {
        let Some(registration) = self.local.registration(id) else { return };
        let domain = self.nic.domain();
        for segment in std::mem::take(&mut registration.segments) {
            if let Ok(buffer) = self.nic.tokens.disable(domain, segment.token) {
                self.nic.unhold(buffer, true);
            }
        }
    }

    /// Nothing is posted any more: nothing stays open.
    pub(super) fn close_all_registrations(&mut self) {
        let domain = self.nic.domain();
        let tokens: Vec<_> = self.nic.tokens.live(domain).collect();
        for token in tokens {
            if let Ok(buffer) = self.nic.tokens.disable(domain, token) {
                self.nic.unhold(buffer, true);
            }
        }
    }
}
