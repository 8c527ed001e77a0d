//! Lengths and sums at their limits and beyond.

use std::time::Duration;

use super::{BAD, ends_after, settled};
use crate::suite::words::Words;
use crate::suite::{Data, Play, Stop, Terms, pattern};

/// A message that is shorter than its header.
const SHORT: &str = "3.1.5.8-02";
/// A probe is answered within this time.
const ANSWER_TIME: Duration = Duration::from_secs(5);

pub(super) fn max_receive_size(play: &mut Play) -> Result<(), Stop> {
    let statement = if play.subject_accepts() { "3.1.5.6-10" } else { "3.1.5.7-12" };
    let mut terms = Terms::default();
    (terms.request.preferred_send_size, terms.response.preferred_send_size) = (500, Some(500));
    let mut peer = play.established_on(&terms)?;
    peer.settle();
    let question = peer.message(1, 476)?;
    peer.send(&Data::of(&question))?;
    peer.answered("3.1.5.8-24", &question)?;
    peer.settle();
    peer.send(&Data::of(&pattern(1, 477)))?;
    peer.ends(statement);
    let mut peer = play.established_on(&terms)?;
    peer.settle();
    peer.send(&Data::empty().filled_to(501))?;
    peer.ends(statement);
    Ok(())
}

pub(super) fn short(play: &mut Play) -> Result<(), Stop> {
    for len in [1, 4, 8, 16, 19] {
        let mut peer = settled(play)?;
        peer.post_receives(1)?;
        peer.say(&Data::empty().encode(10, 1)[..len])?;
        peer.ends_by(&format!("{SHORT} +2.2.3-16"), BAD)?;
    }
    Ok(())
}

pub(super) fn sums(play: &mut Play) -> Result<(), Stop> {
    let data = Data::of(&pattern(2, 100));
    let beyond_the_message =
        [(24, 0xFFFF_FFFF), (0xFFFF_FFF8, 100), (0xFFFF_FFF8, 8), (0x8000_0000, 0x8000_0000)];
    for (offset, length) in beyond_the_message {
        ends_after(play, ("3.1.5.8-05", BAD), &[Data { offset, length, ..data.clone() }])?;
    }
    let max = play.established()?.max_fragmented_size()?;
    for remaining in [0xFFFF_FFFF, 0xFFFF_FF9C, max - 99] {
        ends_after(play, ("3.1.5.8-06", BAD), &[data.clone().remaining(remaining)])?;
    }
    Ok(())
}

pub(super) fn no_effect(play: &mut Play) -> Result<(), Stop> {
    // Each asks for an answer and brings credits for it and for the echo that waits.
    let asking = Data { flags: 1, ..Data::empty() };
    let bad = [
        ("3.1.5.8-04", Data { offset: 4, ..asking.clone() }),
        ("3.1.5.8-05", Data { length: 21, ..asking.clone() }),
        ("3.1.5.8-03", asking.clone().requesting(0)),
        (SHORT, asking.clone()),
        ("3.1.5.8-06", asking.clone().remaining(0xFFFF_FFFF)),
    ];
    for (rule, data) in bad {
        let mut peer = play.established_with(&Terms::default(), 0)?;
        let question = peer.message(3, 100)?;
        peer.send(&Data::of(&question).granting(0))?;
        peer.settle();
        if rule == SHORT {
            peer.say(&data.encode(10, 5)[..19])?;
        } else {
            peer.send(&data.granting(5))?;
        }
        peer.ends_by(rule, BAD)?;
    }
    Ok(())
}

pub(super) fn max_fragmented_size(play: &mut Play) -> Result<(), Stop> {
    const LEAST: &str = "3.1.5.8-06 +3.1.5.8-17 +3.1.5.8-24";
    let field = if play.subject_accepts() { "2.2.2-21" } else { "2.2.1-14" };
    let mut terms = Terms::default();
    let max = play.established()?.max_fragmented_size()?;
    // The answer may be somewhat longer.
    terms.request.max_fragmented_size = max.saturating_add(4096);
    terms.response.max_fragmented_size = max.saturating_add(4096);
    let mut peer = play.established_on(&terms)?;
    let max = peer.max_fragmented_size()?;
    let question = peer.message(4, max as usize)?;
    peer.send_fragments(&question)?;
    peer.answered(&format!("{LEAST} +{field}"), &question)?;
    // With a flag it is judged all the same.
    let mut peer = settled(play)?;
    let payload = pattern(4, 1000);
    let first = Data::of(&payload).remaining(max - 1000);
    peer.send(&Data { flags: 1, ..first })?;
    let answer = peer.answer("3.1.5.8-06", ANSWER_TIME)?;
    peer.check("2.2.3-12 +3.1.5.8-24", answer.header.data_length == 0, || {
        format!("nothing is complete yet, and {} came", answer.words())
    });
    ends_after(play, ("3.1.5.8-06", BAD), &[Data::of(&payload).remaining(max - 999)])
}
