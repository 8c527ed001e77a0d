//! Brokers: they are started, take connections, and may be killed.

use std::rc::Rc;

use smbd_broker::broker::Broker;
use smbd_broker::server::{Hub, serve};
use smbd_link::link::{Link, Options};
use smbd_sim::Side;
use smbd_sim::fault::Disruption;
use smbd_sim::loops::Stage;

use crate::owner::Shared;
use crate::place;
use crate::shared::Running;
use crate::slot::Slot;
use smbd_testkit::host::Process;

/// Starts a broker.
pub fn start(shared: &Rc<Shared>, instance: u64) {
    let broker = match Broker::new(shared.plan.settings.clone(), instance) {
        Ok(broker) => broker,
        Err(error) => return shared.notes.judge(Err(format!("plan: {error}"))),
    };
    let hub = Hub::new(broker, shared.host.clone());
    shared.notes.step(|| format!("broker {instance}: starts"));
    *shared.broker.borrow_mut() = Some(Running { process: Process::default(), hub, instance });
    shared.wake_all();
}

/// Kills the broker. What its devices do ends as if its system had ended it.
pub fn kill(shared: &Rc<Shared>) {
    let Some(running) = shared.broker.borrow_mut().take() else { return };
    shared.notes.step(|| format!("broker {}: is killed", running.instance));
    shared.notes.note(|seen| seen.is_disturbed = true);
    shared.ledger.borrow_mut().forget_all();
    for number in (1..place::stages()).filter(|number| !place::is_killed(*number)) {
        if let Some(stage) = place::stage(number) {
            stage.disrupt(Disruption::KillProcess(Side::Acceptor));
        }
    }
    place::all_killed();
    place::set_dying(true);
    running.process.kill();
    drop(running);
    place::set_dying(false);
}

/// Takes the connection that comes to these devices.
pub fn accept(shared: &Rc<Shared>, running: &Running, stage: &Stage, number: usize, waiting: Options) {
    let end = stage.end::<Slot>(Side::Acceptor);
    let link = Link::new(stage.machine(Side::Acceptor), end, waiting);
    let (hub, notes) = (running.hub.clone(), shared.notes.clone());
    stage.spawn(running.process.task(async move {
        match link.established(drop).await {
            Ok(connection) => {
                let is_taken = serve(hub, connection, format!("client {number}")).await;
                notes.step(|| format!("connection {number}: served: {is_taken}"));
            }
            Err(failure) => notes.step(|| format!("connection {number}: not established: {failure}")),
        }
    }));
}
