//! Tokens that the peer invalidates.

use std::hint;
use std::sync::{Arc, Barrier};
use std::thread;

use smbd_core::{Access, BufferDescriptorV1, RdmaVerb};
use smbd_tools::exercise::pattern;
use smbd_verbs::Buffer;
use smbd_verbs::blocking::{Connection, Failure as Blocked, Registration};

use super::access::end_of;
use super::pair::{Pair, only};
use super::resources::Leaks;
use crate::case::{Context, Failure, Outcome};
use crate::patience::PATIENCE;
use crate::settings;

const LEN: u32 = 4096;

/// The message that invalidates arrives; where devices tell of it, the token is told once; memory is free again, and
/// can be registered anew.
pub(super) fn with_a_message(context: &Context) -> Outcome {
    let leaks = Leaks::watch(context)?;
    let mut pair = Pair::new(context, &settings::of_the_kit()?)?;
    let is_told = pair.initiator.backend().remote_invalidation();
    let buffer = Buffer::new(LEN)?;
    for (round, len) in [1, 40, 3000].into_iter().enumerate() {
        let registration = pair.initiator.register(&buffer, Access::Write)?;
        let remote = only(&registration)?;
        pair.valid()?;
        pair.acceptor.rdma(RdmaVerb::Write, &Buffer::new(LEN)?, &[remote].into(), 0, LEN)?;
        let message = pattern(round as u64, len);
        pair.acceptor.send_invalidating(message.clone(), remote.token)?;
        pair.acceptor.flush()?;
        if pair.initiator.recv(PATIENCE)? != message {
            return Err(format!("the message of {len} bytes came as another").into());
        }
        let told = [pair.initiator.invalidated(), pair.initiator.invalidated()];
        if told != [is_told.then_some(remote.token), None] {
            return Err(format!("{} was invalidated, {told:?} was told", remote.token).into());
        }
        pair.initiator.deregister(&registration)?;
        pair.check()?;
    }
    pair.close()?;
    leaks.none(context)?;
    Ok(if is_told { "told each time, once" } else { "tokens end, no device tells of it" }.to_owned())
}

/// After the invalidation the token is dead, before it is deregistered.
pub(super) fn ends_access(context: &Context) -> Outcome {
    let leaks = Leaks::watch(context)?;
    let mut pair = Pair::new(context, &settings::of_the_kit()?)?;
    let (buffer, other) = (Buffer::new(LEN)?, super::pair::buffer_of(1, LEN)?);
    let registration = pair.initiator.register(&buffer, Access::ReadWrite)?;
    let remote: Arc<[BufferDescriptorV1]> = registration.descriptors.clone().into();
    pair.valid()?;
    pair.acceptor.send_invalidating(pattern(0, 10), only(&registration)?.token)?;
    pair.acceptor.flush()?;
    pair.initiator.recv(PATIENCE)?;
    // Complete on a byte stream before the other side has looked at it.
    let _ = pair.acceptor.rdma(RdmaVerb::Write, &other, &remote, 0, LEN);
    let (offender, victim) = (end_of(pair.acceptor)?, end_of(pair.initiator)?);
    if super::pair::contents(&buffer)?.iter().any(|byte| *byte != 0) {
        return Err("a token that was invalidated still lets the peer write".into());
    }
    leaks.none(context)?;
    Ok(format!("'{offender}', '{victim}'"))
}

/// Rounds of the race.
const ROUNDS: u32 = 40;

/// The peer invalidates while the owner deregisters. A peer that is too late has invalidated what is not there, which
/// may end the connection; nothing is invalidated twice, which a kernel would not survive.
pub(super) fn against_deregistration(context: &Context) -> Outcome {
    let leaks = Leaks::watch(context)?;
    let mut pair = Pair::new(context, &settings::of_the_kit()?)?;
    let buffer = Buffer::new(LEN)?;
    let (mut first, mut late, mut ended) = (0, 0, 0);
    for round in 0..ROUNDS {
        let registration = pair.initiator.register(&buffer, Access::Write)?;
        pair.valid()?;
        let raced = race(&mut pair, &registration, round)?;
        match raced {
            Raced::InvalidatedFirst => first += 1,
            Raced::Survived => late += 1,
            Raced::Ended => {
                ended += 1;
                let Pair { initiator, acceptor } = pair;
                end_of(initiator)?;
                end_of(acceptor)?;
                pair = Pair::new(context, &settings::of_the_kit()?)?;
            }
        }
    }
    pair.close()?;
    leaks.none(context)?;
    Ok(format!("{ROUNDS} races: {first} told, {late} not told, {ended} ended the connection"))
}

enum Raced {
    InvalidatedFirst,
    Survived,
    Ended,
}

fn race(pair: &mut Pair, registration: &Registration, round: u32) -> Result<Raced, Failure> {
    let token = only(registration)?.token;
    let start = Barrier::new(2);
    let Pair { initiator, acceptor } = pair;
    let (owner, peer) = thread::scope(|scope| {
        let peer = scope.spawn(|| {
            start.wait();
            (0..round % 8 * 2000).for_each(|_| hint::spin_loop());
            acceptor.send_invalidating(pattern(0, 10), token)?;
            acceptor.flush()
        });
        start.wait();
        (0..round / 8 * 2000).for_each(|_| hint::spin_loop());
        let owner = initiator.deregister(registration).and_then(|()| message_or_end(initiator));
        (owner, peer.join())
    });
    let peer = peer.map_err(|_| "the peer panicked")?;
    match (owner, peer) {
        (Ok(()), Ok(())) if initiator.invalidated().is_some() => Ok(Raced::InvalidatedFirst),
        (Ok(()), Ok(())) => Ok(Raced::Survived),
        (Err(Blocked::TimedOut), _) => Err("neither the message nor the end came".into()),
        // The end of a connection, told by whatever was asked of it.
        (Err(_), _) | (_, Err(_)) => Ok(Raced::Ended),
    }
}

fn message_or_end(connection: &mut Connection) -> Result<(), Blocked> {
    connection.recv(PATIENCE).map(|_| ())
}
