//! Memory of the subject that the script accesses: connection, rights, and lifetime.

use std::time::Duration;

use smbd_core::error::{RegistrationError, WorkError};
use smbd_core::{Access, BufferDescriptorV1, RdmaVerb, Token};
use smbd_tools::exercise::digest;

use super::pieces::part;
use crate::suite::rig::{Ability, Told, Work};
use crate::suite::words::{self, Words};
use crate::suite::{Data, Offer, Peer, Play, Stop, pattern};

const RIGHTS: &str = "2.2.3.1-02 2.2.3.1-03 2.2.3.1-04 3.1.4.3-01";
/// Bytes of an offer of one segment.
const PAGE: u32 = 4096;
/// Bytes of an offer that a device may make several segments of.
const LONG: u32 = 5 << 20;

/// What the script reads is what is there.
fn reads_all(peer: &mut Peer<'_>, statements: &str, offer: &Offer) -> Result<(), Stop> {
    reads_as(peer, statements, statements, offer)
}

/// The same, where it is one thing that memory can be read, and another that it holds what is there.
fn reads_as(peer: &mut Peer<'_>, opens: &str, statements: &str, offer: &Offer) -> Result<(), Stop> {
    let came = peer.read_offer(opens, offer)?;
    let wrong = came.iter().zip(&offer.content).position(|(came, there)| came != there);
    let (len, total) = (came.len(), offer.content.len());
    peer.check(statements, len == total && wrong.is_none(), || {
        let wrong = words::number(wrong);
        format!("{total} bytes should be read as they are, {len} came, the first wrong one at: {wrong}")
    });
    Ok(())
}

/// What the script writes is there afterwards.
fn writes_all(peer: &mut Peer<'_>, statements: &str, offer: &Offer) -> Result<(), Stop> {
    let bytes = pattern(71, offer.content.len());
    peer.write_offer(statements, offer, &bytes)?;
    let hash = peer.hash_of_offer(statements, offer)?;
    peer.check(statements, hash == digest(&bytes), || "what is there is not what was written".into());
    Ok(())
}

/// What may not be done with an offer ends the connection, and leaves the memory as it is.
fn barred(
    play: &mut Play,
    statements: &str,
    access: Access,
    verb: RdmaVerb,
    remote: fn(BufferDescriptorV1) -> BufferDescriptorV1,
) -> Result<(), Stop> {
    let mut peer = play.established()?;
    let offer = peer.offer(statements, access, PAGE)?;
    let Some(first) = offer.descriptors.first() else {
        return peer.require(statements, false, || "there should be a descriptor".into());
    };
    peer.is_barred(statements, verb, remote(*first))?;
    unchanged(&mut peer, statements, &offer);
    Ok(())
}

fn unchanged(peer: &mut Peer<'_>, statements: &str, offer: &Offer) {
    if let Some(now) = peer.look_at_offer(offer) {
        peer.check(statements, now == offer.content, || "bytes of the subject are changed".into());
    }
}

pub(super) fn rights(play: &mut Play) -> Result<(), Stop> {
    const ONE: fn(BufferDescriptorV1) -> BufferDescriptorV1 = |all| BufferDescriptorV1 { length: 1, ..all };
    let mut peer = play.established()?;
    let offer = peer.offer(RIGHTS, Access::Read, PAGE)?;
    reads_all(&mut peer, RIGHTS, &offer)?;
    let offer = peer.offer(RIGHTS, Access::Write, PAGE)?;
    writes_all(&mut peer, RIGHTS, &offer)?;
    if peer.offers_anything() {
        let offer = peer.offer(RIGHTS, Access::ReadWrite, PAGE)?;
        reads_all(&mut peer, RIGHTS, &offer)?;
        writes_all(&mut peer, RIGHTS, &offer)?;
        let back = peer.read_offer(RIGHTS, &offer)?;
        peer.check(RIGHTS, back == pattern(71, offer.content.len()), || {
            "what was written is not read".into()
        });
    }

    const ACCESS: &str = "3.1.4.3-01";
    barred(play, ACCESS, Access::Read, RdmaVerb::Write, ONE)?;
    if play.can(Ability::ReadRights) {
        barred(play, ACCESS, Access::Write, RdmaVerb::Read, ONE)?;
    }
    const OFFSET: &str = "2.2.3.1-02 3.1.4.3-01";
    const LENGTH: &str = "2.2.3.1-04 3.1.4.3-01";
    const TOKEN: &str = "2.2.3.1-03 3.1.4.3-01";
    for verb in [RdmaVerb::Read, RdmaVerb::Write] {
        let access = play.offered_for(verb);
        barred(play, OFFSET, access, verb, |all| {
            ONE(BufferDescriptorV1 { offset: all.offset.wrapping_sub(1), ..all })
        })?;
        barred(play, LENGTH, access, verb, |all| {
            ONE(BufferDescriptorV1 { offset: all.offset.wrapping_add(all.length.into()), ..all })
        })?;
        barred(play, LENGTH, access, verb, |all| BufferDescriptorV1 { length: all.length + 1, ..all })?;
        barred(play, TOKEN, access, verb, |all| {
            ONE(BufferDescriptorV1 { token: Token(all.token.0.wrapping_add(1)), ..all })
        })?;
    }
    Ok(())
}

const BOTH: [RdmaVerb; 2] = [RdmaVerb::Read, RdmaVerb::Write];

pub(super) fn other_connection(play: &mut Play) -> Result<(), Stop> {
    const FOREIGN: &str = "3.1.4.3-01";
    const GONE: &str = "3.1.4.4-03 3.1.7.1-02";
    play.needs_several_connections()?;
    let access = play.offered_for(RdmaVerb::Read);
    let verbs = if access == Access::ReadWrite { &BOTH[..] } else { &BOTH[..1] };
    let mut peer = play.established()?;
    let (first, offer) = (peer.id(), peer.offer(FOREIGN, access, PAGE)?);
    for verb in verbs.iter().copied() {
        for remote in &offer.descriptors {
            play.established()?.is_barred(FOREIGN, verb, *remote)?;
        }
        let mut peer = play.peer(first);
        reads_all(&mut peer, FOREIGN, &offer)?;
        peer.returns(FOREIGN)?;
    }
    play.step("a bad message ends the first connection");
    let mut peer = play.peer(first);
    peer.send(&Data::empty().requesting(0))?;
    peer.ends("3.1.7.1-02");
    peer.closed("3.1.7.1-02");
    for remote in &offer.descriptors {
        play.established()?.is_barred(GONE, RdmaVerb::Read, *remote)?;
    }
    unchanged(&mut play.peer(first), GONE, &offer);
    Ok(())
}

pub(super) fn descriptors(play: &mut Play) -> Result<(), Stop> {
    const COVER: &str = "2.2.3.1-04 3.1.4.3-05";
    let mut peer = play.established()?;
    let lengths = if peer.offers_anything() { &[1, PAGE, 1 << 20, 8 << 20][..] } else { &[PAGE] };
    for length in lengths.iter().copied() {
        let offer = peer.offer("3.1.4.3-02", Access::Read, length)?;
        let length = offer.content.len();
        let count = offer.descriptors.len();
        let lengths: u64 = offer.descriptors.iter().map(|descriptor| u64::from(descriptor.length)).sum();
        peer.check(COVER, lengths == length as u64, || {
            format!("the Lengths of {count} descriptors should add up to {length}, they do to {lengths}")
        });
        let empty = offer.descriptors.iter().any(|descriptor| descriptor.length == 0);
        peer.check(COVER, count > 0 && !empty, || {
            format!("no descriptor should be empty, there are {count}")
        });
        // As numbers whose first byte is the least significant one: it is these that work.
        let tail = offer.answer.len().saturating_sub(count * 16);
        let told: Vec<_> = offer.answer[tail..].chunks_exact(16).map(little_endian).collect();
        peer.check("2.2.3.1-01", told == offer.descriptors, || {
            let (wanted, told) = (offer.descriptors.words(), told.words());
            format!("these descriptors should be at the end of the answer: {wanted}; there are: {told}")
        });
        const OPENS: &str = "2.2.3.1-01 +2.2.3.1-04 +3.1.4.3-02";
        reads_as(&mut peer, OPENS, "3.1.4.3-05 +2.2.3.1-01", &Offer { descriptors: told, ..offer })?;
    }
    Ok(())
}

/// The layout of 2.2.3.1, byte by byte.
fn little_endian(bytes: &[u8]) -> BufferDescriptorV1 {
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
    let word = |bytes: &[u8]| u32::try_from(number(bytes)).unwrap_or_default();
    BufferDescriptorV1 {
        offset: number(&bytes[..8]),
        token: Token(word(&bytes[8..12])),
        length: word(&bytes[12..]),
    }
}

/// How often the upper layer was told such a thing.
fn times(peer: &mut Peer<'_>, wanted: impl Fn(&Told) -> bool) -> usize {
    peer.told().iter().filter(|(_, told)| wanted(told)).count()
}

pub(super) fn failed_registration(play: &mut Play) -> Result<(), Stop> {
    const TOLD: &str = "3.1.4.3-03";
    const SHUT: &str = "3.1.4.3-04";
    let mut peer = play.established()?;
    peer.settle();
    let upper = peer.upper()?;
    upper.by_hand();
    // The device takes the first segment and refuses the second; or the only one.
    let in_part = upper.refuse_after(Work::Registrations, 1).is_ok();
    if !in_part {
        upper.refuse_after(Work::Registrations, 0)?;
    }
    let id = upper.register(&pattern(72, LONG as usize), Access::ReadWrite);
    let Ok(id) = id else {
        return peer.require("", false, || format!("the command should be taken: {}", words::result(&id)));
    };
    let came = peer.until_told(Duration::from_secs(12), |told| matches!(told, Told::Registered(..)));
    peer.require(TOLD, came, || "the upper layer should be told how the registration ended".into())?;
    let result = peer.told().into_iter().find_map(|(_, told)| match told {
        Told::Registered(told, result) if told == id => Some(result),
        _ => None,
    });
    let refused = matches!(result, Some(Err(RegistrationError::Work(WorkError::PostFailed { .. }))));
    peer.check(TOLD, refused, || {
        let result = result.map_or_else(|| "nothing".into(), |result| words::result(&result));
        format!("the registration should end with the device's error, it ended with: {result}")
    });
    if in_part {
        let opened = peer.upper()?.opened().to_vec();
        peer.require(SHUT, !opened.is_empty(), || "the device should have opened the first segment".into())?;
        let first = part(&opened, 0, 1);
        peer.is_barred(SHUT, RdmaVerb::Read, first[0])?;
    }
    let told = times(&mut peer, |told| matches!(told, Told::Registered(..)));
    peer.check(TOLD, told == 1, || format!("its end should be told once, it was {told} times"));

    let mut peer = play.established()?;
    let offer = peer.offer(SHUT, Access::Read, LONG)?;
    reads_all(&mut peer, SHUT, &offer)
}

pub(super) fn deregistration(play: &mut Play) -> Result<(), Stop> {
    const DONE: &str = "3.1.4.4-01 3.1.4.4-03";
    let mut index = 0;
    loop {
        let mut peer = play.established()?;
        let access = peer.play().offered_for(RdmaVerb::Read);
        let offer = peer.offer("", access, LONG)?;
        // That it can be read before, other cases are about.
        reads_all(&mut peer, "", &offer)?;
        peer.withdraw(DONE, &offer)?;
        let Some(remote) = offer.descriptors.get(index) else { return Ok(()) };
        let reads = index % 2 == 0 || access == Access::Read;
        let verb = if reads { RdmaVerb::Read } else { RdmaVerb::Write };
        peer.is_barred(DONE, verb, BufferDescriptorV1 { length: 1, ..*remote })?;
        unchanged(&mut peer, DONE, &offer);
        index += 1;
    }
}

pub(super) fn failed_deregistration(play: &mut Play) -> Result<(), Stop> {
    const TOLD: &str = "3.1.4.4-02";
    const OPEN: &str = "3.1.4.4-03";
    let of = |told: &Told| matches!(told, Told::Deregistered(..));
    let mut peer = play.established()?;
    let offer = peer.offer(OPEN, Access::ReadWrite, LONG)?;
    let Some(id) = offer.registration else {
        return Err(Stop::Broken("the upper layer was told of no registration".into()));
    };
    let upper = peer.upper()?;
    upper.by_hand();
    upper.fail_deregistrations(1);
    for (attempt, fails) in [(1, true), (2, false)] {
        let command = peer.upper()?.deregister(id);
        peer.require(TOLD, command.is_ok(), || {
            format!("deregister should be taken: {}", words::result(&command))
        })?;
        peer.play().pass(Duration::from_secs(1));
        let all: Vec<_> = peer.told().into_iter().map(|(_, told)| told).filter(of).collect();
        let right = match all.last() {
            Some(Told::Deregistered(told, result)) => *told == id && result.is_err() == fails,
            _ => false,
        };
        peer.check(TOLD, right && all.len() == attempt, || {
            let wanted = if fails { "an error" } else { "success" };
            format!("deregistration {attempt} should end with {wanted}, once; told was: {}", all.words())
        });
        if fails {
            // It was not reported as done, and it is not.
            reads_all(&mut peer, OPEN, &offer)?;
        }
    }
    let Some(remote) = offer.descriptors.last() else { return Ok(()) };
    peer.is_barred(OPEN, RdmaVerb::Read, BufferDescriptorV1 { length: 1, ..*remote })
}
