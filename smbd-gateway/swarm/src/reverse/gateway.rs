//! The gateway of a run: what its program does with a client over TCP.

use std::rc::Rc;
use std::time::Duration;

use smbd_gateway::{Copied, RdmaServer, ReversePump};
use smbd_link::handles::Connection;
use smbd_sim::Side;
use smbd_sim::loops::{LoopEnd, Stage};
use smbd_smb2::relay::reverse;

use super::plan::{End, Plan};
use crate::gateway::{CLOSE_WITHIN, FLUSH_WITHIN, connect, established, note_end, until_told};
use crate::memory::{Memory, VirtualTime};
use crate::notes::Notes;
use crate::server_end::{Direct, Either, Stream};

/// Connects to the server, and serves the client until its end.
pub async fn serve(stage: Stage, plan: Rc<Plan>, stream: Stream, notes: Notes) {
    let (side, waiting) = (Side::Initiator, plan.common.waiting);
    let connecting = if plan.is_in_pieces {
        connect(stage.machine_in_pieces(side), side, &stage, waiting, &notes)
    } else {
        connect(stage.machine(side), side, &stage, waiting, &notes)
    };
    if let Some(connection) = established(connecting, &notes).await {
        through(connection, stage, &plan, stream, &notes).await;
    }
}

async fn through(
    connection: Connection<LoopEnd<Memory>>,
    stage: Stage,
    plan: &Plan,
    stream: Stream,
    notes: &Notes,
) {
    let negotiated = connection.negotiated();
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
    let rdma = RdmaServer::new(connection);
    let sender = rdma.sender();
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
    drop(pump);
    let _ = sender.close(CLOSE_WITHIN).await;
}
