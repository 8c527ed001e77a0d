use super::{Invalidate, TABLE, of};
use crate::DeviceAttributes;

/// A device that has nothing.
pub(crate) fn device(vendor_id: u32, transport_iwarp: bool) -> DeviceAttributes {
    DeviceAttributes {
        name: "r0".into(),
        vendor_id,
        vendor_part_id: 0,
        max_qp_wr: 0,
        max_sge: 0,
        max_sge_rd: 0,
        max_cqe: 0,
        max_mr_size: 0,
        max_qp_rd_atom: 0,
        max_qp_init_rd_atom: 0,
        max_mw: 0,
        window_2a: false,
        window_2b: false,
        mem_mgt_extensions: false,
        transport_iwarp,
    }
}

#[test]
fn each_device_has_its_row() {
    let name = |vendor, iwarp| of(&device(vendor, iwarp)).name;
    assert_eq!(name(0x62_6D74, true), "siw");
    assert_eq!(name(0xFF_FFFF, false), "rxe");
    assert_eq!(name(0x14E4, false), "bnxt_re");
    assert_eq!(name(0x1425, true), "any iWARP");
    assert_eq!(name(0x02C9, false), "any");
}

#[test]
fn whatever_is_not_known_keeps_to_the_manual() {
    let any = of(&device(0x02C9, false));
    assert_eq!(any.invalidate, Invalidate::Request);
    assert!(any.send_with_invalidate && any.depths_in_events && !any.connect_blocks);
    assert_eq!((any.settle_millis, any.post_alone_below, any.spacer_entries), (0, 0, 0));
}

#[test]
fn windows_that_a_driver_announces_and_cannot_allocate_are_not_used() {
    let windows = |vendor| {
        let device = DeviceAttributes { max_mw: 1024, window_2b: true, ..device(vendor, false) };
        of(&device).uses_windows(&device)
    };
    assert_eq!([0x02C9, 0xFF_FFFF, 0x14E4].map(windows), [true, true, false]);
}

#[test]
fn an_orderly_close_is_told_on_infiniband_and_roce_alone() {
    for (vendor, iwarp) in
        [(0x62_6D74, true), (0x1425, true), (0xFF_FFFF, false), (0x14E4, false), (0x02C9, false)]
    {
        assert_eq!(of(&device(vendor, iwarp)).close_in_status, !iwarp, "{vendor:#x}");
    }
}

#[test]
fn reads_are_in_order_on_infiniband_and_roce_alone() {
    for (vendor, iwarp) in
        [(0x62_6D74, true), (0x1425, true), (0xFF_FFFF, false), (0x14E4, false), (0x02C9, false)]
    {
        assert_eq!(of(&device(vendor, iwarp)).reads_in_order, !iwarp, "{vendor:#x}");
    }
}

#[test]
fn names_in_the_table_tell_rows_apart() {
    let names: std::collections::BTreeSet<_> = TABLE.iter().map(|row| row.name).collect();
    assert_eq!(names.len(), TABLE.len());
}
