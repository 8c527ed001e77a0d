use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use smbd_core::backend::{
    BackendOp, BufferLookup, Handler, Protocol, ReceiveMemory, ShortReceive, UnknownBuffer,
};
use smbd_core::{Action, Event, Input, Instant, Misuse};

use super::{Engine, EngineError, Key};
use crate::Clock;
use crate::scripted::{Device, Farewell};

/// More turns than anything may take that only waits for its own.
const ENOUGH: u32 = 64;

/// Counts what it is told.
#[derive(Default)]
struct Told {
    inputs: u32,
    /// Is over after so many inputs.
    drained_after: Option<u32>,
    timeouts: u32,
    deadline: Option<Instant>,
}

impl Protocol for Told {
    type Event = ();

    fn handle(&mut self, _: Instant, input: Input<'_>) -> Result<(), Misuse> {
        match input {
            Input::Timeout => (self.timeouts, self.deadline) = (self.timeouts + 1, None),
            _ => self.inputs += 1,
        }
        Ok(())
    }

    fn poll_action(&mut self) -> Action {
        Action::Wait(self.deadline)
    }

    fn deliver<B: ReceiveMemory>(
        &mut self,
        _: Event,
        _: &mut B,
        _: impl FnOnce(&mut Self, &mut B, ()),
    ) -> Result<(), ShortReceive> {
        Ok(())
    }

    fn is_drained(&self) -> bool {
        self.drained_after.is_some_and(|inputs| self.inputs >= inputs)
    }

    fn backend_op<'a, M>(
        &'a self,
        _: &'a Action,
        _: &'a impl BufferLookup<M>,
    ) -> Result<Option<BackendOp<'a, M>>, UnknownBuffer> {
        Ok(None)
    }
}

struct Nobody;

impl BufferLookup<()> for Nobody {}

impl Handler<Device, Told> for Nobody {
    fn event(&mut self, _: &mut Told, _: &mut Device, (): ()) {}
}

type TestEngine = Engine<Nobody, Told, Device>;

/// An engine with one connection that never pauses, driven for a while.
fn busy() -> (TestEngine, Key) {
    let clock = Clock::start();
    let mut engine = TestEngine::new(clock).unwrap();
    let key = engine.add(Told::default(), Device::new(clock, true), Nobody).unwrap();
    for _ in 0..ENOUGH {
        engine.poll(None).unwrap();
    }
    (engine, key)
}

fn told(engine: &TestEngine, key: Key) -> &Told {
    engine.get(key).unwrap().0
}

#[test]
fn a_quiet_connection_has_its_turn_beside_a_busy_one() {
    let (mut engine, busy) = busy();
    let clock = engine.clock();
    let quiet = engine.add(Told::default(), Device::new(clock, false), Nobody).unwrap();
    for _ in 0..ENOUGH {
        engine.poll(None).unwrap();
    }
    assert_eq!(told(&engine, quiet).inputs, 0);
    engine.get(quiet).unwrap().1.ring_bell();
    let before = told(&engine, busy).inputs;
    for _ in 0..ENOUGH {
        engine.poll(None).unwrap();
    }
    assert_eq!(told(&engine, quiet).inputs, 1);
    assert!(told(&engine, busy).inputs > before);
}

#[test]
fn a_deadline_is_kept_beside_a_busy_connection() {
    let (mut engine, _) = busy();
    let clock = engine.clock();
    let deadline = clock.now().saturating_add(Duration::from_millis(5));
    let machine = Told { deadline: Some(deadline), ..Told::default() };
    let waiting = engine.add(machine, Device::new(clock, false), Nobody).unwrap();
    while clock.now() <= deadline {
        engine.poll(None).unwrap();
    }
    for _ in 0..ENOUGH {
        engine.poll(None).unwrap();
    }
    assert_eq!(told(&engine, waiting).timeouts, 1);
}

#[test]
fn what_is_watched_is_told_beside_a_busy_connection() {
    let (mut engine, _) = busy();
    let watched = Device::new(engine.clock(), false);
    engine.watch(watched.as_fd()).unwrap();
    assert!((0..ENOUGH).all(|_| !engine.poll(None).unwrap()));
    watched.ring_bell();
    assert!((0..ENOUGH).any(|_| engine.poll(None).unwrap()));
}

#[test]
fn a_turn_that_may_not_wait_leaves_everything_armed() {
    let clock = Clock::start();
    let mut engine = TestEngine::new(clock).unwrap();
    let device = Device::new(clock, false);
    let armed = Arc::clone(&device.armed);
    let key = engine.add(Told::default(), device, Nobody).unwrap();
    engine.poll(Some(Instant::ORIGIN)).unwrap();
    assert!(armed.load(Ordering::Relaxed));
    assert_eq!(engine.deadline(), None);
    assert!(!is_readable(&engine));
    engine.get(key).unwrap().1.ring_bell();
    assert!(is_readable(&engine));
    engine.poll(Some(Instant::ORIGIN)).unwrap();
    assert_eq!(engine.deadline(), Some(Instant::ORIGIN), "it is due: the next turn drives it");
    engine.poll(Some(Instant::ORIGIN)).unwrap();
    assert_eq!(told(&engine, key).inputs, 1);
}

/// rxe may take 69 s to destroy the id of a connection.
#[test]
fn an_end_that_takes_long_to_destroy_holds_up_nobody_but_the_end_of_the_engine() {
    let clock = Clock::start();
    let mut engine = TestEngine::new(clock).unwrap();
    engine.busy_poll_for(0);
    let (begun, begins) = channel();
    let (allow, allowed) = channel();
    let mut dying = Device::new(clock, false);
    dying.farewell = Some(Farewell { begun, allowed });
    dying.ring_bell();
    let over = Told { drained_after: Some(1), ..Told::default() };
    let dying = engine.add(over, dying, Nobody).unwrap();
    let other = engine.add(Told::default(), Device::new(clock, false), Nobody).unwrap();
    engine.poll(None).unwrap();
    let finished = engine.finished().unwrap();
    assert_eq!((finished.key, engine.destroying()), (dying, 0));
    drop(finished);
    begins.recv().unwrap();
    engine.get(other).unwrap().1.ring_bell();
    while told(&engine, other).inputs == 0 {
        engine.poll(None).unwrap();
    }
    assert_eq!(engine.destroying(), 1);
    allow.send(()).unwrap();
    drop(engine);
    assert!(allowed_is_gone(&allow), "the engine has waited for it");
}

#[test]
fn an_engine_that_is_dropped_destroys_all_its_ends_at_the_same_time() {
    let clock = Clock::start();
    let mut engine = TestEngine::new(clock).unwrap();
    let (begun, begins) = channel();
    let mut allow = Vec::new();
    for _ in 0..3 {
        let (tell, allowed) = channel();
        let mut device = Device::new(clock, false);
        device.farewell = Some(Farewell { begun: begun.clone(), allowed });
        engine.add(Told::default(), device, Nobody).unwrap();
        allow.push(tell);
    }
    let gone = std::thread::spawn(move || drop(engine));
    (0..3).for_each(|_| begins.recv().unwrap());
    assert!(!gone.is_finished());
    drop(allow);
    gone.join().unwrap();
}

fn allowed_is_gone(allow: &Sender<()>) -> bool {
    allow.send(()).is_err()
}

#[test]
fn a_device_that_does_not_answer_ends_its_own_connection_only() {
    let clock = Clock::start();
    let mut engine = TestEngine::new(clock).unwrap();
    engine.busy_poll_for(0);
    let broken = Device { is_broken: true, ..Device::new(clock, false) };
    let broken = engine.add(Told::default(), broken, Nobody).unwrap();
    let other = engine.add(Told::default(), Device::new(clock, false), Nobody).unwrap();
    engine.poll(None).unwrap();
    engine.poll(None).unwrap();
    let finished = engine.finished().unwrap();
    assert_eq!(finished.key, broken);
    assert!(matches!(finished.result, Err(EngineError::Backend(_))), "{:?}", finished.result);
    engine.get(other).unwrap().1.ring_bell();
    while told(&engine, other).inputs == 0 {
        engine.poll(None).unwrap();
    }
    assert_eq!(engine.len(), 1);
}

fn is_readable(engine: &TestEngine) -> bool {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::new(engine, PollFlags::IN)], Some(&at_once)).unwrap() == 1
}
