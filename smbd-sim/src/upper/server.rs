use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use smbd_core::endpoint::Message;
use smbd_core::error::{CommandError, RdmaError};
use smbd_core::{BufferDescriptorV1, Event, OpId, RdmaVerb, Token};

use super::{Behaviour, Common, Kind, QueuedMessage, Task, TaskKind, Workload};
use crate::host::Context;
use crate::memory::{Buffer, Buffers, Range};
use crate::{CommandRefused, Side};

/// RDMA to do for a task.
#[derive(Clone, Debug)]
struct Job {
    task: u32,
    remote: Arc<[BufferDescriptorV1]>,
}

/// RDMA under way for a task.
#[derive(Clone, Debug)]
struct Running {
    op: OpId,
    buffer: Buffer,
    job: Job,
    answered: bool,
    /// Its result comes with that of something later.
    unsignalled: bool,
}

/// The side that answers.
#[derive(Debug)]
pub struct Server {
    pub(super) common: Common,
    tasks: Vec<Task>,
    /// Waits for room among the RDMA operations.
    jobs: VecDeque<Job>,
    running: Vec<Running>,
    /// A token to invalidate that is none, with the next answer.
    pub nonsense: Option<Token>,
}

impl Server {
    /// A server for the client that has these tasks.
    #[must_use]
    pub fn new(tasks: Vec<Task>, behaviour: Behaviour, workload: Rc<RefCell<Workload>>) -> Self {
        Self {
            common: Common::new(Side::Acceptor, behaviour, workload),
            tasks,
            jobs: VecDeque::new(),
            running: Vec::new(),
            nonsense: None,
        }
    }

    /// Other tasks instead of those that are all done.
    pub(super) fn refill(&mut self, tasks: Vec<Task>) {
        self.tasks = tasks;
    }

    pub(super) fn is_done(&self) -> bool {
        self.jobs.is_empty() && self.running.iter().all(|running| running.unsignalled)
    }

    pub(super) fn left(&self) -> String {
        format!("{} RDMA operations run, {} wait", self.running.len(), self.jobs.len())
    }

    fn on_request(
        &mut self,
        task: u32,
        remote: Option<Arc<[BufferDescriptorV1]>>,
        context: &mut Context<'_>,
    ) {
        match remote {
            None => self.answer(task, None, context),
            Some(remote) => {
                self.jobs.push_back(Job { task, remote });
                self.work(context);
            }
        }
    }

    /// Begins what there is room for.
    fn work(&mut self, context: &mut Context<'_>) {
        while let Some(job) = self.jobs.front().cloned() {
            let task = self.tasks[job.task as usize];
            let (verb, bytes) = match task.kind {
                TaskKind::Write => (RdmaVerb::Read, &[][..]),
                TaskKind::Read | TaskKind::Echo => (RdmaVerb::Write, super::content(task.key, 0, task.moved)),
            };
            let buffer = context.memory().reserve(task.moved);
            let local = Range { buffer, offset: 0, len: task.moved };
            let Behaviour { patient, unsignalled_one_in, .. } = self.common.behaviour;
            let answered = verb == RdmaVerb::Write && !patient;
            // The answer that follows is in the same queue.
            let unsignalled = answered && task.key.checked_rem(unsignalled_one_in) == Some(0);
            let (remote, offset) = (&job.remote, u64::from(task.offset));
            let started = if unsignalled {
                context.rdma_unsignalled(verb, local, remote, offset)
            } else {
                context.rdma(verb, local, remote, offset)
            };
            match started {
                Ok(op) => {
                    context.memory().fill(buffer, bytes);
                    self.jobs.pop_front();
                    self.running.push(Running { op, buffer, job: job.clone(), answered, unsignalled });
                    if answered {
                        self.answer(job.task, Some(&job.remote), context);
                    }
                }
                Err(error) => {
                    context.memory().free(buffer);
                    match error {
                        CommandRefused::Rdma(RdmaError::Command(CommandError::NoRoom { .. })) => {}
                        // The connection allows no reads: the answer comes without.
                        CommandRefused::Rdma(RdmaError::NoReadDepth | RdmaError::TooLong { .. }) => {
                            self.jobs.pop_front();
                            self.answer(job.task, None, context);
                            continue;
                        }
                        // The connection is over.
                        _ => self.jobs.clear(),
                    }
                    return;
                }
            }
        }
    }

    fn answer(&mut self, task: u32, remote: Option<&Arc<[BufferDescriptorV1]>>, context: &mut Context<'_>) {
        let key = Common::key(context);
        let len = self.tasks[task as usize].response;
        let of_remote = remote.and_then(|r| r.first()).map(|d| d.token);
        let invalidate = self.nonsense.take().or(of_remote.filter(|_| self.common.behaviour.invalidates));
        self.common.send(QueuedMessage { kind: Kind::Response { task }, len, key }, invalidate, context);
    }

    fn on_rdma(&mut self, op: OpId, ok: bool, context: &mut Context<'_>) {
        let Some(at) = self.running.iter().position(|r| r.op == op) else { return };
        let Running { buffer, job, answered, .. } = self.running.swap_remove(at);
        if !ok {
            return self.common.unused.push(buffer);
        }
        let task = self.tasks[job.task as usize];
        {
            let mut workload = self.common.workload.borrow_mut();
            workload.carried.operations += 1;
            workload.carried.operation_bytes += u64::from(task.moved);
            if task.kind == TaskKind::Write {
                workload.moved(Side::Acceptor, "write", task.key, context.memory().bytes(buffer));
            }
        }
        context.memory().free(buffer);
        if !answered {
            self.answer(job.task, Some(&job.remote), context);
        }
        self.work(context);
    }

    fn on_letter(&mut self, queued: Option<QueuedMessage>, context: &mut Context<'_>) {
        if let Some(QueuedMessage { kind: Kind::Request { task, remote }, .. }) = queued {
            self.on_request(task, remote, context);
        }
    }

    pub(super) fn message(&mut self, message: Message, context: &mut Context<'_>) {
        let queued = self.common.on_message(message, context);
        self.on_letter(queued, context);
    }

    pub(super) fn event(&mut self, event: Event, context: &mut Context<'_>) {
        match event {
            Event::Established(_) => {
                self.common.on_established(context);
                self.common.set_alarm(context);
            }
            Event::Data(fragment) => {
                let queued = self.common.on_fragment(fragment, context);
                self.on_letter(queued, context);
            }
            Event::RdmaDone { op, result } => self.on_rdma(op, result.is_ok(), context),
            Event::Writable => {
                self.common.send_waiting(context);
                self.work(context);
            }
            Event::Probed(result) => {
                self.common.workload.borrow_mut().carried.probes += u64::from(result.is_ok())
            }
            Event::Closed(_) | Event::ConnectFailed(_) => self.common.established = false,
            Event::Invalidated { .. }
            | Event::Sent { .. }
            | Event::Registered { .. }
            | Event::Deregistered { .. }
            | Event::Drained => {}
        }
    }

    pub(super) fn wake(&mut self, context: &mut Context<'_>) {
        self.common.on_wake(context);
        self.common.set_alarm(context);
    }

    pub(super) fn renew(&mut self, lost: VecDeque<QueuedMessage>, buffers: &mut Buffers) {
        self.jobs.clear();
        self.nonsense = None;
        for running in self.running.drain(..) {
            buffers.free(running.buffer);
        }
        self.common.renew(lost, buffers);
    }
}
