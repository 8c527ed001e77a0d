//! 3.1.5.9 with CR-1 to CR-17: what is posted, what is granted, what is sent.

use smbd_core::error::{CloseReason, Violation, WorkError};
use smbd_core::wire::{DataTransfer, Flags, NegotiateRequest, NegotiateResponse};
use smbd_core::{Action, Event, Input, Params, PhaseName, Role};

use crate::pair::{ACCEPTOR, DATA, INITIATOR, Pair, Polled, REQUEST, RESPONSE, Side, data, shape};

fn quiet(params: Params) -> Params {
    Params { keepalive: None, send_credit_timeout: None, ..params }
}

/// An acceptor with `receives` of its own and `credits` from the peer, which wants `target`.
fn acceptor(receives: u16, target: u16, credits: u16) -> Side {
    let params = Params { receive_credit_max: receives, ..quiet(Params::example()) };
    let mut side = Side::accepted(params, &NegotiateRequest { credits_requested: target, ..REQUEST });
    if credits > 0 {
        side.receive_data(DataTransfer { credits_requested: target, credits_granted: credits, ..DATA });
        side.settle();
    }
    side
}

const DATA8: DataTransfer = DataTransfer { data_offset: 24, data_length: 8, ..DATA };

fn closed_for(side: &mut Side) -> Option<Violation> {
    side.drain();
    side.events.iter().find_map(|event| match event {
        Event::Closed(CloseReason::Violation(violation)) => Some(*violation),
        _ => None,
    })
}

#[test]
fn the_initiators_first_message_grants_everything_posted() {
    // CR-1: min of what the acceptor wants and what there is.
    for (wanted, granted) in [(10, 10), (7, 7), (255, 10), (1, 3)] {
        let message = NegotiateResponse { credits_requested: wanted, ..RESPONSE };
        let side = Side::initiated(quiet(Params::example()), &message);
        let headers = side.data_headers();
        assert_eq!(headers.len(), 1, "an empty one, because the acceptor has no credit at all");
        assert_eq!((headers[0].credits_granted, headers[0].data_length), (granted, 0));
    }
}

#[test]
fn a_message_of_the_upper_layer_carries_the_first_grant_if_there_is_one() {
    let mut side = Side::connected(Role::Initiator, quiet(Params::example()));
    side.receive(&crate::pair::response(&RESPONSE));
    assert!(matches!(side.poll(), Polled::Action(Action::Notify(Event::Established(_)))));
    side.send(8);
    side.drain();
    let headers = side.data_headers();
    assert_eq!((headers.len(), headers[0].credits_granted, headers[0].data_length), (1, 10, 8));
}

#[test]
fn what_a_message_used_is_granted_again_by_the_next_one_that_leaves() {
    // CR-2: the credit is not lost on the way.
    let mut side = acceptor(10, 10, 5);
    side.receive_data(DATA8);
    side.receive_data(DATA8);
    side.settle();
    let before = side.data_headers().len();
    side.send(8);
    side.settle();
    let headers = side.data_headers();
    assert_eq!(headers.len(), before + 1);
    // The first message brought the credits and used one too.
    assert_eq!(headers.last().unwrap().credits_granted, 3);
    assert_eq!(side.connection.credits().outstanding(), 10);
}

#[test]
fn a_grant_alone_is_sent_when_the_peer_has_less_than_half_and_not_before() {
    // CR-3.
    let mut side = acceptor(10, 10, 20);
    assert_eq!(side.connection.credits().ungranted(), 1);
    for ungranted in 2..=5 {
        side.receive_data(DATA8);
        side.settle();
        assert_eq!(side.connection.credits().ungranted(), ungranted);
        assert!(side.data_headers().is_empty());
    }
    side.receive_data(DATA8);
    side.settle();
    let headers = side.data_headers();
    assert_eq!((headers.len(), headers[0].credits_granted, headers[0].data_length), (1, 6, 0));
}

#[test]
fn a_grant_alone_is_not_answered_by_one() {
    let mut pair = Pair::established(quiet(Params::windows()), quiet(Params::windows()));
    for index in [INITIATOR, ACCEPTOR] {
        let before = pair.message_counts();
        pair.send(index, 8);
        pair.run();
        let after = pair.message_counts();
        assert_eq!(after[0] + after[1], before[0] + before[1] + 1, "one message is one message");
    }
}

#[test]
fn the_last_credit_is_spent_on_a_message_that_grants_the_reserve() {
    // CR-4, CR-5: the window is full and all of it granted.
    let mut side = acceptor(10, 10, 0);
    side.receive_data(DataTransfer { credits_granted: 2, ..DATA8 });
    side.settle();
    side.send(8);
    side.settle();
    assert_eq!(side.connection.credits().outstanding(), 10, "everything is granted");
    side.send(8);
    assert_eq!(shape(&side.drain()), "sw", "the reserve is there");
    assert_eq!(side.last_header().credits_granted, 1);
    let credits = side.connection.credits();
    assert_eq!((side.posted.len(), credits.window(), credits.posted(), credits.reserve()), (11, 10, 11, 0));
}

#[test]
fn an_empty_message_does_not_spend_the_last_credit_for_nothing_either() {
    let mut side = acceptor(10, 10, 0);
    side.receive_data(DataTransfer { credits_granted: 2, ..DATA8 });
    side.settle();
    side.send(8);
    side.settle();
    side.receive_data(DataTransfer { flags: Flags::RESPONSE_REQUESTED, ..DATA });
    side.settle();
    assert_eq!(side.connection.credits().send(), 0);
    assert!(side.last_header().credits_granted > 0);
}

#[test]
fn the_reserve_is_one_receive() {
    let mut side = acceptor(10, 10, 0);
    side.receive_data(DataTransfer { credits_granted: 1, ..DATA8 });
    side.settle();
    side.send(8);
    side.settle();
    assert_eq!(side.posted.len(), 11);
    // The peer never uses what it was granted, and gives one credit after the other with what it has.
    for _ in 0..8 {
        side.receive_data(DataTransfer { credits_granted: 1, ..DATA8 });
        side.send(8);
        side.settle();
        assert!(side.posted.len() <= 11);
    }
}

#[test]
fn a_lower_target_leaves_the_last_credit_usable() {
    let mut side = acceptor(10, 10, 0);
    assert_eq!(side.posted.len(), 11);
    // Far more is posted than is asked for from now on, and the peer uses none of it while it waits for the answer.
    side.receive_data(DataTransfer { credits_requested: 3, credits_granted: 1, ..DATA8 });
    side.settle();
    side.send(8);
    assert_eq!(shape(&side.drain()), "sw", "the reserve is there");
    assert_eq!((side.posted.len(), side.connection.credits().send()), (10, 0));
    // One for each message that came: there are never more than before.
    for _ in 0..2 {
        side.receive_data(DataTransfer { credits_requested: 3, credits_granted: 1, ..DATA8 });
        side.send(8);
        assert_eq!(shape(&side.drain()), "rsw");
        assert_eq!((side.posted.len(), side.connection.credits().send()), (10, 0));
    }
    side.send(8);
    assert_eq!(shape(&side.drain()), "w");
}

#[test]
fn without_a_free_slot_the_last_credit_waits_for_one() {
    // CR-9: giving a fragment back is what restarts it.
    let params = Params { receive_credit_max: 4, borrowed_max: 0, ..quiet(Params::example()) };
    let mut side = Side::accepted(params, &NegotiateRequest { credits_requested: 4, ..REQUEST });
    side.release = false;
    side.receive_data(DataTransfer { credits_granted: 2, ..DATA8 });
    side.settle();
    side.send(8);
    side.settle();
    // One slot is borrowed, four are posted and granted.
    assert_eq!((side.posted.len(), side.connection.credits().ungranted()), (4, 0));
    side.send(8);
    assert_eq!(shape(&side.drain()), "w");
    assert_eq!(side.connection.credits().send(), 1);
    side.release_all();
    assert_eq!(shape(&side.drain()), "rsw");
    assert_eq!(side.last_header().credits_granted, 1);
}

#[test]
fn the_window_has_a_floor_of_3_once_established() {
    for target in 1..=5 {
        let side = acceptor(10, target, 0);
        assert_eq!(side.connection.credits().window(), u32::from(target.max(3)));
        assert_eq!(side.connection.credits().posted(), u32::from(target.max(3)));
    }
}

#[test]
fn never_more_is_posted_than_the_peer_asked_for_nor_than_there_is_and_the_reserve() {
    // CR-6: up to, not in addition.
    for (receives, target, window) in [(10, 4, 4), (4, 255, 4), (10, 10, 10)] {
        let mut side = acceptor(receives, target, 100);
        for _ in 0..30 {
            side.receive_data(DataTransfer { credits_requested: target, credits_granted: 1, ..DATA8 });
            side.settle();
            assert_eq!(side.posted.len(), window + 1);
            assert!(side.connection.credits().outstanding() <= side.connection.credits().window());
        }
    }
}

#[test]
fn a_message_without_a_credit_ends_the_connection() {
    // CR-10: all ten used, none granted again for want of a credit to do it with.
    let mut side = acceptor(10, 10, 0);
    for _ in 0..10 {
        side.receive_data(DATA8);
        side.settle();
        assert_eq!(side.connection.phase(), PhaseName::Established);
    }
    assert_eq!(side.posted.len(), 11, "posted, but not granted");
    side.receive_data(DATA8);
    assert_eq!(closed_for(&mut side), Some(Violation::NoCredit));
}

#[test]
fn the_receive_of_the_negotiation_is_no_credit() {
    let side = acceptor(4, 4, 0);
    let credits = side.connection.credits();
    assert_eq!((credits.posted(), credits.outstanding(), credits.reserve()), (4, 4, 1));
}

#[test]
fn credits_add_up_to_65535_and_no_further() {
    // CR-11.
    let mut side = acceptor(10, 10, 0);
    side.receive_data(DataTransfer { credits_granted: 65_534, ..DATA8 });
    side.receive_data(DataTransfer { credits_granted: 1, ..DATA8 });
    assert_eq!(closed_for(&mut side), None);
    assert_eq!(side.connection.credits().send(), 65_535);
    side.receive_data(DataTransfer { credits_granted: 1, ..DATA8 });
    assert_eq!(closed_for(&mut side), Some(Violation::CreditOverflow { credits: 65_535, granted: 1 }));
}

#[test]
fn the_peers_target_may_fall_while_messages_flow() {
    // CR-12, CR-15: as Microsoft's test from 66 down to 1.
    let mut side = acceptor(100, 66, 1000);
    for target in (1..=66).rev() {
        side.receive_data(DataTransfer { credits_requested: target, ..DATA8 });
        side.send(8);
        side.settle();
        assert_eq!(side.connection.credits().window(), u32::from(target.max(3)));
        assert!(side.posted.len() <= usize::from(target.max(3)).max(66 - usize::from(67 - target)) + 1);
    }
    assert_eq!(side.posted.len(), 4, "the reserve among them");
    side.receive_data(DataTransfer { credits_requested: 50, ..DATA8 });
    side.settle();
    assert_eq!(side.posted.len(), 51, "and rise again");
}

#[test]
fn one_answer_answers_any_number_of_probes() {
    // CR-13.
    let mut side = acceptor(10, 10, 20);
    for _ in 0..3 {
        side.receive_data(DataTransfer { flags: Flags::RESPONSE_REQUESTED, ..DATA });
    }
    side.settle();
    assert_eq!(side.data_headers().len(), 1);
    side.settle();
    assert_eq!(side.data_headers().len(), 1);
}

#[test]
fn an_upper_layer_message_is_an_answer_too() {
    let mut side = acceptor(10, 10, 20);
    side.receive_data(DataTransfer { flags: Flags::RESPONSE_REQUESTED, ..DATA });
    side.send(8);
    side.settle();
    let headers = side.data_headers();
    assert_eq!((headers.len(), headers[0].data_length), (1, 8));
}

#[test]
fn a_probe_that_brings_the_only_credit_is_answered_with_it() {
    // CR-8.
    let mut side = acceptor(10, 10, 0);
    side.receive_data(DataTransfer { flags: Flags::RESPONSE_REQUESTED, credits_granted: 1, ..DATA });
    side.settle();
    assert_eq!(side.data_headers().len(), 1);
    assert!(side.last_header().credits_granted > 0);
}

#[test]
fn a_message_brings_the_credits_that_restart_the_queue() {
    let mut side = acceptor(10, 10, 0);
    for _ in 0..3 {
        side.send(8);
    }
    side.settle();
    assert!(side.data_headers().is_empty());
    side.receive_data(DataTransfer { credits_granted: 2, ..DATA });
    side.settle();
    assert_eq!(side.data_headers().len(), 2);
    side.receive_data(DataTransfer { credits_granted: 1, ..DATA });
    side.settle();
    assert_eq!(side.data_headers().len(), 3);
}

#[test]
fn the_grant_of_a_message_is_worked_out_when_it_leaves() {
    // CR-7: what comes while it waits is granted with it.
    let mut side = acceptor(10, 10, 0);
    side.send(8);
    side.settle();
    for _ in 0..3 {
        side.receive_data(DATA8);
    }
    side.receive_data(DataTransfer { credits_granted: 1, ..DATA8 });
    side.settle();
    assert_eq!(side.last_header().credits_granted, 4);
}

#[test]
fn sends_are_also_limited_by_places_for_them() {
    // CR-16: 16 places in the example profile, one completion frees one.
    let mut side = acceptor(10, 10, 100);
    for _ in 0..16 {
        side.send(1000);
    }
    side.drain();
    assert_eq!(side.sends.len(), 16);
    side.send(1000);
    assert_eq!(shape(&side.drain()), "w");
    side.complete_send();
    assert_eq!(shape(&side.drain()), "nsw");
}

#[test]
fn a_failed_send_ends_the_connection_so_that_no_credit_is_ever_put_back() {
    // CR-14: whatever it carried.
    let connecting = |role| Side::connected(role, quiet(Params::example()));
    let mut response = connecting(Role::Acceptor);
    response.receive(&crate::pair::request(&REQUEST));
    let mut first_grant = connecting(Role::Initiator);
    first_grant.complete_send();
    first_grant.receive(&crate::pair::response(&RESPONSE));
    let mut whole_message = acceptor(10, 10, 20);
    whole_message.send(8);
    let mut fragments = acceptor(10, 10, 20);
    fragments.send(2500);
    let mut last_fragment = acceptor(10, 10, 20);
    last_fragment.send(1500);
    last_fragment.drain();
    last_fragment.complete_send();
    let mut answer = acceptor(10, 10, 20);
    answer.receive_data(DataTransfer { flags: Flags::RESPONSE_REQUESTED, ..DATA });
    let asked = [connecting(Role::Initiator)];
    let seen = [response, first_grant, whole_message, fragments, last_fragment, answer];
    for (sides, end) in [(&mut Vec::from(asked), "ConnectFailed"), (&mut Vec::from(seen), "Closed")] {
        for side in sides {
            side.drain();
            let (id, error) = (side.sends.pop_front().unwrap(), WorkError::RetryExceeded);
            let credits = side.connection.credits().send();
            side.handle(Input::Failed { id: id.into(), error });
            assert_eq!(side.connection.credits().send(), credits);
            side.drain();
            assert_eq!(side.end(), format!("{end}(Transport {{ id: {id:?}, error: RetryExceeded }})"));
        }
    }
}

#[test]
fn a_held_slot_lowers_nothing_up_to_borrowed_max() {
    let params = Params { receive_credit_max: 4, borrowed_max: 3, ..quiet(Params::example()) };
    let mut side = Side::accepted(params, &NegotiateRequest { credits_requested: 4, ..REQUEST });
    side.release = false;
    side.receive_data(DataTransfer { credits_granted: 10, ..DATA8 });
    for held in 1..=5_usize {
        side.settle();
        assert_eq!(side.fragments.len(), held);
        // The reserve is a slot too; only when it is borrowed out as well the peer has less.
        assert_eq!(side.posted.len(), 5.min(8 - held));
        side.receive_data(DATA8);
    }
    side.release_all();
    side.settle();
    side.release_all();
    side.settle();
    assert_eq!(side.posted.len(), 5);
}

#[test]
fn a_single_receive_is_not_granted_by_an_empty_message() {
    // Else two sides whose upper layers hold all slots but one would grant each other that one for ever.
    let params = Params { receive_credit_max: 4, borrowed_max: 0, ..quiet(Params::example()) };
    let mut side = Side::accepted(params, &NegotiateRequest { credits_requested: 4, ..REQUEST });
    side.release = false;
    for _ in 0..4 {
        side.receive_data(DataTransfer { credits_granted: 10, ..DATA8 });
        side.settle();
    }
    let credits = side.connection.credits();
    assert_eq!((credits.posted(), credits.outstanding()), (1, 0), "four of five slots are held");
    assert!(side.data_headers().is_empty());
    side.send(8);
    side.settle();
    assert_eq!(side.last_header().credits_granted, 1, "it goes with the next message that leaves");
    side.release_all();
    side.settle();
    assert_eq!(side.connection.credits().outstanding(), 4, "with more than one it is");
}

#[test]
fn two_sides_with_the_smallest_windows_send_each_other_a_mebibyte() {
    let params = || Params {
        receive_credit_max: 4,
        send_credit_target: 2,
        max_send_size: 128,
        max_receive_size: 128,
        max_fragmented_recv_size: 1 << 20,
        borrowed_max: 0,
        send_slots: 2,
        ..quiet(Params::example())
    };
    let mut pair = Pair::established(params(), params());
    pair.send(INITIATOR, 1 << 20);
    pair.send(ACCEPTOR, 1 << 20);
    pair.run();
    for side in &pair.sides {
        assert_eq!(side.data.iter().map(|(_, len, _)| u64::from(*len)).sum::<u64>(), 1 << 20);
    }
}

#[test]
fn a_message_in_fragments_of_one_byte_arrives_with_few_receives() {
    // RA-7: nothing is held until a message is complete.
    let mut side = Side::accepted(
        Params { receive_credit_max: 4, ..quiet(Params::example()) },
        &NegotiateRequest { credits_requested: 4, ..REQUEST },
    );
    let mut left = 131_072;
    side.receive_data(DataTransfer { credits_granted: 2000, ..DATA });
    while left > 0 {
        left -= 1;
        assert!(side.connection.credits().outstanding() > 0, "{left}");
        let grant = u16::from(left % 2 == 0);
        side.receive_long(
            &data(&DataTransfer {
                credits_granted: grant,
                remaining_data_length: left,
                data_offset: 24,
                data_length: 1,
                ..DATA
            }),
            25,
            None,
        );
        side.settle();
        side.data.truncate(1);
    }
    assert_eq!(side.connection.stats().received.bytes, 131_072);
    assert_eq!(side.connection.phase(), PhaseName::Established);
}

#[test]
fn the_target_is_what_the_peer_asked_for_last() {
    let mut side = acceptor(10, 7, 5);
    let credits = |side: &Side| (side.connection.credits().target(), side.connection.credits().window());
    assert_eq!(credits(&side), (7, 7));
    for (asked, window) in [(2, 3), (9, 9), (200, 10)] {
        side.receive_data(DataTransfer { credits_requested: asked, ..DATA });
        side.settle();
        assert_eq!(credits(&side), (asked, window), "3 at least, 10 at most (CR-5)");
    }
}

/// An acceptor whose peer has all ten credits, and which has so many itself.
fn granted(credits: u16) -> Side {
    let mut side = acceptor(10, 10, credits + 1);
    side.send(8);
    side.settle();
    let state = side.connection.credits();
    assert_eq!((state.outstanding(), state.reserve(), state.send()), (10, 1, credits.into()));
    side
}

#[test]
fn an_answer_waits_for_no_receive_and_grants_one_for_each_message_that_came() {
    // CR-17: the reserve takes the place of one that was used, and is posted again behind the answer.
    let mut side = granted(20);
    for used in [1, 1, 2, 3, 1, 0] {
        for _ in 0..used {
            side.receive_data(DATA);
        }
        side.send(8);
        let before = "r".repeat(usize::from(used).saturating_sub(1));
        let behind = if used > 0 { "rw" } else { "w" };
        assert_eq!(shape(&side.drain()), format!("{before}s{behind}"), "{used} receives are used");
        assert_eq!(side.last_header().credits_granted, used);
        let credits = side.connection.credits();
        assert_eq!((credits.outstanding(), credits.reserve()), (10, 1));
    }
}

#[test]
fn the_reserve_is_posted_when_nothing_else_can_leave() {
    // CR-17: behind a run of fragments, and behind an answer without data.
    let mut side = granted(20);
    side.receive_data(DATA);
    side.send(5000);
    assert_eq!(shape(&side.drain()), "sssssrw");
    side.receive_data(DataTransfer { flags: Flags::RESPONSE_REQUESTED, ..DATA });
    assert_eq!(shape(&side.drain()), "srw");
    side.receive_data(DATA);
    assert_eq!(shape(&side.drain()), "rw");
}

#[test]
fn what_is_commanded_between_the_reserve_and_the_wait_leaves() {
    // CR-17: nothing else could leave before it was posted, and now it can.
    let mut side = granted(20);
    side.receive_data(DATA);
    assert!(matches!(side.poll(), Polled::Action(Action::PostRecv { .. })));
    side.send(8);
    assert_eq!(shape(&side.drain()), "sw");
}

#[test]
fn a_slot_that_is_held_may_be_that_of_the_reserve() {
    // CR-17, CR-9: whoever holds it has receives posted before the message that grants them, and nothing else is lost.
    let params = Params { receive_credit_max: 4, borrowed_max: 0, ..quiet(Params::example()) };
    let mut side = Side::accepted(params, &NegotiateRequest { credits_requested: 4, ..REQUEST });
    side.release = false;
    side.receive_data(DataTransfer { credits_granted: 20, ..DATA8 });
    side.settle();
    let credits = side.connection.credits();
    assert_eq!(
        (credits.posted(), credits.reserve()),
        (4, 0),
        "the reserve took the place of the one that is held"
    );
    side.release_all();
    side.send(8);
    assert_eq!(shape(&side.drain()), "srw");
    assert_eq!(side.connection.credits().reserve(), 1);
}
