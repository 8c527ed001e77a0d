//! What only the end of a run shows.

use smbd_gateway::Ending;
use smbd_sim::loops::Stage;
use smbd_smb2::relay::Reason;

use super::plan::{End, Plan};
use crate::gateway::FLUSH_WITHIN;
use crate::notes::Seen;
use smbd_testkit::relay::CANCEL;
use smbd_testkit::relay::reverse::{Client, Lie, Server};
use smbd_testkit::swarm::pipe::Pipe;
use smbd_testkit::{Breach, law};

/// The laws of a run that is over.
pub fn judge(
    plan: &Plan,
    stage: &Stage,
    seen: &Seen,
    models: (&Client, &Server),
    pipes: [&Pipe; 2],
) -> Result<(), Breach> {
    let (client, server) = models;
    let is_gentle = plan.common.is_gentle;
    let Some((at, ending)) = crate::judge::ending(stage, seen, is_gentle)? else { return Ok(()) };
    law!("ends", is_due(plan, seen, ending), "{:?}: {ending}", plan.end);
    if let Some((driver, why)) = &seen.own.driver_ended {
        law!("ends", *at <= *driver, "the server ended at {driver:?} ({why}), the pump at {at:?}");
    }
    for pipe in pipes {
        let Some(known) = pipe.end_seen else { continue };
        let most = known.saturating_add(FLUSH_WITHIN);
        law!("ends", *at <= most, "the stream's end was known at {known:?}, the pump ended at {at:?}");
    }
    // A clock may jump.
    if let Some(gone) = seen.own.stream_gone.filter(|_| is_gentle) {
        let most = at.saturating_add(FLUSH_WITHIN);
        law!("ends", gone <= most, "the pump ended at {at:?}, its stream at {gone:?}");
    }
    if seen.is_done {
        quiet(client, server, seen)?;
    }
    if !is_gentle {
        return Ok(());
    }
    let lacks_memory = *ending == Ending::Relay(Reason::RegistrationFailed);
    let is_served = seen.is_done || plan.end != End::Quiet || lacks_memory;
    law!("stall", is_served, "the client was not served to its end");
    if *ending == Ending::Stopped {
        law!("answers", !server.has_answers(), "stopped, and a request waits for its answer");
        let (answered, came) = (server.decided.len(), client.finished);
        law!("answers", answered as u64 == came, "{answered} were sent before the end, {came} came");
    }
    Ok(())
}

fn is_due(plan: &Plan, seen: &Seen, ending: &Ending) -> bool {
    let is_gentle = plan.common.is_gentle;
    let is_struck = |is_it: bool| seen.is_struck && is_it;
    match ending {
        Ending::Client(_) => is_struck(matches!(plan.end, End::ClientResets | End::ClientFinishes)),
        Ending::Server(_) => seen.own.driver_ended.is_some() && (!is_gentle || seen.own.has_left),
        Ending::NoSession { .. } => plan.end == End::NoSession || !is_gentle,
        Ending::Stopped | Ending::Deadline { .. } => is_struck(plan.end == End::Stop) || seen.is_asked,
        Ending::Relay(reason) => match reason {
            Reason::ClientEnded => seen.is_done || is_struck(plan.end == End::ClientFinishes),
            Reason::RegistrationFailed => plan.may_lack_memory() || !is_gentle || seen.own.has_left,
            Reason::TooMuchData { .. } => is_struck(plan.end == End::Lie(Lie::TooMuch)),
            Reason::DataTwice { .. } => is_struck(plan.end == End::Lie(Lie::Twice)),
            Reason::SignedAnswer { .. } | Reason::SignedInCompound { .. } => {
                is_struck(plan.end == End::Lie(Lie::Signed))
            }
            Reason::ChannelOverTcp { .. } => is_struck(matches!(plan.end, End::Channel(_))),
            Reason::AboveMaxFragmentedSize { .. } => is_struck(plan.end == End::TooLong),
            Reason::ClientFraming { .. } => is_struck(plan.end == End::Framing),
            _ => false,
        },
        _ => false,
    }
}

/// Nothing is left, and all is as it has to be.
fn quiet(client: &Client, server: &Server, seen: &Seen) -> Result<(), Breach> {
    law!("stall", client.is_between_messages(), "a message is not complete");
    law!("answers", client.open.is_empty(), "without an answer: {:?}", client.open.keys());
    let (mut sent, mut received) = (client.sent.clone(), server.received.clone());
    // A CANCEL at the end may still be under way.
    let is_end = |ids: &Vec<u64>| ids.last().is_some_and(|id| id & CANCEL != 0);
    while is_end(&sent) {
        sent.pop();
    }
    while is_end(&received) {
        received.pop();
    }
    law!("order", sent == received, "{sent:?} {received:?}");
    law!("window", server.has_no_hole(), "a hole");
    law!("bytes", client.written == server.files[1], "file 1 is another");
    let count = sent.iter().filter(|id| *id & CANCEL == 0).count() as u64;
    law!("answers", client.finished == count, "{} of {count}", client.finished);
    if let Some(statistics) = &seen.own.statistics {
        let (outstanding, written) = (statistics.outstanding(), statistics.bytes.rdma_write);
        law!("statistics", outstanding == 0, "{outstanding} requests are outstanding");
        law!("statistics", written == server.bytes_written, "{written}, not {}", server.bytes_written);
    }
    Ok(())
}
