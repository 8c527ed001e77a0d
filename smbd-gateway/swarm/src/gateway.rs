//! The gateway of a run: what its program does with a client, over a simulated device and a simulated stream.

use std::fmt::Display;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use smbd_core::Negotiated;
use smbd_gateway::{Copied, Ending, Pump, Rewriting, Stream};
use smbd_link::link::Link;
use smbd_link::transport::{Limits, Transport};
use smbd_sim::Side;
use smbd_sim::loops::Stage;
use smbd_smb2::relay::{self, BufferId, Relay, Statistics};

use crate::notes::Notes;
use crate::plan::{End, Plan};
use crate::server_end::{Direct, Either, Stream as ByteStream};
use smbd_testkit::swarm::Memory;

/// As the program has them.
pub const FLUSH_WITHIN: Duration = Duration::from_secs(1);
const CLOSE_WITHIN: Duration = Duration::from_secs(3);

/// Accepts the client, and serves it until its end.
pub async fn serve(stage: Stage, plan: Rc<Plan>, stream: ByteStream, notes: Notes) {
    let machine = stage.machine_in_pieces(Side::Acceptor);
    let establishing = Link::new(machine, stage.end(Side::Acceptor), plan.waiting).established(drop);
    if let Some((link, _)) = established(establishing, &notes).await
        && let Some(why) = through(link, stage, &plan, stream, &notes).await
    {
        note_over(why, &notes);
    }
}

/// Moves messages and data between a client and the server at the other end of `stream`, until one of them has ended. Returns how the
/// client's connection has ended.
pub async fn through<T: Transport<BufferId, Memory = Memory>>(
    transport: T,
    stage: Stage,
    plan: &Plan,
    stream: ByteStream,
    notes: &Notes,
) -> Option<String> {
    let Limits { max_send, rdma, .. } = transport.limits();
    let params = relay::Params {
        max_read_write_size: rdma?.max_read_write.min(plan.relay.max_read_write_size),
        max_fragmented_size: max_send.min(plan.relay.max_fragmented_size),
        ..plan.relay
    };
    let relay = match relay::Config::new(&params) {
        Ok(config) => Relay::new(&config),
        Err(error) => {
            notes.judge(Err(format!("plan: {error}")));
            return None;
        }
    };
    let server = either(plan.is_copied, stream);
    let pump = Pump::with_clock(relay, transport, server, plan.session_within, stage);
    let stop = (plan.end == End::Stop).then(|| Duration::from_micros(200 * plan.end_at as u64));
    Some(to_end(pump, (Side::Acceptor, stop, plan.drain), notes).await)
}

/// Runs a pump until a side has ended, or the gateway is told to stop, after `stop` or by what happens to the device of its side. Returns
/// how its connection has ended.
pub async fn to_end<R, T>(
    mut pump: Pump<R, T, Either, Stage>,
    (side, stop, drain): (Side, Option<Duration>, Duration),
    notes: &Notes,
) -> String
where
    R: Rewriting,
    T: Transport<BufferId>,
    Either: Stream<T::Memory>,
{
    let ending = match until_told(pump.run(), side, stop, notes).await {
        Some(ending) => ending,
        None => pump.drain(drain).await,
    };
    note_end(notes, ending, pump.statistics());
    pump.flush(FLUSH_WITHIN).await;
    pump.close(CLOSE_WITHIN).await
}

/// The other end of this stream.
pub fn either(is_copied: bool, stream: ByteStream) -> Either {
    if is_copied { Either::Copied(Copied::new(stream)) } else { Either::Direct(Direct(stream)) }
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
