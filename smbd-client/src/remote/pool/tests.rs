use proptest::prelude::*;
use smbd_link::transport::Heap;

use super::*;

#[test]
fn data_that_will_be_encrypted_are_not_in_memory_that_a_device_knows() {
    let mut pool = Pool::<Heap>::new(1);
    let buffer = pool.take().unwrap().unwrap();
    for (is_encrypted, data, there) in [(false, "signed", "signed"), (true, "secret", "signed")] {
        pool.fill(buffer, &Bytes::from(data), is_encrypted).unwrap();
        assert_eq!(pool.plain(buffer, 1, 5), Some(&data.as_bytes()[1..]));
        assert_eq!(pool.plain(buffer, 2, 5), None, "what it does not have");
        let mut in_memory = [0; 6];
        pool.memory(buffer).unwrap().read(0, &mut in_memory).unwrap();
        assert_eq!(in_memory, there.as_bytes());
    }
}

#[test]
fn nothing_of_a_transfer_is_there_for_the_next_one() {
    let mut pool = Pool::<Heap>::new(1);
    let buffer = pool.take().unwrap().unwrap();
    pool.fill(buffer, &Bytes::from("data"), true).unwrap();
    pool.checked(buffer, 0, b"data".to_vec());
    pool.give_back(buffer);
    assert_eq!(pool.take().unwrap(), Some(buffer));
    assert_eq!(pool.plain(buffer, 0, 4), None);
    assert_eq!(pool.read(buffer, 4).unwrap(), [0; 4]);
}

proptest! {
    #[test]
    fn what_was_checked_counts_in_the_place_of_what_is_in_memory(
        parts in prop::collection::vec((1..40_usize, any::<bool>()), 1..5), less in 0..20_usize, order: u64,
    ) {
        let mut pool = Pool::<Heap>::new(1);
        let buffer = pool.take().unwrap().unwrap();
        let (mut expected, mut checked) = (Vec::new(), Vec::new());
        for (len, is_checked) in parts {
            if is_checked {
                checked.push((expected.len() as u64, vec![2; len]));
            }
            expected.resize(expected.len() + len, if is_checked { 2 } else { 1 });
        }
        pool.memory(buffer).unwrap().fill(0, &vec![1; expected.len()]).unwrap();
        // Checks end in any order.
        while !checked.is_empty() {
            let (offset, data) = checked.swap_remove(order as usize % checked.len());
            pool.checked(buffer, offset, data);
        }
        let count = expected.len().saturating_sub(less);
        prop_assert_eq!(pool.read(buffer, count).unwrap(), &expected[..count]);
    }
}
