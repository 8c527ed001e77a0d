use alloc::vec;
use alloc::vec::Vec;

use allocation_counter::measure;
use proptest::prelude::*;

use super::{Chunks, LARGEST, SHORT};

#[test]
fn a_copy_allocates_nothing_when_all_before_it_were_dropped() {
    let mut chunks = Chunks::new();
    let message = vec![7; SHORT];
    drop(chunks.copy(&[&message]));
    let allocated = measure(|| (0..100).for_each(|_| drop(chunks.copy(&[&message]).freeze())));
    assert_eq!(allocated.count_total, 0);
}

#[test]
fn a_written_message_allocates_nothing_when_all_before_it_were_dropped() {
    let mut chunks = Chunks::new();
    let mut write = || drop(chunks.write(|out| out.extend_from_slice(&[7; 300])).0.freeze());
    write();
    let allocated = measure(|| (0..100).for_each(|_| write()));
    assert_eq!(allocated.count_total, 0);
}

#[test]
fn messages_that_are_alive_together_share_chunks() {
    let mut chunks = Chunks::new();
    let mut round = || drop((0..32).map(|_| chunks.copy(&[&[7; 200]])).collect::<Vec<_>>());
    // The chunks have their sizes then.
    (0..200).for_each(|_| round());
    let allocated = measure(|| (0..100).for_each(|_| round()));
    assert_eq!(allocated.count_total, 100, "only the lists are allocated");
}

#[test]
fn long_messages_leave_no_memory_behind() {
    let mut chunks = Chunks::new();
    let copied = chunks.copy(&[&vec![7; 1 << 20]]);
    let (written, ()) = chunks.write(|out| out.resize(1 << 20, 7));
    assert_eq!(copied, written);
    assert_eq!(chunks.held(), 0);
    let (written, ()) = chunks.write(|out| {
        out.resize(1 << 20, 7);
        out.truncate(1);
    });
    assert_eq!(written, [7][..]);
    assert!(chunks.held() <= LARGEST, "{}", chunks.held());
}

proptest! {
    #[test]
    fn a_copy_stays_as_it_was_whatever_is_copied_behind_it_and_kept(
        messages in prop::collection::vec((prop::collection::vec(prop::collection::vec(any::<u8>(), 0..400), 0..4), 0..3_usize, any::<bool>()), 0..60),
    ) {
        let mut chunks = Chunks::new();
        let mut kept: Vec<(Vec<u8>, bytes::BytesMut)> = Vec::new();
        for (pieces, dropped, is_written) in messages {
            let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
            let copy = if is_written {
                chunks.write(|out| pieces.iter().for_each(|piece| out.extend_from_slice(piece))).0
            } else {
                chunks.copy(&pieces)
            };
            kept.push((pieces.concat(), copy));
            kept.drain(..dropped.min(kept.len()));
            prop_assert!(kept.iter().all(|(expected, copy)| expected == copy));
            prop_assert!(chunks.held() <= 3 * LARGEST);
        }
    }
}
