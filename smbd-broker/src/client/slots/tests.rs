use std::sync::atomic::{AtomicU32, Ordering};
use std::task::Wake;

use super::*;
use crate::socket::memory;

#[derive(Default)]
struct Counted(AtomicU32);

impl Wake for Counted {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Two slots of 4096 bytes, of four that there may be.
fn slots() -> Slots {
    let limits = Limits {
        slot_len: 4096,
        slots_max: 4,
        sends_max: 1,
        send_bytes_max: 1,
        receive_bytes_max: 1,
        transfers_max: 1,
    };
    let slots = Slots::new(&limits);
    slots.add(Memory { first: 0, count: 2, total: 2 }, memory(8192).unwrap());
    slots
}

#[test]
fn whoever_waits_is_woken_by_new_slots_by_a_refusal_and_by_slots_that_come_back() {
    let slots = slots();
    let counted = Arc::new(Counted::default());
    let waker = Waker::from(Arc::clone(&counted));
    let cx = Context::from_waker(&waker);
    let noop = Context::from_waker(Waker::noop());
    let woken = || counted.0.load(Ordering::Relaxed);
    let held = slots.take(8192).unwrap();
    assert!(slots.poll_take(&cx, 4096).is_pending());
    assert!(slots.poll_short(&noop).is_ready(), "the broker is to be asked");
    assert!(slots.poll_short(&noop).is_pending(), "once");
    slots.none_added();
    assert_eq!(woken(), 1);
    assert!(slots.poll_take(&cx, 4096).is_pending(), "those in use come back");
    assert!(slots.poll_short(&noop).is_pending(), "not before");
    slots.give(&held);
    assert_eq!(woken(), 2);
    assert!(slots.poll_take(&cx, 4096).is_ready());
    assert!(slots.poll_take(&cx, 8192).is_pending());
    assert!(slots.poll_short(&noop).is_ready(), "slots have come back since, so it is asked again");
    slots.add(Memory { first: 2, count: 2, total: 4 }, memory(8192).unwrap());
    assert_eq!(woken(), 3);
    assert!(slots.poll_take(&cx, 8192).is_ready());
}

#[test]
fn bytes_go_in_and_out_in_pieces_that_follow_each_other_over_all_slots() {
    let slots = slots();
    let areas = slots.take(5000).unwrap();
    let mut next = 0_u32;
    let fill = |piece: &mut [u8]| {
        for byte in piece {
            *byte = next as u8;
            next += 1;
        }
        Ok(())
    };
    slots.fill_with(&areas, fill).unwrap();
    let (mut whole, mut pieces) = (Vec::new(), Vec::new());
    slots.read(&areas, &mut whole).unwrap();
    let keep = |piece: &[u8]| {
        pieces.extend_from_slice(piece);
        Ok(())
    };
    slots.read_with(&areas, keep).unwrap();
    assert!(whole.iter().copied().eq((0..5000_u32).map(|at| at as u8)));
    assert_eq!(pieces, whole);
    let refused = slots.read_with(&areas, |_| Err(io::ErrorKind::OutOfMemory.into())).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::OutOfMemory);
}
