//! What looks like a rule broken and is none.

use smbd_conformance::monitor::rules::behaviour::{KEEPALIVE_UNANSWERED, RDMA_INVALIDATED};
use smbd_conformance::monitor::{Verdict, text};
use smbd_core::wire::data_transfer::field;
use smbd_core::wire::{DataTransfer, Flags, NegotiateResponse, status};
use smbd_sim::decode::Direction::{ToAcceptor, ToInitiator};

use super::common::{
    ADDED, CLIENT_DATA, DISCONNECT, GRANT, RDMA_WRITE, RESPONSE, SECOND, SERVER_LAST, Tape, empty, encoded,
};

const ASKS: Flags = Flags::RESPONSE_REQUESTED;

fn nothing_in(verdict: &Verdict) {
    assert_eq!(verdict.findings().count(), 0, "{}", text::verdict(verdict));
}

#[test]
fn a_refusal_is_no_fault() {
    let mut tape = Tape::new();
    tape.refuse(&NegotiateResponse::failure(status::INSUFFICIENT_RESOURCES));
    nothing_in(&tape.check());
}

#[test]
fn bytes_behind_a_message_are_allowed() {
    let mut tape = Tape::new();
    tape.edit(RESPONSE, |bytes| bytes.resize(512, 0xff)).edit(CLIENT_DATA, |bytes| bytes.resize(1364, 0xff));
    nothing_in(&tape.check());
}

#[test]
fn payload_may_begin_behind_the_first_possible_place() {
    let mut tape = Tape::new();
    tape.edit(CLIENT_DATA, |bytes| _ = bytes.splice(24..24, [0; 16]));
    tape.set32(CLIENT_DATA, field::DATA_OFFSET, 40);
    nothing_in(&tape.check());
}

#[test]
fn probes_that_cross_do_not_answer_each_other() {
    let mut tape = Tape::new();
    tape.add(SERVER_LAST, ToAcceptor, empty(0, ASKS)).add(ADDED, ToInitiator, empty(0, ASKS));
    tape.add(ADDED + 1, ToInitiator, empty(1, Flags::NONE)).add(ADDED + 2, ToAcceptor, empty(1, Flags::NONE));
    tape.delay(DISCONNECT, 6 * SECOND);
    nothing_in(&tape.check());
}

#[test]
fn an_answer_is_in_time_for_five_seconds() {
    let mut tape = Tape::new();
    tape.add(SERVER_LAST, ToAcceptor, empty(0, ASKS)).add(ADDED, ToInitiator, empty(0, Flags::NONE));
    tape.delay(ADDED + 1, 5 * SECOND).delay(DISCONNECT, 60 * SECOND);
    nothing_in(&tape.check());
}

#[test]
fn who_holds_no_credit_for_an_answer_is_not_judged() {
    let mut tape = Tape::new();
    tape.set16(GRANT, field::CREDITS_GRANTED, 1).set16(GRANT, field::FLAGS, ASKS.0);
    tape.end_after(GRANT).delay(DISCONNECT, 60 * SECOND);
    let verdict = tape.check();
    nothing_in(&verdict);
    assert_eq!(verdict.connections[0].not_judged.get(KEEPALIVE_UNANSWERED.name), Some(&1));
}

#[test]
fn a_probe_just_before_the_end_is_not_judged() {
    let mut tape = Tape::new();
    tape.add(SERVER_LAST, ToAcceptor, empty(0, ASKS));
    nothing_in(&tape.check());
}

/// Invalidates the token of an RDMA Write before it.
fn invalidated(tape: &mut Tape) -> u32 {
    let mut token = 0;
    tape.operation(RDMA_WRITE, |operation| token = operation.token.unwrap().0);
    let request = tape.frame_before(RDMA_WRITE);
    tape.add(request, ToInitiator, empty(0, Flags::NONE)).invalidate(ADDED, token);
    token
}

#[test]
fn a_token_that_is_told_anew_may_be_used_again() {
    for bytes_of in [u32::to_le_bytes, u32::to_be_bytes] {
        let mut tape = Tape::new();
        let token = invalidated(&mut tape);
        let header = DataTransfer {
            credits_requested: 255,
            data_offset: 24,
            data_length: 7,
            ..DataTransfer::default()
        };
        let mut message = encoded(&header);
        message.extend_from_slice(&[1, 2, 3]);
        message.extend_from_slice(&bytes_of(token));
        tape.add(ADDED, ToAcceptor, message);
        nothing_in(&tape.check());
    }
}

#[test]
fn tokens_are_not_judged_where_packets_came_twice() {
    let mut tape = Tape::new();
    invalidated(&mut tape);
    tape.retransmitted();
    let verdict = tape.check();
    nothing_in(&verdict);
    assert_eq!(verdict.connections[0].not_judged.get(RDMA_INVALIDATED.name), Some(&1));
}
