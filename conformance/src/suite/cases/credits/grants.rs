//! Grants: how many credits, and when.

use std::slice::from_ref;
use std::time::Duration;

use super::super::keepalive::able_to_speak;
use crate::suite::words::Words;
use crate::suite::{Data, Next, Peer, Play, Stop, Terms, Whole, pattern};

/// A grant that is due comes within this time.
const GRANT_TIME: Duration = Duration::from_secs(10);

/// So many messages and their echoes, each way with the credits that are there; what the script had at most.
fn back_and_forth(peer: &mut Peer<'_>, rounds: u64, one_each: bool) -> Result<i64, Stop> {
    const GRANTED: &str = "3.1.5.9-09 +2.2.3-03 +3.1.5.1-05 +3.1.5.8-08 +3.1.5.9-08";
    let mut most = 0;
    for round in 0..rounds {
        most = most.max(peer.credits());
        // What the script sent has come back, so whatever is granted has come, too.
        let statements = if one_each { "3.1.5.9-05" } else { GRANTED };
        peer.has_credit(statements, Duration::ZERO, &format!("after {round} answers"))?;
        let question = peer.message(round, 100)?;
        let mut data = Data::of(&question);
        if one_each {
            data = data.granting(u16::from(peer.granted() <= 0));
        }
        peer.send_now(&data)?;
        let mut whole = Whole::default();
        loop {
            let seen = peer.back(ECHOED, question.len(), GRANT_TIME)?;
            if peer.take_answer(&mut whole, seen, from_ref(&question)) {
                break;
            }
            if one_each && peer.granted() <= 0 && peer.credits() > 0 {
                peer.send_now(&Data::empty().granting(1))?;
            }
        }
        let answered = peer.is_answer(&question, &whole.payload);
        peer.check("3.1.5.8-24", answered, || {
            format!("the answer to message {round} should come, {} other bytes came", whole.payload.len())
        });
    }
    Ok(most)
}

/// A credit that a message brings is one to answer with.
const ECHOED: &str = "3.1.5.8-15 +3.1.5.9-01";

pub(super) fn never_lost(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.established()?;
    peer.settle();
    let most = back_and_forth(&mut peer, 1000, false)?;
    peer.settle();
    let left = peer.credits();
    peer.check("+3.1.5.8-08 +3.1.5.9-01 +3.1.5.9-08", 2 * left >= most, || {
        format!("of {most} credits half should be there after 1000 messages, {left} are")
    });
    // Each echo spends the last credit, for which a receive is posted that has to count like any other.
    let one = Terms::default().credits(1);
    let mut peer = play.established_with(&Terms { receives: 10, ..one }, 1)?;
    back_and_forth(&mut peer, 100, true)?;
    Ok(())
}

/// Empty messages as long as messages may be, as many as there are credits, all at once.
fn spend_all(peer: &mut Peer<'_>) -> Result<(), Stop> {
    let size = peer.send_size()? as usize;
    while peer.credits() > 0 {
        peer.send_now(&Data::empty().filled_to(size))?;
    }
    Ok(())
}

pub(super) fn each_has_its_receive(play: &mut Play) -> Result<(), Stop> {
    for (credits, granted, posted) in
        [(10, "3.1.5.8-09 +3.1.5.9-07", "3.1.5.9-08"), (1, "3.1.5.8-09 +3.1.5.9-05", "3.1.5.9-05")]
    {
        let mut terms = Terms::default();
        terms.request.credits_requested = credits;
        terms.response.credits_requested = credits;
        let mut peer = play.established_on(&terms)?;
        for round in 0..100 {
            peer.has_credit(granted, GRANT_TIME, &format!("when all are spent, round {round}"))?;
            spend_all(&mut peer)?;
        }
        peer.settle();
        peer.nothing_lost(posted);
    }
    Ok(())
}

pub(super) fn no_ping_pong(play: &mut Play) -> Result<(), Stop> {
    let mut peer = able_to_speak(play)?;
    peer.send(&Data::empty().granting(1))?;
    let until = peer.play().now().saturating_add(Duration::from_secs(3));
    let mut came = 0;
    while came <= 10 {
        let left = until.saturating_since(peer.play().now());
        let Next::Message(message) = peer.next(left) else { break };
        came += 1;
        if peer.as_data(message)?.header.data_length == 0 {
            peer.send(&Data::empty())?;
        }
    }
    // Strictly by 3.1.5.8 each grant would be answered (CR-3): no statement is broken.
    peer.check("+3.1.5.8-09", came <= 2, || {
        format!("2 messages should come within 3 s at most where only grants are sent, {came} came")
    });
    // A grant is owed as soon as the script has used most of its credits.
    while peer.credits() > 1 {
        peer.send_now(&Data::empty().granting(0))?;
    }
    let seen = peer.expect_data("3.1.5.8-09 +3.1.5.1-03", Duration::from_secs(5))?;
    let speaks = peer.play().subject_speaks();
    peer.check("3.1.5.1-03", seen.header.data_length == 0 || speaks, || {
        format!("an empty message should come, {} came", seen.words())
    });
    peer.check("3.1.5.9-09", seen.header.credits_granted > 0, || {
        format!("what was used and posted again should be granted, {} came", seen.words())
    });
    Ok(())
}

/// Sends a thousand messages and reads nothing but grants; the subject's upper layer sends nothing.
fn one_way(peer: &mut Peer<'_>, message: &Data) -> Result<(), Stop> {
    let mut came = 0;
    for sent in 0..1000 {
        let when = format!("after {sent} messages");
        peer.has_credit("3.1.5.8-09 +3.1.5.9-01 +3.1.5.9-07", Duration::from_secs(1), &when)?;
        while let Next::Message(_) = peer.next(Duration::ZERO) {
            came += 1;
        }
        peer.send_now(message)?;
    }
    // CR-3, as above.
    peer.check("+3.1.5.8-09", came < 500, || {
        format!("less than 500 messages should come for 1000, {came} came")
    });
    Ok(())
}

pub(super) fn told_in_time(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.established()?;
    one_way(&mut peer, &Data::empty())?;
    let mut peer = play.established()?;
    if let Some(upper) = peer.upper_if_seen() {
        upper.by_hand();
        one_way(&mut peer, &Data::of(&pattern(1, 100)))?;
        peer.settle();
        let received = peer.upper()?.received().len();
        peer.check("3.1.5.8-24", received == 1000, || {
            format!("the messages should have come to the upper layer, {received} of 1000 did")
        });
    }
    Ok(())
}

pub(super) fn worked_out_late(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.established_with(&Terms::default(), 0)?;
    let mut questions = Vec::new();
    for seed in 0..4 {
        let question = peer.message(seed, 100)?;
        peer.send(&Data::of(&question).granting(0))?;
        questions.push(question);
    }
    peer.settle();
    let before = peer.credits();
    peer.send(&Data::empty().granting(2))?;
    let first = peer.back("3.1.5.8-16", 100, Duration::from_secs(3))?;
    let granted = first.header.credits_granted;
    // Whoever has posted all that was asked for need not have posted more.
    let enough = granted >= 5 || peer.credits() >= 10;
    peer.check("3.1.5.1-05 +3.1.5.9-09", enough, || {
        format!("the first message should grant the 5 receives used, it grants {granted} to {before} left")
    });
    let mut whole = Whole::default();
    if peer.take_answer(&mut whole, first, &questions) {
        let answered = questions.iter().position(|question| peer.is_answer(question, &whole.payload));
        let fits = answered.is_some_and(|index| index == 0 || !peer.answers_in_order());
        peer.check("3.1.5.4-24", fits, || "the answer to the first message should come".into());
        questions.remove(answered.unwrap_or_default());
    }
    for question in &questions {
        peer.keep_granting()?;
        peer.answered("3.1.5.4-24", question)?;
    }
    Ok(())
}
