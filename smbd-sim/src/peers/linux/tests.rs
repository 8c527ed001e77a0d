//! The known behaviour of Linux, one message at a time.

use std::time::Duration;

use smbd_core::Instant;

use super::*;
use crate::Side;
use crate::peers::line::{ModelParams, Phase};
use crate::peers::model::Model;
use crate::peers::tests::{SMALL, data, fragment, granted, heard, met, params};
use crate::peers::work::ScriptedMessage;

fn client(credits: u16, says: &[ScriptedMessage]) -> Model {
    met(Side::Initiator, params(), Box::new(LinuxClient::new()), credits, says).0
}

fn server(says: &[ScriptedMessage]) -> (Model, u16) {
    let params = ModelParams { receive_credit_max: 32, ..params() };
    let rules = Box::new(LinuxServer::new(&params));
    met(Side::Acceptor, params, rules, 0, says)
}

fn now(model: &mut Model) {
    model.on_time(Instant::ORIGIN);
}

#[test]
fn the_client_grants_all_it_has_at_once_whatever_it_was_asked_for() {
    let mut model = client(9, &[]);
    now(&mut model);
    assert_eq!(granted(&heard(&mut model)), [8], "four were asked for");
}

#[test]
fn the_client_spends_its_last_credit_on_nothing_cr_4() {
    let mut model = client(2, &[SMALL; 3]);
    now(&mut model);
    let said = heard(&mut model);
    assert_eq!(said.len(), 2, "{said:?}");
    assert_eq!(said.last().map(|message| message.granted), Some(0));
}

#[test]
fn the_client_answers_a_probe_only_if_more_than_one_receive_is_missing_and_then_asks_ka_1_ka_5() {
    // It has granted eight, and four are asked for: nothing is missing.
    let mut model = client(9, &[]);
    now(&mut model);
    heard(&mut model);
    model.on_received(Instant::ORIGIN, 0, &data(0, true));
    now(&mut model);
    assert_eq!(heard(&mut model).len(), 0);
    let asked = Instant::ORIGIN.saturating_add(params().keepalive_interval);
    model.on_time(asked);
    assert!(matches!(model.phase(), Phase::Over(_)), "its own timer takes the probe for its own");

    let mut model = client(9, &[]);
    now(&mut model);
    heard(&mut model);
    for slot in 0..6 {
        model.on_received(Instant::ORIGIN, slot, &data(0, slot == 5));
    }
    now(&mut model);
    let answers = heard(&mut model);
    assert_eq!(answers.len(), 1);
    assert!(answers[0].asks);
}

#[test]
fn the_client_gives_a_keepalive_response_that_asks_for_none_after_what_it_sent_ka_4() {
    let mut model = client(9, &[]);
    now(&mut model);
    heard(&mut model);
    let interval = params().keepalive_interval;
    assert_eq!(model.idle_deadline(), Some(Instant::ORIGIN.saturating_add(interval)));
    model.on_received(Instant::ORIGIN.saturating_add(Duration::from_secs(60)), 0, &data(0, false));
    assert_eq!(
        model.idle_deadline(),
        Some(Instant::ORIGIN.saturating_add(interval)),
        "not by what it received"
    );
    model.on_time(Instant::ORIGIN.saturating_add(interval));
    let said = heard(&mut model);
    assert!(said.len() == 1 && !said[0].asks, "{said:?}");
}

#[test]
fn the_client_holds_receives_until_the_message_is_complete_ra_7() {
    let mut model = client(9, &[]);
    now(&mut model);
    heard(&mut model);
    for slot in 0..8 {
        model.on_received(Instant::ORIGIN, slot, &fragment(0, 100));
        now(&mut model);
    }
    assert_eq!(heard(&mut model).len(), 0, "{}", model.left());
}

#[test]
fn the_server_grants_more_than_it_was_asked_for_and_nothing_more_before_an_eighth_is_left() {
    let (mut model, first) = server(&[]);
    assert_eq!(first, 31, "four were asked for, and the request has one buffer");
    let mut grants = Vec::new();
    for slot in 1..=31 {
        model.on_received(Instant::ORIGIN, slot, &data(1, false));
        now(&mut model);
        grants.extend(granted(&heard(&mut model)).into_iter().map(|grant| (slot, grant)));
    }
    // Four asked for are what the peer still has until three are left.
    assert_eq!(grants, [(28, 29)]);
}

#[test]
fn the_server_answers_at_once_without_asking_and_may_grant_nothing() {
    let (mut model, _) = server(&[]);
    model.on_received(Instant::ORIGIN, 1, &data(1, true));
    now(&mut model);
    let answers = heard(&mut model);
    assert_eq!(granted(&answers), [0]);
    assert!(!answers[0].asks);
    assert_eq!(model.idle_deadline(), None, "and it never asks");
}

fn engine(side: Side, receive_credit_max: u16, credits: u16, says: &[ScriptedMessage]) -> (Model, u16) {
    let params = ModelParams { receive_credit_max, ..params() };
    let rules = Box::new(LinuxEngine::new(&params));
    met(side, params, rules, credits, says)
}

#[test]
fn the_server_of_7_3_grants_what_it_was_asked_for() {
    assert_eq!(engine(Side::Acceptor, 32, 0, &[]).1, 4);
    assert_eq!(engine(Side::Acceptor, 3, 0, &[]).1, 3, "as far as it has receives");
}

#[test]
fn the_client_of_7_3_grants_with_its_first_message_what_it_was_asked_for() {
    let (mut model, _) = engine(Side::Initiator, 8, 9, &[]);
    now(&mut model);
    assert_eq!(heard(&mut model).len(), 0);
    let (mut model, _) = engine(Side::Initiator, 8, 9, &[SMALL]);
    now(&mut model);
    assert_eq!(granted(&heard(&mut model)), [4]);
}

#[test]
fn a_peer_of_7_3_whose_messages_are_read_one_by_one_is_told_of_new_credits_by_any_other_message_only_row_53()
{
    let (mut model, _) = engine(Side::Acceptor, 32, 0, &[]);
    for slot in 0..3 {
        model.on_received(Instant::ORIGIN, slot, &data(1, false));
        now(&mut model);
    }
    assert_eq!(heard(&mut model).len(), 0, "it has three receives for the peer, which has one credit");
    model.on_received(Instant::ORIGIN, 3, &data(0, true));
    now(&mut model);
    let answers = heard(&mut model);
    assert_eq!(granted(&answers), [4]);
    assert!(!answers[0].asks);
}

#[test]
fn nothing_of_7_3_comes_between_the_fragments_of_a_message() {
    let long = ScriptedMessage { len: 3000, ..SMALL };
    let (mut model, _) = engine(Side::Initiator, 8, 2, &[long]);
    now(&mut model);
    assert_eq!(heard(&mut model).len(), 2);
    model.on_received(Instant::ORIGIN, 0, &data(1, true));
    now(&mut model);
    let said = heard(&mut model);
    assert!(said.len() == 1 && said[0].len > 0, "{said:?}");
    model.on_received(Instant::ORIGIN, 1, &data(2, false));
    now(&mut model);
    let is_empty: Vec<_> = heard(&mut model).iter().map(|message| message.len == 0).collect();
    assert_eq!(is_empty, [false, true]);
}

#[test]
fn the_last_credit_of_7_3_waits_for_something_to_grant_if_the_peer_has_none() {
    let (mut model, first) = engine(Side::Acceptor, 4, 0, &[SMALL]);
    assert_eq!(first, 4);
    for slot in 0..4 {
        // All receives are held, since the message is not complete.
        model.on_received(Instant::ORIGIN, slot, &fragment(u16::from(slot == 3), 100));
        now(&mut model);
    }
    assert_eq!(heard(&mut model).len(), 0, "{}", model.left());
}

#[test]
fn a_peer_of_7_3_asks_after_two_minutes_without_a_message_and_ends_without_an_answer() {
    for answers in [true, false] {
        let (mut model, _) = engine(Side::Initiator, 8, 9, &[]);
        let asks = Instant::ORIGIN.saturating_add(params().keepalive_interval);
        assert_eq!(model.idle_deadline(), Some(asks));
        // The timer, and then the work that sends.
        model.on_time(asks);
        model.on_time(asks);
        let said = heard(&mut model);
        assert!(said.len() == 1 && said[0].asks, "{said:?}");
        if answers {
            model.on_received(asks, 0, &data(0, false));
        }
        model.on_time(asks.saturating_add(Duration::from_secs(5)));
        assert_eq!(matches!(model.phase(), Phase::Over(_)), !answers);
    }
}
