//! The queues of the send queue, without a device.

use super::*;
use crate::ffi::{Buffer, fake_memory, queue_pair::fake::Fake, sys::ibv_wc_status};

fn sends(slots: u32, room: u32) -> Sends {
    Sends::new(Slab::unregistered(slots, 100).unwrap(), room)
}

fn chain(sends: &mut Sends, wr_id: u64, slot: u16, alone: bool) -> Result<(), ChainError> {
    let element = sends.load(slot, b"head", b"body")?;
    assert_eq!(element.length, 8);
    sends.chain(wr_id, Some(slot), Keeper::default(), alone, |_, _| ())
}

/// What follows from the completion of a request: the caller's id.
fn back(sends: &mut Sends, ticket: u64) -> Option<u64> {
    let first = sends.complete(completion(ticket, ibv_wc_status::IBV_WC_SUCCESS));
    first.or_else(|| sends.back()).map(|completion| completion.wr_id)
}

fn fill_read(request: &mut ibv_send_wr, elements: &mut [ibv_sge; 2]) {
    unsignalled_read(request, elements);
    request.send_flags = ibv_send_flags::IBV_SEND_SIGNALED.0;
}

const fn unsignalled_read(request: &mut ibv_send_wr, _: &mut [ibv_sge; 2]) {
    request.opcode = ibv_wr_opcode::IBV_WR_RDMA_READ;
    request.send_flags = 0;
}

const fn completion(ticket: u64, status: ibv_wc_status::Type) -> Completion {
    Completion { wr_id: ticket, status, vendor_error: 0, byte_len: 0, flags: 0, invalidated_key: 0 }
}

/// Hands over all that is chained; how many were accepted, and the `wr_id`s of each call.
fn ring(sends: &mut Sends, fake: &mut Fake) -> (usize, Vec<Vec<u64>>) {
    let (chained, mut calls) = (sends.chained(), 0);
    // SAFETY: the fake queue pair exists.
    let result = unsafe { sends.hand_over(fake.queue(), chained, &mut calls) };
    let accepted = result.map_or_else(|(accepted, _)| accepted, |()| chained);
    sends.end_chain(accepted);
    let seen = fake.calls();
    assert_eq!(seen.len() as u64, calls);
    (accepted, seen)
}

#[test]
fn a_completion_brings_back_all_before_it() {
    let (mut sends, mut fake) = (sends(4, 4), Fake::new());
    for slot in 0..3 {
        chain(&mut sends, 70 + u64::from(slot), slot, false).unwrap();
    }
    assert_eq!(ring(&mut sends, &mut fake), (3, vec![vec![0, 1, 2]]));
    assert_eq!(chain(&mut sends, 9, 1, false), Err(ChainError::InFlight { slot: 1 }));
    assert_eq!(back(&mut sends, 1), Some(71));
    chain(&mut sends, 9, 0, false).unwrap();
    chain(&mut sends, 9, 1, false).unwrap();
    assert_eq!(chain(&mut sends, 9, 2, false), Err(ChainError::InFlight { slot: 2 }));
    assert_eq!(back(&mut sends, 2), Some(72));
}

#[test]
fn a_send_that_is_back_before_the_data_of_a_read_in_front_of_it_waits_for_them() {
    let (mut sends, mut fake) = (sends(4, 6), Fake::new());
    let read =
        |sends: &mut Sends, wr_id| sends.chain(wr_id, None, Keeper::default(), false, fill_read).unwrap();
    chain(&mut sends, 70, 0, false).unwrap();
    read(&mut sends, 71);
    chain(&mut sends, 72, 1, false).unwrap();
    read(&mut sends, 73);
    chain(&mut sends, 74, 2, false).unwrap();
    ring(&mut sends, &mut fake);
    assert_eq!(back(&mut sends, 4), None);
    assert_eq!(back(&mut sends, 2), None);
    assert!(!sends.may_be_back());
    assert_eq!(chain(&mut sends, 9, 0, false), Err(ChainError::InFlight { slot: 0 }));
    assert_eq!(back(&mut sends, 1), Some(71));
    assert_eq!(sends.back().map(|send| send.wr_id), Some(72));
    assert_eq!(sends.back().map(|send| send.wr_id), None, "a read is still out");
    assert_eq!(back(&mut sends, 3), Some(73));
    assert!(sends.may_be_back());
    assert_eq!(sends.back().map(|send| send.wr_id), Some(74));
    assert!(sends.flying.is_empty());
}

#[test]
fn a_read_without_a_signal_is_back_with_what_is_behind_it() {
    let (mut sends, mut fake) = (sends(4, 6), Fake::new());
    for (wr_id, fill) in
        [(70, unsignalled_read as fn(&mut _, &mut _)), (71, unsignalled_read), (72, fill_read)]
    {
        sends.chain(wr_id, None, Keeper::default(), false, fill).unwrap();
    }
    sends.chain(73, None, Keeper::default(), false, unsignalled_read).unwrap();
    chain(&mut sends, 74, 0, false).unwrap();
    ring(&mut sends, &mut fake);
    assert_eq!(back(&mut sends, 4), None, "one with a signal is out");
    assert_eq!(back(&mut sends, 2), Some(72));
    assert_eq!(sends.back().map(|send| send.wr_id), Some(74));
    assert!(sends.flying.is_empty());
}

#[test]
fn a_slot_is_checked_before_anything_changes() {
    let mut sends = sends(2, 2);
    assert_eq!(chain(&mut sends, 0, 2, false), Err(ChainError::NoSlot { slot: 2, slots: 2 }));
    assert_eq!(
        sends.load(0, &[0; 60], &[0; 41]).map(|_| ()),
        Err(ChainError::TooLong { len: 101, slot_len: 100 })
    );
    chain(&mut sends, 0, 0, false).unwrap();
    assert_eq!(sends.chain(1, None, Keeper::default(), false, |_, _| ()), Ok(()));
    assert_eq!(chain(&mut sends, 2, 1, false), Err(ChainError::Full));
    assert_eq!(sends.chain(3, None, Keeper::default(), false, |_, _| ()), Err(ChainError::Full));
}

#[test]
fn what_was_refused_gives_back_its_slot_and_its_completion_is_nobodys() {
    let (mut sends, mut fake) = (sends(4, 4), Fake::new());
    fake.take_only(1);
    for slot in 0..3 {
        chain(&mut sends, 50 + u64::from(slot), slot, false).unwrap();
    }
    assert_eq!(ring(&mut sends, &mut fake), (1, vec![vec![0]]));
    fake.take_only(4);
    chain(&mut sends, 60, 1, false).unwrap();
    assert_eq!(ring(&mut sends, &mut fake), (1, vec![vec![3]]));
    assert_eq!(back(&mut sends, 2), None, "it was refused");
    assert_eq!(back(&mut sends, 3), Some(60));
    assert_eq!(back(&mut sends, 3), None, "it came back already");
}

#[test]
fn some_are_handed_over_alone() {
    let (mut sends, mut fake) = (sends(6, 6), Fake::new());
    for (slot, alone) in [(0, false), (1, false), (2, true), (3, true), (4, false), (5, false)] {
        chain(&mut sends, 0, slot, alone).unwrap();
    }
    assert_eq!(ring(&mut sends, &mut fake), (6, vec![vec![0, 1], vec![2], vec![3], vec![4, 5]]));
    assert_eq!(back(&mut sends, 5), Some(0));
    for slot in 0..6 {
        chain(&mut sends, 0, slot, false).unwrap();
    }
    assert_eq!(ring(&mut sends, &mut fake).1.len(), 1, "the mark is not kept");
}

#[test]
fn a_refusal_between_calls_counts_those_before() {
    let (mut sends, mut fake) = (sends(4, 4), Fake::new());
    fake.take_only(3);
    for (slot, alone) in [(0, true), (1, false), (2, false), (3, false)] {
        chain(&mut sends, 0, slot, alone).unwrap();
    }
    assert_eq!(ring(&mut sends, &mut fake), (3, vec![vec![0], vec![1, 2]]));
}

#[test]
fn completions_are_known_after_all_was_given_up() {
    let (mut sends, mut fake) = (sends(2, 2), Fake::new());
    chain(&mut sends, 5, 0, false).unwrap();
    ring(&mut sends, &mut fake);
    sends.give_up();
    assert_eq!(back(&mut sends, 0), Some(5));
}

/// Chains a Read whose region nobody else has; its key.
fn read_into_a_sink(sends: &mut Sends, domain: &Arc<ProtectionDomain>) -> u32 {
    let rights = Rights { remote_write: true, ..Rights::default() };
    let buffer = Buffer::new(4096).unwrap();
    let region = Arc::new(MemoryRegion::register_part(domain, &buffer, (8, 100), rights).unwrap());
    sends.chain(u64::from(region.rkey()), None, Keeper::region(&region), false, fill_read).unwrap();
    region.rkey()
}

fn open() -> Vec<u32> {
    fake_memory::known().iter().map(|region| region.key).collect()
}

#[test]
fn what_a_read_writes_to_is_open_until_it_is_back_whatever_came_of_it_and_no_longer() {
    let (mut sends, mut fake) = (sends(4, 8), Fake::new());
    let (domain, _) = fake_memory::domain();
    let keys: Vec<_> = (0..3).map(|_| read_into_a_sink(&mut sends, &domain)).collect();
    chain(&mut sends, 70, 0, false).unwrap();
    ring(&mut sends, &mut fake);
    assert_eq!(open(), keys);
    // What is behind them says nothing of them.
    assert_eq!(back(&mut sends, 3), None);
    assert_eq!(open(), keys);
    assert_eq!(back(&mut sends, 0), Some(keys[0].into()));
    assert_eq!(open(), keys[1..]);
    // IBV_WC_WR_FLUSH_ERR
    let flushed = 5;
    let read = sends.complete(completion(1, flushed)).or_else(|| sends.back());
    assert_eq!(read.map(|read| (read.wr_id, read.status)), Some((keys[1].into(), flushed)));
    assert_eq!(open(), keys[2..]);
    assert_eq!(back(&mut sends, 2), Some(keys[2].into()));
    assert_eq!(open(), []);
}

#[test]
fn what_a_read_would_have_written_to_is_closed_when_it_is_refused_or_given_up() {
    let (mut sends, mut fake) = (sends(4, 8), Fake::new());
    let (domain, _) = fake_memory::domain();
    fake.take_only(1);
    let keys: Vec<_> = (0..3).map(|_| read_into_a_sink(&mut sends, &domain)).collect();
    assert_eq!(open(), keys);
    assert_eq!(ring(&mut sends, &mut fake).0, 1);
    assert_eq!(open(), keys[..1], "the others were refused");
    read_into_a_sink(&mut sends, &domain);
    sends.give_up();
    assert_eq!(open(), []);
}
