//! A run: all of it, from its seed.

use std::cell::RefCell;
use std::rc::Rc;

use smbd_sim::Side;
use smbd_smb2::relay::reverse;

use super::client_task::ClientTask;
use super::device::Device;
use super::gateway::serve;
use super::judge::judge;
use super::plan::Plan;
use super::server_task::ServerTask;
use crate::scene::{Report, Scene};
use crate::turns::{drive_to_end, stay};
use smbd_testkit::Chance;
use smbd_testkit::relay::reverse::{Client, Server};
use smbd_testkit::swarm::Show;

/// Runs a seed.
pub fn run(seed: u64, show: Show) -> Report {
    let plan = Rc::new(Plan::of(seed));
    let (mut scene, near, far) = Scene::new(seed, &plan.common, Side::Initiator, show);
    let (stage, notes) = (scene.stage.clone(), scene.notes.clone());
    let Ok(config) = reverse::Config::new(&plan.params) else {
        notes.judge(Err(format!("plan: {:?}", plan.params)));
        return scene.play(format!("{:?}", plan.end), 0, |_, _, _| Ok(()));
    };
    let client = Rc::new(RefCell::new(Client::new(plan.limits(&config), plan.common.requests)));
    let server = Rc::new(RefCell::new(Server::new(plan.is_honest)));
    let device = Rc::new(RefCell::new(Device::new(&stage)));
    stage.spawn(serve(stage.clone(), Rc::clone(&plan), near, notes.clone()));
    let of_client = ClientTask {
        plan: Rc::clone(&plan),
        notes: notes.clone(),
        end: far,
        model: Rc::clone(&client),
        server: Rc::clone(&server),
        device: Rc::clone(&device),
        chance: Chance::new(scene.chance.bits()),
        state: Default::default(),
    };
    stage.spawn(stay(of_client));
    let of_server = ServerTask {
        plan: Rc::clone(&plan),
        notes,
        model: Rc::clone(&server),
        client: Rc::clone(&client),
        device,
        chance: Chance::new(scene.chance.bits()),
        state: Default::default(),
    };
    stage.spawn(drive_to_end(of_server, stage.machine(Side::Acceptor), stage.end(Side::Acceptor)));
    scene.play(format!("{:?}", plan.end), 2 * usize::from(config.buffers()), |stage, seen, pipes| {
        judge(&plan, stage, seen, (&client.borrow(), &server.borrow()), pipes)
    })
}
