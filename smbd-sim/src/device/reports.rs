//! The inputs of the connection, one at a time.

use smbd_core::{Input, WrId};

use super::Device;
use super::link::LinkNews;
use super::registration::Stage;
use crate::Breach;
use crate::fabric::{Fabric, Notice};
use crate::fault::Faults;
use crate::nic::{Arrived, QpState, RecvDone};
use crate::probe::Probe;

/// Where what is seen is put at once, since it is large: nothing, if what there is to tell is `ready`.
type Told<'t> = Option<Input<'t>>;

impl Device {
    /// The next input; `None` if nothing can be seen at the moment.
    #[inline(always)]
    pub(crate) fn next_input<F: Faults, P: Probe>(&mut self, fabric: &mut Fabric<F, P>) -> Option<Input<'_>> {
        let mut told = None;
        self.see(fabric, &mut told);
        if let Some(Input::Registered { id, segments, .. }) = &mut told {
            *segments = self.registrations.segments(*id);
        }
        told
    }

    /// What is seen next, if anything can be at the moment.
    fn see<F: Faults, P: Probe>(&mut self, fabric: &mut Fabric<F, P>, told: &mut Told<'_>) {
        self.asked = true;
        if self.burst >= self.polling.pause.max(1) {
            self.burst = 0;
            return;
        }
        if self.nic.state() == QpState::Error {
            self.detach(fabric);
        }
        loop {
            if !self.ready.is_empty() {
                *told = self.ready.pop_front();
            }
            if told.is_some() {
                self.given += 1;
                self.burst = self.burst.saturating_add(1);
                return;
            }
            if let Some(left) = &mut self.sight {
                if *left == 0 {
                    return;
                }
                *left -= 1;
            }
            if !self.poll_one(fabric, told) {
                // Nothing more comes at this look.
                self.sight = self.sight.map(|_| 0);
                return;
            }
        }
    }

    /// Work that was flushed gives its memory back when that is seen: what is on the wire was read before.
    #[inline(never)]
    fn detach<F: Faults, P: Probe>(&mut self, fabric: &mut Fabric<F, P>) {
        let wire = &mut fabric.wires[self.side.peer().index()];
        for (_, packet) in &mut wire.packets {
            self.nic.detach(packet);
        }
    }

    /// Whether there is something that a look would find.
    pub(crate) fn has_more(&self) -> bool {
        !self.inbox.is_empty()
            || !self.ready.is_empty()
            || self.nic.has_completions()
            || self.derives
            || self.may_reap()
    }

    /// One thing from the three places where there may be something; `false` if there is nothing. In order: good news,
    /// receives, sends, bad news.
    #[inline]
    fn poll_one<F: Faults, P: Probe>(&mut self, fabric: &mut Fabric<F, P>, told: &mut Told<'_>) -> bool {
        if self.poll_failure() {
            return true;
        }
        if self.polling.shuffled {
            return self.poll_any(fabric, told);
        }
        (self.inbox.front().is_some_and(|notice| is_good(*notice)) && self.poll_inbox())
            || self.poll_receives(told)
            || self.poll_sends(told)
            || self.poll_inbox()
    }

    /// One thing, from whichever place chance looks at first.
    #[inline(never)]
    fn poll_any<F: Faults, P: Probe>(&mut self, fabric: &mut Fabric<F, P>, told: &mut Told<'_>) -> bool {
        match fabric.rng.below(3) {
            0 => self.poll_inbox() || self.poll_receives(told) || self.poll_sends(told),
            1 => self.poll_receives(told) || self.poll_sends(told) || self.poll_inbox(),
            _ => self.poll_sends(told) || self.poll_inbox() || self.poll_receives(told),
        }
    }

    #[inline(always)]
    fn poll_receives(&mut self, told: &mut Told<'_>) -> bool {
        let Some(RecvDone { id, result }) = self.nic.poll_recv() else { return false };
        match result {
            Ok(Arrived { head, len, invalidated }) => {
                *told = Some(Input::Received { id, head, len, invalidated });
                let noted = self.queues.received(id);
                self.note(noted);
            }
            Err(error) => {
                self.outcomes.receive_failed(id);
                let noted = self.queues.complete(id.into(), Err(error));
                self.note(noted);
                self.derives = true;
                self.derive(told);
            }
        }
        true
    }

    fn note(&mut self, noted: Result<(), smbd_core::Misuse>) {
        if let Err(misuse) = noted {
            self.nic.breaches.record(Breach::Completion(misuse));
        }
    }

    /// What follows from completions of the send queue.
    fn poll_sends(&mut self, told: &mut Told<'_>) -> bool {
        loop {
            if self.derives && self.derive(told) {
                return true;
            }
            if let Some(done) = self.nic.poll_send() {
                let noted = self.queues.complete(done.id, done.result);
                self.note(noted);
                self.derives = true;
                continue;
            }
            if !self.may_reap() {
                return false;
            }
            self.reaped = true;
            self.nic.reap();
            while let Some(id) = self.nic.next_lost_recv() {
                self.outcomes.receive_failed(id);
            }
            self.queues.drained();
            self.derives = true;
        }
    }

    /// The own disconnect is done and the device holds nothing more: what it was not asked to report went well.
    fn may_reap(&self) -> bool {
        self.link.disconnected && !self.reaped && !self.nic.has_completions()
    }

    /// One thing that the queues have worked out; `false` if there is none.
    #[inline(always)]
    fn derive(&mut self, told: &mut Told<'_>) -> bool {
        *told = self.queues.poll();
        let Some(input) = told else {
            self.derives = false;
            let empty = self.outcomes.check_empty(&self.nic);
            if let Err(breach) = empty {
                self.nic.breaches.record(breach);
            }
            return false;
        };
        if let Err(breach) = self.outcomes.check(input, &mut self.nic) {
            self.nic.breaches.record(breach);
        }
        match *input {
            Input::BindComplete { id } if !self.registrations.on_bind_complete(id) => *told = None,
            // Causes first: a message that came before it may say that the token is invalid.
            Input::Deregistered { id } => {
                self.registrations.on_invalidated(id);
                self.receive_all();
                *told = None;
                self.ready.push_back(Input::Deregistered { id });
            }
            Input::Failed { id: WrId::Reg(id), .. } if self.registrations.on_failed(id) => {
                self.close_tokens(id);
            }
            _ => {}
        }
        true
    }

    #[inline(never)]
    fn poll_inbox(&mut self) -> bool {
        let Some(notice) = self.inbox.pop_front() else { return false };
        match notice {
            Notice::Connected | Notice::ConnectFailed(_) | Notice::NeverUp | Notice::Disconnected(_) => {
                // All that the connection manager has said by now is heard at once.
                self.inbox.retain(|notice| LinkNews::of(*notice).is_none());
                self.hear_link();
            }
            Notice::Deregistered(id) => {
                self.receive_all();
                self.ready.push_back(Input::Deregistered { id });
            }
            Notice::RegistrationFailed(id, error) => {
                if self.registrations.stage(id) == Some(Stage::Failed) {
                    self.close_tokens(id);
                }
                self.ready.push_back(Input::Failed { id: id.into(), error });
            }
            Notice::Registered(id) => {
                if let Some(bind_complete) = self.registrations.on_told(id) {
                    // Its segments are where they lie when it is told.
                    self.ready.push_back(Input::Registered { id, segments: &[], bind_complete });
                }
            }
        }
        true
    }

    /// What is known of the transport connection is reported: the end behind everything that came before it.
    fn hear_link(&mut self) {
        if self.link.news.contains(&LinkNews::ConnectFailed) {
            // Of a connection that never was, completions can only be flushes.
            if let Some(input) = self.link_reports.poll_failure() {
                self.tell_link(input);
            }
        } else if self.link.ended {
            // Also if the end was told: nothing follows it.
            self.complete_all();
            while let Some(input) = self.link_reports.poll_end() {
                self.tell_link(input);
            }
        } else if let Some(input) = self.link_reports.poll_connected() {
            self.tell_link(input);
        }
        if let Some(news) = self.link.news.pop_front() {
            self.nic.breaches.record(Breach::LinkReport(news.name()));
        }
    }

    /// A backend may ask at any time whether the connection did not come up: of one that did, nothing must be said.
    fn poll_failure(&mut self) -> bool {
        // It is asked for every input, and there is hardly ever any news.
        if !self.link.news.is_empty() && self.link.news.contains(&LinkNews::ConnectFailed) {
            return false;
        }
        let Some(input) = self.link_reports.poll_failure() else { return false };
        self.tell_link(input);
        true
    }

    #[inline(never)]
    fn tell_link(&mut self, input: Input<'static>) {
        let told = match input {
            Input::Connected { .. } => Some(LinkNews::Connected),
            Input::ConnectFailed { .. } => Some(LinkNews::ConnectFailed),
            Input::Disconnected { reason } => Some(LinkNews::Disconnected(reason)),
            _ => None,
        };
        if self.link.news.pop_front() != told {
            self.nic.breaches.record(Breach::LinkReport(told.map_or("nothing", LinkNews::name)));
        }
        if matches!(told, Some(LinkNews::Disconnected(_))) && (self.nic.has_completions() || self.derives) {
            self.nic.breaches.record(Breach::EndTooEarly);
        }
        self.ready.push_back(input);
    }

    /// Causes first: what the device holds when the connection ends is reported before its end.
    fn complete_all(&mut self) {
        self.receive_all();
        self.exhaust(Self::poll_sends);
    }

    fn receive_all(&mut self) {
        self.exhaust(Self::poll_receives);
    }

    /// All that there is at one place.
    fn exhaust(&mut self, poll: fn(&mut Self, &mut Told<'static>) -> bool) {
        let mut told = None;
        while poll(self, &mut told) {
            self.ready.extend(told.take());
        }
    }
}

const fn is_good(notice: Notice) -> bool {
    matches!(notice, Notice::Connected | Notice::Registered(_) | Notice::Deregistered(_))
}
