use alloc::format;
use alloc::vec::Vec;

use proptest::prelude::*;

use super::{RdmaId, RecvId, RegId, SendId, Slot, WrId};

fn all(slot: Slot) -> [WrId; 4] {
    [RecvId(slot).into(), SendId(slot).into(), RdmaId(slot).into(), RegId(slot).into()]
}

#[test]
fn names_say_kind_place_and_use() {
    let names: Vec<_> = all(Slot { generation: 3, index: 21 }).iter().map(|id| format!("{id}")).collect();
    assert_eq!(names, ["recv21.3", "send21.3", "rdma21.3", "reg21.3"]);
}

#[test]
fn a_raw_id_has_its_kind_on_top_its_generation_below_and_its_slot_last() {
    let raw = all(Slot { generation: 0x0102_0304, index: 0x0506 }).map(WrId::to_raw);
    assert_eq!(raw, [1, 2, 3, 4].map(|kind| kind << 56 | 0x0102_0304_0506));
}

proptest! {
    #[test]
    fn every_id_comes_back_from_its_number(generation: u32, index: u16) {
        for id in all(Slot { generation, index }) {
            prop_assert_eq!(WrId::from_raw(id.to_raw()), Some(id));
            prop_assert_ne!(id.to_raw(), 0);
        }
    }

    #[test]
    fn a_number_is_an_id_if_and_only_if_it_is_the_ids_own(raw: u64, kind in 0_u64..6) {
        for raw in [raw, kind << 56 | raw >> 8, kind << 56 | raw >> 16] {
            let known = (1..=4).contains(&(raw >> 56)) && raw >> 48 & 0xff == 0;
            prop_assert_eq!(WrId::from_raw(raw).map(WrId::to_raw), known.then_some(raw));
        }
    }
}
