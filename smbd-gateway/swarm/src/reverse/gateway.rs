//! The gateway of a run: what its program does with a client over TCP.

use std::rc::Rc;
use std::time::Duration;

use smbd_core::Negotiated;
use smbd_gateway::{Copied, RdmaServer, ReversePump};
use smbd_link::Messages;
use smbd_link::link::{Link, Owned};
use smbd_sim::Side;
use smbd_sim::loops::{LoopEnd, Stage};
use smbd_smb2::relay::{BufferId, reverse};

use super::plan::{End, Plan};
use crate::gateway::{CLOSE_WITHIN, FLUSH_WITHIN, established, note_end, note_over, until_told};
use crate::memory::{Memory, VirtualTime};
use crate::notes::Notes;
use crate::server_end::{Direct, Either, Stream};

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
    let rdma = RdmaServer::new(link);
    let params = reverse::Params {
        max_read_write_size: negotiated.max_read_write_size.min(plan.params.max_read_write_size),
        max_fragmented_send_size: negotiated
            .max_fragmented_send_size
            .min(plan.params.max_fragmented_send_size),
        ..plan.params
    };
    let config = match reverse::Config::new(&params) {
        Ok(config) => config,
        Err(error) => return notes.judge(Err(format!("plan: {error}"))),
    };
    let is_copied = plan.common.is_copied;
    let client = if is_copied { Either::Copied(Copied::new(stream)) } else { Either::Direct(Direct(stream)) };
    let clock = VirtualTime(stage.clone());
    let mut pump = ReversePump::with_clock(&config, client, rdma, plan.common.session_within, clock);
    let stop = (plan.end == End::Stop).then(|| Duration::from_micros(200 * plan.common.end_at as u64));
    let ending = match until_told(pump.run(), Side::Initiator, stop, notes).await {
        Some(ending) => ending,
        None => pump.drain(plan.common.drain).await,
    };
    note_end(notes, ending, pump.statistics());
    pump.flush(FLUSH_WITHIN).await;
    // The client's connection ends here.
    note_over(pump.into_server().close(CLOSE_WITHIN).await, notes);
}
