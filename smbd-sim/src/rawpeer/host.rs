//! The host of the connection, without a device: carries out actions, makes completions up, gives commands.

use smbd_core::error::WorkError;
use smbd_core::{Access, Action, BufferDescriptorV1, Close, Event, Fragment, Input, Token, WrId};

use super::RawPeer;
use crate::CommandRefused;
use crate::memory::Range;
use crate::oracle::{Law, Rule};
use crate::probe::{Command, Probe};

impl RawPeer {
    /// Nobody does anything until the connection's next timer.
    pub(super) fn pass_time(&mut self) {
        if let Some(at) = self.deadline {
            self.now = self.now.max(at);
            self.tell(Input::Timeout);
        }
    }

    pub(super) fn complete(&mut self) {
        if let Some(id) = self.registering.pop_front() {
            let slot = u32::from(id.slot());
            let token = Token(0x0100_0000 | slot << 8 | u32::from(self.rng.chance(1, 2)));
            let segments = [BufferDescriptorV1 { offset: 4096, token, length: 4096 }];
            return self.tell(Input::Registered { id, segments: &segments, settled: true });
        }
        match self.posted.pop_front() {
            Some(WrId::Send(id)) => self.tell(Input::Sent { id }),
            Some(WrId::Rdma(id)) => self.tell(Input::RdmaDone { id }),
            Some(WrId::Reg(id)) => self.tell(Input::Deregistered { id }),
            Some(WrId::Recv(_)) | None => {}
        }
    }

    pub(super) fn command(&mut self) {
        let at = self.at();
        let most = self.rng.between(1, 2000);
        match self.rng.below(4) {
            0 => {
                let result = self.connection.probe(self.now).map_err(CommandRefused::from);
                self.watch.command(at, &Command::Probe { result });
            }
            1 if self.config.registrations > 0 => {
                let access = Access::ReadWrite;
                let result = self.connection.register(access, 1).map_err(CommandRefused::from);
                let range = self.range(4096);
                self.watch.command(at, &Command::Register { access, range, segments_max: 1, result });
            }
            _ => {
                let result = self.connection.send(self.now, most, None).map_err(CommandRefused::from);
                let range = self.range(u32::try_from(most).unwrap_or(1));
                self.watch.command(at, &Command::Send { range, invalidate: None, result });
            }
        }
        self.drain();
    }

    const fn range(&self, len: u32) -> Range {
        Range { buffer: self.buffer, offset: 0, len }
    }

    pub(super) fn command_close(&mut self) {
        let at = self.at();
        self.watch.command(at, &Command::Close(Close::Abort));
        self.connection.close(self.now, Close::Abort);
        self.drain();
    }

    pub(super) fn give_back(&mut self) {
        if let Some(fragment) = self.held.pop() {
            self.release(fragment);
            self.drain();
        }
    }

    pub(super) fn release(&mut self, fragment: Fragment) {
        let at = self.at();
        self.watch.command(at, &Command::Release { fragment: &fragment });
        let result = self.connection.release(self.now, fragment);
        self.check(Law::Ledger, result.is_ok(), || format!("{result:?}"));
    }

    pub(super) fn tell(&mut self, input: Input<'_>) {
        self.hand(&input);
        self.drain();
    }

    fn hand(&mut self, input: &Input<'_>) {
        let result = self.connection.handle(self.now, *input);
        let at = self.at();
        self.watch.input(at, input, result);
    }

    pub(super) fn drain(&mut self) {
        loop {
            let action = self.connection.poll_action();
            let at = self.at();
            self.watch.action(at, &action);
            match action {
                Action::Wait(deadline) => {
                    self.deadline = deadline;
                    return;
                }
                action => self.execute(action),
            }
            if self.watch.oracles.verdicts().failure().is_some() {
                return;
            }
        }
    }

    fn execute(&mut self, action: Action) {
        match action {
            Action::Connect | Action::Accept => self.linked = Some(false),
            Action::Disconnect => self.disconnect(),
            Action::PostRecv { id, len } => self.recvs.push_back((id, len)),
            Action::PostSend { id, head, .. } => {
                self.posted.push_back(id.into());
                self.hear(head.as_bytes());
            }
            Action::PostRdma { id, .. } => self.posted.push_back(id.into()),
            Action::Register { id, .. } => self.registering.push_back(id),
            Action::Deregister { id } => self.posted.push_back(id.into()),
            Action::Notify(event) => self.on_event(event),
            Action::Wait(_) => {}
        }
    }

    fn on_event(&mut self, event: Event) {
        match event {
            Event::Established(_) => self.established = true,
            Event::Data(fragment) => {
                if self.held.len() < usize::from(self.config.lend_max) && self.rng.chance(1, 2) {
                    self.held.push(fragment);
                } else {
                    self.release(fragment);
                }
            }
            Event::ConnectFailed(error) => {
                use smbd_core::error::ConnectError;
                if let ConnectError::Violation(v) | ConnectError::Refused { violation: v, .. } = error {
                    self.ended_by = Some(Rule::of(&v));
                }
                self.over = true;
            }
            Event::Closed(reason) => {
                if let smbd_core::error::CloseReason::Violation(v) = reason {
                    self.ended_by = Some(Rule::of(&v));
                }
                self.over = true;
            }
            Event::Drained => self.drained = true,
            Event::Invalidated { .. }
            | Event::Sent { .. }
            | Event::RdmaDone { .. }
            | Event::Registered { .. }
            | Event::Deregistered { .. }
            | Event::Probed(_)
            | Event::Writable => {}
        }
    }

    fn disconnect(&mut self) {
        let error = WorkError::Flushed;
        let recvs = std::mem::take(&mut self.recvs).into_iter().map(|(id, _)| WrId::from(id));
        let posted = std::mem::take(&mut self.posted);
        let registering = std::mem::take(&mut self.registering).into_iter().map(WrId::from);
        let all: Vec<WrId> = recvs.chain(posted).chain(registering).collect();
        for id in all {
            self.hand(&Input::Failed { id, error });
        }
        self.hand(&Input::Disconnected);
    }
}
