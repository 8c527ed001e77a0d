//! No state is lost, none is there twice, and none is taken for another.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// What a table should be.
#[derive(Default)]
struct Model {
    keys: Vec<Key>,
    numbers: BTreeMap<Key, u32>,
}

impl Model {
    fn insert_all(&mut self, keys: &[Key]) {
        for key in keys {
            let next = u32::try_from(self.keys.len()).expect("few");
            if *self.numbers.entry(*key).or_insert(next) == next {
                self.keys.push(*key);
            }
        }
    }
}

fn compare(states: &States, model: &Model) {
    assert_eq!(states.len(), model.keys.len());
    for (number, key) in (0..).zip(&model.keys) {
        assert_eq!(states.key(number), *key, "number {number}");
        assert_eq!(states.number(*key), Some(number), "{key:?}");
    }
    assert_eq!(states.from(0, usize::MAX), model.keys);
}

/// Keys by their bits, of which only some vary: as in a search, where most halves have small numbers.
fn keys(mask: u64, most: usize) -> impl Strategy<Value = Vec<Key>> {
    let key = any::<u64>().prop_map(move |bits| {
        let bits = bits & mask;
        Key::of([u32::try_from(bits >> 32).unwrap_or(0), u32::try_from(bits & 0xffff_ffff).unwrap_or(0)])
    });
    prop::collection::vec(key, 0..most)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn each_state_has_the_number_of_its_first_finding(
        batches in prop::collection::vec(
            prop_oneof![keys(0x1f_0000_001f, 200), keys(0xfff_0000_0fff, 3000), keys(u64::MAX, 3000)],
            0..6,
        ),
    ) {
        let (mut states, mut model) = (States::default(), Model::default());
        for batch in &batches {
            states.insert_all(batch);
            model.insert_all(batch);
        }
        compare(&states, &model);
    }

    #[test]
    fn what_was_not_found_has_no_number(found in keys(0xff_0000_00ff, 4000), asked in keys(0xff_0000_00ff, 4000)) {
        let (mut states, mut model) = (States::default(), Model::default());
        states.insert_all(&found);
        model.insert_all(&found);
        for key in &asked {
            prop_assert_eq!(states.number(*key), model.numbers.get(key).copied());
        }
    }
}

/// Numbers far apart and close together, in every half: enough for all parts to grow many times, and for several chunks.
fn many() -> impl Iterator<Item = Key> {
    (0..700_000_u32).map(|at| Key::of([at % 700, at / 700]))
}

#[test]
fn a_large_table_loses_nothing_and_adds_nothing_when_it_grows() {
    let (mut states, mut model) = (States::default(), Model::default());
    let all: Vec<_> = many().collect();
    for batch in all.chunks(10_000) {
        // Each batch once more, and what was there long ago.
        states.insert_all(batch);
        states.insert_all(batch);
        states.insert_all(&all[..10_000]);
        model.insert_all(batch);
    }
    assert!(states.keys.chunks.len() > 2);
    compare(&states, &model);
    for at in 0..100_000 {
        assert_eq!(states.number(Key::of([at, 1_000_000 + at])), None);
    }
}

#[test]
fn a_state_of_a_large_table_takes_less_than_eighteen_bytes() {
    let mut states = States::default();
    let all: Vec<_> = many().collect();
    for batch in all.chunks(4096) {
        states.insert_all(batch);
        if states.len() > 4 * CHUNK / 2 {
            let bytes = states.bytes() - (CHUNK * size_of::<Key>()) as u64;
            assert!(bytes < 18 * states.len() as u64, "{bytes} bytes for {} states", states.len());
        }
    }
}
