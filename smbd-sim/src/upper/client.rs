use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use smbd_core::endpoint::Message;
use smbd_core::error::RegisterError;
use smbd_core::{Access, Event, RegId};

use super::{Behaviour, Common, Kind, QueuedMessage, Workload};
use crate::host::Context;
use crate::memory::{Buffer, Buffers, Range};
use crate::{CommandRefused, Side};

/// After which a failed registration or deregistration is tried again: the first time, and at most.
const RETRY: Duration = Duration::from_millis(3);
const RETRY_MAX: Duration = Duration::from_secs(2);

/// What a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskKind {
    /// A request and an answer.
    Echo,
    /// The server writes into the client's memory.
    Read,
    /// The server reads from the client's memory.
    Write,
}

/// One thing the client wants of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// What it is.
    pub kind: TaskKind,
    /// Length of the request in bytes.
    pub request: u32,
    /// Length of the answer in bytes.
    pub response: u32,
    /// Bytes that RDMA moves.
    pub moved: u32,
    /// Where in the registered buffer.
    pub offset: u32,
    /// Which bytes.
    pub key: u16,
    /// Most segments of its registration.
    pub segments_max: u16,
    /// Time to let pass before it begins.
    pub pause: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Todo,
    /// Its buffer is being registered.
    Registering(RegId, Buffer),
    /// The request is out, or waits for room.
    Asked(Option<(RegId, Buffer)>),
    /// Answered; the buffer is still registered.
    Answered(RegId, Buffer),
    Done,
}

/// The side that asks.
#[derive(Debug)]
pub struct Client {
    pub(super) common: Common,
    tasks: Vec<Task>,
    states: Vec<State>,
    /// Tasks not begun.
    todo: VecDeque<u32>,
    /// Tasks begun and not done, and how many there may be.
    active: u32,
    window: u32,
    done: u32,
    resting: Option<smbd_core::Instant>,
    patience: Duration,
}

impl Client {
    /// A client with tasks to do, `window` at a time.
    #[must_use]
    pub fn new(tasks: Vec<Task>, window: u32, behaviour: Behaviour, workload: Rc<RefCell<Workload>>) -> Self {
        let count = u32::try_from(tasks.len()).unwrap_or(u32::MAX);
        Self {
            common: Common::new(Side::Initiator, behaviour, workload),
            states: vec![State::Todo; tasks.len()],
            tasks,
            todo: (0..count).collect(),
            active: 0,
            window,
            done: 0,
            resting: None,
            patience: RETRY,
        }
    }

    /// The tasks, so that the server knows what to answer.
    #[must_use]
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    pub(super) fn is_done(&self) -> bool {
        self.done as usize == self.tasks.len()
    }

    pub(super) fn left(&self) -> String {
        let busy = self.states.iter().enumerate().find(|(_, s)| !matches!(s, State::Done | State::Todo));
        format!("{} of {} tasks done, {} begun, first {busy:?}", self.done, self.tasks.len(), self.active)
    }

    /// Other tasks instead of those that are all done.
    pub(super) fn refill(&mut self, tasks: Vec<Task>) {
        let count = u32::try_from(tasks.len()).unwrap_or(u32::MAX);
        self.states = vec![State::Todo; tasks.len()];
        self.tasks = tasks;
        self.todo = (0..count).collect();
        (self.active, self.done, self.resting) = (0, 0, None);
    }

    /// Begins what may be begun.
    pub(super) fn pump(&mut self, context: &mut Context<'_>) {
        while self.common.established && self.active < self.window {
            let Some(&number) = self.todo.front() else { return };
            let task = self.tasks[number as usize];
            let now = context.now();
            let until = *self.resting.get_or_insert(now.saturating_add(task.pause));
            if now < until {
                self.retry_at(until, context);
                return;
            }
            self.resting = None;
            if !self.begin(number, task, context) {
                return;
            }
            self.todo.pop_front();
            self.active += 1;
        }
    }

    fn retry_at(&mut self, at: smbd_core::Instant, context: &mut Context<'_>) {
        self.common.retry_at = Some(self.common.retry_at.map_or(at, |earlier| earlier.min(at)));
        self.common.set_alarm(context);
    }

    fn retry_later(&mut self, context: &mut Context<'_>) {
        let at = context.now().saturating_add(self.patience);
        self.patience = (self.patience * 2).min(RETRY_MAX);
        self.retry_at(at, context);
    }

    fn begin(&mut self, number: u32, task: Task, context: &mut Context<'_>) -> bool {
        let access = match task.kind {
            TaskKind::Echo => {
                self.ask(number, None, context);
                return true;
            }
            TaskKind::Read => Access::Write,
            TaskKind::Write => Access::Read,
        };
        let len = task.offset + task.moved;
        let buffer = context.memory().reserve(len);
        match context.register(access, Range { buffer, offset: 0, len }, task.segments_max) {
            Ok(id) => {
                context.memory().fill(buffer, &[]);
                if task.kind == TaskKind::Write {
                    let (from, bytes) = (task.offset as usize, super::content(task.key, 0, task.moved));
                    if let Some(to) = context.memory().bytes_mut(buffer).get_mut(from..) {
                        to.copy_from_slice(bytes);
                    }
                }
                self.states[number as usize] = State::Registering(id, buffer);
                true
            }
            Err(error) => {
                context.memory().free(buffer);
                if matches!(error, CommandRefused::Register(RegisterError::Command(_))) {
                    self.retry_later(context);
                    return false;
                }
                // Never possible on this connection: ask without.
                self.ask(number, None, context);
                true
            }
        }
    }

    fn ask(&mut self, number: u32, memory: Option<(RegId, Buffer)>, context: &mut Context<'_>) {
        self.states[number as usize] = State::Asked(memory);
        let remote = memory.map(|(id, _)| context.descriptors(id).into());
        let key = Common::key(context);
        let len = self.tasks[number as usize].request;
        self.common.send(
            QueuedMessage { kind: Kind::Request { task: number, remote }, len, key },
            None,
            context,
        );
    }

    fn find(&self, wanted: impl Fn(&State) -> bool) -> Option<u32> {
        // Few are active at a time, all near each other.
        self.states.iter().position(wanted).and_then(|at| u32::try_from(at).ok())
    }

    fn finish(&mut self, number: u32, context: &mut Context<'_>) {
        self.states[number as usize] = State::Done;
        self.patience = RETRY;
        self.done += 1;
        self.active -= 1;
        self.pump(context);
    }

    fn on_response(&mut self, number: u32, context: &mut Context<'_>) {
        let task = self.tasks[number as usize];
        match self.states[number as usize] {
            State::Asked(None) => self.finish(number, context),
            State::Asked(Some((id, buffer))) => {
                let from = task.offset as usize;
                if task.kind == TaskKind::Read {
                    let got = context.memory().bytes(buffer).get(from..).unwrap_or(&[]);
                    self.common.workload.borrow_mut().moved(Side::Initiator, "read", task.key, got);
                }
                self.states[number as usize] = State::Answered(id, buffer);
                self.deregister(id, context);
            }
            State::Todo | State::Registering(..) | State::Answered(..) | State::Done => {}
        }
    }

    fn deregister(&mut self, id: RegId, context: &mut Context<'_>) {
        // Refused only when the connection is over.
        let _over = context.deregister(id);
    }

    fn on_registered(&mut self, id: RegId, ok: bool, failed: bool, context: &mut Context<'_>) {
        let found = self.find(|s| matches!(s, State::Registering(reg, _) if *reg == id));
        let Some(number) = found else { return };
        let State::Registering(_, buffer) = self.states[number as usize] else { return };
        if ok {
            self.common.workload.borrow_mut().carried.registrations += 1;
            return self.ask(number, Some((id, buffer)), context);
        }
        self.states[number as usize] = State::Todo;
        self.todo.push_front(number);
        self.active -= 1;
        if failed {
            context.memory().free(buffer);
        } else {
            self.common.unused.push(buffer);
        }
        self.resting = Some(context.now().saturating_add(self.patience));
        self.retry_later(context);
    }

    fn on_deregistered(&mut self, id: RegId, ok: bool, failed: bool, context: &mut Context<'_>) {
        let found = self.find(|s| matches!(s, State::Answered(reg, _) if *reg == id));
        let Some(number) = found else { return };
        let State::Answered(_, buffer) = self.states[number as usize] else { return };
        if ok {
            context.memory().free(buffer);
            self.finish(number, context);
        } else if failed {
            self.retry_later(context);
        }
    }

    fn on_letter(&mut self, queued: Option<QueuedMessage>, context: &mut Context<'_>) {
        if let Some(QueuedMessage { kind: Kind::Response { task }, .. }) = queued {
            self.on_response(task, context);
        }
    }

    pub(super) fn message(&mut self, message: Message, context: &mut Context<'_>) {
        let queued = self.common.on_message(message, context);
        self.on_letter(queued, context);
    }

    pub(super) fn event(&mut self, event: Event, context: &mut Context<'_>) {
        use smbd_core::error::RegistrationError::Work;
        match event {
            Event::Established(_) => {
                self.common.on_established(context);
                self.pump(context);
                self.common.set_alarm(context);
            }
            Event::Data(fragment) => {
                let queued = self.common.on_fragment(fragment, context);
                self.on_letter(queued, context);
            }
            Event::Registered { id, result } => {
                self.on_registered(id, result.is_ok(), matches!(result, Err(Work(_))), context);
            }
            Event::Deregistered { id, result } => {
                self.on_deregistered(id, result.is_ok(), matches!(result, Err(Work(_))), context);
            }
            Event::Writable => self.common.send_waiting(context),
            Event::Probed(result) => {
                self.common.workload.borrow_mut().carried.probes += u64::from(result.is_ok())
            }
            Event::Closed(_) | Event::ConnectFailed(_) => self.common.established = false,
            Event::Invalidated { .. } | Event::Sent { .. } | Event::RdmaDone { .. } | Event::Drained => {}
        }
    }

    pub(super) fn wake(&mut self, context: &mut Context<'_>) {
        if self.common.on_wake(context) {
            let stuck: Vec<RegId> = self
                .states
                .iter()
                .filter_map(|s| if let State::Answered(id, _) = s { Some(*id) } else { None })
                .collect();
            for id in stuck {
                // One that is under way is refused.
                self.deregister(id, context);
            }
            self.pump(context);
        }
        self.common.set_alarm(context);
    }

    pub(super) fn renew(&mut self, lost: VecDeque<QueuedMessage>, buffers: &mut Buffers) {
        for (number, state) in (0..).zip(&mut self.states) {
            let buffer = match *state {
                State::Todo | State::Done => continue,
                State::Registering(_, buffer) | State::Asked(Some((_, buffer))) => Some(buffer),
                State::Asked(None) => None,
                State::Answered(_, buffer) => {
                    // All that counts was done.
                    buffers.free(buffer);
                    *state = State::Done;
                    self.done += 1;
                    continue;
                }
            };
            if let Some(buffer) = buffer {
                buffers.free(buffer);
            }
            *state = State::Todo;
            self.todo.push_front(number);
        }
        self.active = 0;
        self.resting = None;
        self.common.renew(lost, buffers);
    }
}
