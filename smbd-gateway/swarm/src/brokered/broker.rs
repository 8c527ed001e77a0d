//! The broker of a run: it has one owner, takes one connection, and may be killed.

use std::rc::Rc;

use smbd_broker::broker::Broker;
use smbd_broker::server::{Hub, attend, serve};
use smbd_link::link::{Link, Options};
use smbd_sim::Side;
use smbd_sim::fault::Disruption;
use smbd_sim::loops::Stage;

use super::host::Host;
use super::plan::Plan;
use crate::gateway::note_over;
use crate::notes::Notes;
use crate::socket::{End, Sockets};
use smbd_testkit::host::Process;
use smbd_testkit::law;
use smbd_testkit::swarm::Memory;

pub struct Running {
    process: Process,
    hub: Hub<Host>,
    host: Host,
    notes: Notes,
}

impl Running {
    /// Starts the broker. Returns the owner's end of its socket, too.
    pub fn start(stage: &Stage, plan: &Plan, sockets: &Sockets, notes: &Notes) -> Option<(Rc<Self>, End)> {
        let host = Host::new(sockets);
        let broker = match Broker::new(plan.settings.clone(), 1) {
            Ok(broker) => broker,
            Err(error) => {
                notes.judge(Err(format!("plan: {error}")));
                return None;
            }
        };
        notes.note(|seen| seen.own.is_broker_killed = Some(false));
        let (own, theirs) = sockets.pair();
        let hub = Hub::new(broker, host.clone());
        let running = Rc::new(Self { process: Process::default(), hub, host, notes: notes.clone() });
        let (hub, notes) = (running.hub.clone(), notes.clone());
        stage.spawn(running.process.task(async move {
            attend(hub, own).await;
            notes.step(|| "broker: its owner has left".into());
        }));
        if let Some(dies) = plan.dies {
            let (of_killer, on) = (Rc::downgrade(&running), stage.clone());
            stage.spawn(async move {
                on.sleep(dies).await;
                if let Some(running) = of_killer.upgrade() {
                    running.kill(&on);
                }
            });
        }
        Some((running, theirs))
    }

    /// Takes the connection that comes to the device, in tasks of its own. `over` hears when it is served.
    pub fn accept(&self, stage: &Stage, waiting: Options, over: impl FnOnce() + 'static) {
        let end = stage.end::<Memory>(Side::Acceptor);
        let link = Link::new(stage.machine(Side::Acceptor), end, waiting);
        let (hub, notes) = (self.hub.clone(), self.notes.clone());
        let serving = self.process.task(async move {
            match link.established(drop).await {
                Ok(connection) => {
                    serve(hub, connection, "10.9.0.2:5".into()).await;
                    note_over("served".into(), &notes);
                }
                Err(failure) => {
                    notes.step(|| format!("broker: not established: {failure}"));
                    note_over(failure.to_string(), &notes);
                }
            }
        });
        stage.spawn(async move {
            serving.await;
            over();
        });
    }

    pub fn is_dead(&self) -> bool {
        self.process.is_dead()
    }

    /// Kills it. What its device does ends as if its system had ended it.
    fn kill(&self, stage: &Stage) {
        self.notes.step(|| "broker: is killed".into());
        self.notes.note(|seen| seen.own.is_broker_killed = Some(true));
        stage.disrupt(Disruption::KillProcess(Side::Acceptor));
        self.process.kill();
    }

    /// Shows what the broker has said.
    pub fn tell(&self) {
        for said in self.host.said() {
            self.notes.step(|| format!("broker: {said}"));
        }
    }

    /// The laws of a broker whose owner is gone.
    pub fn judge(&self) -> Result<(), String> {
        let left = self.hub.look(|broker| (broker.owners(), broker.connections(), broker.memory()));
        law!(
            "leaks",
            self.is_dead() || left == (0, 0, 0),
            "owners, connections and memory are left: {left:?}"
        );
        Ok(())
    }
}
