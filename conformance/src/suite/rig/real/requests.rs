//! Connection requests of a subject that connects, and which of them a case has asked for.
//!
//! A client whose connection has ended may connect again by itself, as that of Linux does at once and then every 3 s, until what
//! uses it is gone. Such a request is not the connection that a case waits for next: it is refused, and what the client had before is
//! over before it is made to connect again.

use std::os::fd::AsFd;
use std::time::Duration;

use super::rig::{Plan, RealRig, readable, sleep};
use super::{End as _, Net};
use crate::suite::rig::{Line, Order, Unable};

/// How long a subject may take to ask for a connection.
const REQUEST_TIME: Duration = Duration::from_secs(30);
/// The same where it has withdrawn a request: another one may be behind it.
const ANOTHER_TIME: Duration = Duration::from_secs(12);
/// How long a subject may take to let go of its connections: on rxe a disconnect is tried again for long.
const END_TIME: Duration = Duration::from_secs(60);
/// What it has asked for shortly before it let go comes within this time.
const LAST_REQUEST_TIME: Duration = Duration::from_millis(200);
/// Requests refused at one look, at most.
const REFUSED_MAX: usize = 64;

/// What came of waiting for a request.
enum Request<E> {
    /// The end that accepts it.
    Came(Box<E>),
    /// The subject has given it up.
    GivenUp,
    /// None; what was wrong with the last that could not be accepted.
    None(Option<Unable>),
}

impl<N: Net> RealRig<N> {
    /// Takes the request of the subject for this connection; `false` if it has given it up.
    pub(super) fn accept_request(&mut self, connection: usize) -> Result<bool, Unable> {
        let known = self.connections.get_mut(connection).filter(|known| known.is_awaited);
        let Some(plan) = known.and_then(|known| known.plan.clone()) else {
            return Ok(true);
        };
        let request = self.request(&plan, REQUEST_TIME);
        self.is_not_awaited(connection);
        match request? {
            Request::Came(end) => self.meet(connection, end, &plan.receives).map(|()| true),
            Request::GivenUp => Ok(false),
            Request::None(withdrawn) => {
                let seconds = REQUEST_TIME.as_secs();
                self.hangs = Some("it does not connect any more".into());
                let why = withdrawn.map(|error| format!("; its request could not be accepted: {error}"));
                let why = why.unwrap_or_default();
                Err(Unable::Broken(format!("the subject did not connect within {seconds} s{why}")))
            }
        }
    }

    /// Takes another request for this connection, which failed before it was up; whether one came.
    pub(super) fn accept_another(&mut self, connection: usize) -> Result<bool, Unable> {
        let known = self.connections.get_mut(connection).filter(|_| self.subject.speaks());
        let Some((known, plan)) = known.and_then(|known| known.plan.clone().map(|plan| (known, plan))) else {
            return Ok(false);
        };
        if let Some(end) = known.end.take() {
            end.destroy();
        }
        (known.line, known.parted, known.is_awaited) = (Line::new(&plan.opening), false, true);
        let request = self.request(&plan, ANOTHER_TIME);
        self.is_not_awaited(connection);
        match request? {
            Request::Came(end) => self.meet(connection, end, &plan.receives).map(|()| true),
            Request::GivenUp | Request::None(_) => Ok(false),
        }
    }

    /// Waits for a request, and accepts it.
    fn request(&mut self, plan: &Plan, within: Duration) -> Result<Request<N::End>, Unable> {
        let until = self.net.now().saturating_add(within);
        let mut withdrawn = None;
        loop {
            let deadline = self.subject.drive();
            // A subject may have to end earlier connections before it can ask for another.
            let again = self.look();
            let Some(listener) = &mut self.listener else { return Ok(Request::GivenUp) };
            if let Some(end) = self.net.accept(listener, &plan.opening, &plan.config)? {
                match end {
                    Ok(end) => return Ok(Request::Came(Box::new(end))),
                    // A client that is being ended may have withdrawn the request; it makes another, or the next one does.
                    Err(error) if self.subject.speaks() => withdrawn = Some(error),
                    Err(error) => return Err(error),
                }
            }
            if self.subject.gave_up() {
                return Ok(Request::GivenUp);
            }
            if self.net.now() >= until {
                return Ok(Request::None(withdrawn));
            }
            if !again && !self.subject.arm() {
                let listener = self.listener.as_ref().map(AsFd::as_fd);
                let fds = self.subject.fds().into_iter().chain(listener).map(readable).chain(self.fds());
                sleep(&self.net, fds, deadline.into_iter().chain([until]).min());
            }
        }
    }

    /// Gives a connection its end, with the receives that were ordered for it.
    fn meet(&mut self, connection: usize, mut end: Box<N::End>, receives: &[u32]) -> Result<(), Unable> {
        let Some(known) = self.connections.get_mut(connection) else { return Ok(()) };
        for len in receives {
            let ordered = known.line.order(&mut *end, Order::Receive(*len));
            ordered.map_err(|full| Unable::Broken(full.0.into()))?;
        }
        known.end = Some(end);
        Ok(())
    }

    fn is_not_awaited(&mut self, connection: usize) {
        if let Some(known) = self.connections.get_mut(connection) {
            known.is_awaited = false;
        }
    }

    /// Whether no case waits for what comes where the script listens.
    pub(super) fn is_uninvited(&self) -> bool {
        let is_awaited = self.connections.iter().any(|known| known.is_awaited);
        self.listener.is_some() && !is_awaited && !self.subject.connects_unasked()
    }

    /// Refuses what no case has asked for; whether there was any.
    pub(super) fn refuse_uninvited(&mut self) -> bool {
        if !self.is_uninvited() {
            return false;
        }
        let Some(listener) = &mut self.listener else { return false };
        (0..REFUSED_MAX).take_while(|_| self.net.refuse(listener)).count() > 0
    }

    /// As [`turn_away`](crate::suite::rig::Rig::turn_away).
    pub(super) fn clear_the_way(&mut self) -> Result<(), Unable> {
        if self.listener.is_none() || self.subject.connects_unasked() {
            return Ok(());
        }
        self.subject.end();
        let is_other = self.subject.speaks();
        if is_other {
            // What it says at its end nobody answers: it would wait for that.
            self.leave();
        }
        self.await_letting_go(END_TIME);
        if let Some(how) = self.hanging() {
            return Err(Unable::Broken(how));
        }
        if is_other {
            let until = self.net.now().saturating_add(LAST_REQUEST_TIME);
            self.turn(until, |_| false);
        }
        Ok(())
    }

    /// Has the subject let go of its connections at the end of a play.
    ///
    /// # Errors
    /// It hangs.
    pub(super) fn part_with_subject(&mut self) -> Result<(), String> {
        self.subject.end();
        let time = if self.hangs.is_some() { REQUEST_TIME } else { END_TIME };
        self.await_letting_go(time);
        self.hanging().map_or(Ok(()), Err)
    }

    /// Waits until the subject has let go of its connections.
    fn await_letting_go(&mut self, within: Duration) {
        let until = self.net.now().saturating_add(within);
        self.turn(until, |rig| rig.subject.has_ended());
        if self.hangs.is_none() && !self.subject.has_ended() {
            let seconds = within.as_secs();
            self.hangs = Some(format!("it has not let go of its connections after {seconds} s"));
        }
    }

    /// That the subject hangs, and how.
    fn hanging(&self) -> Option<String> {
        self.hangs.as_ref().map(|how| format!("the subject hangs: {how}"))
    }
}
