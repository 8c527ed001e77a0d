//! Clients come, owners come again, and the broker is killed: when the plan says so.

use std::rc::Rc;
use std::time::Duration;

use smbd_core::Config;
use smbd_link::handles::Options;
use smbd_sim::loops::{Block, Stage};
use smbd_sim::{Rng, Side};

use crate::client::{Client, drive_to_end};
use crate::ledger::Key;
use crate::owner::{Shared, own};
use crate::plan::{CONNECTIONS_MAX, ClientPlan, OwnerPlan};
use crate::{broker, place};
use smbd_testkit::host::Process;

/// How long a client waits that is not taken: a short time first.
const AGAIN_AFTER: Duration = Duration::from_millis(1);
const LATER_AFTER: Duration = Duration::from_secs(1);
/// How often it tries, and how often after a short time.
const TRIES: usize = 500;
const SOON: usize = 50;
/// How long a broker is away.
const AWAY: Duration = Duration::from_millis(2);

/// A client, until it has done all, or its connections were lost as often as it comes again.
pub async fn client(shared: Rc<Shared>, plan: ClientPlan, show: bool) {
    let clock = shared.notes.clock().clone();
    clock.sleep(plan.starts).await;
    let (mut tries, mut left) = (0, plan.again + 1);
    let mut is_excused = false;
    while left > 0 && tries < TRIES && place::stages() <= CONNECTIONS_MAX {
        tries += 1;
        let is_open = !shared.plan.is_gentle || shared.ledger.borrow().is_held(Key::Rest);
        let running = shared.broker.borrow().clone().filter(|_| is_open);
        let taken = running.and_then(|running| running.hub.config().map(|config| (running, config)));
        let Some((running, config)) = taken else {
            clock.sleep(if tries < SOON { AGAIN_AFTER } else { LATER_AFTER }).await;
            continue;
        };
        left -= 1;
        let (stage, number) = devices(&shared, &config, show);
        let mut chance = shared.draw();
        let waiting = Options {
            messages_max: chance.pick(&[1, 2, 16, 256]),
            bytes_max: chance.pick(&[1, 500, 4 << 20]),
            in_pieces: false,
        };
        broker::accept(&shared, &running, &stage, number, waiting);
        drop(running);
        let client = Client::new(&shared, &plan, number, &stage);
        let machine = stage.machine(Side::Initiator);
        if drive_to_end(client, machine, stage.end::<Block>(Side::Initiator)).await {
            shared.notes.note(|seen| seen.done += 1);
            is_excused = false;
            break;
        }
        is_excused |= shared.ledger.borrow().is_hostile(number);
        clock.sleep(AGAIN_AFTER).await;
    }
    shared.notes.note(|seen| seen.excused += usize::from(is_excused));
    shared.clients.set(shared.clients.get() - 1);
    if shared.clients.get() == 0 {
        shared.wake_all();
    }
}

/// New devices for a connection that is configured like this.
fn devices(shared: &Shared, config: &Config, show: bool) -> (Stage, usize) {
    let mut chance = shared.draw();
    let sim = shared.plan.devices(&mut chance, config);
    let stage = Stage::new(&sim, show.then(smbd_sim::trace::Trace::kept), Rng::new(chance.bits()));
    stage.pass_to(shared.notes.now());
    let number = place::add(stage.clone());
    shared.notes.count("connections");
    (stage, number)
}

/// An owner, which is killed when its plan says so, and comes again.
pub async fn owner(shared: Rc<Shared>, plan: OwnerPlan) {
    let clock = shared.notes.clock().clone();
    let Some(home) = place::stage(0) else { return };
    let process = Process::default();
    home.spawn(process.task(own(Rc::clone(&shared), plan.clone(), shared.new_owner())));
    let Some(dies) = plan.dies else { return };
    clock.sleep(dies).await;
    if shared.clients.get() == 0 {
        return;
    }
    shared.notes.note(|seen| seen.is_disturbed = true);
    shared.notes.step(|| "an owner is killed".into());
    shared.notes.count("owners killed");
    process.kill();
    clock.sleep(AGAIN_AFTER).await;
    home.spawn(own(Rc::clone(&shared), plan, shared.new_owner()));
}

/// The broker's life.
pub async fn lives(shared: Rc<Shared>) {
    broker::start(&shared, 1);
    let Some(dies) = shared.plan.broker_dies else { return };
    let clock = shared.notes.clock().clone();
    clock.sleep(dies).await;
    if shared.clients.get() > 0 {
        shared.notes.count("brokers killed");
        broker::kill(&shared);
        clock.sleep(AWAY).await;
        broker::start(&shared, 2);
    }
}
