//! 3.1.2, 3.1.6 and KA-1 to KA-8: keepalive, probes, and waiting for credits.

use std::time::Duration;

use smbd_core::error::{CommandError, ProbeError, RdmaError};
use smbd_core::wire::{DataTransfer, Flags, NegotiateRequest};
use smbd_core::{Event, Input, Keepalive, Params, PhaseName, RdmaVerb};

use crate::pair::{ACCEPTOR, DATA, INITIATOR, Pair, REQUEST, Side, descriptors};

const SECOND: Duration = Duration::from_secs(1);
const INTERVAL: Duration = Duration::from_secs(120);
const ANSWER: Duration = Duration::from_secs(5);
const DATA8: DataTransfer = DataTransfer { data_offset: 24, data_length: 8, ..DATA };
const ASKING: DataTransfer = DataTransfer { flags: Flags::RESPONSE_REQUESTED, ..DATA };

/// An acceptor with `credits` from the peer; all quiet, and the idle interval has just begun.
fn side(params: Params, credits: u16) -> Side {
    let mut side = Side::accepted(params, &REQUEST);
    side.receive_data(DataTransfer { credits_granted: credits, ..DATA });
    side.settle();
    side
}

fn flagged(side: &Side) -> usize {
    side.data_headers().iter().filter(|header| header.flags == Flags::RESPONSE_REQUESTED).count()
}

fn probed(side: &Side) -> Vec<Result<Duration, ProbeError>> {
    side.events
        .iter()
        .filter_map(|e| if let Event::Probed(result) = e { Some(*result) } else { None })
        .collect()
}

/// Found by fuzzing: a refused RDMA command moved the clock, and with it the time at which a probe was asked.
#[test]
fn a_refused_command_tells_no_time() {
    let mut side = side(Params::example(), 5);
    side.connection.probe(side.now).unwrap();
    side.now = side.now.saturating_add(Duration::from_millis(45));
    let now = side.now;
    let beyond = side.connection.rdma(now, RdmaVerb::Write, 8, descriptors(&[(0, 4)]), 0);
    assert!(matches!(beyond, Err(RdmaError::BeyondDescriptors { .. })), "{beyond:?}");
    side.settle();
    side.receive_data(DATA);
    side.drain();
    assert_eq!(probed(&side), [Ok(Duration::from_millis(45))]);
}

#[test]
fn an_idle_peer_is_asked_once_an_interval_and_answers_once() {
    let patient = Params { keepalive: None, ..Params::windows() };
    let mut pair = Pair::established(Params::windows(), patient);
    let quiet = pair.message_counts();
    pair.sleep(Duration::from_secs(24 * 3600));
    let intervals = 24 * 3600 / 120;
    let now = pair.message_counts();
    assert_eq!(now[INITIATOR] - quiet[INITIATOR], intervals);
    assert_eq!(now[ACCEPTOR] - quiet[ACCEPTOR], intervals);
    assert!(pair.data_headers(ACCEPTOR).iter().all(|header| header.flags.0 == 0), "an answer asks back");
    assert!(!pair.is_closed());
}

#[test]
fn peers_that_ask_at_the_same_moment_both_answer_and_are_quiet_again() {
    let mut pair = Pair::established(Params::windows(), Params::windows());
    let quiet = pair.message_counts();
    pair.sleep(Duration::from_secs(24 * 3600));
    let now = pair.message_counts();
    assert_eq!((now[0] - quiet[0], now[1] - quiet[1]), (2 * 720, 2 * 720));
    assert!(!pair.is_closed());
}

#[test]
fn the_probe_comes_when_the_interval_is_over_and_not_a_nanosecond_earlier() {
    let mut side = side(Params::windows(), 10);
    assert_eq!(side.deadline(), Some(side.now.saturating_add(INTERVAL)));
    side.pass(INTERVAL - Duration::from_nanos(1));
    assert_eq!(flagged(&side), 0);
    side.pass(Duration::from_nanos(1));
    assert_eq!(flagged(&side), 1);
    let header = side.last_header();
    assert_eq!((header.data_length, header.flags), (0, Flags::RESPONSE_REQUESTED));
    assert_eq!(side.deadline(), Some(side.now.saturating_add(ANSWER)));
    assert_eq!(side.connection.stats().sent.keepalives, 1);
}

#[test]
fn an_unanswered_probe_ends_the_connection_when_the_answer_timeout_is_over() {
    let mut side = side(Params::windows(), 10);
    side.pass(INTERVAL);
    side.pass(ANSWER - Duration::from_nanos(1));
    assert_eq!(side.connection.phase(), PhaseName::Established);
    side.pass(Duration::from_nanos(1));
    assert_eq!(side.end(), "Closed(KeepaliveTimeout)");
}

#[test]
fn without_a_credit_the_answer_timeout_runs_all_the_same() {
    // KA-2.
    let mut side = side(Params::windows(), 0);
    side.pass(INTERVAL);
    assert_eq!(flagged(&side), 0);
    side.pass(ANSWER);
    assert_eq!(side.end(), "Closed(KeepaliveTimeout)");
}

#[test]
fn any_message_is_a_keepalive_response_and_a_probe_not_yet_sent_is_dropped() {
    // KA-7: the grant that would let it leave makes it superfluous.
    let mut side = side(Params::windows(), 0);
    side.pass(INTERVAL);
    side.receive_data(DataTransfer { credits_granted: 5, ..DATA8 });
    side.settle();
    assert_eq!(flagged(&side), 0);
    assert_eq!(side.deadline(), Some(side.now.saturating_add(INTERVAL)));
}

#[test]
fn a_probe_that_was_sent_is_answered_by_any_message() {
    for answer in [DATA, DATA8, ASKING, DataTransfer { remaining_data_length: 8, ..DATA8 }] {
        let mut side = side(Params::windows(), 10);
        side.pass(INTERVAL);
        side.pass(ANSWER - SECOND);
        side.receive_data(answer);
        side.settle();
        assert_eq!(side.deadline(), Some(side.now.saturating_add(INTERVAL)));
        side.pass(SECOND);
        assert_eq!(side.connection.phase(), PhaseName::Established);
    }
}

#[test]
fn only_receipt_counts_as_life() {
    // KA-4.
    let mut side = side(Params::windows(), 200);
    for _ in 0..119 {
        side.pass(SECOND);
        side.send(8);
        side.settle();
    }
    assert_eq!(flagged(&side), 0);
    side.pass(SECOND);
    assert_eq!(flagged(&side), 1);
}

#[test]
fn the_probe_rides_on_a_message_that_leaves_anyway() {
    let mut side = side(Params::windows(), 10);
    side.now = side.now.saturating_add(INTERVAL);
    side.handle(Input::Timeout);
    side.send(8);
    side.settle();
    let headers = side.data_headers();
    assert_eq!((headers.len(), headers[0].flags, headers[0].data_length), (1, Flags::RESPONSE_REQUESTED, 8));
}

#[test]
fn a_probe_inside_a_sequence_rides_on_a_fragment() {
    // RA-4: an empty message would interrupt the sequence.
    let mut side = side(Params { send_credit_timeout: None, ..Params::windows() }, 2);
    side.send(4000);
    side.settle();
    side.pass(INTERVAL);
    side.receive_data(DataTransfer { credits_granted: 0, ..DATA });
    side.settle();
    side.pass(INTERVAL);
    assert_eq!(flagged(&side), 0);
    side.pass(ANSWER - SECOND);
    assert_eq!(side.connection.phase(), PhaseName::Established);
}

#[test]
fn an_answer_never_asks() {
    // KA-1.
    let mut side = side(Params::windows(), 10);
    side.receive_data(ASKING);
    side.settle();
    let headers = side.data_headers();
    assert_eq!((headers.len(), headers[0].flags), (1, Flags::NONE));
    assert_eq!(side.deadline(), Some(side.now.saturating_add(INTERVAL)), "no answer is waited for");
}

/// Held receives until none is left for the peer.
fn holding(credits: u16) -> Side {
    let keepalive = Some(Keepalive { interval: INTERVAL, answer_timeout: ANSWER });
    let params = Params { receive_credit_max: 4, borrowed_max: 0, keepalive, ..Params::example() };
    let mut side = Side::accepted(params, &NegotiateRequest { credits_requested: 4, ..REQUEST });
    side.release = false;
    side.receive_data(DataTransfer { credits_granted: credits, ..DATA8 });
    side.send(8);
    side.settle();
    while !side.posted.is_empty() {
        side.receive_data(DATA8);
        side.settle();
    }
    assert_eq!((side.fragments.len(), side.connection.credits().posted()), (5, 0), "all slots are held");
    side
}

#[test]
fn a_peer_without_a_credit_is_not_asked_and_not_given_up() {
    // KA-8.
    let mut side = holding(10);
    assert_eq!(side.deadline(), None);
    for _ in 0..10 {
        side.pass(INTERVAL);
    }
    assert_eq!((flagged(&side), side.connection.phase()), (0, PhaseName::Established));
}

#[test]
fn a_peer_that_gets_a_credit_after_a_silence_is_asked_with_it_and_has_the_whole_answer_timeout() {
    for silence in [INTERVAL, 10 * INTERVAL] {
        let mut side = holding(10);
        side.pass(silence);
        let fragment = side.fragments.pop().unwrap();
        side.connection.release(side.now, fragment).unwrap();
        assert_eq!(side.deadline().map(|at| at <= side.now), Some(true), "due already");
        side.pass(Duration::ZERO);
        let header = side.last_header();
        assert_eq!((header.flags, header.credits_granted), (Flags::RESPONSE_REQUESTED, 1));
        side.pass(ANSWER - Duration::from_nanos(1));
        assert_eq!(side.connection.phase(), PhaseName::Established);
        side.pass(Duration::from_nanos(1));
        assert_eq!(side.end(), "Closed(KeepaliveTimeout)");
    }
}

#[test]
fn a_short_hold_delays_no_question() {
    let mut side = holding(10);
    side.pass(INTERVAL - SECOND);
    side.release_all();
    side.settle();
    assert_eq!(side.deadline(), Some(side.now.saturating_add(SECOND)));
}

#[test]
fn without_keepalive_silence_is_never_probed() {
    let mut side = side(Params { keepalive: None, ..Params::windows() }, 10);
    assert_eq!(side.deadline(), None);
    side.pass(1_000_000 * SECOND);
    assert_eq!(side.data_headers().len(), 0);
    assert_eq!(side.connection.phase(), PhaseName::Established);
}

#[test]
fn a_timeout_too_early_does_nothing() {
    let mut side = side(Params::windows(), 10);
    for _ in 0..10 {
        side.handle(Input::Timeout);
    }
    side.drain();
    assert_eq!(side.data_headers().len(), 0);
}

#[test]
fn time_never_runs_backwards() {
    let mut side = side(Params::windows(), 10);
    side.pass(INTERVAL);
    let late = side.now;
    side.now = smbd_core::Instant::ORIGIN;
    side.receive_data(DATA);
    side.drain();
    assert_eq!(side.deadline(), Some(late.saturating_add(INTERVAL)));
}

#[test]
fn a_wait_after_the_end_has_no_deadline() {
    let mut side = side(Params::windows(), 10);
    side.connection.close(side.now, smbd_core::Close::Abort);
    assert_eq!(side.deadline(), None);
    side.pass(INTERVAL + ANSWER);
    assert_eq!(side.deadline(), None);
}

#[test]
fn a_probe_reports_the_time_from_leaving_to_the_next_message() {
    let mut side = side(Params::windows(), 10);
    side.connection.probe(side.now).unwrap();
    side.settle();
    assert_eq!(flagged(&side), 1);
    let full = side.connection.probe(side.now);
    assert_eq!(full, Err(CommandError::NoRoom { what: "probes" }));
    side.pass(Duration::from_micros(1234));
    side.receive_data(DATA);
    side.settle();
    assert_eq!(probed(&side), [Ok(Duration::from_micros(1234))]);
    side.connection.probe(side.now).unwrap();
}

#[test]
fn a_probe_is_answered_by_any_message() {
    for answer in [DATA, DATA8, ASKING, DataTransfer { remaining_data_length: 8, ..DATA8 }] {
        let mut side = side(Params::windows(), 10);
        side.connection.probe(side.now).unwrap();
        side.settle();
        side.receive_data(answer);
        side.settle();
        assert_eq!(probed(&side), [Ok(Duration::ZERO)], "{answer:?}");
    }
}

#[test]
fn an_unanswered_probe_is_reported_and_ends_nothing() {
    let mut side = side(Params::windows(), 10);
    side.connection.probe(side.now).unwrap();
    side.drain();
    side.pass(ANSWER - Duration::from_nanos(1));
    assert_eq!(probed(&side), []);
    side.pass(Duration::from_nanos(1));
    assert_eq!(probed(&side), [Err(ProbeError::Unanswered)]);
    side.receive_data(DATA);
    side.drain();
    assert_eq!(probed(&side).len(), 1, "a late answer is an ordinary message");
    assert_eq!(side.connection.phase(), PhaseName::Established);
}

#[test]
fn a_probe_without_a_credit_is_not_answered_by_what_comes_before_it_leaves() {
    let params = Params {
        keepalive: Some(Keepalive { interval: INTERVAL, answer_timeout: ANSWER }),
        ..Params::windows()
    };
    let mut side = side(params, 0);
    side.connection.probe(side.now).unwrap();
    side.drain();
    side.pass(2 * SECOND);
    side.receive_data(DataTransfer { credits_granted: 3, ..DATA });
    side.settle();
    assert_eq!((flagged(&side), probed(&side).len()), (1, 0));
    side.pass(SECOND);
    side.receive_data(DATA);
    side.settle();
    assert_eq!(probed(&side), [Ok(SECOND)]);
}

#[test]
fn a_probe_that_never_leaves_is_unanswered() {
    let mut side = side(Params { keepalive: None, ..Params::windows() }, 0);
    side.connection.probe(side.now).unwrap();
    side.drain();
    side.pass(ANSWER);
    assert_eq!(probed(&side), [Err(ProbeError::Unanswered)]);
    assert_eq!(flagged(&side), 0);
    side.receive_data(DataTransfer { credits_granted: 3, ..DATA });
    side.settle();
    assert_eq!(flagged(&side), 0, "nor does it later");
}

#[test]
fn probe_and_keepalive_share_a_message() {
    let mut side = side(Params::windows(), 10);
    side.now = side.now.saturating_add(INTERVAL);
    side.handle(Input::Timeout);
    side.connection.probe(side.now).unwrap();
    side.settle();
    assert_eq!(flagged(&side), 1);
    side.pass(SECOND);
    side.receive_data(DATA);
    side.settle();
    assert_eq!(probed(&side), [Ok(SECOND)]);
    assert_eq!(side.deadline(), Some(side.now.saturating_add(INTERVAL)));
}

fn stalling(timeout: Option<Duration>) -> Side {
    side(Params { keepalive: None, send_credit_timeout: timeout, ..Params::example() }, 0)
}

#[test]
fn a_message_without_a_credit_waits_as_long_as_it_may_and_then_the_connection_ends() {
    let mut side = stalling(Some(ANSWER));
    side.pass(SECOND);
    assert_eq!(side.deadline(), None, "nothing waits yet");
    side.send(8);
    assert_eq!(side.deadline(), Some(side.now.saturating_add(ANSWER)));
    assert_eq!(side.connection.stats().credit_stalls, 1);
    side.pass(ANSWER - Duration::from_nanos(1));
    assert_eq!(side.connection.phase(), PhaseName::Established);
    side.pass(Duration::from_nanos(1));
    assert_eq!(side.end(), "Closed(CreditStall)");
}

#[test]
fn an_empty_queue_never_stalls() {
    let mut side = stalling(Some(ANSWER));
    side.receive_data(ASKING);
    side.settle();
    side.pass(100 * ANSWER);
    assert_eq!(side.connection.phase(), PhaseName::Established);
}

#[test]
fn a_message_may_wait_for_ever_if_it_is_to() {
    let mut side = stalling(None);
    side.send(8);
    assert_eq!(side.deadline(), None);
    side.pass(100_000 * SECOND);
    assert_eq!(side.connection.phase(), PhaseName::Established);
}

#[test]
fn progress_starts_the_wait_for_credits_anew() {
    // One credit every four seconds carries one fragment each; nothing waits for five.
    let mut side = stalling(Some(ANSWER));
    side.send(10_000);
    side.settle();
    for fragment in 1..=9 {
        side.pass(4 * SECOND);
        side.receive_data(DataTransfer { credits_granted: 1, ..DATA });
        side.settle();
        assert_eq!(side.data_headers().len(), fragment, "{}", side.end());
        assert_eq!(side.deadline(), Some(side.now.saturating_add(ANSWER)));
    }
    assert_eq!(side.connection.stats().credit_stalls, 10);
}

#[test]
fn a_credit_that_came_in_time_counts_even_if_nobody_polled() {
    let mut side = stalling(Some(ANSWER));
    side.send(8);
    side.settle();
    side.now = side.now.saturating_add(ANSWER);
    side.receive_data(DataTransfer { credits_granted: 5, ..DATA });
    side.handle(Input::Timeout);
    side.settle();
    assert_eq!(side.end(), "");
    assert_eq!(side.data_headers().len(), 1);
}

#[test]
fn a_message_that_waits_for_the_own_upper_layer_is_not_stalled_by_the_peer() {
    // It may not spend the last credit, because no slot is free for the receive it would have to grant.
    let stall = Some(ANSWER);
    let params = Params {
        receive_credit_max: 4,
        borrowed_max: 0,
        keepalive: None,
        send_credit_timeout: stall,
        ..Params::example()
    };
    let mut side = Side::accepted(params, &NegotiateRequest { credits_requested: 4, ..REQUEST });
    side.release = false;
    side.receive_data(DataTransfer { credits_granted: 2, ..DATA8 });
    side.settle();
    side.send(8);
    side.settle();
    side.send(8);
    side.settle();
    assert_eq!((side.data_headers().len(), side.connection.credits().send()), (1, 1));
    side.pass(100 * ANSWER);
    assert_eq!(side.connection.phase(), PhaseName::Established);
}

#[test]
fn messages_without_credits_in_them_are_no_progress() {
    let mut side = stalling(Some(ANSWER));
    side.send(8);
    side.settle();
    for _ in 0..4 {
        side.pass(SECOND);
        side.receive_data(DATA);
        side.drain();
    }
    side.pass(SECOND);
    assert_eq!(side.end(), "Closed(CreditStall)");
}

#[test]
fn a_message_that_waits_for_an_rdma_write_does_not_wait_for_credits() {
    let stall = Some(ANSWER);
    let params = Params { keepalive: None, send_credit_timeout: stall, rdma_slots: 1, ..Params::example() };
    let mut side = side(params, 0);
    side.rdma(RdmaVerb::Write, 16, &[(0, 8), (0x100, 8)], 0);
    side.send(8);
    side.drain();
    side.pass(10 * ANSWER);
    assert_eq!(side.connection.phase(), PhaseName::Established);
    side.complete_rdma();
    assert_eq!(side.deadline(), Some(side.now.saturating_add(ANSWER)), "now it does");
}

#[test]
fn a_wait_that_begins_with_a_release_begins_then_and_not_at_the_last_input() {
    let params = Params {
        receive_credit_max: 4,
        borrowed_max: 0,
        keepalive: None,
        send_credit_timeout: Some(ANSWER),
        ..Params::example()
    };
    let mut side = Side::accepted(params, &REQUEST);
    side.release = false;
    // All five buffers are with the upper layer or the peer, and of two credits the first message takes one.
    side.receive_data(DataTransfer { credits_granted: 2, ..DATA8 });
    for _ in 0..3 {
        side.settle();
        side.receive_data(DATA8);
    }
    side.settle();
    for _ in 0..3 {
        side.send(8);
    }
    side.settle();
    assert_eq!((side.data_headers().len(), side.connection.credits().send()), (1, 1));
    assert_eq!(side.deadline(), None, "it is this side that holds the buffers");

    side.now = side.now.saturating_add(10 * ANSWER);
    side.release_all();
    side.settle();
    assert_eq!(side.data_headers().len(), 2);
    assert_eq!(side.deadline(), Some(side.now.saturating_add(ANSWER)));
}
