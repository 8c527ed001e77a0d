//! The gateway of a run: what its program does with a client over TCP.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use smbd_core::runtime::Messages;
use smbd_core::runtime::tokio::{Connection, open_with};
use smbd_gateway::{Copied, Ending, RdmaServer, ReversePump};
use smbd_sim::Side;
use smbd_sim::loops::{LoopEnd, Stage};
use smbd_smb2::relay::reverse;

use super::plan::{End, Plan};
use crate::gateway::{CLOSE_WITHIN, FLUSH_WITHIN};
use crate::memory::{Memory, VirtualTime};
use crate::notes::Notes;
use crate::server_end::{Direct, Either, Stream};

/// Connects to the server, and serves the client until its end.
pub async fn serve(stage: Stage, plan: Rc<Plan>, stream: Stream, notes: Notes) {
    if plan.is_in_pieces {
        serve_over(stage.machine_in_pieces(Side::Initiator), stage, plan, stream, notes).await;
    } else {
        serve_over(stage.machine(Side::Initiator), stage, plan, stream, notes).await;
    }
}

async fn serve_over(
    machine: impl Messages + 'static,
    stage: Stage,
    plan: Rc<Plan>,
    stream: Stream,
    notes: Notes,
) {
    let end: LoopEnd<Memory> = stage.end(Side::Initiator);
    let (connecting, driver) = open_with(machine, end, plan.common.waiting);
    let of_driver = notes.clone();
    stage.spawn(async move {
        let result = driver.await.result;
        let why = result.map_or_else(|failure| failure.to_string(), |reason| reason.to_string());
        of_driver.step(|| format!("gateway: connection over: {why}"));
        of_driver.note(|seen, now| seen.driver_ended = Some((now, why)));
    });
    match connecting.await {
        Ok(connection) => through(connection, stage, &plan, stream, &notes).await,
        Err(failure) => {
            notes.step(|| format!("gateway: not established: {failure}"));
            notes.note(|seen, _| seen.is_refused = true);
        }
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
    let ending = match run(&mut pump, &stage, plan, notes).await {
        Some(ending) => ending,
        None => {
            notes.step(|| "gateway: told to stop".into());
            pump.drain(plan.common.drain).await
        }
    };
    notes.step(|| format!("gateway: pump ended: {ending}"));
    notes.note(|seen, now| {
        seen.statistics = Some(pump.statistics().clone());
        seen.pump_ended = Some((now, ending));
    });
    pump.flush(FLUSH_WITHIN).await;
    // The client's connection ends here.
    drop(pump);
    let _ = sender.close(CLOSE_WITHIN).await;
}

type Pump = ReversePump<Either, RdmaServer<LoopEnd<Memory>>, VirtualTime>;

/// The end of the pump; `None` if the gateway is told to stop before.
async fn run(pump: &mut Pump, stage: &Stage, plan: &Plan, notes: &Notes) -> Option<Ending> {
    let stop_at = Duration::from_micros(200 * plan.common.end_at as u64);
    let mut stop = (plan.end == End::Stop).then(|| Box::pin(stage.sleep(stop_at)));
    let mut running = pin!(pump.run());
    poll_fn(|cx| {
        if let Poll::Ready(ending) = running.as_mut().poll(cx) {
            return Poll::Ready(Some(ending));
        }
        let is_asked = stage.take_ending(Side::Initiator).is_some();
        let is_told = stop.as_mut().is_some_and(|stop| stop.as_mut().poll(cx).is_ready());
        if !is_asked && !is_told {
            return Poll::Pending;
        }
        notes.note(|seen, _| {
            seen.is_struck |= is_told;
            seen.is_asked |= is_asked;
        });
        Poll::Ready(None)
    })
    .await
}
