//! The known behaviour of Windows, one message at a time.

use super::*;
use crate::Side;
use crate::peers::model::Model;
use crate::peers::tests::{SMALL, data, granted, heard, met, params};
use crate::peers::work::ScriptedMessage;

fn acceptor(says: &[ScriptedMessage]) -> (Model, u16) {
    met(Side::Acceptor, params(), Box::new(Windows::new(&params())), 0, says)
}

fn after(time: Duration) -> Instant {
    Instant::ORIGIN.saturating_add(time)
}

#[test]
fn an_answer_does_not_ask_and_comes_at_once() {
    let (mut model, _) = acceptor(&[]);
    model.on_received(Instant::ORIGIN, 1, &data(3, true));
    let answers = heard(&mut model);
    assert_eq!(answers.len(), 1);
    assert!(!answers[0].asks);
}

#[test]
fn receives_are_granted_in_lumps_when_few_are_left() {
    let (mut model, first) = acceptor(&[]);
    assert_eq!(first, 4, "what was asked for");
    let mut grants = Vec::new();
    for slot in 1..=3 {
        model.on_received(Instant::ORIGIN, slot, &data(3, false));
        grants.push(granted(&heard(&mut model)));
    }
    assert_eq!(grants, [vec![], vec![], vec![3]]);
}

#[test]
fn the_last_credit_goes_with_a_grant() {
    let (mut model, _) = acceptor(&[SMALL; 2]);
    model.on_received(Instant::ORIGIN, 1, &data(1, false));
    model.on_time(Instant::ORIGIN);
    assert_eq!(granted(&heard(&mut model)), [1]);
}

#[test]
fn who_lacks_a_credit_for_5_s_is_gone() {
    let (mut model, _) = acceptor(&[SMALL; 2]);
    model.on_time(Instant::ORIGIN);
    assert_eq!(heard(&mut model).len(), 0);
    assert_eq!(model.deadline(), Some(after(SEND_CREDIT_GRANT)));
    model.on_time(after(SEND_CREDIT_GRANT));
    assert_eq!(model.deadline(), None, "{:?}", model.phase());
}

#[test]
fn a_peer_that_is_silent_is_asked_once_and_given_5_s_credits_or_not() {
    let (mut model, _) = acceptor(&[]);
    let idle = params().keepalive_interval;
    model.on_time(after(idle));
    assert_eq!(heard(&mut model).len(), 0, "there is no credit to ask with");
    model.on_time(after(idle + ANSWER_TIMEOUT));
    assert_eq!(model.deadline(), None, "{:?}", model.phase());
}

#[test]
fn grants_travel_alone_also_between_the_fragments_of_a_message_ra_4() {
    let long = ScriptedMessage { len: 3000, ..SMALL };
    let (mut model, _) = acceptor(&[long]);
    model.on_time(Instant::ORIGIN);
    let mut lengths = Vec::new();
    for (slot, credits) in (1..).zip([2, 0, 0, 0, 4]) {
        model.on_received(Instant::ORIGIN, slot, &data(credits, false));
        lengths.extend(heard(&mut model).iter().map(|message| message.len));
    }
    assert_eq!(lengths, [976, 976, 0, 976, 72]);
}
