//! An owner: its socket, its connections, and what it does about what comes.

mod asked;
mod calls;
mod handing;
mod held;
mod memory;
mod mischief;
mod work;

use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Context, Poll};

use smbd_broker::wire::{Area, Limits};
use smbd_core::Instant;

use crate::clock::Sleep;
use crate::ledger::{Key, OwnerNumber};
use crate::plan::OwnerPlan;
use crate::shared;
use smbd_testkit::Chance;

use asked::Asking;
use held::Held;
use memory::Memory;

pub type Shared = shared::Shared<Mail>;

/// What owners give each other.
#[derive(Debug)]
pub enum Mail {
    /// A connection, to be attached.
    Connection(Box<Held>),
    /// Slots that a transfer of theirs has used.
    Slots(Vec<Area>),
}

/// Times that it does something before others have their turn.
const TURN: usize = 200;

/// An owner.
#[derive(Debug)]
struct Owner {
    shared: Rc<Shared>,
    plan: OwnerPlan,
    number: OwnerNumber,
    chance: Chance,
    asking: Option<Asking>,
    /// The broker that it has asked for, by its number.
    instance: Option<u64>,
    limits: Option<Limits>,
    memory: Option<Memory>,
    held: Vec<Held>,
    stalls_until: Option<Instant>,
    timer: Option<Sleep>,
    /// Answers to calls of floods.
    floods: u64,
    /// It is at its end.
    is_leaving: bool,
}

/// Is an owner until it is over: all clients are, or it is a process that was killed. Those that do what they must not end sooner.
pub async fn own(shared: Rc<Shared>, plan: OwnerPlan, number: OwnerNumber) {
    let chance = shared.draw();
    shared.open_box(number);
    if plan.mischief.is_some() {
        shared.ledger.borrow_mut().hostile.insert(number);
    }
    let mut owner = Owner {
        shared,
        plan,
        number,
        chance,
        asking: None,
        instance: None,
        limits: None,
        memory: None,
        held: Vec::new(),
        stalls_until: None,
        timer: None,
        floods: 0,
        is_leaving: false,
    };
    poll_fn(|cx| owner.poll(cx)).await;
}

impl Drop for Owner {
    fn drop(&mut self) {
        let told = self.held.iter().map(|held| {
            let todo = held.todo.iter().map(|(at, todo)| format!("{} {}", at.as_nanos() / 1000, todo.name()));
            let todo = todo.collect::<Vec<_>>();
            let Held { connection, line, old, is_attaching, is_between, running, .. } = held;
            format!(
                "{connection} {todo:?} {is_attaching} {is_between} {} {running:?} {:?}",
                old.is_some(),
                line.machine
            )
        });
        let told: Vec<_> = told.collect();
        self.step(|| format!("has at its end {:?}, {:?}, {told:?}", self.asking, self.memory));
        self.shared.close_box(self.number);
        self.shared.ledger.borrow_mut().leaves(self.number);
    }
}

impl Owner {
    fn now(&self) -> Instant {
        self.shared.notes.now()
    }

    fn step(&self, text: impl FnOnce() -> String) {
        let number = self.number;
        self.shared.notes.step(|| format!("owner {number}: {}", text()));
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        for _ in 0..TURN {
            if let Some(until) = self.stalls_until.filter(|until| *until > self.now()) {
                self.wake_at(until, cx);
                return Poll::Pending;
            }
            self.stalls_until = None;
            let mut any = self.join();
            any |= self.hear(cx);
            any |= self.take_mail(cx);
            any |= self.work(cx);
            any |= self.tell(cx);
            if self.is_over() {
                self.step(|| "leaves".into());
                return Poll::Ready(());
            }
            if !any {
                let now = self.now();
                let next = self.held.iter().filter_map(Held::next_time).filter(|at| *at > now).min();
                if let Some(next) = next {
                    self.wake_at(next, cx);
                }
                return Poll::Pending;
            }
            self.waver();
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn wake_at(&mut self, at: Instant, cx: &Context<'_>) {
        let clock = self.shared.notes.clock();
        self.timer.get_or_insert_with(|| clock.sleep_until(at)).wake_at(at, cx);
    }

    /// Connects to the broker that runs, unless it was asked already.
    fn join(&mut self) -> bool {
        if self.asking.is_some() || self.shared.clients.get() == 0 {
            return false;
        }
        let running = self.shared.broker.borrow().clone();
        let Some(running) = running.filter(|running| self.instance != Some(running.instance)) else {
            return false;
        };
        self.instance = Some(running.instance);
        let (own, theirs) = self.shared.sockets.pair();
        self.step(|| format!("connects to broker {}", running.instance));
        let attending = smbd_broker::server::attend(running.hub.clone(), theirs);
        let home = crate::place::stage(0);
        let task = running.process.task(async move {
            attending.await;
        });
        if let Some(home) = home {
            home.spawn(task);
        }
        let mut asking = Asking::new(own);
        asking.hello(format!("owner {}", self.number));
        self.asking = Some(asking);
        true
    }

    /// It stops for a while, or changes its mind.
    fn waver(&mut self) {
        if let Some(long) = self.plan.stalls
            && self.chance.one_in(60)
        {
            let until = self.shared.notes.soon(&mut self.chance, long);
            self.step(|| format!("does nothing until {} us", until.as_nanos() / 1000));
            self.stalls_until = Some(until);
        }
        if self.plan.wavers
            && self.chance.one_in(20)
            && self.asking.as_ref().is_some_and(|asking| asking.waiting.is_empty())
            && !self.plan.sessions.is_empty()
        {
            let key = Key::Session(self.chance.pick(&self.plan.sessions));
            let holds = self.shared.ledger.borrow().holds(key, self.number);
            self.hold(key, !holds);
        }
    }

    fn hold(&mut self, key: Key, is_held: bool) {
        let Some(asking) = &mut self.asking else { return };
        let mut ledger = self.shared.ledger.borrow_mut();
        if is_held {
            ledger.asks(key, self.number);
        } else {
            ledger.gives_up(key, self.number);
        }
        asking.hold(key, is_held);
    }

    /// All clients are over, nothing is left to be said, and every call was answered.
    fn is_over(&mut self) -> bool {
        let is_at_rest = self.held.is_empty() || self.plan.mischief.is_some();
        self.is_leaving |= self.shared.clients.get() == 0 && is_at_rest;
        let is_quiet =
            self.asking.as_ref().is_none_or(|asking| asking.waiting.is_empty() && asking.is_flushed());
        self.is_leaving && (is_quiet || self.plan.mischief.is_some())
    }
}
