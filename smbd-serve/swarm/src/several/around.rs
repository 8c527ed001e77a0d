//! What the client needs besides transports, from the stage and the seed.

use std::cell::RefCell;
use std::rc::Rc;

use smbd_client::drive::Clock;
use smbd_client::{Error, Surroundings};
use smbd_core::Instant;
use smbd_sim::loops::{Stage, Timer};

use crate::ledger::told;
use crate::scene::Scene;
use crate::shared::{EPOCH, Shared};
use smbd_testkit::Chance;

/// What a connection of the client has around it.
#[derive(Clone)]
pub struct Around {
    time: Stage,
    chance: Rc<RefCell<Chance>>,
    shared: Shared,
}

impl Around {
    pub fn new(stage: &Stage, scene: &Scene, number: usize) -> Self {
        let chance = Rc::new(RefCell::new(scene.chance()));
        Self { time: stage.clone(), chance, shared: scene.of(number).clone() }
    }
}

impl Clock for Around {
    type Sleep = Timer;

    fn now(&self) -> Instant {
        self.time.now()
    }

    fn sleep_until(&self, at: Instant) -> Timer {
        self.time.sleep_until(at)
    }
}

impl Surroundings for Around {
    fn random(&self, into: &mut [u8]) -> Result<(), Error> {
        let mut chance = self.chance.borrow_mut();
        into.iter_mut().for_each(|byte| *byte = chance.bits() as u8);
        Ok(())
    }

    fn date(&self) -> u64 {
        EPOCH + self.now().as_nanos() / 100
    }

    fn taken(&self, message: &[u8]) {
        let Shared { notes, ledger, number, .. } = &self.shared;
        notes.step(|| format!("client {number}: has received {}", told(message)));
        notes.judge(ledger.borrow_mut().client_has(message));
    }
}
