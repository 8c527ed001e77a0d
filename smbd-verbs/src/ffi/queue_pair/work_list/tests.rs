//! What C gets to see of a chain.

use super::*;

/// The ids of a chain, in its order, and the lengths of first elements.
type Chain = Vec<(u64, u32)>;

fn seen(first: *mut ibv_send_wr) -> Chain {
    let mut seen = Vec::new();
    let mut next = first;
    // SAFETY: a chain that is handed over ends with a null pointer.
    while let Some(request) = unsafe { next.as_ref() } {
        // SAFETY: each request has its elements.
        seen.push((request.wr_id, unsafe { (*request.sg_list).length }));
        next = request.next;
    }
    seen
}

fn list_of(capacity: usize, len: u64) -> WorkList<ibv_send_wr> {
    let mut list = WorkList::<ibv_send_wr>::new(capacity);
    for id in 0..len {
        assert!(list.push(|request, elements| {
            request.wr_id = id;
            elements[0].length = 10 + id as u32;
        }));
    }
    list
}

/// Hands over; the call says `returned` and, if there is one, which request of the chain it refused.
fn hand_over(
    list: &mut WorkList<ibv_send_wr>,
    (from, count): (usize, usize),
    refused: Option<usize>,
    returned: i32,
) -> (Chain, Result<(), (usize, i32)>) {
    let mut chain = Vec::new();
    let result = list.hand_over(from, count, |first, bad| {
        chain = seen(first);
        if let Some(index) = refused {
            // SAFETY: the requests are in a row, and the place for the refused one is there.
            unsafe { *bad = first.add(index) };
        }
        returned
    });
    (chain, result)
}

#[test]
fn a_chain_has_what_was_pushed_and_ends() {
    let mut list = list_of(4, 3);
    let (chain, result) = hand_over(&mut list, (0, 3), None, 0);
    assert_eq!((chain, result), (vec![(0, 10), (1, 11), (2, 12)], Ok(())));
}

#[test]
fn a_chain_can_be_cut_and_the_row_is_whole_again() {
    let mut list = list_of(4, 4);
    assert_eq!(hand_over(&mut list, (0, 1), None, 0).0, [(0, 10)]);
    assert_eq!(hand_over(&mut list, (1, 2), None, 0).0, [(1, 11), (2, 12)]);
    assert_eq!(hand_over(&mut list, (3, 1), None, 0).0, [(3, 13)]);
    assert_eq!(hand_over(&mut list, (0, 4), None, 0).0.len(), 4);
}

#[test]
fn no_more_than_there_is_room_for() {
    let mut list = list_of(2, 2);
    assert!(!list.push(|_, _| panic!("there is no room")));
    list.clear();
    assert_eq!((list.len(), list.get(0).is_none()), (0, true));
    assert!(list.push(|_, _| ()));
}

#[test]
fn the_refused_request_says_how_many_were_accepted() {
    let mut list = list_of(4, 4);
    assert_eq!(hand_over(&mut list, (0, 4), Some(2), libc::ENOMEM).1, Err((2, libc::ENOMEM)));
    assert_eq!(hand_over(&mut list, (1, 3), Some(1), -libc::EINVAL).1, Err((1, libc::EINVAL)));
}

#[test]
fn success_with_a_refused_request_is_a_full_queue() {
    assert_eq!(hand_over(&mut list_of(4, 4), (0, 4), Some(3), 0).1, Err((3, libc::ENOMEM)));
}

#[test]
fn a_failure_that_names_no_request_of_the_chain_accepted_none() {
    assert_eq!(hand_over(&mut list_of(4, 4), (0, 4), None, libc::EIO).1, Err((0, libc::EIO)));
    assert_eq!(hand_over(&mut list_of(4, 4), (0, 2), Some(2), libc::EIO).1, Err((0, libc::EIO)));
}
