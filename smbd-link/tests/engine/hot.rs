//! What is looked at without a system call: backends that are polled before the engine waits.

use std::cell::{Cell, RefCell};
use std::convert::Infallible;
use std::rc::Rc;
use std::time::Duration;

use allocation_counter::measure;
use smbd_core::backend::{
    Backend, BackendOp, BufferLookup, Handler, Protocol, ReceiveMemory, ShortReceive, UnknownBuffer,
};
use smbd_core::error::DisconnectReason;
use smbd_core::{Action, Event, Input, Instant, Misuse, RecvId};
use smbd_link::Waitable;
use smbd_link::engine::{Engine, Key, Poller};

/// More turns than an engine takes between two polls of its poller.
const A_WHILE: u32 = 64;

/// Counts inputs, and is never over.
#[derive(Default)]
struct Counts {
    inputs: u32,
    /// When the last one was.
    at: Option<Instant>,
}

impl Protocol for Counts {
    type Event = ();

    fn handle(&mut self, now: Instant, _: Input<'_>) -> Result<(), Misuse> {
        self.inputs += 1;
        self.at = Some(now);
        Ok(())
    }

    fn poll_action(&mut self) -> Action {
        Action::Wait(None)
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

struct Nobody;

impl BufferLookup<()> for Nobody {}

impl Handler<Device, Counts> for Nobody {
    fn event(&mut self, _: &mut Counts, _: &mut Device, (): ()) {}
}

/// A device that has one input for each drive, for ever or as often as it is told.
struct Device {
    never_pauses: bool,
    inputs: Rc<Cell<u32>>,
    /// A drive has taken an input, and is to find nothing behind it.
    said: bool,
    armed: bool,
    /// How often it was asked whether it is ready.
    looks: Cell<u32>,
    /// It has an input when it was asked so often.
    ready_at: Cell<u32>,
    /// How often its clock was read.
    times: Cell<u32>,
}

impl Device {
    fn new(never_pauses: bool) -> Self {
        let [looks, ready_at, times] = [Cell::new(0), Cell::new(0), Cell::new(0)];
        Self { never_pauses, inputs: Rc::default(), said: false, armed: false, looks, ready_at, times }
    }
}

impl ReceiveMemory for Device {
    fn received(&self, _: RecvId) -> &[u8] {
        &[]
    }
}

impl Backend for Device {
    type Buffer = ();

    fn now(&self) -> Instant {
        self.times.set(self.times.get() + 1);
        Instant::ORIGIN
    }

    fn execute(&mut self, _: BackendOp<'_, ()>) {}

    fn ring_doorbell(&mut self) {}

    fn next_input(&mut self) -> Option<Input<'_>> {
        self.armed = false;
        self.said = !self.said && (self.never_pauses || self.inputs.get() > 0);
        if !self.said {
            return None;
        }
        self.inputs.set(self.inputs.get().saturating_sub(1));
        Some(Input::Disconnected { reason: DisconnectReason::PeerClosed })
    }
}

impl Waitable for Device {
    type Error = Infallible;

    fn arm(&mut self) -> Result<bool, Infallible> {
        let has_input = self.never_pauses || self.inputs.get() > 0;
        self.armed = !has_input;
        Ok(has_input)
    }

    fn is_ready(&mut self) -> bool {
        self.looks.set(self.looks.get() + 1);
        if self.looks == self.ready_at {
            self.inputs.set(1);
        }
        self.never_pauses || self.inputs.get() > 0
    }

    fn busy_poll_micros_max(&self) -> u64 {
        50
    }
}

/// A poller that finds what it is told, and a clock that goes on while somebody looks for completions.
struct Scripted {
    script: Script,
    now: Cell<Instant>,
}

/// What a poller finds, and how often its clock was read.
#[derive(Clone, Default)]
struct Script {
    ready: Rc<RefCell<Vec<usize>>>,
    times: Rc<Cell<u32>>,
}

impl Poller<Device> for Scripted {
    type Error = Infallible;
    type Clock = Script;
    type Watched<'a> = ();

    fn open(script: Script) -> Result<Self, Infallible> {
        Ok(Self { script, now: Cell::new(Instant::ORIGIN) })
    }

    fn clock(&self) -> Script {
        self.script.clone()
    }

    fn now(&self) -> Instant {
        self.script.times.set(self.script.times.get() + 1);
        self.now.get()
    }

    fn add(&mut self, _: &Device, _: usize) -> Result<(), Infallible> {
        Ok(())
    }

    fn remove(&mut self, _: &Device, _: usize) {}

    fn watch(&self, (): ()) -> Result<(), Infallible> {
        Ok(())
    }

    fn wait(&mut self, _: Option<Instant>, ready: &mut Vec<usize>) -> Result<bool, Infallible> {
        ready.append(&mut self.script.ready.borrow_mut());
        Ok(false)
    }

    fn pause(&self) {
        self.now.set(self.now.get().saturating_add(Duration::from_micros(1)));
    }
}

type TestEngine = Engine<Nobody, Counts, Device, Scripted>;

fn engine() -> TestEngine {
    TestEngine::new(Script::default()).unwrap()
}

fn add(engine: &mut TestEngine, never_pauses: bool) -> Key {
    engine.add(Counts::default(), Device::new(never_pauses), Nobody).unwrap()
}

fn turns(engine: &mut TestEngine, count: u32) {
    for _ in 0..count {
        engine.poll(None).unwrap();
    }
}

fn inputs(engine: &TestEngine, key: Key) -> u32 {
    engine.get(key).unwrap().0.inputs
}

fn device(engine: &TestEngine, key: Key) -> &Device {
    engine.get(key).unwrap().1
}

#[test]
fn two_connections_that_never_pause_are_driven_equally_often() {
    let mut engine = engine();
    let both = [add(&mut engine, true), add(&mut engine, true)];
    turns(&mut engine, 10 * A_WHILE);
    let [one, other] = both.map(|key| inputs(&engine, key));
    assert!(one > 5 * A_WHILE && one == other, "{one}, {other}");
}

#[test]
fn what_has_become_quiet_is_armed_beside_a_connection_that_never_pauses_and_not_looked_at_any_more() {
    let mut engine = engine();
    let busy = add(&mut engine, true);
    let quiet = [(); 100].map(|()| add(&mut engine, false));
    turns(&mut engine, 2 * A_WHILE);
    let before: u32 = quiet.iter().map(|key| device(&engine, *key).looks.get()).sum();
    assert!(quiet.iter().all(|key| device(&engine, *key).armed));
    turns(&mut engine, 10 * A_WHILE);
    let after: u32 = quiet.iter().map(|key| device(&engine, *key).looks.get()).sum();
    assert_eq!(after, before);
    assert!(inputs(&engine, busy) > 10 * A_WHILE);
}

#[test]
fn what_was_armed_beside_a_busy_connection_is_driven_when_it_is_ready() {
    let mut engine = engine();
    add(&mut engine, true);
    let quiet = add(&mut engine, false);
    let (ready, quiet_inputs) = (engine.clock().ready, Rc::clone(&device(&engine, quiet).inputs));
    for round in 1..5 {
        turns(&mut engine, 2 * A_WHILE);
        assert!(device(&engine, quiet).armed);
        quiet_inputs.set(1);
        ready.borrow_mut().push(1);
        turns(&mut engine, A_WHILE);
        assert_eq!(inputs(&engine, quiet), round);
    }
}

#[test]
fn a_turn_reads_the_clock_once_for_each_16_connections_that_it_drives() {
    for (connections, readings) in [(1, 1), (16, 1), (17, 2), (100, 7)] {
        let mut engine = engine();
        let keys: Vec<_> = (0..connections).map(|_| add(&mut engine, true)).collect();
        let times = engine.clock().times;
        // Those that are due when they are added, then those that are found ready at the first look.
        for _ in 0..3 {
            let before = times.get();
            turns(&mut engine, 1);
            assert_eq!(times.get() - before, readings, "{connections} connections");
        }
        assert!(keys.iter().all(|key| inputs(&engine, *key) == 3 && device(&engine, *key).times.get() == 0));
    }
}

#[test]
fn after_sixteen_looks_in_vain_the_clock_is_read_and_that_is_the_time_of_what_is_driven() {
    for (connections, looks_each) in [(1, 16), (2, 8)] {
        let mut engine = engine();
        let keys: Vec<_> = (0..connections).map(|_| add(&mut engine, false)).collect();
        turns(&mut engine, 1);
        let times = engine.clock().times;
        let (before, looks) = (times.get(), device(&engine, keys[0]).looks.get());
        // Two times sixteen of them are in vain.
        let ready_at = looks + 2 * looks_each + 5;
        device(&engine, keys[0]).ready_at.set(ready_at);
        turns(&mut engine, 1);
        assert_eq!(device(&engine, keys[0]).looks.get(), ready_at);
        assert_eq!(times.get() - before, 1 + 2);
        let at = Instant::ORIGIN.saturating_add(Duration::from_micros(2));
        assert_eq!(engine.now(), at);
        assert_eq!(engine.get(keys[0]).unwrap().0.at, Some(at));
    }
}

#[test]
fn an_engine_takes_at_most_64_bytes_for_a_connection_besides_its_parts_and_its_deadline() {
    // Lists grow by doubling.
    const MANY: usize = 1024;
    let mut engine = engine();
    let count = measure(|| {
        for _ in 0..MANY {
            add(&mut engine, false);
        }
        engine.poll(Some(Instant::ORIGIN)).unwrap();
    });
    // A device has a count on the heap.
    let parts = size_of::<Counts>() + size_of::<Device>() + 3 * size_of::<usize>();
    let all = usize::try_from(count.bytes_current).unwrap() / MANY;
    assert!(all <= parts + 64, "{all} bytes, {parts} of them the parts");
}
