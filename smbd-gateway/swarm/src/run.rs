//! A run: all of it, from its seed.

use std::cell::RefCell;
use std::rc::Rc;

use smbd_sim::Side;
use smbd_smb2::relay;

use crate::brokered;
use crate::client_task::ClientTask;
use crate::gateway::serve;
use crate::judge::judge;
use crate::plan::Plan;
use crate::scene::{Report, Scene};
use crate::server_task::ServerTask;
use crate::turns::{drive_to_end, stay};
use smbd_testkit::Chance;
use smbd_testkit::relay::{Client, Limits, Pool, Server};
use smbd_testkit::swarm::Show;

/// Runs a seed: with a gateway that has a device, or with one on a broker.
pub fn run(seed: u64, is_on_broker: bool, show: Show) -> Report {
    let plan = Rc::new(Plan::of(seed));
    let broker = is_on_broker.then(|| brokered::Plan::of(seed, &plan));
    let (mut scene, near, far) = Scene::new(seed, &plan, Side::Acceptor, show);
    let (stage, notes) = (scene.stage.clone(), scene.notes.clone());
    let (client, server) = models(&plan);
    match &broker {
        None => stage.spawn(serve(stage.clone(), Rc::clone(&plan), near, notes.clone())),
        Some(broker) => {
            stage.spawn(brokered::serve(stage.clone(), Rc::clone(&plan), broker.clone(), near, notes.clone()))
        }
    }
    let of_client = ClientTask::new(&plan, &notes, (&client, &server), Chance::new(scene.chance.bits()));
    stage.spawn(drive_to_end(of_client, stage.machine(Side::Initiator), stage.end(Side::Initiator)));
    let of_server = ServerTask::new(&plan, &notes, far, (&client, &server), Chance::new(scene.chance.bits()));
    stage.spawn(stay(of_server));
    let buffers = relay::Config::new(&plan.relay).map_or(0, |config| 2 * usize::from(config.buffers()));
    let slots = broker.as_ref().map_or(0, |broker| usize::from(broker.settings.limits.slots_max));
    scene.play(format!("{:?}", plan.end), buffers + slots, |stage, seen, pipes| {
        judge(&plan, broker.as_ref(), stage, seen, (&client.borrow(), &server.borrow()), pipes)
    })
}

fn models(plan: &Plan) -> (Rc<RefCell<Client>>, Rc<RefCell<Server>>) {
    let relay::Params { held_max, max_fragmented_size, max_read_write_size, descriptors_max, .. } =
        plan.relay;
    let limits = Limits {
        held: held_max as usize,
        fragmented: max_fragmented_size as usize,
        read_write: max_read_write_size as usize,
        descriptors: descriptors_max as usize,
    };
    let mut client = Client::new(limits, plan.requests);
    let [near, far] = &plan.sim.nics;
    client.pool = Some(Pool::new(near.windows && far.send_with_invalidate));
    (Rc::new(RefCell::new(client)), Rc::new(RefCell::new(Server::default())))
}
