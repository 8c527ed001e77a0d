use alloc::vec::Vec;

use proptest::prelude::*;

use super::{Ring, Slots};

#[test]
fn a_released_name_is_void_even_when_its_slot_is_used_again() {
    let mut slots = Slots::new(1);
    let first = slots.acquire('a').unwrap();
    assert_eq!(slots.release(first), Some('a'));
    let second = slots.acquire('b').unwrap();
    assert_eq!(first.index, second.index);
    assert_eq!(slots.get(first), None);
    assert_eq!(slots.release(first), None);
    assert_eq!(slots.get(second), Some(&'b'));
}

#[test]
fn a_full_table_takes_nothing_more() {
    let mut slots = Slots::new(2);
    assert!(slots.acquire(1).is_some());
    assert!(slots.acquire(2).is_some());
    assert!(slots.is_full());
    assert_eq!(slots.acquire(3), None);
    assert_eq!(Slots::<u8>::new(0).acquire(1), None);
}

proptest! {
    #[test]
    fn slots_behave_like_a_map_of_the_names_in_use(ops in proptest::collection::vec(any::<(bool, u8)>(), 0..200)) {
        let mut slots = Slots::new(5);
        let mut model: Vec<(crate::id::Slot, u8)> = Vec::new();
        for (acquire, value) in ops {
            if acquire {
                match slots.acquire(value) {
                    Some(name) => {
                        prop_assert!(model.iter().all(|(other, _)| *other != name));
                        model.push((name, value));
                    }
                    None => prop_assert_eq!(model.len(), 5),
                }
            } else if !model.is_empty() {
                let (name, kept) = model.remove(usize::from(value) % model.len());
                prop_assert_eq!(slots.release(name), Some(kept));
                prop_assert_eq!(slots.get(name), None);
            }
            prop_assert_eq!(usize::from(slots.used()), model.len());
            let mut listed: Vec<_> = slots.iter().map(|(name, value)| (name, *value)).collect();
            listed.sort_unstable();
            model.sort_unstable();
            prop_assert_eq!(&listed, &model);
        }
    }

    #[test]
    fn a_ring_behaves_like_a_bounded_queue(ops in proptest::collection::vec(any::<Option<u8>>(), 0..100), capacity in 0_usize..6) {
        let mut ring = Ring::new(capacity, 0);
        let mut model = std::collections::VecDeque::new();
        for op in ops {
            match op {
                Some(value) => {
                    let room = model.len() < capacity;
                    prop_assert_eq!(ring.push(value), room);
                    if room {
                        model.push_back(value);
                    }
                }
                None => prop_assert_eq!(ring.pop(), model.pop_front()),
            }
            prop_assert_eq!(ring.front(), model.front());
            prop_assert!(ring.iter().eq(model.iter()));
            prop_assert_eq!(ring.len(), model.len());
        }
    }
}
