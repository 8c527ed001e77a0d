//! The drive loop, with a backend that says what a test has it say: what is heard, in which order, and when it returns.

use std::cell::Cell;
use std::collections::VecDeque;
use std::time::Duration;

use smbd_core::backend::{
    Backend, BackendOp, BufferLookup, Handler, Protocol, ReceiveMemory, ShortReceive, UnknownBuffer, drive,
};
use smbd_core::error::{ConnectError, ConnectReason, DisconnectReason, WorkError};
use smbd_core::{
    Action, Close, Config, Connection, Event, Input, Instant, Misuse, Params, RecvId, RegId, Role, WrId,
};

/// Never connects, and each look at its clock takes a second.
#[derive(Default)]
struct Chatty {
    /// Always says something of no account.
    never_silent: bool,
    /// What it has to say at once.
    inputs: VecDeque<Input<'static>>,
    seconds: Cell<u64>,
    rounds: u32,
    asked: u32,
    posted: Vec<RecvId>,
    failed: bool,
    ending: bool,
}

impl ReceiveMemory for Chatty {
    fn received(&self, _: RecvId) -> &[u8] {
        &[]
    }
}

impl Backend for Chatty {
    type Buffer = ();

    fn now(&self) -> Instant {
        self.seconds.set(self.seconds.get() + 1);
        Instant::from_nanos(self.seconds.get() * 1_000_000_000)
    }

    fn execute(&mut self, step: BackendOp<'_, ()>) {
        match step {
            BackendOp::PostRecv { id, .. } => self.posted.push(id),
            BackendOp::Disconnect => self.ending = true,
            _ => {}
        }
    }

    fn ring_doorbell(&mut self) {
        self.rounds += 1;
    }

    fn next_input(&mut self) -> Option<Input<'_>> {
        self.asked += 1;
        if let Some(input) = self.inputs.pop_front() {
            self.failed |= matches!(input, Input::ConnectFailed { .. });
            return Some(input);
        }
        if self.ending {
            if let Some(id) = self.posted.pop() {
                return Some(Input::Failed { id: id.into(), error: WorkError::Flushed });
            }
            self.ending = false;
            return (!self.failed).then_some(Input::Disconnected { reason: DisconnectReason::Local });
        }
        self.never_silent.then(|| Input::BindComplete { id: reg(0) })
    }
}

fn reg(slot: u64) -> RegId {
    match WrId::from_raw(4 << 56 | slot) {
        Some(WrId::Reg(id)) => id,
        other => panic!("{other:?}"),
    }
}

/// A connection that only notes what is bound: a backend may say it at any time, and nothing comes of it.
struct Patient {
    connection: Connection,
    bound: Vec<RegId>,
}

impl Patient {
    /// An initiator that waits for so many seconds.
    fn waiting(seconds: u64) -> Self {
        let timeout = Duration::from_secs(seconds);
        let params = Params { active_negotiation_timeout: timeout, ..Params::example() };
        let config = Config::try_from(params).unwrap();
        let connection = Connection::new(Role::Initiator, &config, Instant::ORIGIN);
        Self { connection, bound: Vec::new() }
    }
}

impl Protocol for Patient {
    type Event = Event;

    fn handle(&mut self, now: Instant, input: Input<'_>) -> Result<(), Misuse> {
        if let Input::BindComplete { id } = input {
            self.bound.push(id);
            return Ok(());
        }
        self.connection.handle(now, input)
    }

    fn poll_action(&mut self) -> Action {
        self.connection.poll_action()
    }

    fn deliver<B: ReceiveMemory>(
        &mut self,
        event: Event,
        backend: &mut B,
        upper: impl FnOnce(&mut Self, &mut B, Event),
    ) -> Result<(), ShortReceive> {
        upper(self, backend, event);
        Ok(())
    }

    fn is_drained(&self) -> bool {
        Protocol::is_drained(&self.connection)
    }

    fn backend_op<'a, M>(
        &'a self,
        action: &'a Action,
        memory: &'a impl BufferLookup<M>,
    ) -> Result<Option<BackendOp<'a, M>>, UnknownBuffer> {
        BackendOp::of(action, &self.connection, memory)
    }
}

/// Tells a number of things, then waits until a certain moment.
struct Talkative {
    left: u32,
    until: Instant,
}

impl Protocol for Talkative {
    type Event = u32;

    fn handle(&mut self, _: Instant, _: Input<'_>) -> Result<(), Misuse> {
        Ok(())
    }

    fn poll_action(&mut self) -> Action {
        let Some(fewer) = self.left.checked_sub(1) else { return Action::Wait(Some(self.until)) };
        self.left = fewer;
        Action::Notify(Event::Writable)
    }

    fn deliver<B: ReceiveMemory>(
        &mut self,
        _: Event,
        backend: &mut B,
        upper: impl FnOnce(&mut Self, &mut B, u32),
    ) -> Result<(), ShortReceive> {
        let left = self.left;
        upper(self, backend, left);
        Ok(())
    }

    fn is_drained(&self) -> bool {
        false
    }

    fn backend_op<'a, M>(
        &'a self,
        _: &'a Action,
        _: &'a impl BufferLookup<M>,
    ) -> Result<Option<BackendOp<'a, M>>, UnknownBuffer> {
        Ok(None)
    }
}

struct Listener<E>(Vec<E>);

impl<E> BufferLookup<()> for Listener<E> {}

impl<C: Protocol> Handler<Chatty, C> for Listener<C::Event> {
    fn event(&mut self, _: &mut C, _: &mut Chatty, event: C::Event) {
        self.0.push(event);
    }
}

#[test]
fn a_busy_backend_starves_neither_timers_nor_its_neighbours() {
    let mut patient = Patient::waiting(100);
    let mut backend = Chatty { never_silent: true, ..Chatty::default() };
    let mut upper = Listener(Vec::new());

    let again = drive(&mut patient, &mut backend, &mut upper).unwrap();
    assert!(backend.rounds < 100, "drive did not come back");
    assert!(
        again.is_some_and(|at| at.as_nanos() <= backend.seconds.get() * 1_000_000_000),
        "there is more to do"
    );
    assert!(upper.0.is_empty(), "{:?}", upper.0);

    while upper.0.len() < 2 && backend.rounds < 1000 {
        drive(&mut patient, &mut backend, &mut upper).unwrap();
    }
    assert!(
        matches!(upper.0[..], [Event::ConnectFailed(ConnectError::Timeout), Event::Drained]),
        "{:?}",
        upper.0
    );
}

#[test]
fn all_that_a_backend_has_to_say_at_once_is_heard_in_its_order() {
    let mut patient = Patient::waiting(100);
    let said: Vec<_> = (0..1000).map(reg).collect();
    let inputs = said.iter().map(|id| Input::BindComplete { id: *id }).collect();
    let mut backend = Chatty { inputs, ..Chatty::default() };
    drive(&mut patient, &mut backend, &mut Listener(Vec::new())).unwrap();
    assert_eq!(patient.bound, said);
}

#[test]
fn a_backend_that_had_nothing_more_to_say_is_asked_again_only_if_it_was_given_something_to_do() {
    let mut patient = Patient::waiting(100);
    let (mut backend, mut upper) = (Chatty::default(), Listener(Vec::new()));
    // A receive and `Connect`.
    drive(&mut patient, &mut backend, &mut upper).unwrap();
    assert_eq!(backend.asked, 1, "after its operations");
    backend.inputs.push_back(Input::BindComplete { id: reg(0) });
    drive(&mut patient, &mut backend, &mut upper).unwrap();
    assert_eq!(backend.asked, 3, "nothing followed from what it said");
    // It is told to disconnect, and has flushes and the end to say then.
    patient.connection.close(Instant::ORIGIN, Close::Abort);
    drive(&mut patient, &mut backend, &mut upper).unwrap();
    assert!(
        matches!(upper.0[..], [Event::ConnectFailed(ConnectError::Local), Event::Drained]),
        "{:?}",
        upper.0
    );
}

#[test]
fn an_answer_that_is_there_counts_although_the_deadline_has_passed_meanwhile() {
    let mut patient = Patient::waiting(10);
    let (mut backend, mut upper) = (Chatty::default(), Listener(Vec::new()));
    let deadline = drive(&mut patient, &mut backend, &mut upper).unwrap();
    assert_eq!(deadline, Some(Instant::from_nanos(10_000_000_000)));

    // The thread was away.
    backend.seconds.set(20);
    backend.inputs.push_back(Input::ConnectFailed { reason: ConnectReason::Refused });
    drive(&mut patient, &mut backend, &mut upper).unwrap();
    let refused = ConnectError::Connect(ConnectReason::Refused);
    assert!(
        matches!(&upper.0[..], [Event::ConnectFailed(why), Event::Drained] if *why == refused),
        "{upper:?}",
        upper = upper.0
    );
}

#[test]
fn a_drive_leaves_nothing_to_do_behind_however_much_it_is() {
    let until = Instant::from_nanos(3_600_000_000_000);
    let mut upper = Listener(Vec::new());
    let deadline = drive(&mut Talkative { left: 1000, until }, &mut Chatty::default(), &mut upper).unwrap();
    assert!(upper.0.iter().copied().eq((0..1000).rev()), "{} were told", upper.0.len());
    assert_eq!(deadline, Some(until));
}
