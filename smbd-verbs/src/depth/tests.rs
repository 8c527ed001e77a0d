use super::{Depths, Told, header_of};
use smbd_core::error::ConnectReason;
use smbd_core::wire::ird_ord::IrdOrd;

const fn roce(ird: u32, ord: u32, wanted: u16) -> Depths {
    Depths { local: IrdOrd { ird, ord }, wanted, header: false, in_events: true }
}

const fn iwarp(ird: u32, ord: u32, wanted: u16) -> Depths {
    Depths { header: true, in_events: false, ..roce(ird, ord, wanted) }
}

fn told(header: Option<(u32, u32)>, incoming: u8, outgoing: u8) -> Told {
    Told { header: header.map(|(ird, ord)| IrdOrd { ird, ord }), incoming, outgoing }
}

#[test]
fn on_roce_the_smaller_of_own_and_told_depth_counts_each_way() {
    let terms = roce(16, 8, 16).answer(told(None, 4, 32)).expect("depths");
    assert_eq!((terms.incoming, terms.outgoing, terms.read_depth, terms.header), (4, 8, 8, None));
    assert_eq!(roce(16, 8, 16).adopt(told(None, 16, 2)), Ok(2));
    assert_eq!(roce(16, 8, 16).offer().header, None);
}

#[test]
fn on_roce_a_depth_of_zero_means_no_reads_and_is_no_failure() {
    assert_eq!(roce(16, 8, 16).adopt(told(None, 0, 0)), Ok(0));
    assert_eq!(roce(16, 8, 16).answer(told(None, 0, 0)).map(|terms| terms.read_depth), Some(0));
}

#[test]
fn on_iwarp_the_header_counts_and_the_events_do_not() {
    let terms = iwarp(16, 8, 16).answer(told(Some((5, 3)), 99, 99)).expect("depths");
    // IRD and ORD of the sender of the answer, in network order (6.1).
    assert_eq!((terms.incoming, terms.outgoing), (3, 5));
    assert_eq!(terms.header, Some([0, 0, 0, 3, 0, 0, 0, 5]));
    assert_eq!(iwarp(16, 8, 16).adopt(told(Some((5, 3)), 99, 99)), Ok(5));
    assert_eq!(iwarp(16, 8, 16).offer().header, Some([0, 0, 0, 16, 0, 0, 0, 8]));
}

#[test]
fn on_iwarp_without_a_header_the_own_depths_stand() {
    let terms = iwarp(16, 8, 16).answer(told(None, 1, 1)).expect("depths");
    assert_eq!((terms.incoming, terms.outgoing, terms.header), (16, 8, None));
    assert_eq!(iwarp(16, 8, 16).adopt(Told::default()), Ok(8));
}

#[test]
fn who_wants_no_reads_says_one_because_zero_is_not_allowed_and_issues_none() {
    let depths = iwarp(0, 0, 0);
    assert_eq!(depths.offer().header, Some([0, 0, 0, 1, 0, 0, 0, 1]));
    assert_eq!(depths.answer(told(Some((5, 5)), 0, 0)).map(|terms| terms.read_depth), Some(0));
    assert_eq!(depths.adopt(told(Some((5, 5)), 0, 0)), Ok(0));
}

#[test]
fn a_header_with_a_zero_is_refused_and_anything_shorter_is_none() {
    assert_eq!(header_of(&[0; 8]), Err(ConnectReason::ReadDepth));
    assert_eq!(header_of(&[0, 0, 0, 1, 0, 0, 0, 0]), Err(ConnectReason::ReadDepth));
    assert_eq!(header_of(&[]), Ok(None));
    assert_eq!(header_of(&[0, 0, 0, 1, 0, 0, 0]), Ok(None));
    assert_eq!(header_of(&[0, 0, 0, 1, 0, 0, 0, 2]), Ok(Some(IrdOrd { ird: 1, ord: 2 })));
}
