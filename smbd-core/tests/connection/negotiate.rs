//! 3.1.5.2, 3.1.5.3, 3.1.5.6, 3.1.5.7: every check at its boundary, on both sides.

use std::time::Duration;

use proptest::prelude::*;
use smbd_core::error::{ConnectError, DisconnectReason, Violation};
use smbd_core::wire::{NegotiateRequest, NegotiateResponse, NtStatus, status};
use smbd_core::{Action, Event, Params, PhaseName, Role};

use crate::pair::{DATA, LOST, REQUEST, RESPONSE, Side, data, request, response, shape};

fn strict() -> Params {
    Params { strict: true, ..Params::example() }
}

fn connect_error(side: &Side) -> Option<ConnectError> {
    side.events.iter().find_map(|event| match event {
        Event::ConnectFailed(error) => Some(*error),
        _ => None,
    })
}

/// What an acceptor makes of `request`; `Ok` if it is established.
fn accept(params: Params, message: &NegotiateRequest) -> Result<Side, ConnectError> {
    let side = Side::accepted(params, message);
    match connect_error(&side) {
        None => {
            assert_eq!(side.connection.phase(), PhaseName::Established);
            Ok(side)
        }
        Some(error) => {
            assert_eq!(side.connection.phase(), PhaseName::Drained);
            Err(error)
        }
    }
}

fn initiate(params: Params, message: &NegotiateResponse) -> Result<Side, ConnectError> {
    let side = Side::initiated(params, message);
    match connect_error(&side) {
        None => Ok(side),
        Some(error) => {
            assert_eq!(side.sent.len(), 1, "nothing but the request was sent");
            Err(error)
        }
    }
}

fn accept_violation(message: NegotiateRequest) -> Violation {
    match accept(Params::example(), &message).err() {
        Some(ConnectError::Violation(violation)) => violation,
        other => panic!("{other:?}"),
    }
}

fn initiate_violation(message: NegotiateResponse) -> Violation {
    match initiate(Params::example(), &message).err() {
        Some(ConnectError::Violation(violation)) => violation,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_acceptor_posts_one_receive_of_512_bytes_and_then_accepts() {
    let mut side = Side::new(Role::Acceptor, Params::example());
    assert_eq!(shape(&side.drain()), "rAw");
    assert_eq!(side.posted.front().unwrap().1, 512);
}

#[test]
fn the_initiator_posts_one_receive_of_512_bytes_connects_and_asks_when_connected() {
    let mut side = Side::new(Role::Initiator, Params::example());
    assert_eq!(shape(&side.drain()), "rCw");
    assert_eq!(side.posted.front().unwrap().1, 512);
    side.connect();
    assert_eq!(shape(&side.drain()), "sw");
}

#[test]
fn the_request_carries_the_configuration() {
    let params = Params {
        send_credit_target: 0x12,
        max_send_size: 0x1345,
        max_receive_size: 0x2456,
        max_fragmented_recv_size: 0x0034_5678,
        ..Params::example()
    };
    let side = Side::connected(Role::Initiator, params);
    let bytes = side.sent[0].head.as_bytes();
    assert_eq!(
        bytes,
        [0, 1, 0, 1, 0, 0, 0x12, 0, 0x45, 0x13, 0, 0, 0x56, 0x24, 0, 0, 0x78, 0x56, 0x34, 0],
        "3.1.5.2"
    );
}

#[test]
fn the_response_carries_what_was_settled() {
    let params = Params { send_credit_target: 0x21, max_read_write_size: 0x0012_3456, ..Params::example() };
    let message = NegotiateRequest { credits_requested: 7, preferred_send_size: 1000, ..REQUEST };
    let side = Side::accepted(params, &message);
    let bytes = side.sent[0].head.as_bytes();
    insta::assert_snapshot!(
        format!("{:?}", NegotiateResponse::parse(bytes).unwrap()),
        @"NegotiateResponse { min_version: 256, max_version: 256, negotiated_version: 256, credits_requested: 33, credits_granted: 7, status: STATUS_SUCCESS (0x00000000), max_read_write_size: 1193046, preferred_send_size: 1024, max_receive_size: 1000, max_fragmented_size: 131072 }"
    );
}

#[test]
fn the_response_grants_what_was_asked_for_at_most_and_has_the_receives_posted_before_it() {
    for (requested, granted) in [(1, 1), (2, 2), (9, 9), (10, 10), (11, 10), (65_535, 10)] {
        let mut side = Side::connected(Role::Acceptor, Params::example());
        side.receive(&request(&NegotiateRequest { credits_requested: requested, ..REQUEST }));
        let actions = side.drain();
        // NE-7: the response leaves before the upper layer hears.
        let receives = "r".repeat(granted);
        assert!(shape(&actions).starts_with(&format!("{receives}sn")), "{requested}: {}", shape(&actions));
        let answer = NegotiateResponse::parse(side.sent[0].head.as_bytes()).unwrap();
        assert_eq!(usize::from(answer.credits_granted), granted, "NE-9");
        assert!(side.posted.iter().all(|(_, len)| *len == 1024), "LC-4");
        // CR-5: from then on the window has its floor, whatever was asked for, and there is one in reserve.
        assert_eq!(side.posted.len(), granted.max(3) + 1);
    }
}

#[test]
fn a_request_of_19_bytes_ends_the_connection_and_one_of_20_or_512_is_taken() {
    let bytes = request(&REQUEST);
    let mut side = Side::connected(Role::Acceptor, Params::example());
    side.receive(&bytes[..19]);
    side.drain();
    let short = Violation::ShortMessage { needed: 20, got: 19, section: "3.1.5.6" };
    assert_eq!(connect_error(&side), Some(ConnectError::Violation(short)));
    assert!(side.sent.is_empty(), "no answer");
    for len in [20, 21, 31, 32, 33, 511, 512] {
        let mut side = Side::connected(Role::Acceptor, Params::example());
        side.receive_long(&bytes, len, None);
        side.drain();
        assert_eq!(side.connection.phase(), PhaseName::Established, "{len}");
    }
}

#[test]
fn an_empty_message_is_a_short_one() {
    let mut side = Side::connected(Role::Acceptor, Params::example());
    side.receive(&[]);
    side.drain();
    let short = Violation::ShortMessage { needed: 20, got: 0, section: "3.1.5.6" };
    assert_eq!(connect_error(&side), Some(ConnectError::Violation(short)));
}

#[test]
fn a_response_of_31_bytes_ends_the_connection_and_one_of_32_or_512_is_taken() {
    let bytes = response(&RESPONSE);
    let mut side = Side::connected(Role::Initiator, Params::example());
    side.receive(&bytes[..31]);
    side.drain();
    let short = Violation::ShortMessage { needed: 32, got: 31, section: "3.1.5.7" };
    assert_eq!(connect_error(&side), Some(ConnectError::Violation(short)));
    for len in [32, 33, 512] {
        let mut side = Side::connected(Role::Initiator, Params::example());
        side.receive_long(&bytes, len, None);
        side.drain();
        assert_eq!(side.connection.phase(), PhaseName::Established, "{len}");
    }
}

#[test]
fn a_negotiation_message_longer_than_its_receive_ends_the_connection() {
    let long = ConnectError::Violation(Violation::LongMessage { max: 512, got: 513 });
    for (role, bytes) in [(Role::Acceptor, request(&REQUEST)), (Role::Initiator, response(&RESPONSE))] {
        let mut side = Side::connected(role, Params::example());
        side.receive_long(&bytes, 513, None);
        side.drain();
        assert_eq!(connect_error(&side), Some(long), "{role:?}");
    }
}

#[test]
fn a_version_range_that_includes_1_0_is_taken_and_any_other_refused() {
    for (min, max) in [(0x0100, 0x0100), (0, 0x0100), (0x0100, 0xFFFF), (0, 0xFFFF), (0x00FF, 0x0101)] {
        accept(Params::example(), &NegotiateRequest { min_version: min, max_version: max, ..REQUEST })
            .unwrap();
    }
    // NE-11: an empty range includes nothing.
    for (min, max) in
        [(0x0101, 0xFFFF), (0, 0x00FF), (0, 0), (0x0101, 0x0100), (0x0100, 0x00FF), (0x0200, 0x0001)]
    {
        let message = NegotiateRequest { min_version: min, max_version: max, ..REQUEST };
        let refused = ConnectError::RejectedPeer {
            status: status::NOT_SUPPORTED,
            violation: Violation::Version { min, max },
        };
        assert_eq!(accept(Params::example(), &message).err(), Some(refused));
    }
}

#[test]
fn the_version_comes_before_the_other_fields_and_those_get_no_answer() {
    // NE-1: wrong in all ways at once.
    let wrong = NegotiateRequest {
        min_version: 2,
        max_version: 3,
        credits_requested: 0,
        preferred_send_size: 0,
        max_receive_size: 0,
        max_fragmented_size: 0,
    };
    let side = Side::accepted(strict(), &wrong);
    assert_eq!(side.sent.len(), 1);
    assert!(matches!(connect_error(&side), Some(ConnectError::RejectedPeer { .. })));
    let in_order = [
        (NegotiateRequest { min_version: 0x0100, max_version: 0x0100, ..wrong }, "CreditsRequested"),
        (NegotiateRequest { max_version: 0x0100, credits_requested: 1, ..wrong }, "MaxReceiveSize"),
        (
            NegotiateRequest { max_version: 0x0100, credits_requested: 1, max_receive_size: 128, ..wrong },
            "MaxFragmentedSize",
        ),
        (NegotiateRequest { preferred_send_size: 0, ..REQUEST }, "PreferredSendSize"),
    ];
    for (message, field) in in_order {
        let side = Side::accepted(strict(), &message);
        assert!(side.sent.is_empty(), "no answer");
        let error = connect_error(&side).unwrap().to_string();
        assert!(error.contains(field), "{error}");
    }
}

#[test]
fn the_fields_of_a_request_at_their_boundaries() {
    accept(Params::example(), &NegotiateRequest { credits_requested: 1, ..REQUEST }).unwrap();
    assert_eq!(
        accept_violation(NegotiateRequest { credits_requested: 0, ..REQUEST }),
        Violation::CreditsRequestedZero { section: "3.1.5.6" }
    );
    for good in [128, 129, u32::MAX] {
        accept(Params::example(), &NegotiateRequest { max_receive_size: good, ..REQUEST }).unwrap();
    }
    for got in [0, 127] {
        assert_eq!(
            accept_violation(NegotiateRequest { max_receive_size: got, ..REQUEST }),
            Violation::MaxReceiveSize { got, section: "3.1.5.6" }
        );
    }
    for good in [131_072, u32::MAX] {
        accept(Params::example(), &NegotiateRequest { max_fragmented_size: good, ..REQUEST }).unwrap();
    }
    for got in [0, 131_071] {
        assert_eq!(
            accept_violation(NegotiateRequest { max_fragmented_size: got, ..REQUEST }),
            Violation::MaxFragmentedSize { got, section: "3.1.5.6" }
        );
    }
}

#[test]
fn the_fields_of_a_response_at_their_boundaries() {
    assert_eq!(
        initiate_violation(NegotiateResponse { negotiated_version: 0x0101, ..RESPONSE }),
        Violation::NegotiatedVersion { got: 0x0101 }
    );
    for good in [128, u32::MAX] {
        initiate(Params::example(), &NegotiateResponse { max_receive_size: good, ..RESPONSE }).unwrap();
    }
    assert_eq!(
        initiate_violation(NegotiateResponse { max_receive_size: 127, ..RESPONSE }),
        Violation::MaxReceiveSize { got: 127, section: "3.1.5.7" }
    );
    for good in [131_072, u32::MAX] {
        initiate(Params::example(), &NegotiateResponse { max_fragmented_size: good, ..RESPONSE }).unwrap();
    }
    assert_eq!(
        initiate_violation(NegotiateResponse { max_fragmented_size: 131_071, ..RESPONSE }),
        Violation::MaxFragmentedSize { got: 131_071, section: "3.1.5.7" }
    );
    for good in [1, 65_535] {
        initiate(Params::example(), &NegotiateResponse { credits_granted: good, ..RESPONSE }).unwrap();
    }
    assert_eq!(
        initiate_violation(NegotiateResponse { credits_granted: 0, ..RESPONSE }),
        Violation::CreditsGrantedZero
    );
    initiate(Params::example(), &NegotiateResponse { credits_requested: 1, ..RESPONSE }).unwrap();
    assert_eq!(
        initiate_violation(NegotiateResponse { credits_requested: 0, ..RESPONSE }),
        Violation::CreditsRequestedZero { section: "3.1.5.7" }
    );
    for good in [0, 127, 1024] {
        initiate(Params::example(), &NegotiateResponse { preferred_send_size: good, ..RESPONSE }).unwrap();
    }
    assert_eq!(
        initiate_violation(NegotiateResponse { preferred_send_size: 1025, ..RESPONSE }),
        Violation::PreferredSendSize { max: 1024, got: 1025, section: "3.1.5.7" }
    );
    // The versions the acceptor supports are of no interest.
    initiate(Params::example(), &NegotiateResponse { min_version: 9, max_version: 1, ..RESPONSE }).unwrap();
}

#[test]
fn a_response_is_judged_by_status_first_and_then_in_the_order_of_the_text() {
    let wrong = NegotiateResponse {
        min_version: 0,
        max_version: 0,
        negotiated_version: 0,
        credits_requested: 0,
        credits_granted: 0,
        status: NtStatus(0xC000_0001),
        max_read_write_size: 0,
        preferred_send_size: 0,
        max_receive_size: 0,
        max_fragmented_size: 0,
    };
    let rejected = initiate(strict(), &wrong).err();
    assert_eq!(rejected, Some(ConnectError::Rejected { status: NtStatus(0xC000_0001) }));
    let mut message = NegotiateResponse { status: status::SUCCESS, preferred_send_size: 1025, ..wrong };
    let mut check = |field: &str, mend: fn(&mut NegotiateResponse)| {
        let error = initiate(strict(), &message).err().unwrap().to_string();
        assert!(error.contains(field), "{field}: {error}");
        mend(&mut message);
    };
    check("NegotiatedVersion", |m| m.negotiated_version = 0x0100);
    check("MaxReceiveSize", |m| m.max_receive_size = 128);
    check("MaxFragmentedSize", |m| m.max_fragmented_size = 131_072);
    check("CreditsGranted", |m| m.credits_granted = 1);
    check("CreditsRequested", |m| m.credits_requested = 1);
    check("PreferredSendSize", |m| m.preferred_send_size = 0);
    check("PreferredSendSize is 0", |m| m.preferred_send_size = 1);
    initiate(strict(), &message).unwrap();
}

#[test]
fn any_status_but_0_is_a_refusal_also_a_warning() {
    for value in [1, 0x4000_0000, 0x8000_0005, 0xC000_00BB] {
        let message = NegotiateResponse { status: NtStatus(value), ..RESPONSE };
        let error = initiate(Params::example(), &message).err();
        assert_eq!(error, Some(ConnectError::Rejected { status: NtStatus(value) }));
    }
}

#[test]
fn the_preferred_send_size_has_a_floor_of_128_on_both_sides() {
    for (preferred, expected) in [(0, 128), (127, 128), (128, 128), (129, 129), (1023, 1023), (1024, 1024)] {
        let message = NegotiateRequest { preferred_send_size: preferred, ..REQUEST };
        let side = accept(Params::example(), &message).unwrap();
        assert_eq!(side.connection.negotiated().unwrap().max_receive_size, expected);
        assert!(side.posted.iter().all(|(_, len)| *len == expected));
        let answer = NegotiateResponse::parse(side.sent[0].head.as_bytes()).unwrap();
        assert_eq!(answer.max_receive_size, expected);
        assert_eq!(side.connection.stats().tolerances.preferred_send_size_zero, u64::from(preferred == 0));

        let message = NegotiateResponse { preferred_send_size: preferred, ..RESPONSE };
        let side = initiate(Params::example(), &message).unwrap();
        assert_eq!(side.connection.negotiated().unwrap().max_receive_size, expected);
        assert!(side.posted.iter().all(|(_, len)| *len == expected));
        assert_eq!(side.connection.stats().tolerances.preferred_send_size_zero, u64::from(preferred == 0));
    }
    for preferred in [1025, 8136, 8137, 0x8000_0000, u32::MAX] {
        let message = NegotiateRequest { preferred_send_size: preferred, ..REQUEST };
        let side = accept(Params::example(), &message).unwrap();
        assert_eq!(side.connection.negotiated().unwrap().max_receive_size, 1024);
    }
}

#[test]
fn each_side_sends_no_more_than_it_and_its_peer_want() {
    for (peer, expected) in [(128, 128), (1023, 1023), (1024, 1024), (1025, 1024), (u32::MAX, 1024)] {
        let side =
            accept(Params::example(), &NegotiateRequest { max_receive_size: peer, ..REQUEST }).unwrap();
        assert_eq!(side.connection.negotiated().unwrap().max_send_size, expected);
        let answer = NegotiateResponse::parse(side.sent[0].head.as_bytes()).unwrap();
        assert_eq!(answer.preferred_send_size, expected);
        let side =
            initiate(Params::example(), &NegotiateResponse { max_receive_size: peer, ..RESPONSE }).unwrap();
        assert_eq!(side.connection.negotiated().unwrap().max_send_size, expected);
    }
}

#[test]
fn the_read_write_size_is_the_acceptors_own_and_the_initiators_minimum() {
    let params = || Params { max_read_write_size: 5000, ..Params::example() };
    let side = accept(params(), &REQUEST).unwrap();
    assert_eq!(side.connection.negotiated().unwrap().max_read_write_size, 5000);
    for (peer, expected) in [(0, 0), (1, 1), (4999, 4999), (5000, 5000), (u32::MAX, 5000)] {
        let message = NegotiateResponse { max_read_write_size: peer, ..RESPONSE };
        let side = initiate(params(), &message).unwrap();
        assert_eq!(side.connection.negotiated().unwrap().max_read_write_size, expected, "NE-6");
    }
}

#[test]
fn a_failure_response_is_zero_but_for_versions_and_status() {
    let refused = Side::accepted(Params::example(), &NegotiateRequest { max_version: 0, ..REQUEST });
    let mut expected = [0; 32];
    expected[..4].copy_from_slice(&[0, 1, 0, 1]);
    expected[12..16].copy_from_slice(&[0xBB, 0, 0, 0xC0]);
    assert_eq!(refused.sent[0].head.as_bytes(), expected);
    assert_eq!(refused.sent[0].len, 32);

    let params = Params { reject_preferred_send_size_above: Some(8136), ..Params::windows() };
    let refused = Side::accepted(params, &NegotiateRequest { preferred_send_size: 8137, ..REQUEST });
    expected[12..16].copy_from_slice(&[0x9A, 0, 0, 0xC0]);
    assert_eq!(refused.sent[0].head.as_bytes(), expected);
}

#[test]
fn a_refusal_is_complete_before_the_connection_is_ended() {
    let mut side = Side::connected(Role::Acceptor, Params::example());
    side.receive(&request(&NegotiateRequest { max_version: 0, ..REQUEST }));
    let actions = side.drain();
    assert_eq!(shape(&actions), "sw", "nothing else before it is gone");
    assert!(side.sent[0].signal, "its completion is waited for");
    assert_eq!(side.connection.phase(), PhaseName::Rejecting);
    side.complete_send();
    assert_eq!(shape(&side.drain()), "nDnw");
}

#[test]
fn a_refusal_that_never_completes_is_ended_by_the_negotiation_timer() {
    let mut side = Side::connected(Role::Acceptor, Params::example());
    side.pass(Duration::from_secs(3));
    side.receive(&request(&NegotiateRequest { max_version: 0, ..REQUEST }));
    side.drain();
    side.pass(Duration::from_millis(1999));
    assert_eq!(side.connection.phase(), PhaseName::Rejecting);
    side.pass(Duration::from_millis(1));
    let violation = Violation::Version { min: 0x0100, max: 0 };
    assert_eq!(
        connect_error(&side),
        Some(ConnectError::RejectedPeer { status: status::NOT_SUPPORTED, violation })
    );
    assert_eq!(side.connection.phase(), PhaseName::Drained);
}

#[test]
fn a_refused_peer_may_go_first() {
    let mut side = Side::connected(Role::Acceptor, Params::example());
    side.receive(&request(&NegotiateRequest { max_version: 0, ..REQUEST }));
    side.drain();
    side.disconnected = true;
    side.handle(LOST);
    assert_eq!(shape(&side.drain()), "nDnw");
    assert!(matches!(connect_error(&side), Some(ConnectError::RejectedPeer { .. })));
}

#[test]
fn profiles_refuse_as_their_models_do() {
    let fussy = || Params { reject_version_range: true, ..Params::windows() };
    accept(fussy(), &REQUEST).unwrap();
    for (min, max) in [(0, 0x0100), (0x0100, 0x0101)] {
        let error =
            accept(fussy(), &NegotiateRequest { min_version: min, max_version: max, ..REQUEST }).err();
        let violation = Violation::Version { min, max };
        assert_eq!(error, Some(ConnectError::RejectedPeer { status: status::NOT_SUPPORTED, violation }));
    }
    let modest = || Params { reject_preferred_send_size_above: Some(8136), ..Params::windows() };
    accept(modest(), &NegotiateRequest { preferred_send_size: 8136, ..REQUEST }).unwrap();
    let error = accept(modest(), &NegotiateRequest { preferred_send_size: 8137, ..REQUEST }).err();
    let violation = Violation::PreferredSendSize { max: 8136, got: 8137, section: "3.1.5.6 note <5>" };
    assert_eq!(error, Some(ConnectError::RejectedPeer { status: status::INSUFFICIENT_RESOURCES, violation }));
    // By default, and in the text, the smaller size is taken.
    accept(Params::windows(), &NegotiateRequest { preferred_send_size: 8137, ..REQUEST }).unwrap();
}

#[test]
fn strict_sides_refuse_a_preferred_send_size_of_0() {
    let zero = ConnectError::Violation(Violation::PreferredSendSizeZero);
    let error = accept(strict(), &NegotiateRequest { preferred_send_size: 0, ..REQUEST }).err();
    assert_eq!(error, Some(zero));
    let error = initiate(strict(), &NegotiateResponse { preferred_send_size: 0, ..RESPONSE }).err();
    assert_eq!(error, Some(zero));
}

#[test]
fn the_initiator_takes_nothing_before_it_has_asked() {
    for connected in [false, true] {
        let mut side = Side::new(Role::Initiator, Params::example());
        side.drain();
        if connected {
            // The request is due, but has not been handed out.
            side.connect();
        }
        side.receive(&response(&RESPONSE));
        side.drain();
        assert_eq!(connect_error(&side), Some(ConnectError::Violation(Violation::BeforeRequest)));
    }
}

#[test]
fn the_acceptor_takes_a_request_before_it_is_connected_and_tells_after() {
    let mut side = Side::new(Role::Acceptor, Params::example());
    side.drain();
    side.receive(&request(&REQUEST));
    side.drain();
    assert_eq!(side.sent.len(), 1, "the response does not wait");
    assert!(side.events.is_empty(), "the upper layer does");
    side.receive_data(smbd_core::wire::DataTransfer {
        credits_granted: 5,
        data_offset: 24,
        data_length: 8,
        ..DATA
    });
    side.drain();
    assert!(side.data.is_empty());
    side.connect();
    side.drain();
    assert!(matches!(side.events[..], [Event::Established(_)]));
    assert_eq!(side.data, [(true, 8, 0)]);
}

#[test]
fn a_request_before_connected_does_not_stop_the_negotiation_timer() {
    let mut side = Side::new(Role::Acceptor, Params::example());
    side.drain();
    side.receive(&request(&REQUEST));
    side.drain();
    side.pass(Duration::from_secs(5));
    assert_eq!(connect_error(&side), Some(ConnectError::Timeout));
    assert!(!side.events.iter().any(|event| matches!(event, Event::Established(_) | Event::Closed(_))));
}

#[test]
fn a_lost_connection_before_connected_is_a_failed_one_and_its_data_are_dropped() {
    let mut side = Side::new(Role::Acceptor, Params::example());
    side.drain();
    side.receive(&request(&REQUEST));
    side.drain();
    side.receive_data(smbd_core::wire::DataTransfer { data_offset: 24, data_length: 8, ..DATA });
    side.disconnected = true;
    side.handle(LOST);
    side.drain();
    assert_eq!(connect_error(&side), Some(ConnectError::Lost { reason: DisconnectReason::Unknown }));
    assert!(side.data.is_empty());
    assert!(matches!(side.events[..], [Event::ConnectFailed(_), Event::Drained]));
}

#[test]
fn a_data_message_before_the_response_has_left_is_a_message_without_credit() {
    let mut side = Side::connected(Role::Acceptor, Params::example());
    side.receive(&request(&REQUEST));
    // One receive is handed out, the response is not.
    side.poll();
    side.receive(&data(&DATA));
    side.drain();
    assert_eq!(connect_error(&side), Some(ConnectError::Violation(Violation::NoCredit)));
    assert!(side.sent.is_empty());
}

#[test]
fn a_second_negotiate_request_is_a_bad_data_message() {
    // NE-13: MaxFragmentedSize is read as DataLength.
    let mut side = Side::accepted(Params::example(), &REQUEST);
    side.receive(&request(&REQUEST));
    side.drain();
    let violation = Violation::DataBeyondMessage { offset: 1024, len: 131_072, got: 20 };
    assert_eq!(side.end(), format!("Closed(Violation({violation:?}))"));
}

#[test]
fn the_negotiation_timer_of_each_role_is_its_own_and_covers_connecting() {
    for (role, seconds) in [(Role::Initiator, 120), (Role::Acceptor, 5)] {
        for connected in [false, true] {
            let mut side = Side::new(role, Params::windows());
            side.drain();
            if connected {
                side.pass(Duration::from_secs(1));
                side.connect();
                side.drain();
                side.pass(Duration::from_secs(seconds - 1) - Duration::from_nanos(1));
            } else {
                side.pass(Duration::from_secs(seconds) - Duration::from_nanos(1));
            }
            assert_eq!(connect_error(&side), None);
            let left = side.deadline().unwrap().saturating_since(side.now);
            assert_eq!(left, Duration::from_nanos(1));
            side.pass(left);
            assert_eq!(connect_error(&side), Some(ConnectError::Timeout));
        }
    }
}

#[test]
fn the_negotiation_timer_stops_when_the_connection_is_established() {
    let mut side = Side::accepted(Params { keepalive: None, ..Params::windows() }, &REQUEST);
    assert_eq!(side.deadline(), None);
    side.pass(Duration::from_secs(3600));
    assert_eq!(side.connection.phase(), PhaseName::Established);
    let mut side = Side::initiated(Params { keepalive: None, ..Params::windows() }, &RESPONSE);
    assert_eq!(side.deadline(), None);
}

#[test]
fn established_is_told_once_with_what_was_settled() {
    for side in [Side::accepted(Params::example(), &REQUEST), Side::initiated(Params::example(), &RESPONSE)] {
        let [Event::Established(settled)] = &side.events[..] else { panic!("{:?}", side.events) };
        assert_eq!(Some(*settled), side.connection.negotiated());
        insta::allow_duplicates! {
            insta::assert_snapshot!(format!("{settled:?}"), @"Negotiated { protocol: 256, max_send_size: 1024, max_receive_size: 1024, max_fragmented_send_size: 131072, max_fragmented_recv_size: 131072, max_read_write_size: 1048576, keepalive_interval: Some(120s) }");
        }
    }
}

#[test]
fn a_failed_negotiation_polls_disconnect_and_then_nothing() {
    let mut side = Side::connected(Role::Initiator, Params::example());
    side.receive(&response(&NegotiateResponse { credits_granted: 0, ..RESPONSE }));
    let actions = side.drain();
    assert_eq!(shape(&actions), "nDnw");
    assert!(matches!(actions[2], Action::Notify(Event::Drained)));
}

proptest! {
    #[test]
    fn settled_sizes_are_within_what_both_sides_want(
        preferred: u32,
        receive in 128_u32..,
        fragmented in 131_072_u32..,
        own_send in 128..=8136_u32,
        own_receive in 128..=524_280_u32,
    ) {
        let params = Params { max_send_size: own_send, max_receive_size: own_receive, ..Params::example() };
        let message = NegotiateRequest {
            preferred_send_size: preferred,
            max_receive_size: receive,
            max_fragmented_size: fragmented,
            ..REQUEST
        };
        let side = accept(params, &message).unwrap();
        let settled = side.connection.negotiated().unwrap();
        prop_assert!((128..=own_receive).contains(&settled.max_receive_size));
        prop_assert!(settled.max_receive_size <= preferred.max(128));
        prop_assert!((128..=own_send.min(receive)).contains(&settled.max_send_size));
        prop_assert_eq!(settled.max_fragmented_send_size, fragmented);
        prop_assert!(side.posted.iter().all(|(_, len)| *len == settled.max_receive_size));
    }
}
