//! Operations on files: each takes its time, and may be cancelled meanwhile.

use std::future::Future;
use std::pin::Pin;
use std::task::Context;
use std::time::Duration;

use smbd_core::Instant;
use smbd_smb2::server::{Client, Completion, Operation, OperationId};
use smbd_smb2::wire::NtStatus;

use super::member::State;
use super::{EPOCH, HELD_MAX, NUMBER, ServerTask, Work};
use crate::common::{Breach, law};

impl ServerTask {
    pub(super) fn begin(&mut self, id: OperationId, operation: Operation) {
        let pace = self.shared.plan.pace;
        let due = self.shared.notes.soon(&mut self.chance, pace.works);
        let prolongs = self.chance.one_in(3).then(|| self.shared.notes.soon(&mut self.chance, pace.prolongs));
        self.work.push(Work { id, operation, due, prolongs });
        let held: usize = self.buffers.values().map(Vec::len).sum();
        let work = self.work.len();
        let judged = (|| {
            law!("limits", work <= 4096 && held <= HELD_MAX, "{work} operations and {held} bytes are held");
            Ok(())
        })();
        self.shared.notes.judge(judged);
    }

    pub(super) fn cancel(&mut self, id: OperationId) {
        let waits = self.shared.files.borrow_mut().cancel(NUMBER, id);
        if let Some(completion) = waits {
            self.complete(id, completion);
            return;
        }
        let Some(at) = self.work.iter().position(|work| work.id == id) else { return };
        // A lock would wait again; all others may go on as if nothing had been said.
        let is_lock = matches!(self.work[at].operation, Operation::Lock(..));
        if is_lock || self.chance.one_in(2) {
            self.work.swap_remove(at);
            self.complete(id, Err(NtStatus::CANCELLED));
        }
    }

    fn complete(&mut self, id: OperationId, completion: Completion) {
        if self.members.iter().any(|member| member.state == State::Open) {
            self.say(|connection, now| connection.completed(now, id, completion));
        }
    }

    /// Whether a connection has ended.
    pub(super) fn has_lost(&self) -> bool {
        self.members.iter().any(|member| self.connection.is_over(member.link))
    }

    /// Tells the server something that it cannot refuse.
    pub(super) fn say<T: std::fmt::Display>(&mut self, call: impl FnOnce(&mut Client, u64) -> Result<(), T>) {
        let time = self.time();
        if let Err(misuse) = call(&mut self.connection, time) {
            let breach: Breach = format!("driven: the server refuses what its driver says: {misuse}");
            self.shared.notes.judge(Err(breach));
        }
    }

    /// Carries out what is due. Returns whether anything was.
    pub(super) fn works(&mut self) -> bool {
        let now = self.now();
        let mut any = false;
        while let Some(at) = self.work.iter().position(|work| work.prolongs.is_some_and(|at| at <= now)) {
            let work = &mut self.work[at];
            work.prolongs = None;
            let id = work.id;
            self.say(|connection, now| connection.prolong(now, id));
            any = true;
        }
        while let Some(at) = self.work.iter().position(|work| work.due <= now) {
            let Work { id, operation, .. } = self.work.swap_remove(at);
            self.carry_out(id, operation);
            any = true;
        }
        any
    }

    fn carry_out(&mut self, id: OperationId, operation: Operation) {
        let time = self.time();
        self.files_done += 1;
        self.shared.notes.step(|| format!("server: carries out {operation:?}"));
        if matches!(operation, Operation::ReadChannel { .. }) {
            self.buffers.insert(id, Vec::new());
        }
        let uses_buffer = matches!(operation, Operation::Write { .. });
        let buffer = self.buffers.get_mut(&id);
        let completion = self.shared.files.borrow_mut().carry_out(NUMBER, id, operation, buffer, time);
        if uses_buffer || !matches!(completion, Some(Ok(_))) {
            self.buffers.remove(&id);
        }
        match completion {
            Some(completion) => self.complete(id, completion),
            None => self.say(|connection, now| connection.prolong(now, id)),
        }
        let ended = self.shared.files.borrow_mut().retry();
        self.done.extend(ended.into_iter().map(|(_, id, completion)| (id, completion)));
        while let Some((id, completion)) = self.done.pop_front() {
            self.complete(id, completion);
        }
    }

    /// Whether something is due. If not, the task is woken then.
    pub(super) fn is_due(&mut self, cx: &mut Context<'_>) -> bool {
        let now = self.now();
        let of_work = self.work.iter().flat_map(|work| [Some(work.due), work.prolongs]).flatten();
        let deadline = self.connection.deadline().map(|at| {
            let nanos = at.saturating_sub(EPOCH).saturating_mul(100);
            Instant::ORIGIN.saturating_add(Duration::from_nanos(nanos))
        });
        let Some(next) = of_work.chain(deadline).min() else { return false };
        if next <= now {
            return true;
        }
        let mut timer = self.shared.notes.stage().sleep_until(next);
        let is_due = Pin::new(&mut timer).poll(cx).is_ready();
        self.timer = Some(timer);
        is_due
    }
}
