use alloc::vec::Vec;

use proptest::prelude::*;

use super::Cursor;
use crate::error::RdmaError;
use crate::{BufferDescriptorV1, Token};

fn descriptor(offset: u64, length: u32) -> BufferDescriptorV1 {
    BufferDescriptorV1 { offset, token: Token(7), length }
}

fn pieces(remote: &[BufferDescriptorV1], offset: u64, len: u32, max: u32) -> Vec<(u64, u32)> {
    let mut cursor = Cursor::new(remote, offset, len).unwrap();
    let mut left = len;
    let mut pieces = Vec::new();
    while left > 0 {
        let piece = cursor.next(remote, max.min(left)).unwrap();
        left -= piece.length;
        pieces.push((piece.offset, piece.length));
    }
    pieces
}

#[test]
fn first_and_last_element_are_cut() {
    let remote = [descriptor(1000, 10), descriptor(5000, 20), descriptor(9000, 30)];
    assert_eq!(pieces(&remote, 4, 40, u32::MAX), [(1004, 6), (5000, 20), (9000, 14)]);
}

#[test]
fn an_offset_at_an_element_boundary_starts_with_the_next_element() {
    let remote = [descriptor(1000, 10), descriptor(5000, 20)];
    assert_eq!(pieces(&remote, 9, 2, u32::MAX), [(1009, 1), (5000, 1)]);
    assert_eq!(pieces(&remote, 10, 2, u32::MAX), [(5000, 2)]);
    assert_eq!(pieces(&remote, 11, 2, u32::MAX), [(5001, 2)]);
}

#[test]
fn empty_elements_are_skipped_wherever_they_are() {
    let remote =
        [descriptor(1, 0), descriptor(1000, 2), descriptor(2, 0), descriptor(5000, 2), descriptor(3, 0)];
    assert_eq!(pieces(&remote, 0, 4, u32::MAX), [(1000, 2), (5000, 2)]);
}

#[test]
fn an_element_up_to_the_last_address_does_not_wrap() {
    assert_eq!(pieces(&[descriptor(u64::MAX - 9, 10)], 9, 1, u32::MAX), [(u64::MAX, 1)]);
    let wraps = Cursor::new(&[descriptor(u64::MAX - 9, 11)], 0, 1);
    assert_eq!(wraps, Err(RdmaError::DescriptorWraps { index: 0, offset: u64::MAX - 9, len: 11 }));
}

#[test]
fn a_range_beyond_the_descriptors_is_refused_with_the_numbers() {
    let remote = [descriptor(0, 10), descriptor(100, 10)];
    assert!(Cursor::new(&remote, 10, 10).is_ok());
    let beyond = |offset, len| RdmaError::BeyondDescriptors { offset, len, total: 20 };
    assert_eq!(Cursor::new(&remote, 10, 11), Err(beyond(10, 11)));
    assert_eq!(Cursor::new(&remote, 21, 0), Err(beyond(21, 0)));
    assert_eq!(Cursor::new(&remote, u64::MAX, 1), Err(beyond(u64::MAX, 1)));
    assert!(Cursor::new(&remote, 20, 0).is_ok());
}

proptest! {
    #[test]
    fn pieces_are_the_bytes_of_the_range_in_order(
        lengths in proptest::collection::vec(0_u32..20, 0..40),
        offset in 0_u64..300, len in 0_u32..300, max in 1_u32..25,
    ) {
        // Element n lives at n * 1000, so each address names its element.
        let remote: Vec<_> = (0_u64..).zip(&lengths).map(|(n, len)| descriptor(n * 1000, *len)).collect();
        let bytes: Vec<u64> = remote.iter().flat_map(|d| (0..u64::from(d.length)).map(|i| d.offset + i)).collect();
        let range = usize::try_from(offset).unwrap()..usize::try_from(offset).unwrap() + usize::try_from(len).unwrap();
        match (Cursor::new(&remote, offset, len), bytes.get(range)) {
            (Ok(_), Some(wanted)) => {
                let pieces = pieces(&remote, offset, len, max);
                prop_assert!(pieces.iter().all(|(_, len)| (1..=max).contains(len)));
                let touched: Vec<u64> = pieces.iter().flat_map(|(at, len)| *at..*at + u64::from(*len)).collect();
                prop_assert_eq!(&touched[..], wanted);
            }
            (Err(RdmaError::BeyondDescriptors { .. }), None) => {}
            (got, wanted) => prop_assert!(false, "{got:?} for {wanted:?}"),
        }
    }
}
