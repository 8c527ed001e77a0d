//! Registered buffers and their tokens, from the command to the end of all remote access.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

use smbd_core::error::RegistrationError;
use smbd_core::{Access, BufferDescriptorV1, RegId, Token};

use super::fingerprint::digest;
use super::ids::Ids;
use super::law::{Law, Verdicts};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stage {
    Requested,
    Registering,
    Active {
        bound: bool,
    },
    Unwanted {
        bound: bool,
    },
    Deregistering,
    /// The device is done; the result is to be told.
    Ended {
        how: How,
    },
    /// The upper layer was told that it is over; the device is not done.
    Abandoned,
}

impl Stage {
    /// Whether the peer may use it: it is valid, and will be until the device is done with its end.
    const fn is_valid(self) -> bool {
        matches!(self, Self::Active { .. } | Self::Unwanted { .. } | Self::Deregistering)
    }
}

/// How the device's work on a registration ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum How {
    Well,
    Badly,
    /// Badly, because the connection is over: told as aborted.
    Flushed,
}

#[derive(Clone, Debug, Hash)]
struct Registration {
    access: Access,
    segments_max: u16,
    stage: Stage,
    /// Whether the result of `register` was told.
    told: bool,
    /// A deregistration failed and that is to be told.
    failed: Option<How>,
    /// Places on the send queue.
    requests: u32,
    tokens: Vec<(Token, bool)>,
}

impl Registration {
    const fn is_with_device(&self) -> bool {
        matches!(
            self.stage,
            Stage::Registering
                | Stage::Deregistering
                | Stage::Abandoned
                | Stage::Active { bound: false }
                | Stage::Unwanted { bound: false }
        )
    }

    const fn awaits_result(&self) -> bool {
        !self.told
            || self.failed.is_some()
            || matches!(self.stage, Stage::Unwanted { .. } | Stage::Deregistering | Stage::Ended { .. })
    }

    fn live(&self) -> u32 {
        u32::try_from(self.tokens.iter().filter(|(_, live)| *live).count()).unwrap_or(u32::MAX)
    }
}

/// The registrations of one side.
#[derive(Clone, Debug)]
pub(super) struct Registrations {
    all: Ids<Registration>,
    segments_max: u32,
    requests_per_segment: u32,
    /// Tokens the peer invalidated of which the upper layer is to be told.
    invalidated: VecDeque<(RegId, Token)>,
    names: Vec<RegId>,
}

impl Registrations {
    pub(super) fn new(slots: u32, segments_max: u16) -> Self {
        Self {
            all: Ids::new(slots),
            segments_max: u32::from(segments_max),
            requests_per_segment: 0,
            invalidated: VecDeque::new(),
            names: Vec::new(),
        }
    }

    pub(super) fn set_requests_per_segment(&mut self, requests: u16) {
        self.requests_per_segment = u32::from(requests);
    }

    /// Whether one waits for places of the send queue: nothing else takes any until it has them.
    pub(super) fn wants_places(&self) -> bool {
        let waits = |r: &Registration| matches!(r.stage, Stage::Requested | Stage::Unwanted { bound: true });
        self.requests_per_segment > 0 && self.all.iter().any(waits)
    }

    pub(super) fn with_device(&self) -> usize {
        self.all.iter().filter(|r| r.is_with_device()).count()
    }

    pub(super) fn requests(&self) -> u32 {
        self.all.iter().map(|r| r.requests).sum()
    }

    /// Commands without a result.
    pub(super) fn untold(&self) -> usize {
        self.all.iter().filter(|r| r.stage != Stage::Abandoned && r.awaits_result()).count()
    }

    fn get(&mut self, id: RegId) -> Option<&mut Registration> {
        self.all.get_mut(id.slot(), id)
    }

    /// Whether the device has flushed the work on it: its result is aborted without anybody's doing.
    pub(super) fn is_flushed(&self, id: RegId) -> bool {
        let flushed = |r: &Registration| {
            r.failed == Some(How::Flushed) || r.stage == (Stage::Ended { how: How::Flushed })
        };
        self.all.get(id.slot(), id).is_some_and(flushed)
    }

    pub(super) fn on_register(&mut self, id: RegId, access: Access, segments_max: u16, v: &mut Verdicts) {
        let registration = Registration {
            access,
            segments_max,
            stage: Stage::Requested,
            told: false,
            failed: None,
            requests: 0,
            tokens: Vec::new(),
        };
        if let Err(wrong) = self.all.open(id.slot(), id, registration) {
            v.fail(Law::Commands, format!("{id:?} given out: {wrong}"));
        }
        let reserved: u32 = self.all.iter().map(|r| u32::from(r.segments_max)).sum();
        v.check(Law::Memory, reserved <= self.segments_max, || {
            format!("{reserved} segments reserved, {} possible", self.segments_max)
        });
        self.names.retain(|name| name.slot() != id.slot());
        self.names.push(id);
    }

    pub(super) fn on_deregister(&mut self, id: RegId, v: &mut Verdicts) {
        let active = self.get(id).and_then(|r| match r.stage {
            Stage::Active { bound } => {
                r.stage = Stage::Unwanted { bound };
                Some(())
            }
            _ => None,
        });
        v.check(Law::Commands, active.is_some(), move || {
            format!("deregistration of {id:?} taken, not valid")
        });
    }

    /// `Register` or `Deregister` leaves.
    pub(super) fn on_action(&mut self, id: RegId, register: Option<(Access, u16)>, v: &mut Verdicts) {
        let per = self.requests_per_segment;
        let right = self.get(id).is_some_and(|r| match (register, r.stage) {
            (Some((access, segments_max)), Stage::Requested) => {
                r.stage = Stage::Registering;
                r.requests = u32::from(segments_max) * per;
                access == r.access && segments_max == r.segments_max
            }
            (None, Stage::Unwanted { bound: true }) => {
                r.stage = Stage::Deregistering;
                r.requests = r.live() * per;
                true
            }
            _ => false,
        });
        v.check(Law::Actions, right, move || format!("{id:?} registered or deregistered out of turn"));
    }

    /// Whether `Registered` makes sense for it.
    pub(super) fn expects_registered(&mut self, id: RegId) -> bool {
        self.get(id).is_some_and(|r| matches!(r.stage, Stage::Registering | Stage::Abandoned))
    }

    pub(super) fn on_registered(&mut self, id: RegId, segments: &[BufferDescriptorV1], bind_complete: bool) {
        let Some(r) = self.get(id) else { return };
        if bind_complete {
            r.requests = 0;
        }
        if r.stage == Stage::Abandoned {
            if bind_complete {
                self.all.close(id.slot(), id);
            }
            return;
        }
        r.stage = Stage::Active { bound: bind_complete };
        r.segments_max = u16::try_from(segments.len()).unwrap_or(u16::MAX);
        r.tokens = segments.iter().map(|s| (s.token, true)).collect();
    }

    /// Whether `what` makes sense for it.
    pub(super) fn expects(&mut self, id: RegId, what: Done) -> bool {
        self.get(id).is_some_and(|r| match what {
            Done::BindComplete => matches!(
                r.stage,
                Stage::Active { bound: false } | Stage::Unwanted { bound: false } | Stage::Abandoned
            ),
            Done::Deregistered => matches!(r.stage, Stage::Deregistering | Stage::Abandoned),
            Done::Failed { .. } => r.is_with_device(),
        })
    }

    /// `BindComplete`, `Deregistered` or `Failed` came. Whether it made sense; if it failed, whether that is fatal.
    pub(super) fn on_done(&mut self, id: RegId, what: Done) -> Option<bool> {
        let r = self.get(id)?;
        let mut fatal = false;
        let next = match (what, r.stage) {
            (_, Stage::Abandoned) => None,
            (Done::BindComplete, Stage::Active { bound: false }) => Some(Stage::Active { bound: true }),
            (Done::BindComplete, Stage::Unwanted { bound: false }) => Some(Stage::Unwanted { bound: true }),
            (Done::Deregistered, Stage::Deregistering) => Some(Stage::Ended { how: How::Well }),
            (Done::Failed { flushed }, Stage::Registering) => Some(Stage::Ended { how: how(flushed) }),
            (Done::Failed { flushed }, Stage::Deregistering) => {
                r.failed = Some(how(flushed));
                Some(Stage::Active { bound: true })
            }
            (Done::Failed { .. }, Stage::Active { bound: false }) => {
                fatal = true;
                Some(Stage::Active { bound: true })
            }
            (Done::Failed { .. }, Stage::Unwanted { bound: false }) => {
                fatal = true;
                Some(Stage::Unwanted { bound: true })
            }
            _ => return None,
        };
        r.requests = 0;
        match next {
            Some(stage) => r.stage = stage,
            None => {
                self.all.close(id.slot(), id);
            }
        }
        Some(fatal)
    }

    /// The peer invalidated a token. Whether it was valid.
    pub(super) fn on_invalidated(&mut self, token: Token) -> bool {
        for at in 0..self.names.len() {
            let id = self.names[at];
            let Some(r) = self.all.get_mut(id.slot(), id) else { continue };
            let valid = r.stage.is_valid();
            if let Some(entry) = r.tokens.iter_mut().find(|(t, live)| *t == token && *live && valid) {
                entry.1 = false;
                self.invalidated.push_back((id, token));
                return true;
            }
        }
        false
    }

    /// What can influence a verdict: all but names.
    pub(super) fn fingerprint(&self, into: &mut impl Hasher) {
        self.requests_per_segment.hash(into);
        for (_, token) in &self.invalidated {
            token.hash(into);
        }
        let mut all: Vec<_> = self.all.iter().map(digest).collect();
        all.sort_unstable();
        all.hash(into);
    }

    /// Nobody will be told of what was invalidated.
    pub(super) fn forget(&mut self) {
        self.invalidated.clear();
    }

    pub(super) fn on_invalidated_event(&mut self, id: RegId, token: Token, v: &mut Verdicts) {
        let due = self.invalidated.pop_front();
        v.check(Law::Tokens, due == Some((id, token)), move || {
            format!("told that {token} of {id:?} is invalidated, due was {due:?}")
        });
    }

    /// The result of `register`.
    pub(super) fn on_registered_event(
        &mut self,
        id: RegId,
        result: Result<(), RegistrationError>,
        ending: bool,
        v: &mut Verdicts,
    ) {
        let Some(r) = self.get(id) else {
            return v.fail(Law::Results, format!("a result for {id:?}, which has ended"));
        };
        let twice = std::mem::replace(&mut r.told, true);
        let right = match result {
            Ok(()) => r.stage.is_valid(),
            Err(RegistrationError::Work(_)) => r.stage == (Stage::Ended { how: How::Badly }),
            Err(_) => match r.stage {
                Stage::Ended { how: How::Flushed } => true,
                Stage::Requested | Stage::Registering => ending,
                _ => false,
            },
        };
        let stage = r.stage;
        v.check(Law::Results, right && !twice, move || format!("{id:?} registered {result:?}, is {stage:?}"));
        if result.is_err() {
            self.end(id);
        }
    }

    /// The result of `deregister`.
    pub(super) fn on_deregistered_event(
        &mut self,
        id: RegId,
        result: Result<(), RegistrationError>,
        ending: bool,
        v: &mut Verdicts,
    ) {
        let Some(r) = self.get(id) else {
            return v.fail(Law::Results, format!("a result for {id:?}, which has ended"));
        };
        let failed = r.failed.take();
        let right = match result {
            Ok(()) => r.stage == (Stage::Ended { how: How::Well }),
            Err(RegistrationError::Work(_)) => failed == Some(How::Badly),
            Err(_) if failed == Some(How::Flushed) => true,
            Err(_) => ending && matches!(r.stage, Stage::Unwanted { .. } | Stage::Deregistering),
        };
        let stage = r.stage;
        v.check(Law::Results, right, move || format!("{id:?} deregistered {result:?}, is {stage:?}"));
        if failed.is_none() {
            self.end(id);
        }
    }

    fn end(&mut self, id: RegId) {
        let Some(r) = self.get(id) else { return };
        if r.is_with_device() {
            r.stage = Stage::Abandoned;
        } else {
            self.all.close(id.slot(), id);
        }
    }
}

/// What the device says about a registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Done {
    BindComplete,
    Deregistered,
    Failed { flushed: bool },
}

const fn how(flushed: bool) -> How {
    if flushed { How::Flushed } else { How::Badly }
}
