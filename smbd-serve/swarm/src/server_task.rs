//! The server of a run: the machine that ships, a driver for it, and files in memory.

mod member;
mod transform;
mod works;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use smbd_core::Instant;
use smbd_serve::link::{Event, Order};
use smbd_sim::Side;
use smbd_sim::loops::Timer;
use smbd_smb2::server::{
    Action, Client, Completion, Files, LinkId, Memory as MemoryFiles, Operation, OperationId,
};
use smbd_smb2::wire::BufferDescriptorV1;

use crate::common::law;
use crate::common::pipe::Pipe;
use crate::ledger::{From, Ledger, told};
use crate::model::Chance;
use crate::notes::Notes;
use crate::plan::{Carrier, End, How, Plan};

pub use member::{Arrival, Arrivals};
use member::{Member, State};

/// A FILETIME of 2026.
pub const EPOCH: u64 = 0x01dc_5000_0000_0000;
/// By which its files know its only client.
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

/// What everybody of a connection shares.
#[derive(Clone)]
pub struct Shared {
    pub plan: Rc<Plan>,
    /// Which of the client's connections it is; the first is 0.
    pub number: usize,
    pub notes: Notes,
    pub ledger: Rc<RefCell<Ledger>>,
    pub files: Rc<RefCell<Files<MemoryFiles>>>,
    /// Both directions of the stream, if there is one.
    pub pipes: Rc<RefCell<Vec<Rc<RefCell<Pipe>>>>>,
}

impl Shared {
    /// Whether it is a connection over a device.
    pub fn is_device(&self) -> bool {
        self.plan.carrier_of(self.number) == Carrier::Rdma
    }

    /// One of both is gone: what was under way on the stream is lost.
    pub fn tear(&self) {
        self.pipes.borrow().iter().for_each(|pipe| pipe.borrow_mut().reset());
    }
}

pub struct ServerTask {
    /// That of the first connection.
    shared: Shared,
    connection: Client,
    members: Vec<Member>,
    /// More connections of the client.
    arrivals: Arrivals,
    chance: Chance,
    work: Vec<Work>,
    buffers: BTreeMap<OperationId, Vec<u8>>,
    done: VecDeque<(OperationId, Completion)>,
    files_done: usize,
    timer: Option<Timer>,
    /// A law is broken.
    is_stopped: bool,
}

impl ServerTask {
    /// For a client of which nothing has been received, with its first connection.
    pub fn new(connection: Client, first: Arrival, arrivals: Arrivals, chance: Chance) -> Self {
        Self {
            shared: first.shared.clone(),
            connection,
            members: vec![Member::new(LinkId::FIRST, first)],
            arrivals,
            chance,
            work: Vec::new(),
            buffers: BTreeMap::new(),
            done: VecDeque::new(),
            files_done: 0,
            timer: None,
            is_stopped: false,
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
            if self.is_stopped {
                return Poll::Ready(());
            }
            let (mut has_moved, may_come) = self.take_arrivals(cx);
            for at in 0..self.members.len() {
                has_moved |= self.poll_close(at, cx);
            }
            let are_over = self.members.iter().all(|member| member.state == State::Over);
            if are_over && !may_come {
                return Poll::Ready(());
            }
            if self.members.iter().any(|member| member.state == State::Open) {
                has_moved |= self.turn(cx);
            }
            if !has_moved {
                return Poll::Pending;
            }
        }
    }

    /// Takes connections that are there. Whether there were any, and whether there may be more.
    fn take_arrivals(&mut self, cx: &mut Context<'_>) -> (bool, bool) {
        let mut has_moved = false;
        loop {
            match self.arrivals.poll_next(cx) {
                Poll::Pending => return (has_moved, true),
                Poll::Ready(None) => return (has_moved, false),
                Poll::Ready(Some(arrival)) => {
                    has_moved = true;
                    let link = self.connection.join(arrival.end.transport(), self.time());
                    self.shared.notes.step(|| format!("server: takes another connection: {link:?}"));
                    let mut member = Member::new(link.unwrap_or(LinkId(u32::MAX)), arrival);
                    if link.is_none() {
                        // It would be one of another client, which has no session.
                        member.close(Duration::ZERO);
                    }
                    self.members.push(member);
                }
            }
        }
    }

    /// Goes on to close a connection. Whether it is over now.
    fn poll_close(&mut self, at: usize, cx: &mut Context<'_>) -> bool {
        let State::Closing(within) = self.members[at].state else { return false };
        if self.shared.plan.end == End::ServerVanishes && self.shared.notes.seen().is_struck {
            self.shared.tear();
            self.over(at, "it was dropped");
            return true;
        }
        let is_over = self.members[at].end.poll_close(within, cx).is_ready();
        if is_over {
            self.over(at, "it was closed");
        }
        is_over
    }

    /// Nothing of a connection is left.
    fn over(&mut self, at: usize, why: &str) {
        let link = self.members[at].link;
        self.members[at].state = State::Over;
        self.connection.closed(link);
        self.act();
        if !self.connection.has_ended() {
            self.shared.notes.count("connections lost by a session that goes on");
            return;
        }
        self.shared.notes.note(|seen| _ = seen.own.server_ended.get_or_insert_with(|| why.to_owned()));
        let left = self.shared.files.borrow().open_count();
        let judged = (|| {
            law!("ends", left == 0, "{left} files are open when the server's connection is over");
            Ok(())
        })();
        self.shared.notes.judge(judged);
    }

    /// Closes a connection.
    fn close(&mut self, at: usize, within: Duration) {
        self.members[at].close(within);
    }

    fn turn(&mut self, cx: &mut Context<'_>) -> bool {
        if self.shared.notes.seen().breach.is_some() {
            self.is_stopped = true;
            return true;
        }
        let device = self.members.iter().position(|member| member.shared.is_device());
        if let Some(at) = device
            && let Some(within) = self.shared.notes.stage().take_ending(Side::Acceptor)
        {
            self.shared.notes.note(|seen| seen.is_asked = true);
            self.close(at, within);
            return true;
        }
        if self.strikes() {
            return true;
        }
        let mut has_moved = self.act();
        has_moved |= self.works();
        for at in 0..self.members.len() {
            match self.take_event(at, cx) {
                Ok(taken) => has_moved |= taken,
                Err(lost) => {
                    self.shared.notes.step(|| format!("server: the connection is over: {lost}"));
                    self.close(at, Duration::ZERO);
                    return true;
                }
            }
        }
        let time = self.time();
        self.connection.timeout(time);
        let is_open = self.members.iter().any(|member| member.state == State::Open);
        has_moved || !is_open || self.is_due(cx)
    }

    /// Takes what has come of a connection. Whether there was anything.
    fn take_event(&mut self, at: usize, cx: &mut Context<'_>) -> Result<bool, String> {
        if self.members[at].state != State::Open {
            return Ok(false);
        }
        let Poll::Ready(event) = self.members[at].end.poll_event(cx, true) else { return Ok(false) };
        match event? {
            Event::Message(mut message) => self.receive(at, &mut message),
            Event::PastRequest(_) | Event::PastResponse(_) => return Err("there is no past".to_owned()),
            Event::Fetched { id, data, len } => {
                let mut bytes = Vec::new();
                let is_success = data.is_some_and(|data| data.append_to(0, len, &mut bytes).is_ok());
                if !bytes.is_empty() {
                    self.tamper(&mut bytes);
                    self.buffers.insert(id, bytes);
                }
                self.say(|connection, now| connection.rdma_done(now, id, is_success));
            }
            Event::Delivered(id, is_success) => {
                self.say(|connection, now| connection.rdma_done(now, id, is_success));
            }
        }
        Ok(true)
    }

    /// Whether the plan ends it now.
    fn strikes(&mut self) -> bool {
        let is_late = self.files_done > self.shared.plan.end_at;
        let within = match self.shared.plan.end {
            End::ServerCloses if is_late => Duration::from_millis(1),
            End::ServerVanishes if is_late => Duration::ZERO,
            _ => return self.loses(),
        };
        self.shared.notes.note(|seen| seen.is_struck = true);
        self.shared.notes.step(|| format!("server: {:?}", self.shared.plan.end));
        (0..self.members.len()).for_each(|at| self.close(at, within));
        true
    }

    /// Whether the plan has the client lose one of its connections now.
    fn loses(&mut self) -> bool {
        let Some(channels) = &self.shared.plan.channels else { return false };
        let is_due = |member: &&mut Member| {
            let loss = channels.losses[member.shared.number];
            let is_due = loss.is_some_and(|loss| self.files_done > loss.at);
            is_due && !member.is_struck && member.state == State::Open
        };
        let Some(member) = self.members.iter_mut().find(is_due) else { return false };
        let loss = channels.losses[member.shared.number];
        self.shared.notes.step(|| format!("the plan ends connection {}: {loss:?}", member.shared.number));
        self.shared.notes.count("connections that the plan ends");
        member.is_struck = true;
        match loss.map(|loss| loss.how) {
            Some(How::Torn) => member.shared.tear(),
            Some(How::ServerCloses(within)) => member.close(within),
            // The device does it.
            Some(How::Device) | None => {}
        }
        true
    }

    fn receive(&mut self, at: usize, message: &mut [u8]) {
        // After a transfer that has failed it takes nothing any more, and decrypts nothing.
        let link = self.members[at].link;
        if self.connection.is_over(link) {
            return;
        }
        let time = self.time();
        self.connection.received(time, link, message);
        self.shared.notes.step(|| format!("server: has received {}", told(message)));
        let judged = self.members[at].shared.ledger.borrow_mut().server_has(message);
        self.shared.notes.judge(judged);
    }

    /// Does what the server says. Returns whether it said anything.
    fn act(&mut self) -> bool {
        let mut any = false;
        while let Some((on, action)) = self.connection.poll() {
            any = true;
            let at = on.and_then(|on| self.members.iter().position(|member| member.link == on));
            match action {
                Action::Send { message, invalidate } => self.send(at, message.bytes(), invalidate),
                Action::RdmaRead { id, buffers, len } => self.order(at, Order::Fetch { id, buffers, len }),
                Action::RdmaWrite { id, buffers, len } => {
                    let mut bytes = self.buffers.remove(&id).unwrap_or_default();
                    bytes.truncate(len as usize);
                    self.tamper(&mut bytes);
                    self.deliver(at, id, &bytes, buffers);
                }
                Action::File { id, operation } => self.begin(id, operation),
                Action::Transform { id, len } => self.transform(id, len as usize),
                Action::Cancel(id) => self.cancel(id),
                Action::SessionReplaced { .. } | Action::Refused(_) => {}
                Action::Close(reason) => {
                    self.shared.notes.step(|| format!("server: closes: {reason}"));
                    if self.connection.has_ended() {
                        self.shared
                            .notes
                            .note(|seen| _ = seen.own.server_ended.get_or_insert(reason.to_string()));
                        self.shared.files.borrow_mut().end(NUMBER, self.time());
                        self.work.clear();
                        self.buffers.clear();
                    }
                    // What was said before the reason still goes.
                    at.into_iter().for_each(|at| self.close(at, Duration::from_secs(1)));
                }
            }
        }
        // Data of requests that have failed are nobody's.
        let Self { buffers, work, .. } = self;
        buffers.retain(|id, _| work.iter().any(|work| work.id == *id));
        any
    }

    /// Delivers data on a connection.
    fn deliver(
        &mut self,
        at: Option<usize>,
        id: OperationId,
        bytes: &[u8],
        buffers: Arc<[BufferDescriptorV1]>,
    ) {
        let Some(member) = at.and_then(|at| self.members.get_mut(at)) else { return };
        let len = bytes.len() as u32;
        let filled = member.end.memory(len).map(|data| data.fill(0, bytes).map(|()| data));
        if let Ok(Ok(data)) = filled {
            member.end.order(Order::Deliver { id, data, len, buffers });
        } else {
            self.shared.notes.judge(Err("driven: there is no memory for a transfer".to_owned()));
        }
    }

    /// Orders something on a connection. One whose end is told has no orders any more.
    fn order(&mut self, at: Option<usize>, order: Order) {
        if let Some(member) = at.and_then(|at| self.members.get_mut(at)) {
            member.end.order(order);
        }
    }

    fn send(&mut self, at: Option<usize>, message: &[u8], invalidate: Option<smbd_smb2::wire::Token>) {
        let Some(member) = at.and_then(|at| self.members.get_mut(at)) else { return };
        let judged = member.shared.ledger.borrow_mut().leaves(From::Server, message);
        self.shared.notes.judge(judged);
        let messages = match &mut member.changer {
            Some(changer) => changer.change(message),
            None => vec![message.to_vec()],
        };
        self.shared.notes.step(|| {
            let told: Vec<_> = messages.iter().map(|message| told(message)).collect();
            format!("server: sends {told:?}, invalidates {invalidate:?}")
        });
        let last = messages.len().saturating_sub(1);
        for (at, message) in messages.into_iter().enumerate() {
            let invalidate = invalidate.filter(|_| at == last);
            member.end.order(Order::Send { message: message.into(), invalidate });
        }
    }
}
