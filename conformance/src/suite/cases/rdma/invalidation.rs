//! Messages that invalidate a token.

use std::sync::Arc;
use std::time::Duration;

use smbd_core::{Access, BufferDescriptorV1, RdmaVerb, Token};
use smbd_tools::exercise::{Answer, Request as Asked};

use crate::suite::rig::{Ability, Opening, Told};
use crate::suite::words::{self, Words};
use crate::suite::{Data, Peer, Play, Registered, Stop, Terms, Whole, pattern};

/// The token goes with a message of its own.
const ASKED: &str = "3.1.5.1-15 +3.1.4.2-05";
/// With one of its fragments.
const ONCE: &str = "3.1.5.4-22 +3.1.1.1-02";

/// Bytes of the short answer and of one that needs fragments.
const SHORT: usize = 100;
const LONG: usize = 5000;

fn descriptors(registered: &Registered) -> Arc<[BufferDescriptorV1]> {
    registered.descriptors.clone().into()
}

/// Lets the subject write to a buffer of the script, and invalidate a token with its answer.
fn writes_and_invalidates(
    peer: &mut Peer<'_>,
    statements: &str,
    registered: &Registered,
    invalidate: Option<Token>,
) -> Result<Whole, Stop> {
    let seed = peer.play().now().as_nanos();
    let asked =
        Asked::Write { seed, offset: 0, length: 100, invalidate, descriptors: descriptors(registered) };
    let (answer, whole) = peer.ask_for(statements, &asked)?;
    peer.check(statements, answer == Answer::Done, || {
        format!("the write should be done, {} came", answer.words())
    });
    let written = peer.contents(registered.buffer).get(..100) == Some(&peer.written_by(&asked)[..]);
    peer.check("1.5-03", written, || "the bytes written should be there when the answer comes".into());
    Ok(whole)
}

/// A token of the script in one segment.
fn token(registered: &Registered) -> Token {
    registered.descriptors.first().map_or(Token(0), |descriptor| descriptor.token)
}

/// The last message of the answer invalidated the token, and no other invalidated any; where the script's device says so.
fn invalidated_once(peer: &mut Peer<'_>, statements: &str, whole: &Whole, token: Token) {
    if !peer.play().can(Ability::Invalidation) {
        return;
    }
    let with = |seen: &&crate::suite::Seen| seen.message.invalidated.is_some();
    let empties = whole.empties.iter().filter(with).count();
    let count = whole.fragments.iter().filter(with).count();
    let last = whole.fragments.last().and_then(|seen| seen.message.invalidated);
    let total = whole.fragments.len();
    let right = count == 1 && empties == 0 && last == Some(token);
    // None at all is another fault than several, or one in the wrong place.
    let statements = if count + empties == 0 { "3.1.5.1-15" } else { statements };
    peer.check(statements, right, || {
        let last = words::number(last);
        format!(
            "the last of {total} messages should invalidate {token}; {count} with data and {empties} without \
             invalidated a token, the last one {last}"
        )
    });
}

/// Has the subject send an upper-layer message that invalidates a token.
fn sends_and_invalidates(
    peer: &mut Peer<'_>,
    statements: &str,
    len: usize,
    token: Token,
) -> Result<Option<Whole>, Stop> {
    let payload = pattern(81, len);
    let Some(upper) = peer.upper_if_seen() else { return Ok(None) };
    let sent = upper.send(payload.clone(), Some(token));
    peer.require(statements, sent.is_ok(), || {
        format!("a message of {len} bytes with a token should be taken: {}", words::result(&sent))
    })?;
    peer.echoed(statements, &payload).map(Some)
}

/// The subject uses a token that is no longer valid: no byte changes, and the connection ends.
fn is_gone(peer: &mut Peer<'_>, statements: &str, registered: &Registered) -> Result<(), Stop> {
    let before = peer.contents(registered.buffer);
    let descriptors = descriptors(registered);
    peer.begin_asking(&Asked::Write { seed: 1, offset: 0, length: 100, invalidate: None, descriptors })?;
    peer.ends(statements);
    let after = peer.contents(registered.buffer);
    peer.check(statements, after == before, || "bytes are written with a token that was invalidated".into());
    Ok(())
}

pub(super) fn once(play: &mut Play) -> Result<(), Stop> {
    for tried in 0..2 {
        let mut peer = play.established()?;
        let first = peer.register(&pattern(82, 4096), Access::ReadWrite)?;
        let second = peer.register(&pattern(83, 4096), Access::ReadWrite)?;
        let one = token(&first);
        let whole = writes_and_invalidates(&mut peer, ASKED, &first, Some(one))?;
        invalidated_once(&mut peer, ASKED, &whole, one);
        // It is valid until its own message comes.
        let whole = writes_and_invalidates(&mut peer, ASKED, &second, None)?;
        let any = whole.fragments.iter().chain(&whole.empties).any(|seen| seen.message.invalidated.is_some());
        peer.check(ONCE, !any, || "a message without a token invalidated one".into());
        let other = token(&second);
        match sends_and_invalidates(&mut peer, ONCE, LONG, other)? {
            Some(whole) => {
                let count = whole.fragments.len();
                peer.check(ONCE, count > 1, || {
                    format!("{LONG} bytes should take several messages, not {count}")
                });
                invalidated_once(&mut peer, &format!("{ONCE} {ASKED}"), &whole, other);
            }
            None => {
                let whole = writes_and_invalidates(&mut peer, ASKED, &second, Some(other))?;
                invalidated_once(&mut peer, &format!("{ONCE} {ASKED}"), &whole, other);
            }
        }
        is_gone(&mut peer, ASKED, if tried == 0 { &first } else { &second })?;
    }
    several_messages(play)
}

/// Messages that wait for credits at the same time keep their order and each its own token.
fn several_messages(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.established()?;
    let registered: Result<Vec<_>, _> =
        (0..3).map(|seed| peer.register(&pattern(seed, 4096), Access::ReadWrite)).collect();
    let tokens: Vec<_> = registered?.iter().map(token).collect();
    let payloads: Vec<_> =
        [LONG, SHORT, LONG].into_iter().zip(84..).map(|(len, seed)| pattern(seed, len)).collect();
    let Some(upper) = peer.upper_if_seen() else { return Ok(()) };
    for (payload, token) in payloads.iter().zip(&tokens) {
        if let Err(error) = upper.send(payload.clone(), Some(*token)) {
            return peer.require("3.1.5.1-02", false, || format!("the message should be taken: {error}"));
        }
    }
    // Some, or all, have waited for this.
    peer.send(&Data::empty())?;
    for (payload, token) in payloads.iter().zip(tokens) {
        let whole = peer.echoed(ONCE, payload)?;
        invalidated_once(&mut peer, ONCE, &whole, token);
    }
    Ok(())
}

pub(super) fn without(play: &mut Play) -> Result<(), Stop> {
    const SENT: &str = "3.1.5.1-17 +3.1.5.1-16";
    let opening = Opening { send_with_invalidate: false, ..Opening::default() };
    let mut peer = play.established_as(&Terms::default(), &opening)?;
    let first = peer.register(&pattern(82, 4096), Access::ReadWrite)?;
    let second = peer.register(&pattern(83, 4096), Access::ReadWrite)?;
    let (one, other) = (token(&first), token(&second));
    let mut all = vec![writes_and_invalidates(&mut peer, SENT, &first, Some(one))?];
    all.push(writes_and_invalidates(&mut peer, SENT, &second, Some(other))?);
    all.extend(sends_and_invalidates(&mut peer, SENT, LONG, other)?);
    let messages = all.iter().flat_map(|whole| whole.fragments.iter().chain(&whole.empties));
    let tokens: Vec<_> = messages.filter_map(|seen| seen.message.invalidated).collect();
    peer.check("", tokens.is_empty(), || {
        format!("no token should be invalidated, these were: {}", words::numbers(&tokens))
    });
    // Nothing else has become of them, either.
    for registered in [&first, &second] {
        writes_and_invalidates(&mut peer, SENT, registered, None)?;
    }
    peer.returns(SENT)
}

/// The tokens that the upper layer was told of, and the messages, in the order in which it was told.
fn told_of(peer: &mut Peer<'_>) -> Vec<Told> {
    let told = peer.told().into_iter().map(|(_, told)| told);
    told.filter(|told| matches!(told, Told::Invalidated(..) | Told::Message(_))).collect()
}

pub(super) fn is_told(play: &mut Play) -> Result<(), Stop> {
    const TOLD: &str = "3.1.5.8-22 3.1.5.8-23";
    let mut peer = play.established()?;
    peer.play().needs(Ability::Invalidation)?;
    peer.upper()?.by_hand();
    let mut offers = Vec::new();
    for seed in 90..93 {
        let id = peer.upper()?.register(&pattern(seed, 4096), Access::ReadWrite);
        let id = id.map_err(|error| Stop::Broken(format!("a registration is refused: {error}")))?;
        let came = peer.until_told(Duration::from_secs(12), |told| *told == Told::Registered(id, Ok(())));
        peer.require(TOLD, came, || "the upper layer should be told of its registration".into())?;
        let remote = peer.upper()?.endpoint().connection().live_segments(id).next();
        let Some(remote) = remote else { return Err(Stop::Broken("a registration has no segment".into())) };
        offers.push((id, remote));
    }
    // A token may be valid only before the subject's next message; nobody would know it sooner.
    peer.goes_on(TOLD)?;
    let short = pattern(94, SHORT);
    peer.send(&Data { invalidate: Some(offers[0].1.token), ..Data::of(&short) })?;
    let long = pattern(95, 3000);
    for (index, fragment) in peer.fragments(&long)?.into_iter().enumerate() {
        let invalidate = [Some(offers[1].1.token), Some(offers[2].1.token)].get(index).copied().flatten();
        peer.send(&Data { invalidate, ..fragment })?;
    }
    let all = |told: &Told| matches!(told, Told::Message(bytes) if bytes.len() == 3000);
    let came = peer.until_told(Duration::from_secs(12), all);
    peer.is_usable(3000)?;
    peer.require("3.1.5.8-24", came, || {
        "the upper layer should be told of the message of 3000 bytes".into()
    })?;
    let told = told_of(&mut peer);
    let invalidated = |index: usize| Told::Invalidated(offers[index].0, offers[index].1.token);
    let wanted = [invalidated(0), Told::Message(short), invalidated(1), invalidated(2), Told::Message(long)];
    peer.check(TOLD, told == wanted, || {
        format!("each token should be told once, before its message; told was: {}", told.words())
    });
    for (id, _) in &offers {
        let command = peer.upper()?.deregister(*id);
        peer.require(TOLD, command.is_ok(), || {
            format!("deregister should be taken: {}", words::result(&command))
        })?;
        let done = peer.until_told(Duration::from_secs(12), |told| *told == Told::Deregistered(*id, Ok(())));
        peer.check(TOLD, done, || "a registration that was invalidated should be deregistered as any".into());
    }
    peer.goes_on(TOLD)?;
    let count = told_of(&mut peer).len();
    peer.check(TOLD, count == wanted.len(), || "something is told again".into());
    peer.is_barred(TOLD, RdmaVerb::Read, BufferDescriptorV1 { length: 1, ..offers[0].1 })
}

pub(super) fn foreign(play: &mut Play) -> Result<(), Stop> {
    play.needs_several_connections()?;
    let mut peer = play.established()?;
    let access = peer.play().offered_for(RdmaVerb::Read);
    let kept = peer.offer("3.1.5.8-23", access, 4096)?;
    let elsewhere = kept.descriptors.first().map_or(Token(0), |descriptor| descriptor.token);
    let (first, nobodys) = (peer.id(), Token(elsewhere.0 ^ 0x4000_0000));
    invalidates(play, nobodys, 0)?;
    if play.can(Ability::ForeignTokens) {
        invalidates(play, elsewhere, 0)?;
    }
    // It is valid where it was given out.
    let mut peer = play.peer(first);
    let came = peer.read_offer("3.1.5.8-23", &kept)?;
    peer.check("3.1.5.8-23", came == kept.content, || "the memory of the first connection is changed".into());

    let mut peer = play.established()?;
    if !peer.offers_anything() {
        return Ok(());
    }
    let offer = peer.offer("3.1.5.8-23", Access::ReadWrite, 4096)?;
    let id = peer.id();
    let token = offer.descriptors.first().map_or(Token(0), |descriptor| descriptor.token);
    peer.send(&Data { invalidate: Some(token), ..Data::of(b"once") })?;
    peer.echoed("3.1.5.8-23", b"once")?;
    if !play.can(Ability::InvalidationOnce) {
        return Ok(());
    }
    let told = play.can(Ability::Invalidation).into();
    refused(play, id, token, told)
}

/// On a new connection.
fn invalidates(play: &mut Play, token: Token, told: usize) -> Result<(), Stop> {
    let id = play.established()?.id();
    refused(play, id, token, told)
}

/// A message with a token that is not valid ends the connection; of it the upper layer is told nothing.
fn refused(play: &mut Play, id: usize, token: Token, wanted: usize) -> Result<(), Stop> {
    let mut peer = play.peer(id);
    peer.send(&Data { invalidate: Some(token), ..Data::of(b"foreign") })?;
    peer.ends("3.1.5.8-23");
    peer.closed("3.1.5.8-23");
    if peer.upper_if_seen().is_none() {
        return Ok(());
    }
    let count = peer.told().iter().filter(|(_, told)| matches!(told, Told::Invalidated(..))).count();
    peer.check("3.1.5.8-23", count == wanted, || {
        format!("{wanted} invalidations should be told, {count} were")
    });
    Ok(())
}
