//! What the gateway's program does with a client whose connection a broker has.

use std::rc::Rc;
use std::time::Duration;

use smbd_broker::client::Carried;
use smbd_link::handles::Options;
use smbd_sim::loops::Stage;

use super::broker::Running;
use super::owner::{Owner, Task};
use super::plan::Plan as OfBroker;
use crate::clock::Clock;
use crate::gateway::through;
use crate::notes::Notes;
use crate::plan::Plan;
use crate::server_end::Stream;
use crate::socket::Sockets;

/// Starts a broker, takes the client that it gives, and serves it until its end.
pub async fn serve(stage: Stage, plan: Rc<Plan>, of_broker: OfBroker, stream: Stream, notes: Notes) {
    let sockets = Sockets::new(&Clock, of_broker.sockets, plan.sim.seed);
    let Some((broker, socket)) = Running::start(&stage, &of_broker, &sockets, &notes) else { return };
    let owner = Owner::default();
    stage.spawn(Task::new(&owner, socket, &notes).run());
    owner.listens().await;
    // Nobody takes connections in place of a broker that was killed.
    if !broker.is_dead() {
        let waiting = Options { in_pieces: false, ..plan.waiting };
        let of_end = owner.clone();
        broker.accept(&stage, waiting, move || of_end.set_over());
    }
    match owner.connection().await {
        Some(connection) => {
            // Nothing is under way when it is dropped.
            let carried = Carried::with_leave(connection, drop);
            through(carried, stage.clone(), &plan, stream, &notes).await;
        }
        None => {
            notes.step(|| "gateway: no client comes".into());
            notes.note(|seen| seen.is_refused = true);
        }
    }
    broker.tell();
    owner.leave();
    // Longer than the broker waits for anybody.
    stage.sleep(Duration::from_secs(60)).await;
    broker.tell();
    notes.judge(broker.judge());
    let open = sockets.open();
    notes.judge(if open == 0 { Ok(()) } else { Err(format!("leaks: {open} sockets are open")) });
}
