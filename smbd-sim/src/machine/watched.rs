//! A machine with watchers: they see every input and every action before anything else happens.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use smbd_core::backend::{BackendOp, BufferLookup, Protocol, ReceiveMemory, ShortReceive, UnknownBuffer};
use smbd_core::{Action, Connection, Event, Input, Instant, Misuse};

use crate::Side;
use crate::breach::DriveFault;
use crate::probe::{At, Probe};

/// More actions than any connection has reason for between two inputs.
pub(crate) const ACTIONS_MAX: u32 = 50_000;

/// A machine whose doings can be shown.
pub(crate) trait Shown: Protocol {
    /// What is kept about it besides.
    type Records: Default + std::fmt::Debug;

    /// Its next action, by a function that the loop calls: an action that is put together in the loop is copied in small pieces.
    fn next_action(&mut self) -> Action;

    /// It yielded an action that is no event.
    fn show_action<P: Probe>(&self, at: At, action: &Action, records: &mut Self::Records, probe: &mut P);

    /// It yielded an event.
    fn show_told<P: Probe>(&self, at: At, event: &Event, probe: &mut P);

    /// Its upper layer is told something; `memory` holds the messages received.
    fn show_event<P: Probe>(
        &self,
        at: At,
        event: &Self::Event,
        records: &mut Self::Records,
        memory: &impl ReceiveMemory,
        probe: &mut P,
    );
}

impl Shown for Connection {
    type Records = ();

    #[inline(never)]
    fn next_action(&mut self) -> Action {
        self.poll_action()
    }

    fn show_action<P: Probe>(&self, at: At, action: &Action, (): &mut (), probe: &mut P) {
        probe.action(at, action);
    }

    fn show_told<P: Probe>(&self, at: At, event: &Event, probe: &mut P) {
        probe.event(at, event);
    }

    /// Its upper layer is told what it yielded.
    fn show_event<P: Probe>(&self, _: At, _: &Event, (): &mut (), _: &impl ReceiveMemory, _: &mut P) {}
}

/// How far one turn of the loop has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The machine has more to say.
    Speaks,
    /// It waits, and was told nothing since.
    Waits(Option<Instant>),
    /// It waited, and was told something since.
    Told {
        /// What it had waited for.
        deadline: Option<Instant>,
        /// That included the time.
        time: bool,
    },
}

/// The machine, and who watches.
#[derive(Debug)]
pub(crate) struct Watched<M: Shown, P> {
    pub(crate) machine: M,
    pub(crate) records: M::Records,
    pub(super) probe: Rc<RefCell<P>>,
    at: At,
    turn: Turn,
    /// What was wrong with this turn.
    fault: Option<DriveFault>,
    /// A step was not what its action asks for.
    wrong_step: Cell<bool>,
    /// Since its last input.
    actions: u32,
    /// Inputs taken from its backend.
    taken: u64,
    /// The last thing shown was that it waits, until then.
    shown: Option<Option<Instant>>,
}

impl<M: Shown, P> Watched<M, P> {
    pub(crate) fn new(machine: M, side: Side, now: Instant, probe: Rc<RefCell<P>>) -> Self {
        Self {
            machine,
            records: M::Records::default(),
            probe,
            at: At { now, side },
            turn: Turn::Speaks,
            fault: None,
            wrong_step: Cell::new(false),
            actions: 0,
            taken: 0,
            shown: None,
        }
    }

    /// Whoever drives begins at this time.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.at.now = now;
        (self.turn, self.fault, self.actions) = (Turn::Speaks, None, 0);
    }

    /// Whoever drives has come to an end, and comes back at `until` or when the backend, which has given so many inputs, has
    /// something new.
    pub(crate) fn end(&self, until: Option<Instant>, given: u64) -> Result<(), DriveFault> {
        let (now, taken) = (self.at.now, self.taken);
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        if self.wrong_step.get() {
            return Err(DriveFault::BackendOp);
        }
        if given != taken {
            return Err(DriveFault::Inputs { given, taken });
        }
        match self.turn {
            Turn::Waits(deadline) if deadline.is_some_and(|at| at <= now) => Err(DriveFault::NotTold),
            Turn::Waits(deadline) if until == deadline => Ok(()),
            Turn::Told { .. } if until.is_some_and(|at| at <= now) => Ok(()),
            Turn::Waits(deadline) | Turn::Told { deadline, .. } => Err(DriveFault::Waits { until, deadline }),
            Turn::Speaks => Err(DriveFault::Unheard),
        }
    }

    /// It does not come to an end.
    pub(crate) const fn is_endless(&self) -> bool {
        self.actions > ACTIONS_MAX
    }

    /// What follows is news, and is shown.
    pub(crate) const fn expect_news(&mut self) {
        self.shown = None;
    }

    /// Who watches.
    #[cfg(feature = "loops")]
    pub(crate) const fn watcher(&self) -> &Rc<RefCell<P>> {
        &self.probe
    }

    /// Where and when it is.
    #[cfg(feature = "loops")]
    pub(crate) const fn at(&self) -> At {
        self.at
    }

    /// Whatever it is told has a time, commands too. An earlier one than before counts as that: an engine reads the clock once a turn,
    /// and an upper layer may have read it since.
    #[inline(always)]
    pub(crate) fn is_told_the_time(&mut self, now: Instant) {
        self.at.now = self.at.now.max(now);
    }

    /// It is told something by its backend, or the time.
    fn note(&mut self, is_time: bool) {
        match self.turn {
            // The time was told, and the backend had more: both are for the same round.
            Turn::Told { time: true, .. } => self.fault = self.fault.or(Some(DriveFault::Order)),
            Turn::Told { deadline, .. } | Turn::Waits(deadline) => {
                self.turn = Turn::Told { deadline, time: is_time };
            }
            Turn::Speaks => self.fault = self.fault.or(Some(DriveFault::Unheard)),
        }
    }

    /// It is asked on: a time that had come when it waited was to be told before.
    fn note_asked(&mut self) {
        if let Turn::Told { deadline: Some(at), time: false } | Turn::Waits(Some(at)) = self.turn
            && at <= self.at.now
        {
            self.fault = self.fault.or(Some(DriveFault::NotTold));
        }
        self.turn = Turn::Speaks;
    }
}

impl<M: Shown, P: Probe> Watched<M, P> {
    fn show(&mut self, action: &Action) {
        if let Action::Notify(event) = action {
            return self.show_told(event);
        }
        self.actions += 1;
        if let Action::Wait(deadline) = *action {
            self.turn = Turn::Waits(deadline);
            // Who waits and is asked again, with nothing in between, says the same.
            if self.shown.replace(deadline) == Some(deadline) {
                return;
            }
        } else {
            self.shown = None;
        }
        let mut probe = self.probe.borrow_mut();
        self.machine.show_action(self.at, action, &mut self.records, &mut *probe);
    }

    fn show_told(&mut self, event: &Event) {
        self.actions += 1;
        self.shown = None;
        self.machine.show_told(self.at, event, &mut *self.probe.borrow_mut());
    }

    /// Tells the machine something that its backend did not say in this turn.
    #[inline(always)]
    pub(crate) fn tell(&mut self, now: Instant, input: Input<'_>) -> Result<(), Misuse> {
        self.is_told_the_time(now);
        self.shown = None;
        let result = self.machine.handle(now, input);
        self.probe.borrow_mut().input(self.at, &input, result);
        result
    }
}

impl<M: Shown, P: Probe> Protocol for Watched<M, P> {
    type Event = M::Event;

    fn handle(&mut self, now: Instant, input: Input<'_>) -> Result<(), Misuse> {
        let is_time = matches!(input, Input::Timeout);
        self.taken += u64::from(!is_time);
        self.actions = 0;
        self.note(is_time);
        self.tell(now, input)
    }

    // A function that the loop calls, as `next_action`.
    #[inline(never)]
    fn handle_and_tell(&mut self, now: Instant, input: Input<'_>) -> Result<Option<Event>, Misuse> {
        self.taken += 1;
        self.actions = 0;
        self.note(false);
        self.is_told_the_time(now);
        self.shown = None;
        let told = self.machine.handle_and_tell(now, input);
        let result = told.as_ref().map_or_else(|misuse| Err(*misuse), |_| Ok(()));
        self.probe.borrow_mut().input(self.at, &input, result);
        if let Ok(Some(event)) = &told {
            self.show_told(event);
        }
        told
    }

    fn poll_action(&mut self) -> Action {
        self.note_asked();
        // One value, which stays where the machine wrote it.
        let action;
        if self.is_endless() {
            self.turn = Turn::Waits(None);
            action = Action::Wait(None);
        } else {
            action = self.machine.next_action();
            self.show(&action);
        }
        action
    }

    #[inline(always)]
    fn deliver<B: ReceiveMemory>(
        &mut self,
        event: Event,
        backend: &mut B,
        upper: impl FnOnce(&mut Self, &mut B, M::Event),
    ) -> Result<(), ShortReceive> {
        let mut told = None;
        self.machine.deliver(event, backend, |_, _, event| told = Some(event))?;
        let Some(event) = told else { return Ok(()) };
        let mut probe = self.probe.borrow_mut();
        self.machine.show_event(self.at, &event, &mut self.records, backend, &mut *probe);
        drop(probe);
        upper(self, backend, event);
        Ok(())
    }

    fn is_drained(&self) -> bool {
        self.machine.is_drained()
    }

    #[inline(always)]
    fn backend_op<'a, B>(
        &'a self,
        action: &'a Action,
        memory: &'a impl BufferLookup<B>,
    ) -> Result<Option<BackendOp<'a, B>>, UnknownBuffer> {
        let step = self.machine.backend_op(action, memory);
        if let Ok(asked) = &step
            && !asked.as_ref().is_some_and(|asked| is_op_of(action, asked))
        {
            self.wrong_step.set(true);
        }
        step
    }
}

/// Whether a step asks for what its action does.
// So that a step need not lie in memory to be looked at.
#[inline(always)]
fn is_op_of<M>(action: &Action, step: &BackendOp<'_, M>) -> bool {
    match (action, step) {
        (Action::Connect, BackendOp::Connect)
        | (Action::Accept, BackendOp::Accept)
        | (Action::Disconnect, BackendOp::Disconnect) => true,
        (Action::PostRecv { id, len }, BackendOp::PostRecv { id: posted, len: given }) => {
            (id, len) == (posted, given)
        }
        (Action::PostSend { id, head, body, invalidate, signal, solicit }, BackendOp::PostSend { .. }) => {
            let BackendOp::PostSend { id: posted, head: first, body: rest, .. } = step else { return false };
            let BackendOp::PostSend { invalidate: token, signal: signalled, solicit: solicited, .. } = step
            else {
                return false;
            };
            let len = rest.as_ref().map(|rest| rest.len());
            let flags = (invalidate, signal, solicit) == (token, signalled, solicited);
            id == posted && head == *first && flags && len == body.map(|body| body.len as usize)
        }
        (
            Action::PostRdma { id, verb, local_offset, remote, signal, .. },
            BackendOp::PostRdma { id: posted, verb: way, local, remote: there, signal: signalled },
        ) => {
            let here = (*local_offset, remote.length) == (local.offset, local.len);
            (id, verb, remote, signal) == (posted, way, there, signalled) && here
        }
        (
            Action::Register { id, access, segments_max },
            BackendOp::Register { id: asked, access: rights, segments_max: most, .. },
        ) => (id, access, segments_max) == (asked, rights, most),
        (Action::Deregister { id }, BackendOp::Deregister { id: asked, .. }) => id == asked,
        _ => false,
    }
}
