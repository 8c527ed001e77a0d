//! What only the end of a run shows.

use std::time::Duration;

use smbd_core::Instant;
use smbd_gateway::Ending;
use smbd_sim::loops::Stage;
use smbd_smb2::relay::Reason;

use crate::brokered;
use crate::notes::Seen;
use crate::plan::{End, Plan};
use smbd_testkit::relay::{CANCEL, Client, Server};
use smbd_testkit::swarm::pipe::Pipe;
use smbd_testkit::{Breach, law};

/// How long a broker takes at most to hand on what had come before the end of a connection.
const HANDED_ON_WITHIN: Duration = Duration::from_secs(1);

/// When and how the pump ended; `None` if there was no connection to serve.
pub fn ending<'s>(
    stage: &Stage,
    seen: &'s Seen,
    is_gentle: bool,
) -> Result<Option<&'s (Instant, Ending)>, Breach> {
    law!("stall", stage.tasks() == 0, "{} tasks have not ended: {}", stage.tasks(), stage.story());
    if seen.is_refused {
        law!("ends", !is_gentle, "the connection was not established");
        return Ok(None);
    }
    seen.own.pump_ended.as_ref().map(Some).ok_or_else(|| "ends: the pump has no end".into())
}

/// The laws of a run that is over.
pub fn judge(
    plan: &Plan,
    broker: Option<&brokered::Plan>,
    stage: &Stage,
    seen: &Seen,
    models: (&Client, &Server),
    pipes: [&Pipe; 2],
) -> Result<(), Breach> {
    let (client, server) = models;
    let Some((at, ending)) = ending(stage, seen, plan.is_gentle)? else { return Ok(()) };
    let is_due = match ending {
        Ending::Client(_) => {
            let is_short = broker.is_some_and(|broker| broker.is_short);
            let is_over =
                seen.own.driver_ended.is_some() || seen.own.is_broker_killed == Some(true) || is_short;
            is_over && (!plan.is_gentle || seen.is_done || seen.own.has_left)
        }
        Ending::Server(_) | Ending::Relay(Reason::ServerEnded) => {
            seen.is_struck && matches!(plan.end, End::ServerFinishes | End::ServerResets)
        }
        Ending::Relay(Reason::SignedChannel { .. } | Reason::SignedInCompound { .. }) => {
            seen.is_struck && plan.end == End::SignedChannel
        }
        // Of a client whose operations fail the connection is over.
        Ending::Relay(Reason::RdmaFailed) => !plan.is_gentle || seen.own.has_left,
        Ending::NoSession { .. } => {
            // A request with too many descriptors is refused in any case.
            let is_refused = seen.own.statistics.as_ref().is_some_and(|seen| seen.refusals.total() > 0);
            let is_early = plan.end == End::EarlyRdma && is_refused;
            plan.end == End::NoSession || is_early || !plan.is_gentle
        }
        Ending::RdmaWithoutSession => seen.is_struck && plan.end == End::EarlyRdma,
        Ending::Stopped | Ending::Deadline { .. } => {
            (seen.is_struck && plan.end == End::Stop) || seen.is_asked
        }
        _ => false,
    };
    law!("ends", is_due, "{:?}: {ending}", plan.end);
    if let Some((driver, why)) = &seen.own.driver_ended {
        // A broker hands on first what had come before the end, as the gateway takes it.
        let known = if broker.is_some() { driver.saturating_add(HANDED_ON_WITHIN) } else { *driver };
        law!("ends", *at <= known, "the client ended at {driver:?} ({why}), the pump at {at:?}");
    }
    for pipe in pipes {
        let Some(known) = pipe.end_seen else { continue };
        law!("ends", *at <= known, "the stream's end was known at {known:?}, the pump ended at {at:?}");
    }
    if let (Ending::Client(_), Some(gone)) = (ending, seen.own.stream_gone) {
        law!("ends", gone == *at, "the pump ended at {at:?}, its stream at {gone:?}");
    }
    if seen.is_done {
        quiet(client, server, seen)?;
    }
    if !plan.is_gentle {
        return Ok(());
    }
    law!("stall", plan.end != End::Quiet || seen.is_done, "the client was not served to its end");
    // What was sent whole before the end comes before it. A device may show that a send was flushed before what it has received: of
    // that the connection makes nothing any more.
    let may_be_lost = plan.sim.polling.shuffled && seen.own.is_cut;
    let is_orderly = matches!(ending, Ending::Relay(Reason::ServerEnded) | Ending::Stopped);
    if is_orderly && !may_be_lost && plan.end != End::ServerResets {
        let (answered, came) = (server.answered(), client.finished);
        law!(
            "answers",
            answered as u64 == came,
            "{answered} were sent before the end, {came} came; of {:?}",
            client.open.keys()
        );
    }
    if *ending == Ending::Stopped {
        law!("answers", !server.has_answers(), "stopped, and a request waits for its answer");
    }
    Ok(())
}

/// Nothing is left, and all is as it has to be.
fn quiet(client: &Client, server: &Server, seen: &Seen) -> Result<(), Breach> {
    law!("stall", server.is_between_messages(), "a message is not complete");
    law!("answers", client.open.is_empty(), "without an answer: {:?}", client.open);
    law!("order", client.sent == server.received, "{:?} {:?}", client.sent, server.received);
    law!("window", client.charges == server.charges, "other charges");
    law!("window", server.has_no_hole(), "a hole");
    law!("bytes", client.written == server.files[1], "file 1 is another");
    let sent = client.sent.iter().filter(|id| *id & CANCEL == 0).count() as u64;
    law!("answers", client.finished == sent, "{} of {sent}", client.finished);
    let outstanding = seen.own.statistics.as_ref().map_or(0, |statistics| statistics.outstanding());
    law!("statistics", outstanding == 0, "{outstanding} requests are outstanding");
    Ok(())
}
