//! One connection of a subject that is `smbd-core` itself: an endpoint over a `VerbsConnection`.

use std::os::fd::{AsFd, BorrowedFd};

use smbd_core::{Config, Instant, Role, WrId};
use smbd_verbs::{Buffer, Clock, LinkType, VerbsConnection};

use super::faults::{Faults, Faulty};
use crate::suite::rig::real::End;
use crate::suite::rig::subject::{Seat, Subject};
use crate::suite::rig::{Unable, Work};
use crate::suite::trace::Event;

/// The connection.
#[derive(Debug)]
pub(super) struct Driven {
    subject: Subject<Buffer>,
    /// `None` of an acceptor that was not asked yet, and behind the end.
    end: Option<Box<VerbsConnection>>,
    faults: Faults,
    clock: Clock,
    /// Known as long as there is an end, and after.
    link: Option<LinkType>,
}

impl Driven {
    /// One without an end.
    pub(super) fn new(role: Role, config: &Config, clock: Clock, sends_with_invalidate: bool) -> Self {
        let faults = Faults::of_a_device_that(!sends_with_invalidate);
        Self { subject: Subject::new(role, config, clock.now()), end: None, faults, clock, link: None }
    }

    /// Gives it one.
    pub(super) fn begin(&mut self, end: VerbsConnection) {
        self.end = Some(Box::new(end));
    }

    /// Whether it waits for one.
    pub(super) fn waits(&self) -> bool {
        self.end.is_none() && !self.subject.is_over() && self.link.is_none()
    }

    /// Whether it has no end: none yet, or no more.
    pub(super) const fn is_over(&self) -> bool {
        self.end.is_none()
    }

    /// Whether its connection is over, or never will be one.
    pub(super) fn is_spent(&self) -> bool {
        self.subject.is_over()
    }

    /// Does what can be done without waiting; when to come back at the latest.
    pub(super) fn drive(&mut self) -> Option<Instant> {
        let end = self.end.as_deref_mut()?;
        self.subject.drive(Faulty { end, faults: &mut self.faults });
        self.link = end.link_type().or(self.link);
        if self.subject.is_over() {
            self.destroy();
            return None;
        }
        self.subject.deadline
    }

    fn destroy(&mut self) {
        if let Some(end) = self.end.take() {
            end.destroy();
        }
    }

    /// Whether there is something to do at once; otherwise its descriptor will say so.
    pub(super) fn arm(&mut self) -> bool {
        self.end.as_deref_mut().is_some_and(End::arm) || self.faults.has_news()
    }

    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.end.as_deref().map(AsFd::as_fd)
    }

    pub(super) fn take_events(&mut self, connection: usize) -> impl Iterator<Item = Event> + '_ {
        self.subject.take_events(connection)
    }

    pub(super) fn fault(&self) -> Option<String> {
        self.subject.broken.clone()
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        self.destroy();
    }
}

impl Seat for Driven {
    type Buffer = Buffer;

    fn subject(&self) -> &Subject<Buffer> {
        &self.subject
    }

    fn subject_mut(&mut self) -> &mut Subject<Buffer> {
        &mut self.subject
    }

    fn buffer(&mut self, bytes: &[u8]) -> Option<Buffer> {
        let len = u32::try_from(bytes.len()).ok()?;
        let buffer = Buffer::new(len.max(1)).ok()?;
        buffer.fill(0, bytes).ok()?;
        Some(buffer)
    }

    fn contents(&mut self, buffer: &Buffer, len: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; len];
        buffer.read(0, &mut bytes).ok()?;
        Some(bytes)
    }

    fn now(&mut self) -> Instant {
        self.clock.now()
    }

    fn acknowledges_writes(&self) -> bool {
        self.link != Some(LinkType::Iwarp)
    }

    fn refuse_after(&mut self, work: Work, counted: fn(WrId) -> bool, accepted: usize) -> Result<(), Unable> {
        if work == Work::Registrations && accepted > 0 {
            let why =
                "a registration is one segment on this device: nothing of it can be taken before it fails";
            return Err(Unable::NotApplicable(why.into()));
        }
        self.faults.refuse_after(counted, accepted);
        Ok(())
    }

    fn break_device(&mut self) -> Result<(), Unable> {
        let end = self.end.as_deref_mut().ok_or(Unable::Broken("there is no device to break".into()))?;
        end.break_queue_pair().map_err(|error| Unable::Broken(error.to_string()))
    }

    fn fail_deregistrations(&mut self, count: usize) {
        self.faults.deregistrations = count;
    }
}
