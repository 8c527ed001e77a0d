//! The subject's device fails.

use std::time::Duration;

use smbd_core::WrId;
use smbd_core::error::{CloseReason, ConnectError, ConnectReason, DisconnectReason, WorkError};

use super::is_of_the_transport;
use crate::suite::basis::Basis;
use crate::suite::rig::{Opening, Work};
use crate::suite::words::{self, Words};
use crate::suite::{Data, EndEvent, Grant, Peer, Play, Request, Response, Stop, Terms, pattern};

/// What a refused post is reported as: the simulated device's invalid argument.
const REFUSED: WorkError = WorkError::PostFailed { errno: 22 };

/// The first thing that failed by itself, if any did.
pub(super) fn cause(peer: &mut Peer<'_>) -> Option<(WrId, WorkError)> {
    let failures = peer.upper_if_seen()?.failures();
    failures.iter().find(|(_, error)| *error != WorkError::Flushed).copied()
}

/// Closed with what failed first; as ended by the transport if nothing did but for the end.
pub(super) fn closed_with_its_cause(peer: &mut Peer<'_>, statements: &str) {
    let told = peer.closed(statements);
    let wanted = cause(peer).map(|(id, error)| CloseReason::Transport { id, error });
    let right = told.is_some_and(|told| wanted.map_or(is_of_the_transport(told), |wanted| told == wanted));
    peer.check(statements, right, || {
        let wanted = wanted.map_or("closed or lost".to_owned(), |wanted| wanted.to_string());
        let told = told.map_or_else(|| "nothing".into(), |told| told.to_string());
        format!("the reason should be: {wanted}; told was: {told}")
    });
}

/// A connection to whose subject the script grants credits, and has no receives for them.
fn no_receives(play: &mut Play) -> Result<Peer<'_>, Stop> {
    let mut terms = Terms { receives: 0, ..Terms::default() };
    // The receive for it takes the initiator's first message.
    terms.response.credits_granted = 1;
    let id = play.connect()?.id();
    let mut peer = play.peer(id);
    peer.repost(false);
    peer.negotiate(&terms)?;
    peer.settle();
    peer.upper()?.by_hand();
    peer.send(&Data { grant: Grant::Claimed(2), ..Data::empty() })?;
    peer.settle();
    Ok(play.peer(id))
}

pub(super) fn flush(play: &mut Play) -> Result<(), Stop> {
    const ALL: &str = "3.1.7.1-01";
    let mut peer = no_receives(play)?;
    let sent = peer.upper()?.send(pattern(161, 10), None);
    peer.require("", sent.is_ok(), || format!("10 bytes should be taken: {}", words::result(&sent)))?;
    closed_with_its_cause(&mut peer, ALL);
    let failures = peer.upper()?.failures().to_vec();
    let flushed = failures.iter().filter(|(_, error)| *error == WorkError::Flushed).count();
    peer.check("", flushed > 0, || {
        format!("receives should have been flushed, what failed: {}", failures.words())
    });

    let mut peer = play.established()?;
    peer.settle();
    peer.upper()?.break_device()?;
    let told = peer.closed(ALL);
    let failures = peer.upper()?.failures().to_vec();
    let all = !failures.is_empty() && failures.iter().all(|(_, error)| *error == WorkError::Flushed);
    let lost = Some(CloseReason::Lost { reason: DisconnectReason::Unknown });
    peer.check(ALL, all && told == lost, || {
        let told = told.map_or_else(|| "nothing".into(), |told| told.to_string());
        format!(
            "flushes alone should be told as a lost connection, told was: {told}; failed: {}",
            failures.words()
        )
    });
    Ok(())
}

/// Has the subject's device refuse work, sets the connection up as far as the script can, and returns it.
fn refusing<'p>(
    play: &'p mut Play,
    opening: &Opening,
    refuse: Option<(Work, usize)>,
) -> Result<Peer<'p>, Stop> {
    let id = play.prepare(opening)?;
    if let Some((work, accepted)) = refuse {
        play.peer(id).upper()?.refuse_after(work, accepted)?;
    }
    play.go(id)?;
    play.pass(Duration::from_secs(1));
    let accepts = play.subject_accepts();
    let mut peer = play.peer(id);
    if peer.limits().is_some() && !peer.is_down() && accepts {
        peer.request(&Request::default())?;
    }
    Ok(peer)
}

/// There was a transport connection: where none comes up, nothing is known of what goes over it.
fn is_connected(peer: &mut Peer<'_>) -> Result<(), Stop> {
    if peer.limits().is_some() {
        return Ok(());
    }
    Err(peer.play().without(Basis::Transport, "no transport connection came up".into()))
}

pub(super) fn negotiation_message(play: &mut Play) -> Result<(), Stop> {
    let accepts = play.subject_accepts();
    let all = if accepts { "3.1.5.3-17" } else { "3.1.5.2-10" };
    let mut peer = refusing(play, &Opening::default(), Some((Work::Sends, 0)))?;
    is_connected(&mut peer)?;
    peer.ends(all);
    let told = peer.told_the_end(all);
    failed_with(&mut peer, all, told, accepts);
    let (id, error) = cause(&mut peer).ok_or(Stop::Failed)?;
    peer.check(all, matches!(id, WrId::Send(_)) && error == REFUSED, || {
        format!("the device should have refused a send, it said {error} of {id}")
    });
    // Taken by the device, and refused by that of the script, which has no receive for it.
    let mut peer = refusing(play, &Opening { receives: 0, ..Opening::default() }, None)?;
    is_connected(&mut peer)?;
    let told = peer.told_the_end(all);
    failed_with(&mut peer, all, told, accepts);
    Ok(())
}

/// Told as what failed. An acceptor announces a connection when the response is with the device: then it is closed.
fn failed_with(peer: &mut Peer<'_>, statements: &str, told: Option<EndEvent>, may_be_closed: bool) {
    let cause = cause(peer);
    let right = match (told, cause) {
        (Some(EndEvent::NotConnected(error)), Some((id, cause))) => {
            error == ConnectError::Transport { id, error: cause }
        }
        (Some(EndEvent::NotConnected(error)), None) => {
            matches!(error, ConnectError::PeerClosed | ConnectError::Lost { .. })
        }
        (Some(EndEvent::Closed(reason)), Some((id, error))) => {
            may_be_closed && reason == CloseReason::Transport { id, error }
        }
        (Some(EndEvent::Closed(reason)), None) => may_be_closed && is_of_the_transport(reason),
        (None, _) => false,
    };
    peer.check(statements, right, || {
        format!("connecting should fail, by what failed first: {}; told was: {}", cause.words(), told.words())
    });
}

pub(super) fn receive(play: &mut Play) -> Result<(), Stop> {
    let accepts = play.subject_accepts();
    let negotiation = if accepts { "3.1.7.2-05" } else { "3.1.5.9-06" };
    let mut peer = refusing(play, &Opening::default(), Some((Work::Receives, 0)))?;
    let told = peer.told_the_end(negotiation);
    refused_receive(&mut peer, negotiation, told);
    let connected = peer.limits().is_some();
    peer.check(negotiation, !connected, || {
        "without a receive there should be no transport connection".into()
    });

    let first = "3.1.5.9-06";
    let mut peer = ends_without_receives(play, first)?;
    let told = peer.told_the_end(first);
    refused_receive(&mut peer, first, told);

    let mut peer = play.established()?;
    peer.exchange("3.1.5.8-24", 168, 100)?;
    peer.settle();
    peer.upper()?.refuse_after(Work::Receives, 0)?;
    // For the first there may be one posted beyond what was asked for.
    for seed in [168, 169] {
        peer.send(&Data::of(&pattern(seed, 100)))?;
    }
    peer.ends("3.1.5.9-06");
    let told = peer.told_the_end("3.1.5.9-06");
    refused_receive(&mut peer, "3.1.5.9-06", told);
    Ok(())
}

/// The device takes the receive for the negotiation, and none behind it: the connection ends.
fn ends_without_receives<'p>(play: &'p mut Play, statements: &str) -> Result<Peer<'p>, Stop> {
    let accepts = play.subject_accepts();
    let mut peer = refusing(play, &Opening::default(), Some((Work::Receives, 1)))?;
    is_connected(&mut peer)?;
    if !accepts {
        peer.asked("")?;
        peer.respond(&Response::default())?;
    }
    peer.ends(statements);
    Ok(peer)
}

fn refused_receive(peer: &mut Peer<'_>, statements: &str, told: Option<EndEvent>) {
    let right = matches!(
        told,
        Some(
            EndEvent::NotConnected(ConnectError::Transport { id: WrId::Recv(_), error: REFUSED })
                | EndEvent::Closed(CloseReason::Transport { id: WrId::Recv(_), error: REFUSED })
        )
    );
    peer.check(statements, right, || {
        format!("the refused receive should be the reason, told was: {}", told.words())
    });
}

pub(super) fn first_receive(play: &mut Play) -> Result<(), Stop> {
    let accepts = play.subject_accepts();
    let all = if accepts { "3.1.5.6-19" } else { "3.1.5.7-19" };
    let mut peer = ends_without_receives(play, all)?;
    // Told of a connection first or not (NE-17).
    peer.told_the_end(all);
    Ok(())
}

pub(super) fn connect(play: &mut Play) -> Result<(), Stop> {
    for reason in [ConnectReason::Refused, ConnectReason::Unreachable, ConnectReason::TimedOut] {
        let failing = Some((reason, Duration::from_millis(50)));
        let id = play.open(&Opening { failing, ..Opening::default() })?;
        let mut peer = play.peer(id);
        let told = peer.not_connected("3.1.4.1-15");
        peer.check("3.1.4.1-13", told == Some(ConnectError::Connect(reason)), || {
            let told = told.map_or_else(|| "nothing".into(), |told| told.to_string());
            format!("connect should fail with: {reason}; told was: {told}")
        });
        let came = peer.limits().is_some();
        peer.check("", !came, || "there should be no transport connection".into());
    }
    let mut peer = play.connect_as("3.1.4.1-12", &Opening::default())?;
    peer.negotiate(&Terms::default())?;
    peer.goes_on("3.1.5.7-22")
}
