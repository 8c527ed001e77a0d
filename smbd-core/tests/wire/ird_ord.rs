//! The read-depth header of section 6: byte order, and what two peers settle on.

use insta::assert_snapshot;
use proptest::prelude::*;
use smbd_core::wire::ird_ord::{ByteOrder, IrdOrd, MAX_DEPTH, View, adopt, answer, offer, settle};

/// Depths of at least `min`, often small and often about as large as they may become.
fn depths(min: u32, max: u32) -> impl Strategy<Value = IrdOrd> {
    let depth = prop_oneof![
        min..=min + 4,
        Just(max.min(0x0001_0000)),
        (MAX_DEPTH - 4)..=max.min(MAX_DEPTH + 4),
        min..=max
    ];
    (depth.clone(), depth).prop_map(|(ird, ord)| IrdOrd { ird, ord })
}

fn view() -> impl Strategy<Value = View> {
    prop_oneof![Just(View::Sender), Just(View::Requester)]
}

fn through_the_wire(header: IrdOrd) -> IrdOrd {
    let mut bytes = [0; 8];
    header.encode(&mut bytes).unwrap();
    IrdOrd::parse(&bytes).unwrap().0
}

proptest! {
    #[test]
    fn a_header_is_written_in_network_order_and_read_as_such(x in depths(1, MAX_DEPTH)) {
        let mut bytes = [0xEE; 9];
        prop_assert_eq!(x.encode(&mut bytes), Ok(8));
        prop_assert_eq!(&bytes[..4], x.ird.to_be_bytes());
        prop_assert_eq!(&bytes[4..], [x.ord.to_be_bytes().as_slice(), &[0xEE]].concat());
        prop_assert_eq!(IrdOrd::parse(&bytes), Ok((x, ByteOrder::Big)));
    }

    #[test]
    fn a_header_of_an_old_client_is_recognised_by_its_byte_order(x in depths(1, MAX_DEPTH)) {
        let bytes = [x.ird.to_le_bytes(), x.ord.to_le_bytes()].concat();
        prop_assert_eq!(IrdOrd::parse(&bytes), Ok((x, ByteOrder::LegacyLittle)));
    }

    /// No provider issues more reads than the other serves, whichever way the two documents are read, and
    /// no depth is above what the provider can do.
    #[test]
    fn peers_that_read_the_answer_alike_settle_on_matching_depths(
        requester in depths(0, u32::MAX), acceptor in depths(1, u32::MAX), view in view(),
    ) {
        let request = through_the_wire(offer(requester));
        let accepted = settle(acceptor, request).unwrap();
        let reply = through_the_wire(answer(acceptor, request, view).unwrap());
        prop_assert!(accepted.ird <= acceptor.ird && accepted.ord <= acceptor.ord);
        let Ok(requested) = adopt(requester, reply, view) else {
            prop_assert!(requester.ird == 0 || requester.ord == 0);
            return Ok(());
        };
        prop_assert_eq!((requested.ird, requested.ord), (accepted.ord, accepted.ird));
        prop_assert!(requested.ird <= requester.ird && requested.ord <= requester.ord);
    }

    #[test]
    fn an_offer_is_always_one_that_can_be_sent_and_read(local in depths(0, u32::MAX)) {
        let header = offer(local);
        prop_assert_eq!(through_the_wire(header), header);
    }
}

#[test]
fn the_two_readings_of_the_answer_are_each_other_exchanged() {
    let acceptor = IrdOrd { ird: 16, ord: 8 };
    let request = IrdOrd { ird: 4, ord: 32 };
    assert_eq!(answer(acceptor, request, View::Sender), Ok(IrdOrd { ird: 16, ord: 4 }));
    assert_eq!(answer(acceptor, request, View::Requester), Ok(IrdOrd { ird: 4, ord: 16 }));
}

#[test]
fn no_depth_is_told_that_could_be_read_in_the_other_byte_order() {
    let huge = IrdOrd { ird: 0x0001_0000, ord: 0x0001_0000 };
    let largest = IrdOrd { ird: 0xFFFF, ord: 0xFFFF };
    assert_eq!(offer(huge), largest);
    // Only a peer that is no iWARP provider at all says this.
    let request = IrdOrd { ird: 0x0100_0001, ord: 0x0100_0001 };
    assert_eq!(answer(huge, request, View::Sender), Ok(largest));
}

#[test]
fn a_header_that_is_odd_in_both_orders_stays_in_network_order() {
    for (ird, ord) in [(0x0100_0001, 0x0100_0001), (0x10, 0x0001_0000), (0x0100_0000, 0x0100_0001)] {
        let x = IrdOrd { ird, ord };
        let mut bytes = [0; 8];
        x.encode(&mut bytes).unwrap();
        assert_eq!(IrdOrd::parse(&bytes), Ok((x, ByteOrder::Big)));
    }
}

#[test]
fn a_depth_of_zero_is_neither_read_nor_written_nor_settled_on() {
    let mut out = [0xEE; 8];
    let texts = [
        IrdOrd::parse(&[0, 0, 0, 0, 0, 0, 0, 1]).unwrap_err().to_string(),
        IrdOrd::parse(&[1, 0, 0, 0, 0, 0, 0, 0]).unwrap_err().to_string(),
        IrdOrd { ird: 1, ord: 0 }.encode(&mut out).unwrap_err().to_string(),
        settle(IrdOrd { ird: 8, ord: 0 }, IrdOrd { ird: 4, ord: 2 }).unwrap_err().to_string(),
    ];
    assert_eq!(out, [0xEE; 8]);
    assert_snapshot!(texts.join("\n"), @"
    IRD/ORD Negotiate Header: IRD at offset 0 is zero (6.1)
    IRD/ORD Negotiate Header: ORD at offset 4 is zero (6.1)
    IRD/ORD Negotiate Header: ORD at offset 4 is zero (6.1)
    read depth settles at zero: local IRD 8 and ORD 0, peer IRD 4 and ORD 2 (6.2)
    ");
}
