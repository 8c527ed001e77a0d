//! The server of a run: its model on a simulated device, with RDMA to and from the gateway's memory.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use smbd_core::backend::{BufferLookup, Handler, ReceiveMemory};
use smbd_core::endpoint::{EndpointEvent, Message};
use smbd_core::{BufferDescriptorV1, Close, Instant, OpId, RdmaVerb, Token};
use smbd_link::Messages;
use smbd_link::transport::Memory as _;
use smbd_sim::Side;
use smbd_sim::loops::LoopEnd;
use smbd_smb2::wire::Request;

use super::device::Device;
use super::plan::{End, Plan};
use crate::notes::Notes;
use crate::turns::AtDevice;
use smbd_testkit::Chance;
use smbd_testkit::relay::elements;
use smbd_testkit::relay::reverse::{Client, Lie, Server};
use smbd_testkit::swarm::Memory;

/// Steps that wait for room in the connection, beyond which it answers nothing.
const WAITING_MAX: usize = 40;

pub struct ServerTask {
    pub plan: Rc<Plan>,
    pub notes: Notes,
    pub model: Rc<RefCell<Server>>,
    pub client: Rc<RefCell<Client>>,
    pub device: Rc<RefCell<Device>>,
    pub chance: Chance,
    pub state: State,
}

/// What it does.
#[derive(Default)]
pub struct State {
    /// In this order.
    steps: VecDeque<Step>,
    running: BTreeMap<OpId, Transfer>,
    /// RDMA Reads that have not ended.
    fetching: usize,
    answers_at: Option<Instant>,
    pauses_until: Option<Instant>,
    lie: Option<Lie>,
    is_established: bool,
    is_closing: bool,
    has_news: bool,
}

enum Step {
    Move(Transfer),
    Send(Bytes, Option<Token>),
}

#[derive(Clone)]
struct Transfer {
    verb: RdmaVerb,
    remote: BufferDescriptorV1,
    memory: Memory,
}

impl ServerTask {
    fn leave(&mut self, machine: &mut impl Messages, now: Instant, within: Duration) {
        self.notes.note(|seen| seen.own.has_left = true);
        self.notes.step(|| format!("server: leaves within {within:?}"));
        self.state.is_closing = true;
        let how =
            if within.is_zero() { Close::Abort } else { Close::Flush { until: now.saturating_add(within) } };
        machine.close(now, how);
    }

    /// Gives the connection what it takes.
    fn give(&mut self, machine: &mut impl Messages, now: Instant) {
        while let Some(step) = self.state.steps.pop_front() {
            let refused = match step {
                Step::Send(message, token) => match machine.send(now, message, token) {
                    Ok(_) => None,
                    Err(refused) => Some(Step::Send(refused.payload, token)),
                },
                Step::Move(transfer) => {
                    let Transfer { verb, remote, .. } = transfer;
                    match machine.rdma(now, verb, remote.length, [remote].into(), 0) {
                        Ok(op) => {
                            self.state.running.insert(op, transfer);
                            None
                        }
                        Err(_) => Some(Step::Move(transfer)),
                    }
                }
            };
            if let Some(step) = refused {
                // There will be room.
                self.state.steps.push_front(step);
                return;
            }
        }
    }

    /// Answers something, if that is due. Whether it did.
    fn answers(&mut self, now: Instant) -> bool {
        let mut model = self.model.borrow_mut();
        let mut device = self.device.borrow_mut();
        let is_silent = self.plan.end == End::NoSession && model.received.len() > 1;
        let is_busy = self.state.fetching > 0 || self.state.steps.len() > WAITING_MAX;
        let is_due = self.state.answers_at <= Some(now) && model.has_answers();
        if is_silent || is_busy || !is_due || device.is_over() {
            return false;
        }
        if let End::Lie(lie) = self.plan.end
            && self.state.lie.is_none()
            && model.received.len() > self.plan.common.end_at
        {
            (model.lie, self.state.lie) = (Some(lie), Some(lie));
        }
        let result = model.answer(&self.client.borrow(), &mut *device, &mut self.chance);
        self.notes.judge(result);
        if self.state.lie.is_some() && model.lie.is_none() {
            self.notes.note(|seen| seen.is_struck = true);
        }
        let tokens = model.decided.values().flat_map(|decided| decided.tokens.iter().copied());
        match device.answered(tokens) {
            Ok(writes) => self.state.steps.extend(writes.into_iter().filter_map(|(remote, bytes)| {
                let memory = Memory::of(Side::Acceptor, remote.length)?;
                memory.fill(0, &bytes).ok()?;
                Some(Step::Move(Transfer { verb: RdmaVerb::Write, remote, memory }))
            })),
            Err(breach) => self.notes.judge(Err(breach)),
        }
        for (message, token) in model.out.drain(..) {
            self.notes.step(|| format!("server: sends {} bytes, invalidates {token:?}", message.len()));
            self.state.steps.push_back(Step::Send(message.into(), token.map(Token)));
        }
        let pace = self.plan.common.pace;
        let pause = match pace.bursts {
            Some(_) if model.has_answers() => Duration::ZERO,
            Some(pause) => pause,
            None => pace.answers,
        };
        self.state.answers_at = Some(self.notes.soon(&mut self.chance, pause));
        true
    }

    fn message(&mut self, bytes: &[u8]) {
        self.state.has_news = true;
        if self.device.borrow().is_over() {
            return;
        }
        let mut model = self.model.borrow_mut();
        let before = model.received.len();
        let result = model.receive(bytes, &self.client.borrow(), &*self.device.borrow());
        self.notes.step(|| format!("server: receives {:?}", &model.received[before..]));
        self.notes.judge(result);
        // All of the memory that it was given, to see that behind the data there is nothing.
        for remote in to_fetch(bytes) {
            let Some(length) = self.device.borrow().len(remote.token) else { continue };
            let Some(memory) = Memory::of(Side::Acceptor, length) else { continue };
            let remote = BufferDescriptorV1 { length, ..remote };
            self.state.fetching += 1;
            self.state.steps.push_back(Step::Move(Transfer { verb: RdmaVerb::Read, remote, memory }));
        }
    }

    fn moved(&mut self, op: OpId, is_success: bool) {
        let Some(Transfer { verb, remote, memory }) = self.state.running.remove(&op) else { return };
        if verb == RdmaVerb::Read {
            self.state.fetching -= 1;
            let mut bytes = vec![0; remote.length as usize];
            if is_success && memory.read(0, &mut bytes).is_ok() {
                self.device.borrow_mut().fetch(remote.token, bytes);
            }
        }
    }
}

impl<C: Messages> AtDevice<C> for ServerTask {
    const NAME: &'static str = "server";

    fn notes(&self) -> &Notes {
        &self.notes
    }

    fn act(&mut self, machine: &mut C, now: Instant) -> Option<Instant> {
        if !self.state.is_established || self.state.is_closing {
            return None;
        }
        if let Some(within) = self.notes.stage().take_ending(Side::Acceptor) {
            self.notes.note(|seen| seen.is_asked = true);
            self.leave(machine, now, within);
            return None;
        }
        let is_late = self.model.borrow().received.len() > self.plan.common.end_at + 3;
        if is_late && matches!(self.plan.end, End::ServerCloses | End::ServerAborts) {
            self.notes.note(|seen| seen.is_struck = true);
            let is_abort = self.plan.end == End::ServerAborts;
            self.leave(machine, now, Duration::from_secs(u64::from(!is_abort)));
            return None;
        }
        if self.state.pauses_until.take_if(|until| *until <= now).is_some() {
            machine.resume();
        }
        self.give(machine, now);
        while self.answers(now) {
            self.give(machine, now);
        }
        let has_answers = self.model.borrow().has_answers();
        let answers = self.state.answers_at.filter(|_| has_answers);
        let times = answers.into_iter().filter(|at| *at > now).chain(self.state.pauses_until);
        times.min()
    }

    fn take_news(&mut self) -> bool {
        std::mem::take(&mut self.state.has_news)
    }
}

/// The memory of the WRITEs in a message.
fn to_fetch(message: &[u8]) -> Vec<BufferDescriptorV1> {
    let mut all = Vec::new();
    for range in elements(message).unwrap_or_default() {
        if let Ok(Request::Write(write)) = Request::parse(&message[range])
            && let Ok(descriptors) = write.descriptors()
        {
            all.extend(descriptors.iter());
        }
    }
    all
}

impl BufferLookup<Memory> for ServerTask {
    fn operation(&self, op: OpId) -> Option<&Memory> {
        self.state.running.get(&op).map(|transfer| &transfer.memory)
    }
}

impl<C: Messages> Handler<LoopEnd<Memory>, C> for ServerTask {
    fn event(&mut self, machine: &mut C, end: &mut LoopEnd<Memory>, event: EndpointEvent) {
        let now = self.notes.stage().now();
        match event {
            EndpointEvent::Established(_) => self.state.is_established = true,
            EndpointEvent::Message(Message::Owned(bytes)) => self.message(&bytes),
            EndpointEvent::Message(Message::Borrowed(fragment)) => {
                let bytes = end.fragment(&fragment).map(<[u8]>::to_vec).unwrap_or_default();
                // Whether that is a misuse is for the oracles.
                let _ = machine.release(now, fragment);
                self.message(&bytes);
            }
            EndpointEvent::RdmaDone { op, result } => self.moved(op, result.is_ok()),
            EndpointEvent::Writable => {}
            EndpointEvent::Closed(_) | EndpointEvent::ConnectFailed(_) => {
                self.notes.step(|| format!("server: {event:?}"));
                self.state.is_closing = true;
            }
            _ => return,
        }
        self.state.has_news = true;
        let is_open = self.state.is_established && !self.state.is_closing;
        if is_open && self.state.pauses_until.is_none() && self.chance.one_in(60) {
            let stalls = self.plan.common.pace.stalls.as_nanos() as usize;
            let nanos = self.chance.size(1, stalls + 1) as u64;
            self.state.pauses_until = Some(now.saturating_add(Duration::from_nanos(nanos)));
            machine.pause();
        }
    }
}
