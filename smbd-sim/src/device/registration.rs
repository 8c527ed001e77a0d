//! Registration with the device: plain, or by binding memory windows.

use smbd_core::backend::Request;
use smbd_core::error::WorkError;
use smbd_core::{Access, BufferDescriptorV1, RegId};

use super::Device;
use super::posts::{REFUSED, sent};
use crate::Breach;
use crate::fabric::{Fabric, Notice, ScheduledEvent};
use crate::fault::Faults;
use crate::memory::{Hold, Kind, Range};
use crate::nic::{Operation, QpState};
use crate::probe::Probe;

/// Work requests of a registration under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Idle,
    Binding,
    Invalidating,
    /// It did not come to be; its end is told later.
    Failed,
}

#[derive(Clone, Debug)]
struct Registration {
    id: RegId,
    /// It was told that it is valid.
    told: bool,
    segments: Vec<BufferDescriptorV1>,
    stage: Stage,
}

/// Registrations, by slot.
#[derive(Debug, Default)]
pub(super) struct Registrations(Vec<Option<Registration>>);

impl Registrations {
    fn put(&mut self, id: RegId) {
        let at = usize::from(id.slot());
        if self.0.len() <= at {
            self.0.resize_with(at + 1, || None);
        }
        self.0[at] = Some(Registration { id, told: false, segments: Vec::new(), stage: Stage::Idle });
    }

    fn get(&self, id: RegId) -> Option<&Registration> {
        self.0.get(usize::from(id.slot()))?.as_ref().filter(|r| r.id == id)
    }

    fn get_mut(&mut self, id: RegId) -> Option<&mut Registration> {
        self.0.get_mut(usize::from(id.slot()))?.as_mut().filter(|r| r.id == id)
    }

    fn set(&mut self, id: RegId, stage: Stage) {
        if let Some(registration) = self.get_mut(id) {
            registration.stage = stage;
        }
    }

    pub(super) fn stage(&self, id: RegId) -> Option<Stage> {
        Some(self.get(id)?.stage)
    }

    /// What the peer may address.
    pub(super) fn segments(&self, id: RegId) -> &[BufferDescriptorV1] {
        self.get(id).map_or(&[], |registration| &registration.segments)
    }

    /// All binds are complete. `false`: before it was told of; then both are told at once.
    pub(super) fn on_bind_complete(&mut self, id: RegId) -> bool {
        let Some(registration) = self.get_mut(id) else { return true };
        registration.stage = Stage::Idle;
        registration.told
    }

    /// All invalidations are complete.
    pub(super) fn on_invalidated(&mut self, id: RegId) {
        self.set(id, Stage::Idle);
    }

    /// Binds, or invalidations, have failed. Whether what it opened is to be closed.
    pub(super) fn on_failed(&mut self, id: RegId) -> bool {
        let Some(registration) = self.get_mut(id) else { return false };
        let binding = registration.stage == Stage::Binding;
        registration.stage = if binding && !registration.told { Stage::Failed } else { Stage::Idle };
        binding
    }

    /// It is told that it is valid, and whether its binds are complete; `None` if it has failed meanwhile.
    pub(super) fn on_told(&mut self, id: RegId) -> Option<bool> {
        let registration = self.get_mut(id).filter(|r| r.stage != Stage::Failed)?;
        registration.told = true;
        Some(registration.stage == Stage::Idle)
    }
}

impl Device {
    pub(super) fn register<F: Faults, P: Probe>(
        &mut self,
        id: RegId,
        range: Option<Range>,
        access: Access,
        segments_max: u16,
        fabric: &mut Fabric<F, P>,
    ) {
        self.registrations.put(id);
        let answer = match self.try_register(id, range, access, segments_max, fabric) {
            Ok(true) => Notice::Registered(id),
            // The queues report that it failed.
            Ok(false) => return,
            Err(error) => {
                self.close_tokens(id);
                self.registrations.set(id, Stage::Failed);
                Notice::RegistrationFailed(id, error)
            }
        };
        self.later(answer, fabric);
    }

    /// Answers now, or as late as the faults have it.
    fn later<F: Faults, P: Probe>(&mut self, answer: Notice, fabric: &mut Fabric<F, P>) {
        let late = fabric.faults.registration_late(fabric.now, self.side, &mut fabric.rng);
        if late.is_zero() {
            self.notice(answer, fabric);
        } else {
            fabric.schedule_in(late, ScheduledEvent::Notice(self.side, answer));
        }
    }

    /// `false` if a bind was refused.
    fn try_register<F: Faults, P: Probe>(
        &mut self,
        id: RegId,
        range: Option<Range>,
        access: Access,
        segments_max: u16,
        fabric: &mut Fabric<F, P>,
    ) -> Result<bool, WorkError> {
        let range = range.ok_or(WorkError::LocalProtection)?;
        if self.queues.is_broken() || self.nic.state() != QpState::Ready {
            return Err(WorkError::Flushed);
        }
        if let Some(error) = fabric.faults.fail_registration(fabric.now, self.side, &mut fabric.rng) {
            return Err(error);
        }
        let piece_len = self.nic.config.segment_len_max.max(1);
        let pieces = range.len.div_ceil(piece_len);
        if pieces == 0 || pieces > u32::from(segments_max) {
            return Err(REFUSED);
        }
        for piece in 0..pieces {
            let offset = piece * piece_len;
            let part = range.part(offset, piece_len.min(range.len - offset));
            self.open(id, access, part.ok_or(WorkError::LocalProtection)?)?;
        }
        if !self.nic.config.windows {
            return Ok(true);
        }
        self.registrations.set(id, Stage::Binding);
        for _ in 0..pieces {
            let bind = |_: &mut Self| sent(id.into(), Some(Operation::Bind), true, false);
            if !self.post(Request::Bind(id), fabric, bind) {
                break;
            }
        }
        self.ring_doorbell(fabric);
        Ok(!self.queues.is_broken())
    }

    fn open(&mut self, id: RegId, access: Access, part: Range) -> Result<(), WorkError> {
        let kind = if self.nic.config.windows { Kind::Window } else { Kind::Region };
        let domain = self.nic.domain();
        let opened = self.nic.tokens.enable(&self.nic.buffers, domain, kind, access, part);
        let segment = opened.ok_or(WorkError::LocalProtection)?;
        self.nic.buffers.hold(part.buffer, Hold::Write);
        if let Some(registration) = self.registrations.get_mut(id) {
            registration.segments.push(segment);
        }
        Ok(())
    }

    /// `live` are its tokens which the peer has not invalidated.
    pub(super) fn deregister<F: Faults, P: Probe>(
        &mut self,
        id: RegId,
        live: &[BufferDescriptorV1],
        fabric: &mut Fabric<F, P>,
    ) {
        if let Some(error) = fabric.faults.fail_deregistration(fabric.now, self.side, &mut fabric.rng) {
            return self.later(Notice::RegistrationFailed(id, error), fabric);
        }
        // An earlier attempt may have invalidated some of them.
        let live = live.iter().filter(|segment| self.nic.tokens.is_live(segment.token));
        let live: Vec<_> = live.copied().collect();
        if !self.nic.config.windows || self.nic.state() != QpState::Ready {
            self.close_tokens(id);
            return self.later(Notice::Deregistered(id), fabric);
        }
        if live.is_empty() {
            return self.later(Notice::Deregistered(id), fabric);
        }
        self.registrations.set(id, Stage::Invalidating);
        for segment in &live {
            let operation = Some(Operation::Invalidate(segment.token));
            if !self.post(Request::Invalidate(id), fabric, |_| sent(id.into(), operation, true, false)) {
                break;
            }
        }
    }

    /// Ends all access that a registration still gives.
    pub(crate) fn close_tokens(&mut self, id: RegId) {
        let Some(registration) = self.registrations.get_mut(id) else { return };
        let domain = self.nic.domain();
        for segment in std::mem::take(&mut registration.segments) {
            if let Ok(buffer) = self.nic.tokens.disable(domain, segment.token) {
                self.nic.unhold(buffer, true);
            }
        }
    }

    /// It is told that all access has ended.
    pub(crate) fn check_closed(&mut self, id: RegId) {
        let open = self.registrations.segments(id).iter().map(|segment| segment.token);
        let left: Vec<_> = open.filter(|token| self.nic.tokens.is_live(*token)).collect();
        for token in left {
            self.nic.breaches.record(Breach::LeftOpen(token));
        }
        self.close_tokens(id);
    }

    /// Nothing is posted any more: nothing stays open.
    pub(crate) fn close_all_registrations(&mut self) {
        let domain = self.nic.domain();
        let tokens: Vec<_> = self.nic.tokens.live(domain).collect();
        for token in tokens {
            if let Ok(buffer) = self.nic.tokens.disable(domain, token) {
                self.nic.unhold(buffer, true);
            }
        }
    }
}
