//! What both sides of a run have around them.

use std::cell::RefCell;
use std::rc::Rc;

use smbd_sim::Side;
use smbd_sim::loops::Stage;
use smbd_sim::swarm::FaultKind;

use crate::crossing::Crossing;
use crate::labour::Labour;
use crate::ledger::{From, Ledger, Nonces};
use crate::mischief::{Changer, Overheard, Tap};
use crate::notes::Notes;
use crate::plan::Plan;
use crate::shared::Shared;
use crate::work::File;
use smbd_testkit::Chance;

/// Everything that both sides of a run are made of.
pub struct Scene {
    pub shared: Shared,
    /// Of a client's second connection.
    pub second: Shared,
    pub labour: Labour,
    pub crossing: RefCell<Crossing>,
    pub content: Rc<RefCell<Vec<File>>>,
    chance: RefCell<Chance>,
    pub overheard: Option<Rc<RefCell<Overheard>>>,
    pub tap: Tap,
}

impl Scene {
    /// The scene of a plan, whose `chance` decides the rest.
    pub fn new(plan: &Rc<Plan>, stage: &Stage, is_loud: bool, mut chance: Chance) -> Self {
        let tap = Tap::default();
        let nonces = Nonces::default();
        let ledger = |number| Rc::new(RefCell::new(Ledger::new(plan, &nonces, number)));
        let shared = Shared {
            plan: Rc::clone(plan),
            number: 0,
            notes: Notes::new(stage, is_loud),
            ledger: ledger(0),
            pipes: Rc::default(),
        };
        Self {
            second: Shared { number: 1, ledger: ledger(1), pipes: Rc::default(), ..shared.clone() },
            shared,
            labour: Labour::new(Chance::new(chance.bits())),
            crossing: RefCell::default(),
            content: Rc::default(),
            overheard: plan.mischief.map(|_| Overheard::new(plan, tap.clone())),
            chance: RefCell::new(chance),
            tap,
        }
    }

    /// What is known of a connection of the client.
    pub const fn of(&self, number: usize) -> &Shared {
        if number == 0 { &self.shared } else { &self.second }
    }

    pub fn chance(&self) -> Chance {
        Chance::new(self.chance.borrow_mut().bits())
    }

    /// Whether the clock has jumped: much time has passed in which nobody could do anything.
    pub fn has_jumped(&self) -> bool {
        let mut counted = FaultKind::ALL.iter().zip(self.shared.notes.stage().faults());
        counted.any(|(kind, count)| *kind == FaultKind::ClockJump && count > 0)
    }

    /// Whoever changes messages of a side, on one of the client's connections.
    pub fn changer(&self, number: usize, side: Side) -> Option<Changer> {
        if self.shared.plan.channels.is_some_and(|channels| !channels.changed[number]) {
            return None;
        }
        let mischief = self.shared.plan.mischief.filter(|mischief| mischief.of == side)?;
        let from = if side == Side::Initiator { From::Client } else { From::Server };
        let changer =
            Changer::new(mischief, from, self.overheard.as_ref()?, (self.chance(), &self.shared.notes));
        Some(changer.of_protected(self.shared.plan.protection.is_whole()))
    }
}

thread_local! {
    /// The run that is played, for who is not handed it.
    static SCENE: RefCell<Option<Rc<Scene>>> = const { RefCell::new(None) };
}

/// This thread plays this run from now on, or none.
pub fn set(scene: Option<Rc<Scene>>) {
    SCENE.set(scene);
}

/// The run that this thread plays. Behind its end, none.
pub fn scene() -> Option<Rc<Scene>> {
    SCENE.with_borrow(Clone::clone)
}
