//! The last credit.

use std::collections::VecDeque;
use std::slice::from_ref;
use std::time::Duration;

use super::{is_whole, last_credit_grants};
use crate::suite::rig::Opening;
use crate::suite::words::Words;
use crate::suite::{Data, Next, Peer, Play, Stop, Terms, Whole};

/// One credit is asked for in each message of the script.
fn asking_for_one() -> Terms {
    let mut terms = Terms::default();
    terms.request.credits_requested = 1;
    terms.response.credits_requested = 1;
    terms
}

/// The last credit grants.
const LAST: &str = "3.1.5.1-07";
/// For that a receive is posted if there is none.
const POSTED: &str = "3.1.5.9-04";

pub(super) fn goes_to_a_grant(play: &mut Play) -> Result<(), Stop> {
    one_at_a_time(play)?;
    // The first echo grants all there is; for the second a receive has to be posted beyond what was asked for.
    let mut peer = play.established_with(&Terms::default(), 2)?;
    let questions = [peer.message(1, 100)?, peer.message(2, 100)?];
    for question in &questions {
        peer.send(&Data::of(question).granting(0))?;
    }
    for question in &questions {
        let whole = peer.answered(POSTED, question)?;
        for seen in whole.empties.iter().chain(&whole.fragments) {
            last_credit_grants(&mut peer, LAST, seen);
        }
    }
    Ok(())
}

/// A long message for whose echo the subject never has more than one credit.
fn one_at_a_time(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.established_with(&asking_for_one(), 0)?;
    let question = peer.message_for(6, 5000, 4000)?;
    let mut fragments: VecDeque<_> = peer.fragments(&question)?.into();
    let mut whole = Whole::default();
    loop {
        let without = peer.granted() <= 0;
        let speaks = peer.credits() > 0 && (without || !fragments.is_empty());
        if speaks {
            let data = fragments.pop_front().unwrap_or_else(Data::empty);
            peer.send_now(&data.granting(u16::from(without)))?;
        }
        // What the script can go on without is not waited for.
        let may_go_on = peer.credits() > 0 && !fragments.is_empty();
        let patience = if may_go_on { Duration::from_millis(200) } else { Duration::from_secs(10) };
        let next = peer.next(patience);
        if next == Next::Down {
            peer.is_usable(question.len())?;
        }
        if next == Next::Nothing && !may_go_on && peer.credits() <= 0 {
            peer.has_credit(POSTED, Duration::ZERO, "while it sends")?;
        }
        peer.require(POSTED, may_go_on || matches!(next, Next::Message(_)), || {
            let (bytes, next) = (whole.payload.len(), next.words());
            format!("a message should come within 10 s of the subject's credit, behind {bytes} bytes {next}")
        })?;
        let Next::Message(message) = next else { continue };
        let seen = peer.as_data(message)?;
        last_credit_grants(&mut peer, LAST, &seen);
        if peer.take_answer(&mut whole, seen, from_ref(&question)) {
            break;
        }
    }
    is_whole(&mut peer, "3.1.5.8-17", &question, &whole);
    Ok(())
}

pub(super) fn waits(play: &mut Play) -> Result<(), Stop> {
    const WAITS: &str = "3.1.5.1-07 +3.1.5.9-06";
    let mut peer = play.established_with(&Terms::default(), 0)?;
    let question = peer.message(9, 10)?;
    let had = peer.credits();
    peer.send(&Data::of(&question).requesting(1).granting(1))?;
    let mut next = peer.next(Duration::from_secs(3));
    // Who wants no more receives than were asked for cannot grant before the script has used what it has.
    while next == Next::Nothing && peer.credits() > 0 {
        peer.send(&Data::empty().requesting(1).granting(0))?;
        next = peer.next(Duration::from_secs(1));
    }
    let left = peer.credits();
    if !matches!(next, Next::Message(_)) {
        peer.nothing_returned(question.len())?;
    }
    peer.require("3.1.5.8-16", matches!(next, Next::Message(_)), || {
        let next = next.words();
        format!(
            "a message should come when the script has used {had} credits, it has {left} left, and {next}"
        )
    })?;
    let Next::Message(message) = next else { return Ok(()) };
    let seen = peer.as_data(message)?;
    last_credit_grants(&mut peer, WAITS, &seen);
    let mut whole = Whole::default();
    if !peer.take_answer(&mut whole, seen.clone(), from_ref(&question)) && !whole.others.is_empty() {
        // It was passed over: what it announces needs another credit.
        peer.send(&Data::empty().requesting(1).granting(1))?;
        return peer.answered("3.1.5.4-24", &question).map(|_| ());
    }
    // One credit brings no more than the first fragment of an answer.
    let answered = seen.header.remaining_data_length > 0 || peer.is_answer(&question, seen.payload());
    peer.check("3.1.5.4-24", answered, || {
        format!("the message that waited should come, {} came", seen.words())
    });
    Ok(())
}

/// A credit has to come within this time.
const CREDIT_TIME: Duration = Duration::from_secs(10);

fn credit_comes(peer: &mut Peer<'_>) -> Result<(), Stop> {
    peer.has_credit(POSTED, CREDIT_TIME, "while it sends")
}

pub(super) fn one_each_way(play: &mut Play) -> Result<(), Stop> {
    let opening = Opening { receives: 1, ..Opening::default() };
    let mut peer = play.established_as(&Terms::default().credits(1), &opening)?;
    let first = peer.initiators_message(Duration::from_secs(5))?;
    let left = first.message.left;
    peer.check("3.1.5.7-16", left == 0, || {
        format!("1 message was granted, {left} may be sent behind the first")
    });
    last_credit_grants(&mut peer, LAST, &first);
    let question = peer.message_for(7, 65_536, 65_000)?;
    for fragment in peer.fragments(&question)? {
        credit_comes(&mut peer)?;
        peer.send_now(&fragment)?;
    }
    let mut whole = Whole::default();
    loop {
        let seen = peer.back("3.1.5.8-16", question.len(), CREDIT_TIME)?;
        last_credit_grants(&mut peer, LAST, &seen);
        if peer.take_answer(&mut whole, seen, from_ref(&question)) {
            break;
        }
        credit_comes(&mut peer)?;
        peer.keep_granting()?;
    }
    is_whole(&mut peer, "3.1.5.8-17", &question, &whole);
    Ok(())
}
