//! Peers that die in the middle of a transfer.

use std::thread;

use smbd_core::error::CloseReason;
use smbd_verbs::{Clock, ListenOptions};

use super::access::end_of;
use super::ports;
use super::resources::Leaks;
use super::serving::{How, Serving};
use super::traffic::{self, Traffic};
use super::victim::{Part, Victim};
use crate::case::{Context, Failure, Outcome};
use crate::patience::PATIENCE;

pub(super) fn acceptor_killed(context: &Context) -> Outcome {
    let leaks = Leaks::watch(context)?;
    let at = ports::fresh(context);
    let victim = Victim::start(Part::Server, at)?;
    let mut traffic = Traffic::begin(at, &traffic::config()?)?;
    (0..3).try_for_each(|_| traffic.round())?;
    let killer = thread::spawn(move || victim.kill().map_err(|failure| failure.to_string()));
    let reason = until_it_ends(traffic)?;
    killer.join().map_err(|_| "the killer panicked")??;
    leaks.none(context)?;
    Ok(format!("'{reason}'"))
}

pub(super) fn initiator_killed(context: &Context) -> Outcome {
    let leaks = Leaks::watch(context)?;
    let at = ports::fresh(context);
    let serving = Serving::start(at, &traffic::config()?, ListenOptions::default())?;
    Victim::start(Part::Client, at)?.kill()?;
    let how = end_at(&serving)?;
    // It serves the next one.
    let mut traffic = Traffic::begin(at, &traffic::config()?)?;
    traffic.round()?;
    traffic.client.close()?;
    serving.stop()?;
    leaks.none(context)?;
    Ok(format!("'{how}'"))
}

/// Works until the connection ends; how it did.
pub(crate) fn until_it_ends(mut traffic: Traffic) -> Result<CloseReason, Failure> {
    let clock = Clock::start();
    let until = clock.now().saturating_add(PATIENCE);
    while traffic.round().is_ok() {
        if clock.now() >= until {
            return Err("the peer is gone and the traffic goes on".into());
        }
    }
    let reason = end_of(traffic.client.connection)?;
    check(reason)?;
    Ok(reason)
}

/// How a connection ended at the server.
pub(crate) fn end_at(serving: &Serving) -> Result<CloseReason, Failure> {
    match serving.ended(PATIENCE)?.how {
        Some(How::Closed(reason)) => check(reason).map(|()| reason),
        other => Err(format!("the server says {other:?}").into()),
    }
}

fn check(reason: CloseReason) -> Result<(), Failure> {
    match reason {
        CloseReason::PeerClosed
        | CloseReason::Lost { .. }
        | CloseReason::Transport { .. }
        | CloseReason::KeepaliveTimeout => Ok(()),
        other => Err(format!("the connection ended with '{other}'").into()),
    }
}
