//! The queues of the receive queue, without a device.

use super::*;
use crate::ffi::queue_pair::fake::Fake;

fn receives(slots: u32, room: u32) -> Receives {
    Receives::new(Slab::unregistered(slots, 100).unwrap(), room)
}

/// Hands over all that is chained; the tickets that were accepted.
fn ring(receives: &mut Receives, fake: &mut Fake) -> Vec<u64> {
    let chained = receives.chained();
    // SAFETY: the fake queue pair exists.
    let result = unsafe { receives.hand_over(fake.queue(), chained) };
    receives.end_chain(result.map_or_else(|(accepted, _)| accepted, |()| chained));
    fake.calls().concat()
}

#[test]
fn a_slot_is_with_the_device_until_its_completion() {
    let (mut receives, mut fake) = (receives(2, 2), Fake::new());
    receives.chain(70, 1, 100).unwrap();
    assert_eq!(receives.chain(71, 1, 100), Err(ChainError::InFlight { slot: 1 }));
    let tickets = ring(&mut receives, &mut fake);
    assert_eq!(tickets[0] & RECEIVE, RECEIVE);
    assert_eq!(receives.received(1), []);
    assert_eq!(receives.complete(tickets[0], 7), Some(70));
    assert_eq!(receives.received(1), [0; 7]);
    assert_eq!(receives.complete(tickets[0], 9), None, "it came back already");
    receives.chain(72, 1, 100).unwrap();
    assert_eq!(receives.received(1), []);
    assert_eq!(receives.complete(tickets[0], 9), None, "an earlier use of the slot");
    let tickets = ring(&mut receives, &mut fake);
    assert_eq!(receives.complete(tickets[0], u32::MAX), Some(72));
    assert_eq!(receives.received(1).len(), 100, "never more than a slot");
}

#[test]
fn a_slot_is_checked_before_anything_changes() {
    let mut receives = receives(3, 1);
    assert_eq!(receives.chain(0, 3, 1), Err(ChainError::NoSlot { slot: 3, slots: 3 }));
    assert_eq!(receives.chain(0, 0, 101), Err(ChainError::TooLong { len: 101, slot_len: 100 }));
    receives.chain(0, 0, 100).unwrap();
    assert_eq!(receives.chain(0, 1, 100), Err(ChainError::Full));
    assert_eq!((receives.received(3), receives.received(u16::MAX)), (&[][..], &[][..]));
}

#[test]
fn what_was_refused_is_free_again() {
    let (mut receives, mut fake) = (receives(2, 2), Fake::new());
    fake.take_only(1);
    receives.chain(70, 0, 100).unwrap();
    receives.chain(71, 1, 100).unwrap();
    assert_eq!(ring(&mut receives, &mut fake).len(), 1);
    assert_eq!(receives.chain(72, 0, 100), Err(ChainError::InFlight { slot: 0 }));
    receives.chain(73, 1, 100).unwrap();
    assert_eq!(receives.chain(74, 1, 100), Err(ChainError::InFlight { slot: 1 }));
}
