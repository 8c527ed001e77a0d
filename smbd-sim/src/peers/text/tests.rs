//! The peculiarities of the texts, one message at a time.

use super::*;
use crate::Side;
use crate::peers::line::Order;
use crate::peers::model::Model;
use crate::peers::tests::{SMALL, data, granted, heard, met, params};
use crate::peers::work::ScriptedMessage;

const REPAIRED: bool = true;
const LITERAL: bool = false;

/// An acceptor that was asked for four credits, and what its response grants.
fn acceptor(edition: Edition, repaired: bool, says: &[ScriptedMessage]) -> (Model, u16) {
    let rules = Box::new(Text::new(edition, repaired, &params()));
    met(Side::Acceptor, params(), rules, 0, says)
}

/// An initiator that was granted so many credits, and asked for four.
fn initiator(edition: Edition, repaired: bool, granted: u16, says: &[ScriptedMessage]) -> Model {
    let rules = Box::new(Text::new(edition, repaired, &params()));
    met(Side::Initiator, params(), rules, granted, says).0
}

#[test]
fn the_initiators_first_grant_is_lost_unless_repaired_cr_1() {
    for edition in [Edition::V2018, Edition::V2021] {
        for (repaired, first) in [(LITERAL, 0), (REPAIRED, 4)] {
            let mut model = initiator(edition, repaired, 9, &[SMALL]);
            model.on_time(Instant::ORIGIN);
            assert_eq!(granted(&heard(&mut model)), [first], "{edition:?}, repaired: {repaired}");
        }
    }
}

#[test]
fn an_acceptor_grants_its_receives_in_the_response() {
    for edition in [Edition::V2018, Edition::V2021] {
        assert_eq!(acceptor(edition, LITERAL, &[]).1, 4);
    }
}

#[test]
fn the_acceptor_of_2018_loses_each_credit_it_makes_anew_cr_2() {
    for (edition, repaired, grants) in
        [(Edition::V2018, LITERAL, 0), (Edition::V2018, REPAIRED, 1), (Edition::V2021, LITERAL, 1)]
    {
        let (mut model, _) = acceptor(edition, repaired, &[]);
        // The first brings credits and comes when there is none to answer with; the second can be answered at once.
        model.on_received(Instant::ORIGIN, 1, &data(9, false));
        let waited = heard(&mut model);
        model.on_received(Instant::ORIGIN, 2, &data(0, false));
        let at_once = heard(&mut model);
        let case = format!("{edition:?}, repaired: {repaired}");
        assert_eq!(granted(&waited), [grants], "{case}");
        assert_eq!(granted(&at_once), [grants], "{case}");
    }
}

#[test]
fn the_last_credit_is_never_spent_while_the_peer_has_what_it_asked_for_cr_4() {
    for (edition, repaired) in [(Edition::V2018, REPAIRED), (Edition::V2021, LITERAL)] {
        let (mut model, _) = acceptor(edition, repaired, &[SMALL; 3]);
        // Two credits, one of which is spent on the answer to this message.
        model.on_received(Instant::ORIGIN, 1, &data(2, false));
        assert_eq!(heard(&mut model).len(), 1);
        model.on_time(Instant::ORIGIN);
        assert_eq!(heard(&mut model).len(), 0, "{edition:?}: {}", model.left());
        model.on_received(Instant::ORIGIN, 2, &data(1, false));
        assert_eq!(heard(&mut model).len(), 1, "a grant restarts the queue, until there is one credit again");
    }
}

#[test]
fn an_answer_asks_for_an_answer_ka_1() {
    for edition in [Edition::V2018, Edition::V2021] {
        let (mut model, _) = acceptor(edition, LITERAL, &[]);
        model.on_received(Instant::ORIGIN, 1, &data(9, true));
        let answers = heard(&mut model);
        assert!(answers.iter().any(|message| message.asks), "{edition:?}: {answers:?}");
    }
}

#[test]
fn an_unanswered_probe_ends_the_connection_but_only_if_it_could_be_sent_ka_2() {
    let interval = params().keepalive_interval;
    let at = Instant::ORIGIN.saturating_add(interval);
    let mut asks = initiator(Edition::V2021, LITERAL, 9, &[]);
    asks.on_time(at);
    assert!(heard(&mut asks).iter().any(|message| message.asks));
    assert_eq!(asks.idle_deadline(), Some(at.saturating_add(ANSWER_TIMEOUT)));
    asks.on_time(at.saturating_add(ANSWER_TIMEOUT));
    assert!(std::iter::from_fn(|| asks.next_order()).any(|order| order == Order::Disconnect));

    let (mut cannot, _) = acceptor(Edition::V2021, LITERAL, &[]);
    cannot.on_time(at);
    assert_eq!(heard(&mut cannot).len(), 0, "there is no credit");
    assert_eq!(cannot.idle_deadline(), None, "and no timer any more");
}

#[test]
fn receives_may_come_to_almost_twice_the_maximum_cr_6() {
    let mut params = params();
    params.posting = Posting::Most;
    let mut credits = Credits::new(LITERAL, &params);
    credits.receive_credit_target = 200;
    let max = u32::from(params.receive_credit_max);
    credits.receive_credits = max - 1;
    assert_eq!(credits.manage(false, |count| count), max);
    assert_eq!(credits.receive_credits, 2 * max - 1);
}
