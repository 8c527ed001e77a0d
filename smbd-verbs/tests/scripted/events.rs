//! Events: each is acknowledged, and wakes who waits for it.

use smbd_core::error::DisconnectReason;
use smbd_verbs::Waitable;

use crate::end::{End, Told, happens, is_woken, message, nothing_is_left_of};
use crate::sys::rdma_cm_event_type as kind;
use crate::world::world;

#[test]
fn each_event_is_acknowledged_before_its_source_ends() {
    // `nothing_is_left_of` finds what is not.
    let mut end = End::connected(2);
    for bytes in [b"first", b"other"] {
        assert!(!end.backend.arm().unwrap());
        message(bytes);
        assert_eq!(end.told().len(), 1);
    }
    happens(kind::RDMA_CM_EVENT_DISCONNECTED, 0);
    assert_eq!(end.told(), [Told::Disconnected(DisconnectReason::PeerClosed)]);
    happens(kind::RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
    assert_eq!(end.told(), []);
    nothing_is_left_of(end);
}

#[test]
fn after_an_event_the_device_is_asked_for_the_next() {
    let mut end = End::connected(3);
    for number in 0..3 {
        assert_eq!(end.told(), []);
        assert!(!end.backend.arm().unwrap());
        assert!(!is_woken(&end), "nothing has happened");
        message(&[number]);
        assert!(is_woken(&end), "message {number}");
        assert_eq!(end.told(), [Told::Received { slot: number.into(), len: 1, invalidated: None }]);
    }
    nothing_is_left_of(end);
}

#[test]
fn whoever_arms_too_late_is_told_that_something_is_there() {
    let mut end = End::connected(1);
    message(b"before");
    assert!(end.backend.arm().unwrap());
    assert_eq!(end.told().len(), 1);
    nothing_is_left_of(end);
}

#[test]
fn events_of_the_device_are_named_and_acknowledged() {
    let end = End::connected(1);
    world(|world| [8, 10, 77].into_iter().for_each(|kind| world.async_events.push(kind)));
    let names: Vec<_> = (0..4).map(|_| end.backend.next_device_event().unwrap()).collect();
    assert_eq!(names, [Some("DEVICE_FATAL"), Some("PORT_ERR"), Some("unknown"), None]);
    nothing_is_left_of(end);
}
