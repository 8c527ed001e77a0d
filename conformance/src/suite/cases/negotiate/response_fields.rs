//! How an initiator checks the fields of a Negotiate Response, at their boundaries.

use std::time::Duration;

use super::response::refused_by_subject;
use crate::suite::words;
use crate::suite::{Data, Grant, Peer, Play, Response, Stop, Whole, pattern};

/// Answers a request with a response that should be found good.
fn taken<'p>(play: &'p mut Play, response: &Response) -> Result<Peer<'p>, Stop> {
    let mut peer = play.connect()?;
    peer.asked("")?;
    peer.respond(response)?;
    Ok(peer)
}

pub(super) fn max_receive_size(play: &mut Play) -> Result<(), Stop> {
    let offering = |max_receive_size| Response { max_receive_size, ..Response::default() };
    for size in [0, 127] {
        refused_by_subject(play, "3.1.5.7-03 +2.2.2-20", &offering(size))?;
    }
    let mut all = Vec::new();
    for size in [128, 1024, u32::MAX] {
        let mut peer = play.connect()?;
        let (request, _) = peer.asked("")?;
        peer.respond(&offering(size))?;
        let question = peer.message_for(25, 3000, 3000)?;
        peer.send_fragments(&question)?;
        // The greatest number is one, and has no sign.
        let statements = if size == u32::MAX { "2.2-05" } else { "3.1.5.7-03" };
        let echo = peer.answered(statements, &question)?;
        let longest = echo.fragments.iter().map(|seen| seen.message.bytes.len()).max().unwrap_or_default();
        all.push((size, request.preferred_send_size, longest));
    }
    // Whoever does not keep to what he offered himself has settled it, and sends more.
    let own = all.iter().any(|(_, preferred, longest)| *longest > *preferred as usize);
    let statements = if own { "3.1.5.4-13" } else { "3.1.5.7-14 +2.2.2-20" };
    for (size, preferred, longest) in all {
        let most = size.min(preferred) as usize;
        play.check(&format!("{statements} +3.1.5.7-14 +3.1.5.4-13"), longest <= most, || {
            format!(
                "with MaxReceiveSize {size} messages have {most} bytes at most, the longest has {longest}"
            )
        });
    }
    Ok(())
}

pub(super) fn max_fragmented_size(play: &mut Play) -> Result<(), Stop> {
    const LEAST: &str = "3.1.5.7-04 +2.2.2-21";
    const SETTLED: &str = "3.1.5.7-17 +2.2.2-21";
    let offering = |max_fragmented_size| Response { max_fragmented_size, ..Response::default() };
    for size in [0, 131_071] {
        refused_by_subject(play, LEAST, &offering(size))?;
    }
    for size in [131_072, u32::MAX] {
        let mut peer = taken(play, &offering(size))?;
        peer.goes_on(if size == u32::MAX { "2.2-05" } else { LEAST })?;
        let Some(upper) = peer.upper_if_seen() else { continue };
        let settled = upper.endpoint().connection().negotiated().map(|all| all.max_fragmented_send_size);
        peer.check(SETTLED, settled == Some(size), || {
            format!("MaxFragmentedSendSize should be {size}, it is {}", words::number(settled))
        });
    }
    Ok(())
}

pub(super) fn credits(play: &mut Play) -> Result<(), Stop> {
    let of = |credits_requested, credits_granted| Response {
        credits_requested,
        credits_granted,
        ..Response::default()
    };
    refused_by_subject(play, "3.1.5.7-05 +2.2.2-14", &of(10, 0))?;
    refused_by_subject(play, "3.1.5.7-06 +2.2.2-13", &of(0, 10))?;
    let mut offers = Vec::new();
    for credits in [1, 2, u16::MAX] {
        let mut peer = play.connect()?;
        peer.asked("")?;
        // For 65535 there is no room on a device, and no need.
        peer.respond(&of(credits, credits))?;
        offers.push(echoes_within(&mut peer, credits)?);
    }
    // CR-5 lets it offer a few more than 1 or 2; it has to be more where more is asked for.
    let follow = offers[0] >= 1 && offers[0] <= offers[1] && offers[1] <= 10 && offers[2] > 10;
    play.check("3.1.5.7-11 +2.2.2-13", follow, || {
        let offers = words::numbers(&offers);
        format!("for 1, 2 and 65535 credits asked, few, few and many should be granted, it was {offers}")
    });
    Ok(())
}

/// The subject has this number of credits and, up to 2, as many messages to answer, and its first one takes one, too. Returns the
/// credits that it granted with what it sent unasked.
fn echoes_within(peer: &mut Peer<'_>, credits: u16) -> Result<u32, Stop> {
    const WITHIN: &str = "3.1.5.7-16 +2.2.2-14 +3.1.5.7-05";
    const WAIT: Duration = Duration::from_secs(2);
    const MORE: u16 = 10;
    let unasked = peer.all_within(WITHIN, WAIT)?;
    let offered = unasked.iter().map(|seen| u32::from(seen.header.credits_granted)).sum();
    let mut questions = vec![peer.message(270, 100)?];
    if credits > 1 {
        match peer.message(271, 100) {
            Ok(second) => questions.push(second),
            // A client that has one READ under way takes one answer.
            Err(Stop::NotApplicable(_)) => {}
            Err(stop) => return Err(stop),
        }
    }
    let mut is_out = true;
    for question in &questions {
        // A subject that offers no more than it is asked for leaves one credit, which only a message that grants may use.
        let message = if peer.credits() > 1 {
            Data { grant: Grant::Claimed(0), ..Data::of(question) }
        } else {
            is_out = false;
            Data::of(question).granting(MORE)
        };
        peer.send(&message)?;
    }
    let answers = peer.all_within(WITHIN, WAIT)?;
    // What the upper layer hears before questions and between them brought credits, too.
    let left = peer.granted();
    peer.check(WITHIN, unasked.len() <= usize::from(credits) && left >= 0, || {
        let unasked = unasked.len();
        format!("with {credits} credits as many messages may come, {unasked} came; all credits less all messages are {left}")
    });
    let (mut echoes, mut whole) = (Vec::new(), Whole::default());
    for seen in answers {
        if peer.take_answer(&mut whole, seen, &questions) {
            echoes.push(std::mem::take(&mut whole));
        }
    }
    if echoes.len() < questions.len() && is_out {
        peer.send(&Data::empty().granting(MORE))?;
    }
    while echoes.len() < questions.len() {
        // An answer may be longer than all its credits carry.
        peer.keep_granting()?;
        echoes.push(peer.rest_of_answer(std::mem::take(&mut whole), "3.1.5.8-16", &questions)?);
    }
    let mut same = echoes.len() == questions.len();
    for question in &questions {
        same &= echoes.iter().any(|whole| peer.is_answer(question, &whole.payload));
    }
    peer.check("3.1.5.4-24 +3.1.5.7-06", same, || {
        format!("{} messages should be answered, {} answers came", questions.len(), echoes.len())
    });
    Ok(offered)
}

pub(super) fn preferred_send_size(play: &mut Play) -> Result<(), Stop> {
    const SETTLED: &str = "3.1.5.7-12 +2.2.2-18";
    const LEAST: &str = "3.1.5.7-13 +2.2.2-18";
    let sending = |size| Response { preferred_send_size: Some(size), ..Response::default() };
    let mut peer = play.connect()?;
    let (request, _) = peer.asked("")?;
    let own = request.max_receive_size;
    // Nobody is left waiting.
    peer.respond(&Response::default())?;
    peer.settle();
    refused_by_subject(play, "3.1.5.7-07 +2.2.2-18", &sending(own + 1))?;
    for size in [own, 500, 127, 0] {
        let mut peer = taken(play, &sending(size))?;
        let settled = size.max(128) as usize;
        let question = peer.message(28, settled - 24)?;
        // In one message, whatever the script has said that it prefers.
        peer.send(&Data::of(&question))?;
        // As long as may be is taken, and nothing longer.
        peer.answered(if size < 128 { LEAST } else { "3.1.5.7-07 +3.1.5.7-12" }, &question)?;
        peer.settle();
        peer.send(&Data::of(&pattern(29, settled - 23)))?;
        peer.ends(SETTLED);
    }
    Ok(())
}

pub(super) fn besides(play: &mut Play) -> Result<(), Stop> {
    let reserved = Response { reserved: u16::MAX, ..Response::default() };
    taken(play, &reserved)?.goes_on("2.2-07 2.2.2-10 2.2.2-12")?;
    // What it could have spoken besides is no matter.
    let versions = Response { min_version: 0, max_version: u16::MAX, ..Response::default() };
    taken(play, &versions)?.goes_on("3.1.5.7-02")
}
