//! What the server needs of its machine, from the stage and the seed. Work takes its time.

use std::future::Future;

use smbd_core::Instant;
use smbd_serve::Surroundings;
use smbd_sim::loops::Timer;
use smbd_smb2::server::Misuse;
use tokio::sync::oneshot;

use crate::here::Here;
use crate::ledger::told;
use crate::scene::scene;
use crate::shared::EPOCH;

/// What a connection of the server has around it: that of the run that its thread plays.
#[derive(Clone, Copy, Debug)]
pub struct Around {
    /// Which of the client's connections it is.
    pub number: usize,
}

impl smbd_link::time::Clock for Around {
    type Sleep = Here<Timer>;

    fn now(&self) -> Instant {
        scene().map_or(Instant::ORIGIN, |scene| scene.shared.notes.now())
    }

    fn sleep_until(&self, at: Instant) -> Here<Timer> {
        let scene = scene().expect("nobody sleeps behind the end of a run");
        Here::new(scene.shared.notes.stage().sleep_until(at))
    }
}

impl Surroundings for Around {
    fn random(&self, into: &mut [u8]) -> Result<(), String> {
        let mut chance = scene().ok_or("the run is over")?.chance();
        into.iter_mut().for_each(|byte| *byte = chance.bits() as u8);
        Ok(())
    }

    fn date(&self) -> u64 {
        EPOCH + smbd_link::time::Clock::now(self).as_nanos() / 100
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(scene) = scene() {
            scene.shared.notes.stage().spawn(task);
        }
    }

    fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> impl Future<Output = Option<T>> + Send + 'static {
        let (tell, done) = oneshot::channel();
        if let Some(scene) = scene() {
            let (stage, due) = (scene.shared.notes.stage().clone(), scene.labour.begins(&scene.shared));
            stage.clone().spawn(async move {
                stage.sleep_until(due).await;
                // Whoever does not want to know goes on without.
                let _ = tell.send(work());
                scene.labour.ends([&scene.shared, &scene.second]);
            });
        }
        async { done.await.ok() }
    }

    fn taken(&self, message: &[u8]) {
        let Some(scene) = scene() else { return };
        let shared = scene.of(self.number);
        shared.notes.step(|| format!("server {}: has received {}", self.number, told(message)));
        let judged = shared.ledger.borrow_mut().server_has(message);
        shared.notes.judge(judged);
    }

    fn misused(&self, misuse: Misuse) {
        let Some(scene) = scene() else { return };
        scene.shared.notes.judge(Err(format!("driven: the server refuses what its driver says: {misuse}")));
    }
}
