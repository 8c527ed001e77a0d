//! What happened below, handed to the connection.

use smbd_core::error::WorkError;
use smbd_core::{Connection, Input, Misuse, Role, WrId};

use super::local::Stage;
use super::{Host, Local, Upper};
use crate::Breach;
use crate::fault::Faults;
use crate::nic::{RecvDone, SendDone};
use crate::probe::Probe;
use crate::world::Fabric;

impl<U: Upper> Host<U> {
    /// The connection begins: now, for the initiator; when the request is in, for the acceptor.
    pub(crate) fn start<F: Faults, P: Probe>(&mut self, fabric: &mut Fabric<F, P>) {
        if self.bare.is_some() {
            self.requested(fabric);
        } else if self.connection.is_none() {
            self.connection = Some(Connection::new(Role::from(self.side), &self.config, fabric.now));
            self.drain(fabric);
        }
    }

    /// Something local came to the host's notice; it looks when it next polls.
    pub(crate) fn notice<F: Faults, P: Probe>(&mut self, local: Local, fabric: &mut Fabric<F, P>) {
        let told = match local {
            Local::Connected => !self.link.ended && !std::mem::replace(&mut self.link.up, true),
            Local::ConnectFailed(_) | Local::NeverUp => {
                !self.link.up && !std::mem::replace(&mut self.link.ended, true)
            }
            Local::Disconnected => !std::mem::replace(&mut self.link.ended, true),
            Local::Registered(_) | Local::RegistrationFailed(..) | Local::Deregistered(_) => true,
        };
        if told {
            self.inbox.push_back(local);
            self.look(fabric);
        }
    }

    /// There may be something to poll.
    pub(crate) fn look<F: Faults, P: Probe>(&mut self, fabric: &mut Fabric<F, P>) {
        if self.due.is_none() {
            let late = fabric.faults.completion_late(fabric.now, self.side, &mut fabric.rng);
            self.due = Some(fabric.now.saturating_add(late));
        }
    }

    /// Hands completions and notices to the connection, then does what it says.
    pub(crate) fn poll<F: Faults, P: Probe>(&mut self, fabric: &mut Fabric<F, P>) {
        self.due = None;
        if self.connection.is_none() {
            return;
        }
        let mut left = self.polling.batch.max(1);
        while left > 0 && self.poll_one(fabric) {
            left -= 1;
        }
        self.drain(fabric);
        if !self.inbox.is_empty() || self.nic.has_completions() {
            self.look(fabric);
        }
    }

    /// One input. In order: good news, receives, sends, bad news.
    #[inline]
    pub(super) fn poll_one<F: Faults, P: Probe>(&mut self, fabric: &mut Fabric<F, P>) -> bool {
        if self.polling.shuffled {
            return self.poll_any(fabric);
        }
        if self.inbox.front().is_some_and(|local| local.is_good()) {
            return self.poll_inbox(fabric);
        }
        if let Some(done) = self.nic.poll_recv() {
            return self.on_recv(done, fabric);
        }
        if let Some(done) = self.nic.poll_send() {
            return self.on_send(done, fabric);
        }
        self.poll_inbox(fabric)
    }

    /// One input from one of the three sources, whichever chance looks at first.
    fn poll_any<F: Faults, P: Probe>(&mut self, fabric: &mut Fabric<F, P>) -> bool {
        let mut sources = [Source::Inbox, Source::Receives, Source::Sends];
        let first = usize::try_from(fabric.rng.below(3)).unwrap_or(0);
        sources.rotate_left(first);
        sources.into_iter().any(|source| match source {
            Source::Inbox => self.poll_inbox(fabric),
            Source::Receives => match self.nic.poll_recv() {
                Some(done) => self.on_recv(done, fabric),
                None => false,
            },
            Source::Sends => match self.nic.poll_send() {
                Some(done) => self.on_send(done, fabric),
                None => false,
            },
        })
    }

    fn on_recv<F: Faults, P: Probe>(&mut self, done: RecvDone, fabric: &mut Fabric<F, P>) -> bool {
        let input = match done.result {
            Ok(m) => Input::Received { id: done.id, head: m.head, len: m.len, invalidated: m.invalidated },
            Err(error) => Input::Failed { id: done.id.into(), error },
        };
        self.report(input, fabric);
        true
    }

    fn on_send<F: Faults, P: Probe>(&mut self, done: SendDone, fabric: &mut Fabric<F, P>) -> bool {
        let input = match (done.id, done.result) {
            (WrId::Send(id), Ok(())) => Input::Sent { id },
            (WrId::Rdma(id), Ok(())) => Input::RdmaDone { id },
            (WrId::Reg(id), result) => {
                self.on_registration_work(id, result, fabric);
                return true;
            }
            (id, Err(error)) => Input::Failed { id, error },
            // The send queue completes no receives.
            (WrId::Recv(_), Ok(())) => return true,
        };
        self.report(input, fabric);
        true
    }

    fn poll_inbox<F: Faults, P: Probe>(&mut self, fabric: &mut Fabric<F, P>) -> bool {
        let Some(local) = self.inbox.pop_front() else { return false };
        let input = match local {
            Local::Connected => Input::Connected { limits: self.nic.config.limits(self.read_depth) },
            Local::ConnectFailed(reason) => Input::ConnectFailed { reason },
            Local::NeverUp => Input::ConnectFailed { reason: smbd_core::error::ConnectReason::Unreachable },
            Local::Disconnected => {
                self.complete_all(fabric);
                Input::Disconnected
            }
            Local::Deregistered(id) => {
                self.receive_all(fabric);
                Input::Deregistered { id }
            }
            Local::RegistrationFailed(id, error) => {
                if self.local.registration(id).is_some_and(|registration| registration.stage == Stage::Failed)
                {
                    self.close_tokens(id);
                }
                Input::Failed { id: id.into(), error }
            }
            Local::Registered(id) => {
                let Some(registration) = self.local.registration(id).filter(|r| r.stage != Stage::Failed)
                else {
                    return true;
                };
                registration.told = true;
                if self.bare_registered(id) {
                    return true;
                }
                let Some(registration) = self.local.registration(id) else { return true };
                let segments = std::mem::take(&mut registration.segments);
                let settled = registration.stage == Stage::Idle;
                self.input(Input::Registered { id, segments: &segments, settled }, fabric);
                if let Some(registration) = self.local.registration(id) {
                    registration.segments = segments;
                }
                return true;
            }
        };
        self.report(input, fabric);
        true
    }

    /// The time the connection asked for has come.
    pub(crate) fn timeout<F: Faults, P: Probe>(&mut self, fabric: &mut Fabric<F, P>) {
        self.deadline = None;
        self.input(Input::Timeout, fabric);
        self.drain(fabric);
    }

    /// Causes first: what the device holds when the connection ends is reported before its end.
    fn complete_all<F: Faults, P: Probe>(&mut self, fabric: &mut Fabric<F, P>) {
        self.receive_all(fabric);
        while let Some(done) = self.nic.poll_send() {
            self.on_send(done, fabric);
        }
    }

    /// Causes first: a message that came before a deregistration may say that its token is invalid.
    pub(super) fn receive_all<F: Faults, P: Probe>(&mut self, fabric: &mut Fabric<F, P>) {
        while let Some(done) = self.nic.poll_recv() {
            self.on_recv(done, fabric);
        }
    }

    pub(super) fn report<F: Faults, P: Probe>(&mut self, input: Input<'static>, fabric: &mut Fabric<F, P>) {
        match &mut self.bare {
            Some(bare) => bare.push(input),
            None => self.input(input, fabric),
        }
    }

    fn input<F: Faults, P: Probe>(&mut self, input: Input<'_>, fabric: &mut Fabric<F, P>) {
        let Some(connection) = self.connection.as_mut() else { return };
        let result = connection.handle(fabric.now, input);
        fabric.probe.input(fabric.at(self.side), &input, result);
        if let Err(misuse) = result {
            self.nic.breaches.record(Breach::Misuse(misuse));
        }
    }

    pub(crate) fn forge<F: Faults, P: Probe>(
        &mut self,
        input: Input<'_>,
        fabric: &mut Fabric<F, P>,
    ) -> Option<Result<(), Misuse>> {
        let result = self.connection.as_mut()?.handle(fabric.now, input);
        fabric.probe.input(fabric.at(self.side), &input, result);
        Some(result)
    }

    pub(super) fn failed<F: Faults, P: Probe>(
        &mut self,
        id: impl Into<WrId>,
        error: WorkError,
        fabric: &mut Fabric<F, P>,
    ) {
        self.report(Input::Failed { id: id.into(), error }, fabric);
    }
}

#[derive(Clone, Copy)]
enum Source {
    Inbox,
    Receives,
    Sends,
}

impl Local {
    const fn is_good(self) -> bool {
        matches!(self, Self::Connected | Self::Registered(_) | Self::Deregistered(_))
    }
}
