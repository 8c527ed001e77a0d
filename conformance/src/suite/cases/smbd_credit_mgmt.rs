//! Microsoft's cases of credits.

use std::slice::from_ref;
use std::time::Duration;

use smbd_core::{Keepalive, Params};

use super::Entry;
use crate::suite::basis::Basis;
use crate::suite::rig::Opening;
use crate::suite::words::Words;
use crate::suite::{Data, Grant, Next, PATIENCE, Peer, Play, Question, Seen, Stop, Terms, Whole};

/// The cases of this group.
pub(super) const CASES: &[Entry] = &[
    Entry::new("BVT_SmbdCreditMgmt_OperationWithMinimumCredits", |play| {
        let whole = few_credits(play, 1, "3.1.5.9-04 +3.1.5.9-01")?;
        last_credits(&mut play.peer(0), &whole);
        Ok(())
    }),
    Entry::new("SmbdCreditMgmt_OperationWithLimitedCredits", |play| {
        few_credits(play, 10, "3.1.5.9-07 +3.1.5.9-01").map(|_| ())
    }),
    Entry::new("SmbdCreditMgmt_ConsumeAllSendCredits", consume_send_credits),
    Entry::new("SmbdCreditMgmt_ConsumeAllReceiveCredits", consume_receive_credits),
    Entry::new("SmbdCreditMgmt_ConsumeAllCreditServer_Timeout", consume_and_wait).with(keepalive_alone),
    Entry::new("SmbdCreditMgmt_NegativeParameter_CreditRequested", credit_requested),
];

/// 64 KiB and the header of an SMB2 READ response.
const LONG: usize = 65_648;

/// A long message and its echo with so many credits; never more receives are posted.
fn few_credits(play: &mut Play, credits: u16, statements: &str) -> Result<Whole, Stop> {
    let opening = Opening { receives: credits, ..Opening::default() };
    let terms = Terms::credit_cases().credits(credits);
    let mut peer = play.established_as(&terms, &opening)?;
    let question = peer.message_for(2, LONG, LONG)?;
    for fragment in peer.fragments(&question)? {
        peer.has_credit(statements, PATIENCE, "while it sends")?;
        peer.send_now(&fragment)?;
    }
    let whole = peer.answered("3.1.5.8-16 +3.1.5.8-08 +3.1.5.8-15", &question)?;
    // A message without a receive would have broken the connection, or been tried again.
    peer.nothing_lost("3.1.5.9-08 +3.1.5.8-08");
    Ok(whole)
}

/// Whoever spends the last credit grants.
fn last_credits(peer: &mut Peer<'_>, whole: &Whole) {
    for seen in whole.empties.iter().chain(&whole.fragments) {
        last_credit(peer, seen);
    }
}

fn last_credit(peer: &mut Peer<'_>, seen: &Seen) {
    let (left, granted) = (seen.message.left, seen.header.credits_granted);
    peer.check("3.1.5.1-07", left > 0 || granted > 0, || {
        format!("the last credit should go to a message that grants, {} came", seen.words())
    });
}

fn consume_send_credits(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.connect()?;
    let terms = Terms { receives: 1, ..Terms::credit_cases() };
    peer.negotiate(&terms)?;
    peer.repost(false);
    for _ in 0..peer.credits() {
        peer.send_now(&Data { grant: Grant::Claimed(1), ..Data::empty() })?;
    }
    let seen = peer.expect_data("3.1.5.8-09 +2.2.3-01 +2.2.3-03 +3.1.5.9-01", PATIENCE)?;
    // It has no more credits than the one this took.
    peer.check("3.1.5.1-07 +3.1.5.9-01", seen.header.credits_granted > 0, || {
        format!("a message should come that grants, {} came", seen.words())
    });
    // There was one receive, and it is used.
    peer.quiet("3.1.5.1-06");
    Ok(())
}

/// Sends a long message such that the subject has 10 credits when it begins to answer it, and nothing grants it more.
fn begin_answer(play: &mut Play, seed: u64) -> Result<Question, Stop> {
    let mut peer = play.established_on(&Terms::credit_cases())?;
    let question = peer.message_for(seed, 65_536, 65_000)?;
    let mut fragments = peer.fragments(&question)?;
    let Some(last) = fragments.pop() else { return Ok(question) };
    for fragment in fragments {
        peer.send(&Data { grant: Grant::Used, ..fragment })?;
    }
    peer.settle();
    peer.repost(false);
    let missing = u16::try_from(10 - peer.granted()).unwrap_or(0);
    peer.send(&last.granting(missing))?;
    Ok(question)
}

/// Reads until the subject has used up its credits: nothing has come for 1 s.
fn read_all(
    peer: &mut Peer<'_>,
    whole: &mut Whole,
    total: &mut Option<usize>,
    question: &Question,
) -> Result<(), Stop> {
    loop {
        let message = match peer.next(Duration::from_secs(1)) {
            Next::Message(message) => message,
            Next::Nothing => return Ok(()),
            Next::Down => {
                let because = "the connection went down while the subject was sending".into();
                return Err(peer.play().without(Basis::Echo(total.unwrap_or(1)), because));
            }
        };
        let seen = peer.as_data(message)?;
        last_credit(peer, &seen);
        if seen.header.data_length == 0 {
            whole.take(seen);
            continue;
        }
        let says = seen.header.data_length.saturating_add(seen.header.remaining_data_length) as usize;
        // The first fragment says how long the message is.
        let missing = total.get_or_insert(says).saturating_sub(whole.payload.len());
        peer.check("3.1.5.4-18", says == missing, || {
            format!("DataLength and RemainingDataLength should make {missing}, they make {says}")
        });
        if whole.take(seen) && peer.passes_over(whole, from_ref(question)) {
            *total = None;
        }
    }
}

fn consume_receive_credits(play: &mut Play) -> Result<(), Stop> {
    let question = begin_answer(play, 3)?;
    let mut peer = play.peer(0);
    let mut whole = Whole::default();
    let mut total = peer.answers_in_order().then_some(question.len());
    for _ in 0..question.len() {
        read_all(&mut peer, &mut whole, &mut total, &question)?;
        if total.is_some_and(|total| whole.payload.len() >= total) {
            break;
        }
        if whole.payload.is_empty() {
            peer.nothing_returned(question.len())?;
        }
        // What is left is what could not be spent on a message that grants, or was kept; with two for each message it is 5.
        let left = peer.granted();
        let statements = if left < 0 { "3.1.5.1-06" } else { "3.1.5.1-09" };
        peer.check(&format!("{statements} +3.1.5.1-06 +3.1.5.1-09"), (0..=4).contains(&left), || {
            format!("the subject should have used its 10 credits for 10 messages, it has {left}")
        });
        peer.post_receives(10)?;
        peer.quiet_for("3.1.5.1-06", Duration::from_secs(1));
        let before = whole.payload.len();
        peer.send(&Data::empty().granting(10))?;
        read_all(&mut peer, &mut whole, &mut total, &question)?;
        if whole.payload.len() == before {
            peer.nothing_returned(question.len())?;
        }
        peer.require("3.1.5.8-16 +3.1.5.8-15", whole.payload.len() > before, || {
            "10 credits should set the message in motion again, nothing came".into()
        })?;
    }
    let answered = peer.is_answer(&question, &whole.payload);
    peer.check("3.1.5.4-21 +3.1.5.8-16", answered, || {
        "the answer should come whole, and as it was awaited".into()
    });
    Ok(())
}

/// KeepaliveInterval 120 s, and nothing else that ends a connection whose peer is silent.
fn keepalive_alone(params: &mut Params) {
    let (interval, answer_timeout) = (Duration::from_secs(120), Duration::from_secs(5));
    params.keepalive = Some(Keepalive { interval, answer_timeout });
    params.send_credit_timeout = None;
}

fn consume_and_wait(play: &mut Play) -> Result<(), Stop> {
    begin_answer(play, 4)?;
    let mut peer = play.peer(0);
    let mut last = peer.play().now();
    while let Next::Message(message) = peer.next(Duration::from_secs(1)) {
        last = message.at;
        peer.as_data(message)?;
    }
    let next = peer.next(Duration::from_secs(131));
    peer.check("3.1.5.1-06", !matches!(next, Next::Message(_)), || {
        format!("nothing should come without a credit, {}", next.words())
    });
    peer.goes_down("3.1.6.2-02", last, "the last message", Duration::from_secs(132));
    Ok(())
}

fn credit_requested(play: &mut Play) -> Result<(), Stop> {
    let mut peer = play.established_on(&Terms::credit_cases())?;
    peer.send(&Data::empty().requesting(0))?;
    peer.ends_by("3.1.5.8-03", "3.1.5.8-07").map(|_| ())
}
