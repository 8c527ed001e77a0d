use std::sync::atomic::Ordering;
use std::task::{Context, Waker};

use bytes::Bytes;

use super::scripted;
use crate::pump::peer::{Peer, waiting_max};
use smbd_link::time::TokioTime;

fn cx() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

#[test]
fn of_long_messages_the_peer_is_given_no_more_before_it_takes_all() {
    let (hand, transport) = scripted::peer();
    hand.is_stuck.store(true, Ordering::Relaxed);
    let mut peer = Peer::new(transport);
    for has_room in [true, false] {
        peer.send(vec![0; 600_000].into(), None);
        peer.drive(|_| Ok(()), &mut cx()).unwrap();
        assert_eq!(peer.has_room(&mut cx()), has_room);
    }
    hand.is_stuck.store(false, Ordering::Relaxed);
    peer.drive(|_| Ok(()), &mut cx()).unwrap();
    assert!(peer.has_room(&mut cx()));
}

#[test]
fn what_waits_for_a_peer_that_takes_nothing_is_as_much_as_is_counted_for_it() {
    for len in [200_000, (1 << 20) - 1, 1 << 20, 3_000_000] {
        let (hand, transport) = scripted::peer();
        hand.is_stuck.store(true, Ordering::Relaxed);
        let (mut peer, mut waiting) = (Peer::new(transport), 0);
        while peer.has_room(&mut cx()) {
            peer.send(vec![0; len].into(), None);
            waiting += len;
        }
        let counted = waiting_max(len);
        assert!(waiting <= counted && counted - waiting <= len, "{waiting} of {counted}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_transport_that_does_not_get_rid_of_its_orders_is_closed_without_them() {
    let (mut hand, mut transport) = scripted::peer();
    hand.is_stuck.store(true, Ordering::Relaxed);
    transport.stays_with_orders = true;
    let mut peer = Peer::new(transport);
    peer.send(Bytes::from_static(b"never"), None);
    drop(hand.messages.take());
    let (start, within) = (tokio::time::Instant::now(), super::Duration::from_secs(3));
    assert_eq!(peer.close(within, &TokioTime::start()).await, "it left");
    assert_eq!(start.elapsed(), within);
}
