use super::slots::Slots;

#[test]
fn a_place_is_used_again_under_another_name() {
    let mut slots = Slots::default();
    let first = slots.insert("first");
    assert_eq!(slots.remove(first.slot), Some((first, "first")));
    assert_eq!(slots.remove(first.slot), None);
    let second = slots.insert("second");
    assert_eq!(second.slot, first.slot);
    assert_eq!((slots.get(first), slots.get(second)), (None, Some(&"second")));
    assert_eq!((slots.len(), slots.keys().collect::<Vec<_>>()), (1, vec![second]));
}
