//! Messages that wait for credits.

use std::slice::from_ref;
use std::time::Duration;

use super::{had_a_credit, is_whole, last_credit_grants};
use crate::suite::words::{self, Words};
use crate::suite::{Data, Next, Peer, Play, Question, Seen, Stop, Terms, Whole, pattern};

/// What comes of the answer to one of these messages until nothing has come for so long; how many messages it was, and whether the last fragment was among them.
fn read(
    peer: &mut Peer<'_>,
    statements: &str,
    (whole, questions): (&mut Whole, &[Question]),
    quiet: Duration,
) -> Result<(usize, bool), Stop> {
    let mut came = 0;
    while let Next::Message(message) = peer.next(quiet) {
        let seen = peer.as_data(message)?;
        had_a_credit(peer, statements, &seen);
        last_credit_grants(peer, "3.1.5.1-07", &seen);
        came += 1;
        if peer.take_answer(whole, seen, questions) {
            return Ok((came, true));
        }
    }
    Ok((came, false))
}

pub(super) fn nothing_without(play: &mut Play) -> Result<(), Stop> {
    const WAITS: &str = "3.1.5.1-06 +3.1.5.1-09";
    let mut peer = play.established_with(&Terms::default(), 2)?;
    let question = peer.message_for(8, 3000, 3000)?;
    for fragment in peer.fragments(&question)? {
        peer.send(&fragment.granting(0))?;
    }
    let mut whole = Whole::default();
    let asked = from_ref(&question);
    let (first, mut over) = read(&mut peer, WAITS, (&mut whole, asked), Duration::from_secs(3))?;
    peer.check(WAITS, first <= 2 && !over, || {
        format!("the subject has 2 credits, which is not enough for 3000 bytes, {first} messages came")
    });
    while !over {
        let carried = |whole: &Whole| whole.fragments.len() + whole.others.len();
        let before = carried(&whole);
        peer.send(&Data::empty().granting(2))?;
        (_, over) = read(&mut peer, WAITS, (&mut whole, asked), Duration::from_secs(3))?;
        if carried(&whole) == before {
            peer.nothing_returned(question.len())?;
        }
        peer.require("3.1.5.8-16 +3.1.5.8-15", carried(&whole) > before, || {
            "a fragment should come within 3 s of a grant, none came".into()
        })?;
    }
    is_whole(&mut peer, "3.1.5.4-23", &question, &whole);
    Ok(())
}

pub(super) fn keeps_its_order(play: &mut Play) -> Result<(), Stop> {
    const ORDER: &str = "3.1.1.1-02 3.1.5.1-02 3.1.5.1-08 +3.1.5.4-24";
    let mut peer = play.established_with(&Terms::default(), 0)?;
    let questions = [peer.message(1, 100)?, peer.message_for(2, 2500, 2000)?, peer.message(3, 7)?];
    for question in &questions {
        for fragment in peer.fragments(question)? {
            peer.send(&fragment.granting(0))?;
        }
    }
    peer.settle();
    let mut done = Vec::new();
    let mut whole = Whole::default();
    for grant in [2, 1, 1, 10] {
        peer.send(&Data::empty().granting(grant))?;
        while done.len() < questions.len() {
            let (came, over) =
                read(&mut peer, "3.1.5.1-06", (&mut whole, &questions), Duration::from_secs(1))?;
            if over {
                done.push(std::mem::take(&mut whole).payload);
            } else if came == 0 || peer.granted() <= 0 {
                break;
            }
        }
    }
    if done.len() < questions.len() {
        peer.nothing_returned(questions[1].len())?;
    }
    let lengths: Vec<_> = done.iter().map(Vec::len).collect();
    let came = words::numbers(&lengths);
    peer.require("3.1.5.1-17", done.len() == 3, || {
        format!("the answers to messages of 100, 2500 and 7 bytes should come, messages of these lengths came: {came}")
    })?;
    let places = done.iter().map(|came| questions.iter().position(|question| peer.is_answer(question, came)));
    let mut places: Vec<_> = places.collect();
    let in_order = places == [Some(0), Some(1), Some(2)];
    places.sort_unstable();
    // Each came, but not in its place; or something else did.
    let each = places == [Some(0), Some(1), Some(2)];
    let fits = in_order || (each && !peer.answers_in_order());
    let broken = if each { ORDER } else { "3.1.5.4-21" };
    peer.check(&format!("{broken} +3.1.5.4-21"), fits, || {
        format!("the answers to messages of 100, 2500 and 7 bytes should come in this order, messages of these lengths came: {came}")
    });
    Ok(())
}

/// Waits for a message without data, and looks at it.
fn empty_answer(peer: &mut Peer<'_>, statements: &str) -> Result<(), Stop> {
    let seen = peer.answer(statements, Duration::from_secs(5))?;
    // A message that waited for the credit is an answer, too.
    let speaks = peer.play().subject_speaks();
    peer.check("3.1.5.1-03", seen.header.data_length == 0 || speaks, || {
        format!("an empty message should come, {} came", seen.words())
    });
    had_a_credit(peer, "3.1.5.1-06", &seen);
    let flags = seen.header.flags.0;
    peer.check("3.1.5.1-14", flags == 0, || {
        format!("Flags of the answer should be 0x0000, they are 0x{flags:04X}")
    });
    last_credit_grants(peer, "3.1.5.1-07", &seen);
    Ok(())
}

pub(super) fn probe_with_credit(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.established_with(&Terms::default(), 0)?;
    peer.send(&Data::probe())?;
    empty_answer(&mut peer, "3.1.5.8-15 +3.1.5.8-14 +3.1.5.8-16")
}

pub(super) fn one_answer(play: &mut Play) -> Result<(), Stop> {
    const ONE: &str = "3.1.5.1-19 +3.1.5.8-14";
    let mut peer = play.established_with(&Terms::default(), 0)?;
    for _ in 0..3 {
        peer.send(&Data { flags: 1, ..Data::empty().granting(0) })?;
    }
    // What is owed is an empty message, which waits like any other.
    peer.quiet_for("3.1.5.1-06 3.1.5.4-09", Duration::from_secs(1));
    peer.send(&Data::empty().granting(5))?;
    empty_answer(&mut peer, "3.1.5.8-14 +3.1.5.1-03 +3.1.5.4-09")?;
    peer.nothing_more("3.1.5.1-19")?;

    let mut peer = play.established_with(&Terms::default(), 0)?;
    // A device may tell of the connection after the first messages; what they ask is answered without the upper layer.
    peer.settle();
    let question = peer.message(9, 100)?;
    peer.send(&Data { flags: 1, ..Data::of(&question).granting(0) })?;
    peer.send(&Data::empty().granting(5))?;
    let whole = peer.answered("3.1.5.8-14", &question)?;
    let empties = whole.empties.len();
    // One that grants may come all the same.
    let idle = |seen: &&Seen| seen.header.credits_granted == 0 && seen.message.left >= 0;
    let idle = whole.empties.iter().filter(idle).count();
    peer.check(ONE, idle == 0, || {
        format!("the answer of the upper layer is the answer, {empties} messages without data came besides, {idle} of them grant nothing")
    });
    peer.nothing_more(ONE)?;

    let mut peer = play.established_with(&Terms::default(), 1)?;
    peer.send(&Data { flags: 1, ..Data::of(&pattern(9, 100)).remaining(50).granting(1) })?;
    empty_answer(&mut peer, "3.1.5.8-14")
}
