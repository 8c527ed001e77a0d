//! The server of a run: the machine that ships, a driver for it, and files in memory.

mod transform;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use smbd_core::Instant;
use smbd_files::transport::Lost;
use smbd_sim::Side;
use smbd_sim::loops::Timer;
use smbd_smb2::server::{
    Action, Client, Completion, Files, LinkId, Memory as MemoryFiles, Operation, OperationId,
};
use smbd_smb2::wire::NtStatus;

use crate::common::pipe::Pipe;
use crate::common::{Breach, law};
use crate::ledger::{From, Ledger, told};
use crate::mischief::Changer;
use crate::model::Chance;
use crate::notes::Notes;
use crate::plan::{End, Plan};
use crate::server_end::{Order, ServerEnd};

/// A FILETIME of 2026.
pub const EPOCH: u64 = 0x01dc_5000_0000_0000;
/// By which its files know its only connection.
pub const NUMBER: u64 = 1;
/// Bytes of buffers for RDMA, beyond which it holds more than a client may have it hold.
const HELD_MAX: usize = 64 << 20;

/// An operation on a file that takes its time.
struct Work {
    id: OperationId,
    operation: Operation,
    due: Instant,
    prolongs: Option<Instant>,
}

/// What everybody of a run shares.
#[derive(Clone)]
pub struct Shared {
    pub plan: Rc<Plan>,
    pub notes: Notes,
    pub ledger: Rc<RefCell<Ledger>>,
    pub files: Rc<RefCell<Files<MemoryFiles>>>,
    /// Both directions of the stream, if there is one.
    pub pipes: Rc<RefCell<Vec<Rc<RefCell<Pipe>>>>>,
}

impl Shared {
    /// One of both is gone: what was under way on the stream is lost.
    pub fn tear(&self) {
        self.pipes.borrow().iter().for_each(|pipe| pipe.borrow_mut().reset());
    }
}

pub struct ServerTask<E> {
    shared: Shared,
    connection: Client,
    end: E,
    chance: Chance,
    changer: Option<Changer>,
    work: Vec<Work>,
    buffers: BTreeMap<OperationId, Vec<u8>>,
    done: VecDeque<(OperationId, Completion)>,
    files_done: usize,
    timer: Option<Timer>,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    Closing(Duration),
    Over,
}

impl<E: ServerEnd> ServerTask<E> {
    pub fn new(
        shared: &Shared,
        connection: Client,
        end: E,
        (chance, changer): (Chance, Option<Changer>),
    ) -> Self {
        Self {
            shared: shared.clone(),
            connection,
            end,
            chance,
            changer,
            work: Vec::new(),
            buffers: BTreeMap::new(),
            done: VecDeque::new(),
            files_done: 0,
            timer: None,
            state: State::Open,
        }
    }

    /// Serves the client to its end.
    pub async fn run(mut self) {
        poll_fn(|cx| self.poll(cx)).await;
    }

    fn now(&self) -> Instant {
        self.shared.notes.now()
    }

    fn time(&self) -> u64 {
        EPOCH + self.now().as_nanos() / 100
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            match self.state {
                State::Over => return Poll::Ready(()),
                State::Closing(within) => {
                    if self.shared.plan.end == End::ServerVanishes && self.shared.notes.seen().is_struck {
                        self.shared.tear();
                        self.over("it was dropped");
                        continue;
                    }
                    ready!(self.end.poll_close(within, cx));
                    self.over("it was closed");
                }
                State::Open => match self.turn(cx) {
                    Ok(true) => {}
                    Ok(false) => return Poll::Pending,
                    Err(lost) => {
                        self.shared.notes.step(|| format!("server: the connection is over: {lost}"));
                        self.close(Duration::ZERO);
                    }
                },
            }
        }
    }

    /// Nothing of the connection is left.
    fn over(&mut self, why: &str) {
        self.connection.closed(LinkId::FIRST);
        self.act();
        self.shared.notes.note(|seen| _ = seen.own.server_ended.get_or_insert_with(|| why.to_owned()));
        let left = self.shared.files.borrow().open_count();
        let judged = (|| {
            law!("ends", left == 0, "{left} files are open when the server's connection is over");
            Ok(())
        })();
        self.shared.notes.judge(judged);
        self.state = State::Over;
    }

    fn close(&mut self, within: Duration) {
        if self.state == State::Open {
            self.state = State::Closing(within);
        }
    }

    fn turn(&mut self, cx: &mut Context<'_>) -> Result<bool, Lost> {
        if self.shared.notes.seen().breach.is_some() {
            self.state = State::Over;
            return Ok(true);
        }
        if let Some(within) = self.shared.notes.stage().take_ending(Side::Acceptor) {
            self.shared.notes.note(|seen| seen.is_asked = true);
            self.close(within);
            return Ok(true);
        }
        if self.strikes() {
            return Ok(true);
        }
        let mut has_moved = self.act();
        while let Poll::Ready((id, bytes)) = self.end.poll_moved(cx) {
            let is_success = bytes.is_some();
            if let Some(mut bytes) = bytes.filter(|bytes| !bytes.is_empty()) {
                self.tamper(&mut bytes);
                self.buffers.insert(id, bytes);
            }
            self.say(|connection, now| connection.rdma_done(now, id, is_success));
            has_moved = true;
        }
        has_moved |= self.works();
        // Who does not send does not receive.
        if let Poll::Ready(begun) = self.end.poll_orders(cx) {
            begun?;
            if let Poll::Ready(message) = self.end.poll_receive(cx) {
                self.receive(&mut message?);
                has_moved = true;
            }
        }
        let time = self.time();
        self.connection.timeout(time);
        Ok(has_moved || self.state != State::Open || self.is_due(cx))
    }

    /// Whether the plan ends it now.
    fn strikes(&mut self) -> bool {
        let is_late = self.files_done > self.shared.plan.end_at;
        let within = match self.shared.plan.end {
            End::ServerCloses if is_late => Duration::from_millis(1),
            End::ServerVanishes if is_late => Duration::ZERO,
            _ => return false,
        };
        self.shared.notes.note(|seen| seen.is_struck = true);
        self.shared.notes.step(|| format!("server: {:?}", self.shared.plan.end));
        self.close(within);
        true
    }

    fn receive(&mut self, message: &mut [u8]) {
        // After a transfer that has failed it takes nothing any more, and decrypts nothing.
        if self.connection.has_ended() {
            return;
        }
        let time = self.time();
        self.connection.received(time, LinkId::FIRST, message);
        self.shared.notes.step(|| format!("server: has received {}", told(message)));
        let judged = self.shared.ledger.borrow_mut().server_has(message);
        self.shared.notes.judge(judged);
    }

    /// Does what the server says. Returns whether it said anything.
    fn act(&mut self) -> bool {
        let mut any = false;
        while let Some((_, action)) = self.connection.poll() {
            any = true;
            match action {
                Action::Send { message, invalidate } => self.send(message.bytes(), invalidate),
                Action::RdmaRead { id, buffers, len } => self.end.order(Order::Read(id, buffers, len)),
                Action::RdmaWrite { id, buffers, len } => {
                    let mut bytes = self.buffers.remove(&id).unwrap_or_default();
                    bytes.truncate(len as usize);
                    self.tamper(&mut bytes);
                    self.end.order(Order::Write(id, buffers, bytes));
                }
                Action::File { id, operation } => self.begin(id, operation),
                Action::Transform { id, len } => self.transform(id, len as usize),
                Action::Cancel(id) => self.cancel(id),
                Action::SessionReplaced { .. } => {}
                Action::Close(reason) => {
                    self.shared.notes.step(|| format!("server: closes: {reason}"));
                    self.shared
                        .notes
                        .note(|seen| _ = seen.own.server_ended.get_or_insert(reason.to_string()));
                    self.shared.files.borrow_mut().end(NUMBER, self.time());
                    self.work.clear();
                    self.buffers.clear();
                    // What was said before the reason still goes.
                    self.close(Duration::from_secs(1));
                }
            }
        }
        // Data of requests that have failed are nobody's.
        let Self { buffers, work, .. } = self;
        buffers.retain(|id, _| work.iter().any(|work| work.id == *id));
        any
    }

    fn send(&mut self, message: &[u8], invalidate: Option<smbd_smb2::wire::Token>) {
        let judged = self.shared.ledger.borrow_mut().leaves(From::Server, message);
        self.shared.notes.judge(judged);
        let messages = match &mut self.changer {
            Some(changer) => changer.change(message),
            None => vec![message.to_vec()],
        };
        self.shared.notes.step(|| {
            let told: Vec<_> = messages.iter().map(|message| told(message)).collect();
            format!("server: sends {told:?}, invalidates {invalidate:?}")
        });
        let last = messages.len().saturating_sub(1);
        for (at, message) in messages.into_iter().enumerate() {
            self.end.order(Order::Send(message, invalidate.filter(|_| at == last)));
        }
    }

    fn begin(&mut self, id: OperationId, operation: Operation) {
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

    fn cancel(&mut self, id: OperationId) {
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
        if !self.connection_is_over() {
            self.say(|connection, now| connection.completed(now, id, completion));
        }
    }

    fn connection_is_over(&self) -> bool {
        self.state != State::Open
    }

    /// Tells the server something that it cannot refuse.
    fn say<T: std::fmt::Display>(&mut self, call: impl FnOnce(&mut Client, u64) -> Result<(), T>) {
        let time = self.time();
        if let Err(misuse) = call(&mut self.connection, time) {
            let breach: Breach = format!("driven: the server refuses what its driver says: {misuse}");
            self.shared.notes.judge(Err(breach));
        }
    }

    /// Carries out what is due. Returns whether anything was.
    fn works(&mut self) -> bool {
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
    fn is_due(&mut self, cx: &mut Context<'_>) -> bool {
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
