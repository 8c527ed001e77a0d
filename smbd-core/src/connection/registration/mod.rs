//! Registered buffers: from the command to the end of all remote access (3.1.4.3, 3.1.4.4, MR-5).

mod state;

use alloc::boxed::Box;
use alloc::vec;
use core::hash::{Hash, Hasher};
use core::num::NonZeroU32;

use super::fingerprint::hash_unordered;
use crate::error::{Misuse, RegistrationError, WorkError};
use crate::id::Slot;
use crate::table::{Ring, Slots};
use crate::{Access, BufferDescriptorV1, Config, RegId, Token};
use state::{Registration, State, Work};

pub use state::Segment;

#[derive(Clone, Debug)]
pub(crate) struct Registrations {
    slots: Slots<Registration>,
    segments: Box<[Segment]>,
    segments_used: u16,
    /// Commands whose action has not been polled, in order.
    commands: Ring<u16>,
    /// Places on the send queue that all of them have, and the most they may have.
    requests: u32,
    requests_max: u32,
}

/// What to hand to the backend.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Command {
    Register { id: RegId, access: Access, segments_max: u16 },
    Deregister { id: RegId },
}

/// What the end of a piece of work means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Completion {
    Registered(u16),
    Deregistered(u16),
    /// A window bind failed after its registration was reported.
    Fatal,
    Nothing,
}

impl Registrations {
    pub(crate) const SLOT_BYTES: u64 = Slots::<Registration>::SLOT_BYTES + size_of::<u16>() as u64;
    pub(crate) const SEGMENT_BYTES: u64 = size_of::<Segment>() as u64;

    pub(crate) fn new(config: &Config) -> Self {
        Self {
            slots: Slots::new(config.registrations),
            segments: vec![Segment::UNUSED; usize::from(config.segments_max)].into_boxed_slice(),
            segments_used: 0,
            // One command at a time for each registration.
            commands: Ring::new(usize::from(config.registrations), 0),
            requests: 0,
            requests_max: u32::from(config.registration_slots),
        }
    }

    pub(crate) fn segments_max(&self) -> u16 {
        u16::try_from(self.segments.len()).unwrap_or(u16::MAX)
    }

    /// Places taken on the send queue.
    pub(crate) const fn requests(&self) -> u32 {
        self.requests
    }

    /// `None` if there is no room for it.
    pub(crate) fn register(&mut self, access: Access, segments: u16) -> Option<RegId> {
        let start = self.segments_used;
        let used = start.checked_add(segments).filter(|used| *used <= self.segments_max())?;
        let registration = Registration {
            state: State::Requested,
            access,
            start,
            count: segments,
            requests: 0,
            failure: None,
        };
        let slot = self.slots.acquire(registration)?;
        self.segments_used = used;
        self.enqueue(slot);
        Some(RegId(slot))
    }

    /// False if it is not valid.
    pub(crate) fn deregister(&mut self, id: RegId) -> bool {
        let Some(registration) = self.slots.get_mut(id.0) else { return false };
        let State::Active { bound } = registration.state else { return false };
        registration.state = State::Unwanted { bound };
        self.enqueue(id.0);
        true
    }

    fn enqueue(&mut self, slot: Slot) {
        let queued = self.commands.push(slot.index);
        debug_assert!(queued, "a registration without a place in the command queue");
    }

    pub(crate) const fn has_command(&self) -> bool {
        !self.commands.is_empty()
    }

    /// The next command, and how many places of the send queue it takes. `None` also while it waits for its binds, or
    /// for places of those that the configuration reserves for such work.
    fn first(&self, requests_per_segment: u16) -> Option<(Slot, u32)> {
        let slot = self.slots.name(*self.commands.front()?)?;
        let segments = match self.slots.get(slot)? {
            Registration { state: State::Unwanted { bound: false }, .. } => return None,
            Registration { state: State::Requested, count, .. } => u32::from(*count),
            _ => self.live(slot),
        };
        let requests = segments.saturating_mul(u32::from(requests_per_segment));
        (self.requests.saturating_add(requests) <= self.requests_max).then_some((slot, requests))
    }

    /// Places of the send queue that the next command is waiting for.
    pub(crate) fn places_wanted(&self, requests_per_segment: u16) -> Option<u32> {
        self.first(requests_per_segment).map(|(_, requests)| requests)
    }

    /// The next command whose work requests fit into `room` places of the send queue.
    pub(crate) fn next(&mut self, requests_per_segment: u16, room: u32) -> Option<Command> {
        let (slot, requests) = self.first(requests_per_segment).filter(|(_, requests)| *requests <= room)?;
        let registration = self.slots.get_mut(slot)?;
        registration.requests = requests;
        self.requests = self.requests.saturating_add(requests);
        let id = RegId(slot);
        let command = if registration.state == State::Requested {
            registration.state = State::Registering;
            Command::Register { id, access: registration.access, segments_max: registration.count }
        } else {
            registration.state = State::Deregistering;
            Command::Deregister { id }
        };
        self.commands.pop();
        Some(command)
    }

    fn live(&self, slot: Slot) -> u32 {
        let live = self.segments(RegId(slot)).iter().filter(|segment| segment.live_length.is_some()).count();
        u32::try_from(live).unwrap_or(u32::MAX)
    }

    /// Segments of a registration that is valid.
    pub(crate) fn segments(&self, id: RegId) -> &[Segment] {
        match self.slots.get(id.0) {
            Some(registration) if registration.is_valid() => {
                self.segments.get(registration.range()).unwrap_or_default()
            }
            Some(_) | None => &[],
        }
    }

    /// Checks what a backend reports as registered.
    pub(crate) fn check_registered(&self, id: RegId, segments: &[BufferDescriptorV1]) -> Result<(), Misuse> {
        let Some(registration) = self.slots.get(id.0).filter(|r| r.state.work() == Some(Work::Registering))
        else {
            return Err(Misuse::UnknownWork(id.into()));
        };
        if segments.is_empty() || segments.len() > usize::from(registration.count) {
            let got = u64::try_from(segments.len()).unwrap_or(u64::MAX);
            return Err(Misuse::SegmentCount { got, max: registration.count });
        }
        for segment in segments {
            let BufferDescriptorV1 { offset, token, length } = *segment;
            if length == 0 || offset.checked_add(u64::from(length.saturating_sub(1))).is_none() {
                return Err(Misuse::Segment { offset, len: length });
            }
            if self.find(token).is_some() {
                return Err(Misuse::TokenInUse(token));
            }
        }
        Ok(())
    }

    /// Records what `check_registered` accepted.
    pub(crate) fn on_registered(
        &mut self,
        id: RegId,
        segments: &[BufferDescriptorV1],
        bind_complete: bool,
    ) -> Completion {
        let Some(registration) = self.slots.get_mut(id.0) else { return Completion::Nothing };
        if bind_complete {
            self.requests = self.requests.saturating_sub(core::mem::take(&mut registration.requests));
        }
        if let State::Abandoned(work) = &mut registration.state {
            *work = Work::Binding;
            if bind_complete {
                self.free(id.0);
            }
            return Completion::Nothing;
        }
        registration.state = State::Active { bound: bind_complete };
        let range = registration.range();
        let count = u16::try_from(segments.len()).unwrap_or(u16::MAX);
        let places = self.segments.get_mut(range).unwrap_or_default();
        for (place, segment) in places.iter_mut().zip(segments) {
            let live_length = NonZeroU32::new(segment.length);
            *place = Segment { offset: segment.offset, token: segment.token, live_length };
        }
        self.shrink(id.0, count);
        Completion::Registered(id.slot())
    }

    #[inline(never)]
    pub(crate) fn on_bind_complete(&mut self, id: RegId) -> Result<(), Misuse> {
        let registration = self
            .slots
            .get_mut(id.0)
            .filter(|r| r.state.work() == Some(Work::Binding))
            .ok_or(Misuse::UnknownWork(id.into()))?;
        self.requests = self.requests.saturating_sub(core::mem::take(&mut registration.requests));
        match &mut registration.state {
            State::Active { bound } | State::Unwanted { bound } => *bound = true,
            State::Requested
            | State::Registering
            | State::Deregistering
            | State::Ended(_)
            | State::Abandoned(_) => self.free(id.0),
        }
        Ok(())
    }

    pub(crate) fn on_deregistered(&mut self, id: RegId) -> Result<Completion, Misuse> {
        let registration = self
            .slots
            .get_mut(id.0)
            .filter(|r| r.state.work() == Some(Work::Deregistering))
            .ok_or(Misuse::UnknownWork(id.into()))?;
        self.requests = self.requests.saturating_sub(core::mem::take(&mut registration.requests));
        if let State::Abandoned(_) = registration.state {
            self.free(id.0);
            return Ok(Completion::Nothing);
        }
        registration.state = State::Ended(Ok(()));
        Ok(Completion::Deregistered(id.slot()))
    }

    pub(crate) fn on_failed(&mut self, id: RegId, error: WorkError) -> Result<Completion, Misuse> {
        let unknown = Misuse::UnknownWork(id.into());
        let registration = self.slots.get_mut(id.0).ok_or(unknown)?;
        let completion = match registration.state {
            State::Registering => {
                registration.state = State::Ended(Err(error));
                Completion::Registered(id.slot())
            }
            // Still valid: the upper layer may try again.
            State::Deregistering => {
                registration.state = State::Active { bound: true };
                registration.failure = Some(error);
                Completion::Deregistered(id.slot())
            }
            State::Active { bound: false } => {
                registration.state = State::Active { bound: true };
                Completion::Fatal
            }
            // The command that made it unwanted still has to be answered.
            State::Unwanted { bound: false } => {
                registration.state = State::Unwanted { bound: true };
                Completion::Fatal
            }
            State::Abandoned(_) => Completion::Nothing,
            State::Requested
            | State::Active { bound: true }
            | State::Unwanted { bound: true }
            | State::Ended(_) => return Err(unknown),
        };
        self.requests = self.requests.saturating_sub(core::mem::take(&mut registration.requests));
        if completion == Completion::Nothing {
            self.free(id.0);
        }
        Ok(completion)
    }

    /// The upper layer is told the result of a command. A registration that has ended is gone with that.
    pub(crate) fn tell(&mut self, index: u16) -> Option<(RegId, Result<(), RegistrationError>)> {
        let slot = self.slots.name(index)?;
        let registration = self.slots.get_mut(slot)?;
        let mut result = registration.failure.take().map_or(Ok(()), Err);
        if let State::Ended(end) = registration.state {
            result = end;
            self.free(slot);
        }
        Some((RegId(slot), result.map_err(RegistrationError::ended_by)))
    }

    /// Marks `token` as invalidated by the peer; `None` if it is not valid.
    pub(crate) fn invalidate(&mut self, token: Token) -> Option<u16> {
        let slot = self.find(token)?;
        let range = self.slots.get(slot)?.range();
        for segment in self.segments.get_mut(range)?.iter_mut().filter(|segment| segment.token == token) {
            segment.live_length = None;
        }
        Some(slot.index)
    }

    fn find(&self, token: Token) -> Option<Slot> {
        // Mostly there is none. Segments that are not valid yet may still have what lay there before.
        let used = self.segments.get(..usize::from(self.segments_used)).unwrap_or_default();
        if !used.iter().any(|segment| segment.token == token) {
            return None;
        }
        self.find_used(token)
    }

    #[inline(never)]
    fn find_used(&self, token: Token) -> Option<Slot> {
        let covers = |registration: &Registration| {
            registration.is_valid()
                && self
                    .segments
                    .get(registration.range())
                    .is_some_and(|all| all.iter().any(|s| s.token == token && s.live_length.is_some()))
        };
        self.slots.iter().find(|(_, registration)| covers(registration)).map(|(slot, _)| slot)
    }

    pub(crate) fn name(&self, index: u16) -> Option<RegId> {
        self.slots.name(index).map(RegId)
    }

    /// The connection is over: a command without a result, which is to be told so. `true`: of a registration.
    pub(crate) fn abort_one(&mut self) -> Option<(RegId, bool)> {
        let pending = |state| {
            matches!(
                state,
                State::Requested | State::Registering | State::Unwanted { .. } | State::Deregistering
            )
        };
        let (slot, registration) = self.slots.iter_mut().find(|(_, r)| pending(r.state))?;
        let registering = matches!(registration.state, State::Requested | State::Registering);
        match registration.state.work() {
            Some(work) => registration.state = State::Abandoned(work),
            None => self.free(slot),
        }
        Some((RegId(slot), registering))
    }

    /// Registrations the device is working on.
    pub(crate) fn in_flight(&self) -> u16 {
        let working = self.slots.iter().filter(|(_, registration)| registration.state.work().is_some());
        u16::try_from(working.count()).unwrap_or(u16::MAX)
    }

    fn free(&mut self, slot: Slot) {
        self.shrink(slot, 0);
        self.slots.release(slot);
    }

    /// Leaves the registration its first `count` segments and closes the gap behind them.
    fn shrink(&mut self, slot: Slot, count: u16) {
        let Some(registration) = self.slots.get_mut(slot) else { return };
        let gap = registration.count.saturating_sub(count);
        let gap_start = registration.start.saturating_add(count);
        let gap_end = registration.start.saturating_add(registration.count);
        registration.count = registration.count.saturating_sub(gap);
        if gap == 0 {
            return;
        }
        if gap_end == self.segments_used {
            // Nothing is behind it.
            self.segments_used = gap_start;
            return;
        }
        if gap_end <= self.segments_used {
            let tail = usize::from(gap_end)..usize::from(self.segments_used);
            self.segments.copy_within(tail, usize::from(gap_start));
        }
        self.segments_used = self.segments_used.saturating_sub(gap);
        for (_, other) in self.slots.iter_mut().filter(|(_, other)| other.start >= gap_end) {
            other.start = other.start.saturating_sub(gap);
        }
    }

    pub(crate) fn fingerprint(&self, into: &mut impl Hasher) {
        self.commands.len().hash(into);
        for index in self.commands.iter() {
            self.fingerprint_of(*index, into);
        }
        hash_unordered(self.slots.iter().map(|(slot, registration)| self.view(slot, registration)), into);
    }

    pub(crate) fn fingerprint_of(&self, index: u16, into: &mut impl Hasher) {
        let slot = self.slots.name(index);
        slot.and_then(|slot| Some(self.view(slot, self.slots.get(slot)?))).hash(into);
    }

    /// What there is to a registration but its name and where its segments lie.
    fn view(&self, slot: Slot, registration: &Registration) -> impl Hash {
        let Registration { state, access, count, requests, failure, start: _ } = *registration;
        (state, access, count, requests, failure, self.segments(RegId(slot)))
    }
}
