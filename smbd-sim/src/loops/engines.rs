//! Engines with one connection each: one that waits by itself, and one that a task gives its turns.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use smbd_core::Instant;
use smbd_core::backend::Handler;
use smbd_link::engine::{Engine, EngineError};

use super::end::LoopEnd;
use super::handlers::{Asker, Echo};
use super::hub::{Hub, Protocol};
use super::notes::{Notes, Stuck};
use super::plan::LoopPlan;
use super::poller::HubPoller;
use crate::Side;

pub(super) type EngineOf<U> = Engine<U, Protocol, LoopEnd, HubPoller>;

fn engine<U: Handler<LoopEnd, Protocol>>(
    hub: &Rc<Hub>,
    plan: &LoopPlan,
    side: Side,
    upper: U,
) -> Result<EngineOf<U>, Stuck> {
    let mut engine = Engine::new((Rc::clone(hub), side))?;
    engine.add(hub.machine(&plan.plan, side), LoopEnd::new(hub, side, &plan.plan), upper)?;
    Ok(engine)
}

/// An engine that returns every message.
pub(super) fn echo(hub: &Rc<Hub>, plan: &LoopPlan) -> Result<EngineOf<Echo>, Stuck> {
    engine(hub, plan, Side::Acceptor, Echo::default())
}

/// An engine that sends messages.
pub(super) fn asker(hub: &Rc<Hub>, plan: &LoopPlan, notes: &Notes) -> Result<EngineOf<Asker>, Stuck> {
    let asker = Asker::new(plan.load, notes);
    engine(hub, plan, Side::Initiator, asker)
}

/// Notes how the one connection of an engine has ended, if it has.
fn is_over<U: Handler<LoopEnd, Protocol>>(engine: &mut EngineOf<U>, notes: &Notes) -> bool {
    if let Some(finished) = engine.finished()
        && let Err(error @ EngineError::Drive(_)) = finished.result
    {
        notes.borrow_mut().broken.get_or_insert_with(|| error.to_string());
    }
    engine.is_empty()
}

/// A task runs the engine, which never waits by itself.
pub(super) fn start<U>(hub: &Rc<Hub>, side: Side, engine: Result<EngineOf<U>, Stuck>, notes: &Notes)
where
    U: Handler<LoopEnd, Protocol> + 'static,
{
    let Ok(mut engine) = engine else { return };
    let (notes, hub_of_task) = (Rc::clone(notes), Rc::clone(hub));
    hub.spawn(poll_fn(move |cx| {
        loop {
            let polled = engine.poll(Some(Instant::ORIGIN));
            if is_over(&mut engine, &notes) || polled.is_err() {
                notes.borrow_mut().over |= side == Side::Initiator;
                return Poll::Ready(());
            }
            let until = engine.deadline();
            if until.is_none_or(|until| until > hub_of_task.now()) {
                hub_of_task.sleep(side, cx.waker().clone(), until);
                return Poll::Pending;
            }
        }
    }));
}

/// The engine waits, and lets the acceptor have its turns meanwhile.
pub(super) fn wait<U: Handler<LoopEnd, Protocol>>(
    hub: &Rc<Hub>,
    engine: Result<EngineOf<U>, Stuck>,
    notes: &Notes,
) {
    let Ok(mut engine) = engine else { return };
    while !is_over(&mut engine, notes) {
        if hub.count().is_err() || engine.poll(None).is_err() {
            return;
        }
    }
    notes.borrow_mut().over = true;
}
