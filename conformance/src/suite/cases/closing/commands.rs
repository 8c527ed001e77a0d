//! Commands that are unfinished when the connection ends.

use std::time::Duration;

use smbd_core::error::{Aborted, OpError, RegistrationError, WorkError};
use smbd_core::{Access, Close, MsgId, OpId, RdmaVerb, RegId};

use super::device::{cause, closed_with_its_cause};
use super::is_of_the_transport;
use crate::suite::basis::Basis;
use crate::suite::rig::{Told, Work};
use crate::suite::words::Words;
use crate::suite::{Data, Grant, Peer, Play, Registered, Stop, Terms, pattern};

const MIB: usize = 1 << 20;
const SEND: &str = "3.1.4.2-04 3.1.5.4-25 +3.1.5.1-18";
const WRITE: &str = "3.1.4.5-06";
const READ: &str = "3.1.4.6-06";

/// What is under way.
struct Commanded {
    messages: [MsgId; 2],
    read: OpId,
    write: OpId,
    registering: RegId,
    deregistering: RegId,
}

/// A connection on which the subject has two credits and a registration, and the script so many receives.
fn two_credits(play: &mut Play, receives: u16) -> Result<(Peer<'_>, [Registered; 2], RegId), Stop> {
    let mut terms = Terms { receives: 0, ..Terms::default() };
    // The initiator spends it on its first message.
    terms.response.credits_granted = 1;
    let mut peer = play.connect()?;
    peer.repost(false);
    peer.negotiate(&terms)?;
    peer.settle();
    peer.upper()?.by_hand();
    let read = peer.register(&pattern(1, MIB), Access::Read)?;
    let write = peer.register(&pattern(2, MIB), Access::Write)?;
    let own = peer.upper()?.register(&pattern(3, 4096), Access::Read);
    let own = own.map_err(|error| Stop::Broken(format!("registration: {error}")))?;
    let registered = peer.until_told(Duration::from_secs(1), |told| *told == Told::Registered(own, Ok(())));
    peer.require("", registered, || "the subject's registration should be valid within 1 s".into())?;
    peer.post_receives(receives)?;
    peer.send(&Data { grant: Grant::Claimed(2), ..Data::empty() })?;
    peer.settle();
    let granted = peer.granted();
    if granted != 2 {
        let because = format!("the subject should have 2 credits, it has {granted}");
        return Err(peer.play().without(Basis::Quiet, because));
    }
    Ok((peer, [read, write], own))
}

/// Everything that can be commanded, at once.
fn command(peer: &mut Peer<'_>, remote: &[Registered; 2], own: RegId) -> Result<Commanded, Stop> {
    let broken = |what: &str| Stop::Broken(format!("the subject does not take {what}"));
    let [read, write] = remote;
    let local = pattern(4, MIB);
    let upper = peer.upper()?;
    let long = upper.send(pattern(5, 5000), None).map_err(|_| broken("a message"))?;
    let short = upper.send(pattern(6, 10), None).map_err(|_| broken("a message"))?;
    let read = upper.rdma(RdmaVerb::Read, &local, &read.descriptors, 0).map_err(|_| broken("a read"))?;
    let write = upper.rdma(RdmaVerb::Write, &local, &write.descriptors, 0).map_err(|_| broken("a write"))?;
    let registering = upper.register(&local, Access::Write).map_err(|_| broken("a registration"))?;
    upper.deregister(own).map_err(|_| broken("a deregistration"))?;
    Ok(Commanded { messages: [long, short], read, write, registering, deregistering: own })
}

/// Each command has one result, before the end is told; messages are not sent, in order; what else is not done is aborted.
fn each_once(peer: &mut Peer<'_>, commanded: &Commanded) {
    let is_real = peer.play().is_real();
    let all = peer.told();
    let end = all.iter().position(|(_, told)| matches!(told, Told::Closed(_))).unwrap_or_default();
    let told: Vec<_> = all.into_iter().take(end).map(|(_, told)| told).collect();
    let sent: Vec<_> = told.iter().filter(|told| matches!(told, Told::Sent(..))).cloned().collect();
    let wanted = commanded.messages.map(|msg| Told::Sent(msg, Err(Aborted)));
    peer.check(SEND, sent == wanted, || {
        format!("both messages should end as aborted, in order, told was: {}", sent.words())
    });
    let mut once = |statements: &str, what: &str, is: &dyn Fn(&Told) -> Option<bool>| {
        let results: Vec<_> = told.iter().filter_map(is).collect();
        peer.check(statements, results == [true], || {
            let (count, told) = (results.len(), told.words());
            format!("{what} should have one result, success or aborted; it has {count}, told was: {told}")
        });
    };
    let operation = |wanted: OpId| {
        move |told: &Told| match told {
            Told::RdmaDone(op, result) if *op == wanted => Some(match result {
                Ok(()) | Err(OpError::Aborted(_)) => true,
                // siw has no other word for what a peer that leaves does not take any more.
                Err(OpError::Work(error)) => is_real && *error == WorkError::LocalOperation,
                Err(_) => false,
            }),
            _ => None,
        }
    };
    once(READ, "the read", &operation(commanded.read));
    once(WRITE, "the write", &operation(commanded.write));
    let good = |result: &Result<(), RegistrationError>| {
        matches!(result, Ok(()) | Err(RegistrationError::Aborted(_)))
    };
    once("3.1.7.1-01", "the registration", &|told| match told {
        Told::Registered(id, result) if *id == commanded.registering => Some(good(result)),
        _ => None,
    });
    once("3.1.7.1-01", "the deregistration", &|told| match told {
        Told::Deregistered(id, result) if *id == commanded.deregistering => Some(good(result)),
        _ => None,
    });
}

pub(super) fn every_result(play: &mut Play) -> Result<(), Stop> {
    let (mut peer, remote, own) = two_credits(play, 10)?;
    let commanded = command(&mut peer, &remote, own)?;
    // The first fragment of five.
    peer.back("3.1.5.1-17", 5000, Duration::from_secs(5))?;
    peer.disconnect()?;
    let told = peer.closed("3.1.7.1-01");
    peer.check("3.1.7.1-01", told.is_some_and(is_of_the_transport), || {
        let told = told.map_or_else(|| "nothing".into(), |told| told.to_string());
        format!("the peer has closed the connection, told was: {told}")
    });
    each_once(&mut peer, &commanded);

    play.step("the device refuses to post the second fragment");
    let (mut peer, remote, own) = two_credits(play, 10)?;
    peer.upper()?.refuse_after(Work::Sends, 1)?;
    let commanded = command(&mut peer, &remote, own)?;
    // The first fragment, unless the end overtakes it.
    peer.next(Duration::from_secs(5));
    peer.must_end("3.1.5.4-25");
    closed_with_its_cause(&mut peer, "3.1.7.1-01 +3.1.5.1-18");
    let refused = cause(&mut peer).is_some();
    peer.check("", refused, || "the device should have refused a fragment".into());
    each_once(&mut peer, &commanded);

    play.step("the device takes the second fragment, and the script has no receive for it");
    let (mut peer, remote, own) = two_credits(play, 1)?;
    let commanded = command(&mut peer, &remote, own)?;
    closed_with_its_cause(&mut peer, "3.1.7.1-01");
    each_once(&mut peer, &commanded);

    two_messages(play, "the script has no receive for either of two messages", 0, |_| Ok(()))?;
    two_messages(play, "the upper layer closes while two messages are with the device", 10, |peer| {
        // They are posted, and not yet acknowledged.
        peer.play().pass(Duration::from_nanos(500));
        let now = peer.play().now();
        peer.upper()?.endpoint_mut().close(now, Close::Abort);
        Ok(())
    })
}

/// Two messages as long as a fragment; what becomes of them.
fn two_messages(
    play: &mut Play,
    step: &str,
    receives: u16,
    meanwhile: impl FnOnce(&mut Peer<'_>) -> Result<(), Stop>,
) -> Result<(), Stop> {
    play.step(step);
    let (mut peer, ..) = two_credits(play, receives)?;
    let upper = peer.upper()?;
    let sent = [7, 8].map(|seed| upper.send(pattern(seed, 10), None));
    let [Ok(first), Ok(second)] = sent else {
        return Err(Stop::Broken("the subject does not take two messages".into()));
    };
    meanwhile(&mut peer)?;
    peer.closed("3.1.7.1-01");
    let told: Vec<_> = peer.told().into_iter().map(|(_, told)| told).collect();
    let results: Vec<_> = told.iter().filter(|told| matches!(told, Told::Sent(..))).cloned().collect();
    let of =
        |results: [Result<(), Aborted>; 2]| [Told::Sent(first, results[0]), Told::Sent(second, results[1])];
    // A device that does not wait for the peer may have done its part.
    let right = results == of([Err(Aborted); 2])
        || results == of([Ok(()), Err(Aborted)])
        || results == of([Ok(()); 2]);
    peer.check(SEND, right, || {
        format!("both should have one result, in order, told was: {}", results.words())
    });
    let failed = cause(&mut peer).is_some();
    // A device that does not wait for the peer may have handed the first over before the second failed.
    let handed_over = peer.play().is_real() && results == of([Ok(()), Err(Aborted)]);
    peer.check("3.1.5.1-18", !failed || handed_over || results == of([Err(Aborted); 2]), || {
        format!("what the device failed to send was not sent, told was: {}", results.words())
    });
    Ok(())
}
