//! A machine with somebody watching: every input and every action is shown before anything else happens.

use std::cell::RefCell;
use std::rc::Rc;

use smbd_core::backend::{LocalMemory, Machine, NoMemory, ReceiveMemory, ShortReceive, Step};
use smbd_core::{Action, Connection, Event, Input, Instant, Misuse};

use crate::Side;
use crate::breach::DriveFault;
use crate::probe::{At, Probe};

/// More actions than any connection has reason for between two inputs.
pub(super) const ACTIONS_MAX: u32 = 500_000;

/// A machine whose doings can be shown.
pub(super) trait Shown: Machine {
    /// It took an input.
    fn show_input<P: Probe>(&mut self, at: At, input: &Input<'_>, result: Result<(), Misuse>, probe: &mut P) {
        let _ = self;
        probe.input(at, input, result);
    }

    /// It yielded an action; `memory` holds the messages received.
    fn show_action<P: Probe>(
        &mut self,
        at: At,
        action: &Action<Self::Event>,
        memory: &impl ReceiveMemory,
        probe: &mut P,
    );
}

impl Shown for Connection {
    fn show_action<P: Probe>(
        &mut self,
        at: At,
        action: &Action<Event>,
        _: &impl ReceiveMemory,
        probe: &mut P,
    ) {
        probe.action(at, action);
    }
}

/// What was seen of one turn of the loop that drives a machine.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Turn {
    /// What it last waited for.
    deadline: Option<Instant>,
    /// It waits, and has been told nothing since.
    waits: bool,
    /// Since its last input.
    actions: u32,
    pub(super) fault: Option<DriveFault>,
    pub(super) endless: bool,
}

/// The machine, and who watches.
#[derive(Debug)]
pub(super) struct Watched<M, P> {
    pub(super) machine: M,
    probe: Rc<RefCell<P>>,
    at: At,
    turn: Turn,
    /// Inputs taken from its backend.
    taken: u64,
    /// The last thing shown was that it waits, until then.
    shown: Option<Option<Instant>>,
}

impl<M, P> Watched<M, P> {
    pub(super) fn new(machine: M, side: Side, now: Instant, probe: Rc<RefCell<P>>) -> Self {
        Self { machine, probe, at: At { now, side }, turn: Turn::default(), taken: 0, shown: None }
    }

    /// Whoever drives begins at this time.
    pub(super) const fn begin(&mut self, now: Instant) {
        self.at.now = now;
        self.turn = Turn { deadline: None, waits: false, actions: 0, fault: None, endless: false };
    }

    pub(super) const fn turn(&self) -> &Turn {
        &self.turn
    }

    /// Inputs taken from its backend.
    pub(super) const fn taken(&self) -> u64 {
        self.taken
    }

    /// What it waits for, if waiting was the last it said.
    pub(super) const fn waits_until(&self) -> Option<Instant> {
        self.turn.deadline
    }

    /// A command was given: what follows is news.
    pub(super) const fn commanded(&mut self) {
        self.shown = None;
    }

    pub(super) const fn probe(&self) -> &Rc<RefCell<P>> {
        &self.probe
    }
}

impl<M: Shown, P: Probe> Watched<M, P> {
    /// Tells the machine something that is not from its backend.
    pub(super) fn tell(&mut self, now: Instant, input: Input<'_>) -> Result<(), Misuse> {
        self.at.now = now;
        self.shown = None;
        let result = self.machine.handle(now, input);
        self.machine.show_input(self.at, &input, result, &mut *self.probe.borrow_mut());
        result
    }
}

impl<M: Shown, P: Probe> Machine for Watched<M, P> {
    type Event = M::Event;

    fn handle(&mut self, now: Instant, input: Input<'_>) -> Result<(), Misuse> {
        if matches!(input, Input::Timeout) {
            self.turn.deadline = None;
        } else {
            self.taken += 1;
        }
        self.turn.actions = 0;
        self.tell(now, input)
    }

    fn poll_action(&mut self, memory: &impl ReceiveMemory) -> Result<Action<M::Event>, ShortReceive> {
        // A time that had come when it waited was to be told before it is asked on.
        if let Some(deadline) = self.turn.deadline.filter(|at| self.turn.waits && *at <= self.at.now) {
            self.turn.fault.get_or_insert(DriveFault::NotTold { deadline });
        }
        let action = self.machine.poll_action(memory)?;
        self.turn.actions += 1;
        if self.turn.actions > ACTIONS_MAX {
            self.turn.endless = true;
            return Ok(Action::Wait(None));
        }
        self.turn.waits = false;
        if let Action::Wait(deadline) = action {
            (self.turn.deadline, self.turn.waits) = (deadline, true);
            // Who waits and is asked again, with nothing in between, says the same.
            if self.shown.replace(deadline) == Some(deadline) {
                return Ok(action);
            }
        } else {
            self.shown = None;
        }
        self.machine.show_action(self.at, &action, memory, &mut *self.probe.borrow_mut());
        Ok(action)
    }

    fn is_drained(&self) -> bool {
        self.machine.is_drained()
    }

    fn step<'a, B>(
        &'a self,
        action: &'a Action<M::Event>,
        memory: &'a impl LocalMemory<B>,
    ) -> Result<Option<Step<'a, B>>, NoMemory> {
        self.machine.step(action, memory)
    }
}
