//! The last credit.

use std::collections::VecDeque;
use std::time::Duration;

use super::last_credit_grants;
use crate::suite::rig::Opening;
use crate::suite::{Data, Next, Peer, Play, Stop, Terms, Whole};

/// One credit is asked for in each message of the script.
fn asking_for_one() -> Terms {
    let mut terms = Terms::default();
    terms.request.credits_requested = 1;
    terms.response.credits_requested = 1;
    terms
}

const LAST: &str = "3.1.5.1-07 3.1.5.9-04";

pub(super) fn goes_to_a_grant(play: &mut Play) -> Result<(), Stop> {
    one_at_a_time(play)?;
    // The first echo grants all there is; for the second a receive has to be posted beyond what was asked for.
    let mut peer = play.established_with(&Terms::default(), 2)?;
    let questions = [peer.message(1, 100)?, peer.message(2, 100)?];
    for question in &questions {
        peer.send(&Data::of(question).granting(0))?;
    }
    for question in &questions {
        let whole = peer.answered(LAST, question)?;
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
        peer.require(LAST, may_go_on || matches!(next, Next::Message(_)), || {
            format!(
                "a message should come within 10 s of the subject's credit, {} bytes came before",
                whole.payload.len()
            )
        })?;
        let Next::Message(message) = next else { continue };
        let seen = peer.as_data(LAST, message)?;
        last_credit_grants(&mut peer, LAST, &seen);
        if whole.take(seen) {
            break;
        }
    }
    let answered = peer.is_answer(&question, &whole.payload);
    peer.check(LAST, answered, || {
        format!("the answer should come whole, {} bytes came", whole.payload.len())
    });
    Ok(())
}

pub(super) fn waits(play: &mut Play) -> Result<(), Stop> {
    const WAITS: &str = "3.1.5.1-07 3.1.5.9-06";
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
    peer.require(WAITS, matches!(next, Next::Message(_)), || {
        format!("a message should come when the script has used {had} credits, it has {left} left: {next:?}")
    })?;
    let Next::Message(message) = next else { return Ok(()) };
    let seen = peer.as_data(WAITS, message)?;
    last_credit_grants(&mut peer, WAITS, &seen);
    let answered = peer.is_answer(&question, seen.payload());
    peer.check("3.1.5.1-07", answered, || {
        format!("the message that waited should come, {:?} came", seen.header)
    });
    Ok(())
}

/// A credit has to come within this time.
const CREDIT_TIME: Duration = Duration::from_secs(10);

fn credit_comes(peer: &mut Peer<'_>) -> Result<(), Stop> {
    let came = peer.credit_within(CREDIT_TIME);
    peer.require("3.1.5.1-07 3.1.5.9-04", came, || "no credit came for the script within 10 s".into())
}

pub(super) fn one_each_way(play: &mut Play) -> Result<(), Stop> {
    let opening = Opening { receives: 1, ..Opening::default() };
    let mut peer = play.established_as(&Terms::default().credits(1), &opening)?;
    let first = peer.expect_data("3.1.5.7-16", Duration::from_secs(5))?;
    let left = first.message.left;
    peer.check("3.1.5.7-16", left == 0, || {
        format!("1 message was granted, {left} may be sent behind the first")
    });
    last_credit_grants(&mut peer, "3.1.5.1-07 3.1.5.9-04", &first);
    let question = peer.message_for(7, 65_536, 65_000)?;
    for fragment in peer.fragments(&question)? {
        credit_comes(&mut peer)?;
        peer.send_now(&fragment)?;
    }
    let mut whole = Whole::default();
    loop {
        let seen = peer.expect_data("3.1.5.8-16", CREDIT_TIME)?;
        last_credit_grants(&mut peer, "3.1.5.1-07 3.1.5.9-04", &seen);
        if whole.take(seen) {
            break;
        }
        credit_comes(&mut peer)?;
        peer.keep_granting()?;
    }
    let answered = peer.is_answer(&question, &whole.payload);
    peer.check("3.1.5.8-16", answered, || {
        format!("the answer should come whole, {} bytes came", whole.payload.len())
    });
    Ok(())
}
