//! The watchers of a run: the laws, counts, and a trace.

mod census;

use smbd_core::{Config, Event, Input};

pub use census::{Census, Counter};

use crate::Side;
use crate::oracle::Oracles;
use crate::probe::{At, Command, Frame, Probe, Whole};
use crate::trace::Trace;

/// What watches a run.
#[derive(Debug)]
pub struct Watch<F = ()> {
    /// The laws.
    pub oracles: Oracles,
    /// Counts.
    pub counter: Counter,
    /// The trace, if it is wanted.
    pub trace: Option<Trace>,
    /// Who gets to see the frames.
    pub frames: F,
}

impl<F> Watch<F> {
    /// For connections that have not begun, initiator first.
    pub(crate) fn new(configs: [Config; 2], trace: Option<Trace>, frames: F) -> Self {
        Self { oracles: Oracles::new(configs), counter: Counter::default(), trace, frames }
    }
}

impl<F: Probe> Probe for Watch<F> {
    fn input(&mut self, at: At, input: &Input<'_>, result: Result<(), smbd_core::Misuse>) {
        if let Some(trace) = &mut self.trace {
            trace.input(at, input, result);
        }
        self.counter.input(at, input, result);
        self.oracles.input(at, input, result);
    }

    fn action(&mut self, at: At, action: &smbd_core::Action) {
        if let Some(trace) = &mut self.trace {
            trace.action(at, action);
        }
        self.counter.action(at, action);
        self.oracles.action(at, action);
    }

    fn event(&mut self, at: At, event: &Event) {
        if let Some(trace) = &mut self.trace {
            trace.event(at, event);
        }
        self.counter.event(at, event);
        self.oracles.event(at, event);
    }

    fn disturbed(&mut self) {
        self.oracles.disturbed();
    }

    fn killed(&mut self, side: Side) {
        self.oracles.killed(side);
    }

    fn begin_whole(&mut self, at: At) {
        self.oracles.begin_whole(at);
    }

    fn begin_pieces(&mut self, at: At) {
        self.oracles.begin_pieces(at);
    }

    fn paused(&mut self, at: At, paused: bool) {
        self.oracles.paused(at, paused);
    }

    fn whole(&mut self, at: At, message: &Whole<'_>) {
        if let Some(trace) = &mut self.trace {
            trace.whole(at, message);
        }
        self.counter.whole(at, message);
        self.oracles.whole(at, message);
    }

    fn arrived(&self, side: Side) -> Option<usize> {
        self.oracles.arrived(side)
    }

    fn command(&mut self, at: At, command: &Command<'_>) {
        if let Some(trace) = &mut self.trace {
            trace.command(at, command);
        }
        self.oracles.command(at, command);
    }

    fn wants_frames(&self) -> bool {
        self.frames.wants_frames()
    }

    fn frame(&mut self, at: At, frame: &Frame<'_>) {
        self.frames.frame(at, frame);
    }
}
