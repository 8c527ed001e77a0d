//! 3.1.4.5, 3.1.4.6: operations on the peer's memory, cut to what device, depth and queue allow.

use proptest::prelude::*;
use smbd_core::error::{Aborted, CommandError, OpError, RdmaError, WorkError};
use smbd_core::wire::{DataTransfer, NegotiateResponse};
use smbd_core::{Action, Event, Input, Limits, OpId, Params, PhaseName, RdmaVerb, Role};

use crate::pair::{DATA, LIMITS, RESPONSE, Side, descriptors, request, shape};

const READ: RdmaVerb = RdmaVerb::Read;
const WRITE: RdmaVerb = RdmaVerb::Write;

fn params() -> Params {
    Params { keepalive: None, send_credit_timeout: None, ..Params::example() }
}

/// An acceptor (which is who uses RDMA in SMB2) with credits and limits.
fn side(params: Params, limits: Limits) -> Side {
    let mut side = Side::new(Role::Acceptor, params);
    side.limits = limits;
    side.drain();
    side.connect();
    side.receive(&request(&crate::pair::REQUEST));
    side.settle();
    side.receive_data(DataTransfer { credits_granted: 1000, ..DATA });
    side.settle();
    side
}

fn results(side: &Side) -> Vec<(OpId, Result<(), OpError>)> {
    let result = |event: &Event| match event {
        Event::RdmaDone { op, result } => Some((*op, *result)),
        _ => None,
    };
    side.events.iter().filter_map(result).collect()
}

fn refused(side: &mut Side, verb: RdmaVerb, len: u32, remote: &[(u64, u32)], offset: u64) -> RdmaError {
    side.drain();
    let before = side.requests.len();
    let error = side.connection.rdma(side.now, verb, len, descriptors(remote), offset).unwrap_err();
    side.drain();
    assert_eq!(side.requests.len(), before, "nothing was posted");
    assert_eq!(side.connection.phase(), PhaseName::Established, "MR-1");
    error
}

#[test]
fn a_write_goes_to_the_bytes_it_names() {
    let mut side = side(params(), LIMITS);
    let op = side.rdma(WRITE, 30, &[(0x1000, 20), (0x2000, 0), (0x3000, 100)], 15);
    side.settle();
    let requests: Vec<_> = side
        .requests
        .iter()
        .map(|r| (r.op, r.verb, r.local_offset, r.remote.offset, r.remote.token.0, r.remote.length))
        .collect();
    assert_eq!(requests, [(op, WRITE, 0, 0x100F, 1, 5), (op, WRITE, 5, 0x3000, 3, 25)]);
    assert_eq!(results(&side), [(op, Ok(()))]);
    assert_eq!((side.connection.stats().rdma_writes, side.connection.stats().rdma_bytes), (2, 30));
}

#[test]
fn a_request_is_no_longer_than_the_device_takes() {
    for verb in [READ, WRITE] {
        let mut side = side(params(), Limits { rdma_len_max: 10, ..LIMITS });
        side.rdma(verb, 25, &[(0, 12), (100, 13)], 0);
        side.settle();
        let lengths: Vec<_> = side.requests.iter().map(|r| (r.remote.offset, r.remote.length)).collect();
        assert_eq!(lengths, [(0, 10), (10, 2), (100, 10), (110, 3)]);
    }
}

#[test]
fn an_operation_has_max_read_write_size_bytes_at_most() {
    // MR-2.
    let mut side = side(Params { max_read_write_size: 100, ..params() }, LIMITS);
    assert_eq!(refused(&mut side, WRITE, 101, &[(0, 1000)], 0), RdmaError::TooLong { len: 101, max: 100 });
    side.rdma(WRITE, 100, &[(0, 1000)], 0);
}

#[test]
fn a_peer_that_offers_no_rdma_gets_none() {
    // NE-6.
    let message = NegotiateResponse { max_read_write_size: 0, ..RESPONSE };
    let mut side = Side::initiated(params(), &message);
    assert_eq!(refused(&mut side, READ, 1, &[(0, 10)], 0), RdmaError::TooLong { len: 1, max: 0 });
}

#[test]
fn a_range_beyond_the_descriptors_is_refused() {
    let mut side = side(params(), LIMITS);
    for (len, offset, total, remote) in [
        (21, 0, 20, &[(0, 20)][..]),
        (1, 20, 20, &[(0, 20)]),
        (10, 11, 20, &[(0, 10), (50, 10)]),
        (1, 0, 0, &[]),
        (1, u64::MAX, 20, &[(0, 20)]),
        (2, u64::MAX - 1, 20, &[(0, 20)]),
    ] {
        let error = refused(&mut side, WRITE, len, remote, offset);
        assert_eq!(error, RdmaError::BeyondDescriptors { offset, len, total });
    }
}

#[test]
fn a_descriptor_that_wraps_is_refused_even_if_it_is_not_needed() {
    let mut side = side(params(), LIMITS);
    let error = refused(&mut side, READ, 1, &[(0, 20), (u64::MAX - 3, 5)], 0);
    assert_eq!(error, RdmaError::DescriptorWraps { index: 1, offset: u64::MAX - 3, len: 5 });
    side.rdma(READ, 4, &[(0, 20), (u64::MAX - 3, 4)], 20);
    side.settle();
    assert_eq!(side.requests[0].remote.offset, u64::MAX - 3);
}

#[test]
fn an_operation_of_length_0_is_done_at_once() {
    for verb in [READ, WRITE] {
        let mut side = side(params(), LIMITS);
        let ops = [(0, &[][..]), (5, &[(0, 10)]), (10, &[(0, 10)])]
            .map(|(offset, remote)| side.rdma(verb, 0, remote, offset));
        side.drain();
        assert_eq!(results(&side), ops.map(|op| (op, Ok(()))));
        assert!(side.requests.is_empty());
        let error = refused(&mut side, verb, 0, &[(0, 10)], 11);
        assert_eq!(error, RdmaError::BeyondDescriptors { offset: 11, len: 0, total: 10 });
    }
}

#[test]
fn never_more_reads_are_outstanding_than_the_read_depth() {
    let mut side = side(Params { rdma_slots: 10, read_depth: 3, ..params() }, LIMITS);
    let remote: Vec<_> = (0..20).map(|n| (n * 100, 10)).collect();
    side.rdma(READ, 200, &remote, 0);
    for _ in 0..20 {
        side.drain();
        assert!(side.rdma.len() <= 3);
        side.complete_rdma();
    }
    side.drain();
    assert_eq!(side.requests.len(), 20);
    assert_eq!(results(&side).len(), 1);
}

#[test]
fn reads_that_wait_for_the_read_depth_hold_up_no_write() {
    let mut side = side(Params { rdma_slots: 10, read_depth: 1, ..params() }, LIMITS);
    side.rdma(READ, 30, &[(0, 10), (50, 10), (90, 10)], 0);
    side.rdma(WRITE, 20, &[(0, 10), (50, 10)], 0);
    side.drain();
    let verbs: Vec<_> = side.requests.iter().map(|r| r.verb).collect();
    assert_eq!(verbs, [READ, WRITE, WRITE]);
}

#[test]
fn reads_and_writes_take_turns() {
    let mut side = side(Params { rdma_slots: 4, ..params() }, LIMITS);
    let remote: Vec<_> = (0..4).map(|n| (n * 100, 10)).collect();
    side.rdma(WRITE, 40, &remote, 0);
    side.rdma(READ, 40, &remote, 0);
    side.drain();
    let verbs: Vec<_> = side.requests.iter().map(|r| r.verb).collect();
    assert_eq!(verbs, [READ, WRITE, READ, WRITE]);
}

#[test]
fn without_a_read_depth_there_is_no_read() {
    let mut side = side(params(), Limits { read_depth: 0, ..LIMITS });
    assert_eq!(refused(&mut side, READ, 1, &[(0, 10)], 0), RdmaError::NoReadDepth);
    side.rdma(WRITE, 1, &[(0, 10)], 0);
}

#[test]
fn a_budget_of_one_is_enough() {
    for verb in [READ, WRITE] {
        let params = Params { rdma_slots: 1, rdma_ops: 1, read_depth: 1, ..params() };
        let mut side = side(params, Limits { send_queue: 2, rdma_len_max: 7, ..LIMITS });
        side.rdma(verb, 60, &[(0, 20), (100, 1), (200, 50)], 3);
        for _ in 0..100 {
            side.drain();
            assert!(side.rdma.len() <= 1);
            if !side.complete_rdma() {
                break;
            }
        }
        assert_eq!(side.requests.iter().map(|r| r.remote.length).sum::<u32>(), 60);
        assert_eq!(results(&side).len(), 1);
    }
}

#[test]
fn one_place_of_the_send_queue_is_left_for_a_send() {
    let params = Params { rdma_slots: 16, ..params() };
    let mut side = side(params, Limits { send_queue: 4, ..LIMITS });
    let remote: Vec<_> = (0..10).map(|n| (n * 100, 10)).collect();
    side.rdma(WRITE, 100, &remote, 0);
    side.rdma(READ, 100, &remote, 0);
    side.drain();
    assert_eq!(side.rdma.len(), 3);
    side.receive_data(DataTransfer { flags: smbd_core::wire::Flags::RESPONSE_REQUESTED, ..DATA });
    side.drain();
    assert_eq!(side.sends.len(), 1, "the answer");
    side.complete_rdma();
    assert_eq!(shape(&side.drain()), "w", "its place is the send's until that is complete");
    side.complete_send();
    side.drain();
    assert_eq!(side.rdma.len(), 3);
}

#[test]
fn the_whole_array_of_4095_descriptors_is_used() {
    // MR-7.
    let remote: Vec<_> = (0..4095).map(|n| (n * 0x1000, 1)).collect();
    for (slots, depth) in [(1, 1), (4, 16)] {
        let mut side = side(Params { rdma_slots: slots, read_depth: depth, ..params() }, LIMITS);
        side.rdma(READ, 4095, &remote, 0);
        side.settle();
        let offsets: Vec<_> = side.requests.iter().map(|r| r.remote.offset).collect();
        assert_eq!(offsets, remote.iter().map(|(offset, _)| *offset).collect::<Vec<_>>());
        assert_eq!(results(&side).len(), 1);
    }
}

#[test]
fn a_message_leaves_after_the_writes_commanded_before_it_and_not_after_reads() {
    let mut side = side(Params { rdma_slots: 1, ..params() }, LIMITS);
    side.rdma(WRITE, 30, &[(0, 10), (50, 10), (90, 10)], 0);
    side.send(8);
    side.rdma(WRITE, 10, &[(0, 10)], 0);
    assert_eq!(shape(&side.drain()), "mw");
    side.complete_rdma();
    assert_eq!(shape(&side.drain()), "mw");
    side.complete_rdma();
    // The last slice of the write is posted, the message right behind it; both were one command to the device.
    assert_eq!(shape(&side.drain()), "msw");

    let mut side = self::side(Params { rdma_slots: 1, read_depth: 1, ..params() }, LIMITS);
    side.rdma(READ, 30, &[(0, 10), (50, 10), (90, 10)], 0);
    side.send(8);
    assert_eq!(shape(&side.drain()), "smw");
}

#[test]
fn a_message_waits_for_each_of_several_writes() {
    let mut side = side(Params { rdma_slots: 1, ..params() }, LIMITS);
    for _ in 0..3 {
        side.rdma(WRITE, 10, &[(0, 10)], 0);
    }
    side.send(8);
    assert_eq!(shape(&side.drain()), "mw");
    side.complete_rdma();
    assert_eq!(shape(&side.drain()), "nmw");
    side.complete_rdma();
    assert_eq!(shape(&side.drain()), "nmsw");
}

#[test]
fn answers_and_grants_overtake_a_message_that_waits_for_a_write() {
    let mut side = side(Params { rdma_slots: 1, ..params() }, LIMITS);
    side.rdma(WRITE, 20, &[(0, 10), (50, 10)], 0);
    side.send(8);
    side.drain();
    side.receive_data(DataTransfer { flags: smbd_core::wire::Flags::RESPONSE_REQUESTED, ..DATA });
    side.drain();
    let lengths: Vec<_> = side.data_headers().iter().map(|header| header.data_length).collect();
    assert_eq!(lengths, [0]);
}

#[test]
fn a_full_table_takes_no_more_operations_and_says_when_it_does_again() {
    let mut side = side(Params { rdma_ops: 2, ..params() }, LIMITS);
    side.rdma(WRITE, 10, &[(0, 10)], 0);
    side.rdma(WRITE, 10, &[(0, 10)], 0);
    let error = refused(&mut side, WRITE, 10, &[(0, 10)], 0);
    assert_eq!(error, RdmaError::Command(CommandError::NoRoom { what: "RDMA operations" }));
    assert!(!side.events.iter().any(|event| matches!(event, Event::Writable)));
    side.complete_rdma();
    side.drain();
    assert!(matches!(side.events.last(), Some(Event::Writable)));
    side.rdma(WRITE, 10, &[(0, 10)], 0);
}

#[test]
fn room_for_messages_and_for_operations_at_once_is_told_once() {
    let mut side = side(Params { rdma_ops: 1, message_slots: 1, ..params() }, LIMITS);
    side.rdma(READ, 10, &[(0, 10)], 0);
    refused(&mut side, READ, 10, &[(0, 10)], 0);
    side.drain();
    side.send(8);
    side.connection.send(side.now, 8, None).unwrap_err();
    // The message leaves, which gives room for another; before that is told, there is room for an operation, too.
    side.poll();
    assert_eq!(side.sends.len(), 1);
    side.complete_rdma();
    side.drain();
    let told = side.events.iter().filter(|event| matches!(event, Event::Writable)).count();
    assert_eq!(told, 1);
    side.rdma(READ, 10, &[(0, 10)], 0);
    side.send(8);
}

#[test]
fn a_refused_write_holds_up_no_message() {
    let mut side = side(Params { rdma_ops: 1, rdma_slots: 1, ..params() }, LIMITS);
    side.rdma(READ, 10, &[(0, 10)], 0);
    refused(&mut side, WRITE, 10, &[(0, 10)], 0);
    refused(&mut side, WRITE, 10, &[(0, 1)], 0);
    side.send(8);
    side.drain();
    assert_eq!(side.sends.len(), 1);
}

#[test]
fn a_failed_request_fails_its_operation_and_the_connection() {
    let mut side = side(params(), LIMITS);
    let first = side.rdma(WRITE, 20, &[(0, 10), (50, 10)], 0);
    let second = side.rdma(READ, 10, &[(0, 10)], 0);
    side.drain();
    let id = side.rdma.pop_front().unwrap();
    let error = WorkError::RemoteAccess;
    side.handle(Input::Failed { id: id.into(), error });
    side.drain();
    let failed = side.requests.iter().find(|r| r.id == id).unwrap().op;
    let other = if failed == first { second } else { first };
    assert_eq!(
        results(&side),
        [(failed, Err(OpError::Work(error))), (other, Err(OpError::Aborted(Aborted)))]
    );
    assert_eq!(side.end(), format!("Closed(Transport {{ id: {id:?}, error: RemoteAccess }})"));
    assert_eq!(side.connection.phase(), PhaseName::Drained);
}

#[test]
fn an_operation_is_done_when_all_its_requests_are() {
    let mut side = side(params(), LIMITS);
    let op = side.rdma(WRITE, 30, &[(0, 10), (50, 10), (90, 10)], 0);
    side.drain();
    // In any order.
    for index in [1, 1, 0] {
        assert_eq!(results(&side), []);
        let id = side.rdma.remove(index).unwrap();
        side.handle(Input::RdmaDone { id });
        side.drain();
    }
    assert_eq!(results(&side), [(op, Ok(()))]);
}

#[test]
fn rdma_needs_the_established_phase() {
    let mut side = Side::connected(Role::Initiator, params());
    let early = side.connection.rdma(side.now, WRITE, 8, descriptors(&[(0, 8)]), 0);
    assert_eq!(early, Err(RdmaError::Command(CommandError::NotEstablished)));
    assert!(matches!(side.drain()[..], [Action::Wait(_)]));
}

prop_compose! {
    fn any_operation()(
        write: bool,
        remote in proptest::collection::vec((0..1_u64 << 40, prop_oneof![0..3_u32, 0..5000_u32]), 1..20),
        from in any::<prop::sample::Index>(),
        to in any::<prop::sample::Index>(),
    ) -> (bool, Vec<(u64, u32)>, u64, u32) {
        let total: u32 = remote.iter().map(|(_, len)| len).sum();
        let size = usize::try_from(total).unwrap() + 1;
        let (a, b) = (u32::try_from(from.index(size)).unwrap(), u32::try_from(to.index(size)).unwrap());
        (write, remote, a.min(b).into(), a.abs_diff(b))
    }
}

proptest! {
    #[test]
    fn every_byte_is_moved_once_and_in_place(
        operations in proptest::collection::vec(any_operation(), 1..12),
        rdma_slots in 1..6_u16,
        read_depth in 1..4_u16,
        rdma_len_max in 1..4000_u32,
        send_queue in 2..8_u16,
        order in proptest::collection::vec(any::<prop::sample::Index>(), 64),
    ) {
        let params = Params { rdma_slots, read_depth, rdma_ops: 4, ..params() };
        let limits = Limits { read_depth, send_queue, rdma_len_max, ..LIMITS };
        let mut side = side(params, limits);
        let mut commanded = Vec::new();
        let mut queue = operations.into_iter();
        let mut order = order.iter().cycle();
        let mut next = queue.next();
        loop {
            if let Some((write, remote, offset, len)) = &next {
                let verb = if *write { WRITE } else { READ };
                match side.connection.rdma(side.now, verb, *len, descriptors(remote), *offset) {
                    Ok(op) => {
                        commanded.push((op, verb, remote.clone(), *offset, *len, side.requests.len()));
                        next = queue.next();
                        continue;
                    }
                    Err(error) => {
                        let full = CommandError::NoRoom { what: "RDMA operations" };
                        prop_assert_eq!(error, RdmaError::Command(full));
                    }
                }
            }
            side.drain();
            let reads = side.rdma.iter().filter(|id| side.requests.iter().rfind(|r| r.id == **id).unwrap().verb == READ);
            prop_assert!(reads.count() <= usize::from(read_depth));
            prop_assert!(side.rdma.len() < usize::from(send_queue) && side.rdma.len() <= usize::from(rdma_slots));
            if side.rdma.is_empty() && next.is_none() {
                break;
            }
            if !side.rdma.is_empty() {
                let id = side.rdma.remove(order.next().unwrap().index(side.rdma.len())).unwrap();
                side.handle(Input::RdmaDone { id });
            }
        }
        prop_assert_eq!(results(&side).len(), commanded.len());
        for (op, verb, remote, offset, len, posted_before) in commanded {
            let mut moved = Vec::new();
            for request in side.requests[posted_before..].iter().filter(|r| r.op == op) {
                prop_assert_eq!(request.verb, verb);
                prop_assert_eq!(usize::try_from(request.local_offset).unwrap(), moved.len());
                prop_assert!((1..=rdma_len_max).contains(&request.remote.length));
                moved.extend((0..u64::from(request.remote.length)).map(|n| (request.remote.token.0, request.remote.offset + n)));
                if moved.len() == usize::try_from(len).unwrap() {
                    break;
                }
            }
            let all = (1..).zip(&remote).flat_map(|(token, (at, len))| (0..u64::from(*len)).map(move |n| (token, at + n)));
            let skip = usize::try_from(offset).unwrap();
            prop_assert!(all.skip(skip).take(usize::try_from(len).unwrap()).eq(moved));
        }
    }
}

/// Which requests are signalled, in posting order.
fn signals(side: &Side) -> Vec<bool> {
    side.requests.iter().map(|request| request.signal).collect()
}

fn unsignalled(side: &mut Side, verb: RdmaVerb, remote: &[(u64, u32)]) -> OpId {
    let len = remote.iter().map(|(_, len)| len).sum();
    side.connection.rdma_unsignalled(side.now, verb, len, descriptors(remote), 0).unwrap()
}

#[test]
fn of_the_requests_of_a_write_the_last_is_signalled() {
    let mut side = side(params(), LIMITS);
    let op = side.rdma(WRITE, 40, &[(0, 10), (100, 10), (200, 10), (300, 10)], 0);
    side.drain();
    assert_eq!(signals(&side), [false, false, false, true]);
    side.settle();
    assert_eq!(results(&side), [(op, Ok(()))]);
}

#[test]
fn where_reads_are_not_in_order_all_are_signalled() {
    let mut side = side(params(), Limits { reads_in_order: false, ..LIMITS });
    side.rdma(READ, 20, &[(0, 10), (100, 10)], 0);
    unsignalled(&mut side, READ, &[(0, 10), (100, 10)]);
    side.drain();
    assert_eq!(signals(&side), [true; 4]);
}

#[test]
fn of_the_requests_of_a_read_the_last_is_signalled_and_one_for_half_of_those_that_may_be_under_way() {
    for (depth, expected) in [
        (16, vec![7, 15, 19]),
        (9, vec![3, 7, 11, 15, 19]),
        (4, vec![1, 3, 5, 7, 9, 11, 13, 15, 17, 19]),
        (3, (0..20).collect()),
        (1, (0..20).collect()),
    ] {
        let mut side = side(
            Params { rdma_slots: 64, read_depth: 16, ..params() },
            Limits { read_depth: depth, ..LIMITS },
        );
        let remote: Vec<_> = (0..20).map(|n| (n * 100, 10)).collect();
        let op = side.rdma(READ, 200, &remote, 0);
        side.settle();
        let signalled: Vec<_> = (0..20).filter(|index| side.requests[*index].signal).collect();
        assert_eq!(signalled, expected, "depth {depth}");
        assert_eq!(results(&side), [(op, Ok(()))]);
    }
}

#[test]
fn reads_go_on_while_the_second_half_is_under_way() {
    let mut side =
        side(Params { rdma_slots: 64, read_depth: 16, ..params() }, Limits { read_depth: 8, ..LIMITS });
    let remote: Vec<_> = (0..20).map(|n| (n * 100, 10)).collect();
    side.rdma(READ, 200, &remote, 0);
    side.drain();
    assert_eq!((side.requests.len(), side.rdma.len()), (8, 8));
    // The completion of the fourth, which is that of four.
    for _ in 0..4 {
        side.complete_rdma();
    }
    side.drain();
    assert_eq!((side.requests.len(), side.rdma.len()), (12, 8));
}

#[test]
fn writes_between_reads_bring_no_more_reads_without_a_signal() {
    let mut side = side(Params { rdma_slots: 64, ..params() }, Limits { read_depth: 4, ..LIMITS });
    let remote: Vec<_> = (0..10).map(|n| (n * 100, 10)).collect();
    unsignalled(&mut side, READ, &remote);
    unsignalled(&mut side, WRITE, &remote);
    side.settle();
    let mut silent = 0;
    for request in &side.requests {
        silent = if request.signal { 0 } else { silent + u32::from(request.verb == READ) };
        assert!(silent < 2, "{:?}", signals(&side));
    }
}

#[test]
fn an_unsignalled_operation_has_no_signal_and_the_message_behind_it_has_one() {
    for verb in [READ, WRITE] {
        let mut side = side(Params { read_depth: 16, ..params() }, LIMITS);
        let op = unsignalled(&mut side, verb, &[(0, 10), (100, 10)]);
        side.send(8);
        side.drain();
        assert_eq!((signals(&side), side.sent.last().unwrap().signal), (vec![false, false], true));
        assert!(results(&side).is_empty());
        side.settle();
        assert_eq!(results(&side), [(op, Ok(()))]);
    }
}

#[test]
fn one_of_32_rdma_requests_is_signalled() {
    let params = Params { rdma_slots: 200, rdma_ops: 200, ..params() };
    let mut side = side(params, LIMITS);
    for _ in 0..70 {
        unsignalled(&mut side, WRITE, &[(0, 10)]);
    }
    side.drain();
    let signalled: Vec<_> = (0..70).filter(|index| side.requests[*index].signal).collect();
    assert_eq!(signalled, [31, 63]);
}

#[test]
fn a_request_is_signalled_that_takes_the_last_place_for_requests_or_for_operations() {
    for (rdma_slots, rdma_ops) in [(4, 20), (20, 4)] {
        let mut side = side(Params { rdma_slots, rdma_ops, ..params() }, LIMITS);
        for _ in 0..4 {
            unsignalled(&mut side, WRITE, &[(0, 10)]);
            side.drain();
        }
        assert_eq!(
            signals(&side),
            [false, false, false, true],
            "{rdma_slots} requests, {rdma_ops} operations"
        );
    }
}

#[test]
fn in_a_send_queue_that_is_shared_all_are_signalled() {
    let mut side = side(params(), Limits { send_queue: 8, ..LIMITS });
    unsignalled(&mut side, WRITE, &[(0, 10), (100, 10)]);
    side.rdma(WRITE, 20, &[(0, 10), (100, 10)], 0);
    side.drain();
    assert_eq!(signals(&side), [true; 4]);
}

#[test]
fn a_failure_of_an_unsignalled_write_is_told_at_once() {
    let mut side = side(params(), LIMITS);
    let op = unsignalled(&mut side, WRITE, &[(0, 10)]);
    side.drain();
    let id = side.rdma.pop_front().unwrap();
    side.handle(Input::Failed { id: id.into(), error: WorkError::RemoteAccess });
    side.drain();
    assert!(matches!(results(&side)[..], [(failed, Err(_))] if failed == op));
}

#[test]
fn a_flush_asks_for_the_completion_of_an_unsignalled_write_with_an_empty_message_once() {
    let mut side = side(params(), LIMITS);
    let op = unsignalled(&mut side, WRITE, &[(0, 10)]);
    side.drain();
    let until = side.now.saturating_add(core::time::Duration::from_secs(10));
    side.connection.close(side.now, smbd_core::Close::Flush { until });
    let sent = side.sent.len();
    assert_eq!(shape(&side.drain()), "sw");
    assert!(side.sent[sent].len == 20 && side.sent[sent].signal);
    side.settle();
    assert_eq!((results(&side), side.end()), (vec![(op, Ok(()))], "Closed(Local)".to_owned()));
}
