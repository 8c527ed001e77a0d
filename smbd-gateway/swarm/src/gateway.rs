//! The gateway of a run: what its program does with a client, over a simulated device and a simulated stream.

use std::fmt::Display;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use smbd_core::Negotiated;
use smbd_gateway::{Client, Copied, Ending, Pump, Rdma, Server};
use smbd_link::Messages;
use smbd_link::link::Link;
use smbd_sim::Side;
use smbd_sim::loops::{LoopEnd, Stage};
use smbd_smb2::relay::{self, Statistics};

use crate::memory::{Memory, VirtualTime};
use crate::notes::Notes;
use crate::plan::{End, Plan};
use crate::server_end::{Direct, Either, Stream};

/// As the program has them.
pub const FLUSH_WITHIN: Duration = Duration::from_secs(1);
pub const CLOSE_WITHIN: Duration = Duration::from_secs(3);

/// Accepts the client, and serves it until its end.
pub async fn serve(stage: Stage, plan: Rc<Plan>, stream: Stream, notes: Notes) {
    let machine = stage.machine_in_pieces(Side::Acceptor);
    let establishing = Link::new(machine, stage.end(Side::Acceptor), plan.waiting).established(drop);
    if let Some((link, negotiated)) = established(establishing, &notes).await {
        let rdma = through(Rdma::new(link), negotiated, stage, &plan, stream, &notes).await;
        if let Some(rdma) = rdma {
            note_over(rdma.close(CLOSE_WITHIN).await, &notes);
        }
    }
}

async fn through<C: Messages>(
    rdma: Rdma<LoopEnd<Memory>, C>,
    negotiated: Negotiated,
    stage: Stage,
    plan: &Plan,
    stream: Stream,
    notes: &Notes,
) -> Option<Rdma<LoopEnd<Memory>, C>> {
    let (read_write, fragmented) = (negotiated.max_read_write_size, negotiated.max_fragmented_send_size);
    let config = config(plan, read_write, fragmented, notes)?;
    let clock = VirtualTime(stage);
    let mut pump = Pump::with_clock(&config, rdma, server(plan, stream), plan.session_within, clock);
    to_end(&mut pump, plan, notes).await;
    // The server's connection ends here.
    Some(pump.into_client())
}

/// Runs a pump until a side has ended, or the gateway is told to stop.
pub async fn to_end<C: Client>(pump: &mut Pump<C, Either, VirtualTime>, plan: &Plan, notes: &Notes)
where
    Either: Server<C::Memory>,
{
    let stop = (plan.end == End::Stop).then(|| Duration::from_micros(200 * plan.end_at as u64));
    let ending = match until_told(pump.run(), Side::Acceptor, stop, notes).await {
        Some(ending) => ending,
        None => pump.drain(plan.drain).await,
    };
    note_end(notes, ending, pump.statistics());
    pump.flush(FLUSH_WITHIN).await;
}

/// How the relay is configured for a connection with these sizes.
pub fn config(plan: &Plan, read_write: u32, fragmented: u32, notes: &Notes) -> Option<relay::Config> {
    let params = relay::Params {
        max_read_write_size: read_write.min(plan.relay.max_read_write_size),
        max_fragmented_size: fragmented.min(plan.relay.max_fragmented_size),
        ..plan.relay
    };
    match relay::Config::new(&params) {
        Ok(config) => Some(config),
        Err(error) => {
            notes.judge(Err(format!("plan: {error}")));
            None
        }
    }
}

/// The server at the other end of this stream.
pub fn server(plan: &Plan, stream: Stream) -> Either {
    if plan.is_copied { Either::Copied(Copied::new(stream)) } else { Either::Direct(Direct(stream)) }
}

/// A connection once it is established, with what was negotiated; `None` if it is not.
pub async fn established<R, E: Display>(
    establishing: impl Future<Output = Result<(R, Negotiated), E>>,
    notes: &Notes,
) -> Option<(R, Negotiated)> {
    match establishing.await {
        Ok(established) => Some(established),
        Err(failure) => {
            notes.step(|| format!("gateway: not established: {failure}"));
            notes.note(|seen| seen.is_refused = true);
            note_over(failure.to_string(), notes);
            None
        }
    }
}

/// The gateway's connection is over.
pub fn note_over(why: String, notes: &Notes) {
    notes.step(|| format!("gateway: connection over: {why}"));
    let now = notes.now();
    notes.note(|seen| seen.own.driver_ended = Some((now, why)));
}

/// The end of a pump; `None` if the gateway is told to stop before, after `stop` or by what happens to the device of its side.
pub async fn until_told(
    running: impl Future<Output = Ending>,
    side: Side,
    stop: Option<Duration>,
    notes: &Notes,
) -> Option<Ending> {
    let stage = notes.stage();
    let mut stop = stop.map(|stop| Box::pin(stage.sleep(stop)));
    let mut running = pin!(running);
    poll_fn(|cx| {
        if let Poll::Ready(ending) = running.as_mut().poll(cx) {
            return Poll::Ready(Some(ending));
        }
        let is_asked = stage.take_ending(side).is_some();
        let is_told = stop.as_mut().is_some_and(|stop| stop.as_mut().poll(cx).is_ready());
        if !is_asked && !is_told {
            return Poll::Pending;
        }
        notes.step(|| "gateway: told to stop".into());
        notes.note(|seen| {
            seen.is_struck |= is_told;
            seen.is_asked |= is_asked;
        });
        Poll::Ready(None)
    })
    .await
}

/// The pump has ended.
pub fn note_end(notes: &Notes, ending: Ending, statistics: &Statistics) {
    notes.step(|| format!("gateway: pump ended: {ending}"));
    let now = notes.now();
    notes.note(|seen| {
        seen.own.statistics = Some(statistics.clone());
        seen.own.pump_ended = Some((now, ending));
    });
}
