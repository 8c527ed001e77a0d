//! Connections that a listener does not let in.

use smbd_core::error::{ConnectError, ConnectReason};
use smbd_verbs::blocking::Connection;
use smbd_verbs::{ListenOptions, Listener, RejectReason};

use super::attempt::{attempt, attempt_at};
use super::pair::{Pair, next_request};
use super::ports;
use super::resources::Leaks;
use crate::case::{Context, Failure, Outcome};
use crate::settings;

const REFUSED: ConnectError = ConnectError::Connect(ConnectReason::Refused);

/// More connections than the listener allows, and room again when one has gone.
pub(super) fn too_many(context: &Context) -> Outcome {
    let leaks = Leaks::watch(context)?;
    let (at, config) = (ports::fresh(context), settings::of_the_kit()?);
    let options = ListenOptions { max_connections: 2, ..ListenOptions::default() };
    let mut listener = Listener::bind(at, options)?;
    let mut first = Pair::through(&mut listener, at, &config)?;
    let second = Pair::through(&mut listener, at, &config)?;
    let unexpected = |_| Err(Failure::from("the listener let a third connection in"));
    for _ in 0..2 {
        let third = attempt_at(&mut listener, at, &config, unexpected)?;
        third.is(REFUSED, RejectReason::Busy.text())?;
    }
    first.check()?;
    second.close()?;
    let mut third = Pair::through(&mut listener, at, &config)?;
    third.check()?;
    third.close()?;
    first.close()?;
    let counters = listener.counters();
    if (counters.taken, counters.refused, counters.failed, listener.connections()) != (3, 2, 0, 0) {
        return Err(format!("{counters:?}, {} connections left", listener.connections()).into());
    }
    drop(listener);
    leaks.none(context)?;
    Ok(format!("'{}'", RejectReason::Busy))
}

/// A request that is not answered yet counts, too.
pub(super) fn too_many_pending(context: &Context) -> Outcome {
    let leaks = Leaks::watch(context)?;
    let (at, config) = (ports::fresh(context), settings::of_the_kit()?);
    let options = ListenOptions { max_pending: 1, ..ListenOptions::default() };
    let mut listener = Listener::bind(at, options)?;
    std::thread::scope(|scope| {
        let initiator = scope.spawn(|| Connection::connect(at, &config));
        let pending = next_request(&mut listener)?;
        let unexpected = |_| Err(Failure::from("the listener let a second request in"));
        let second = attempt_at(&mut listener, at, &config, unexpected)?;
        second.is(REFUSED, RejectReason::Busy.text())?;
        let acceptor = Connection::accept(pending, &config)?;
        let initiator = initiator.join().map_err(|_| "the initiator panicked")??;
        Pair { initiator, acceptor }.close()
    })?;
    Pair::through(&mut listener, at, &config)?.close()?;
    drop(listener);
    leaks.none(context)?;
    Ok(format!("'{}'", RejectReason::Busy))
}

/// The upper layer does not want it, and says so or not.
pub(super) fn unwanted(context: &Context) -> Outcome {
    let leaks = Leaks::watch(context)?;
    let (at, config) = (ports::fresh(context), settings::of_the_kit()?);
    let mut listener = Listener::bind(at, ListenOptions::default())?;
    let reject = |incoming: smbd_verbs::Incoming| Ok(incoming.reject(RejectReason::Unwanted)?);
    let told = attempt_at(&mut listener, at, &config, reject)?;
    told.is(REFUSED, RejectReason::Unwanted.text())?;
    let dropped = attempt_at(&mut listener, at, &config, |incoming| {
        drop(incoming);
        Ok(())
    })?;
    dropped.is(REFUSED, "")?;
    drop(listener);
    let nobody = attempt(at, &config)?;
    nobody.is(REFUSED, "")?;
    leaks.none(context)?;
    Ok(format!("'{}', dropped, and nobody there: refused", told.text))
}
