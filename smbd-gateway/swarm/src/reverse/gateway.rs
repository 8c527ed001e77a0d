//! The gateway of a run: what its program does with a client over TCP.

use std::rc::Rc;
use std::time::Duration;

use smbd_core::Negotiated;
use smbd_gateway::Pump;
use smbd_link::Messages;
use smbd_link::link::{Link, Owned};
use smbd_sim::Side;
use smbd_sim::loops::{LoopEnd, Stage};
use smbd_smb2::relay::BufferId;
use smbd_smb2::relay::reverse::{self, Reverse};

use super::plan::{End, Plan};
use crate::gateway::{either, established, note_over, to_end};
use crate::notes::Notes;
use crate::server_end::Stream;
use smbd_testkit::swarm::Memory;

type Linked<C> = Owned<LoopEnd<Memory>, BufferId, C>;

/// Connects to the server, and serves the client until its end.
pub async fn serve(stage: Stage, plan: Rc<Plan>, stream: Stream, notes: Notes) {
    let (side, waiting) = (Side::Initiator, plan.common.waiting);
    let end = stage.end(side);
    if plan.is_in_pieces {
        let establishing = Link::new(stage.machine_in_pieces(side), end, waiting).established(drop);
        through(established(establishing, &notes).await, stage, &plan, stream, &notes).await;
    } else {
        let establishing = Link::new(stage.machine(side), end, waiting).established(drop);
        through(established(establishing, &notes).await, stage, &plan, stream, &notes).await;
    }
}

async fn through<C: Messages>(
    reached: Option<(Linked<C>, Negotiated)>,
    stage: Stage,
    plan: &Plan,
    stream: Stream,
    notes: &Notes,
) {
    let Some((link, negotiated)) = reached else { return };
    let params = reverse::Params {
        max_read_write_size: negotiated.max_read_write_size.min(plan.params.max_read_write_size),
        max_fragmented_send_size: negotiated
            .max_fragmented_send_size
            .min(plan.params.max_fragmented_send_size),
        ..plan.params
    };
    let reverse = match reverse::Config::new(&params) {
        Ok(config) => Reverse::new(&config),
        Err(error) => return notes.judge(Err(format!("plan: {error}"))),
    };
    let client = either(plan.common.is_copied, stream);
    let pump = Pump::with_clock(reverse, link, client, plan.common.session_within, stage);
    let stop = (plan.end == End::Stop).then(|| Duration::from_micros(200 * plan.common.end_at as u64));
    note_over(to_end(pump, (Side::Initiator, stop, plan.common.drain), notes).await, notes);
}
