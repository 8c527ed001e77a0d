//! What a gateway copies, and how often it calls the system: with ends that are always ready.

mod ends;

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use smbd_gateway::Pump;
use smbd_smb2::relay::{Config, Params, Relay};

use ends::{End, State, copied};

/// Plays exchanges in a session, with as many polls as it takes.
fn play(exchanges: impl FnOnce(&mut State)) -> State {
    play_polls(100, exchanges)
}

/// The same with so many polls. Both ends as they are then.
fn play_polls(polls: u32, exchanges: impl FnOnce(&mut State)) -> State {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let _entered = runtime.enter();
    let end = End::default();
    let config = Config::new(&Params::default()).unwrap();
    let mut pump = Pump::new(Relay::new(&config), end.clone(), end.clone(), Duration::from_secs(30));
    let mut run = |polls| {
        for _ in 0..polls {
            let polled = pin!(pump.run()).poll(&mut Context::from_waker(Waker::noop()));
            assert_eq!(polled, Poll::Pending);
        }
    };
    end.0.borrow_mut().log_in();
    run(100);
    copied();
    end.0.take();
    exchanges(&mut end.0.borrow_mut());
    run(polls);
    end.0.take()
}

const MIB: u32 = 1 << 20;

#[test]
fn data_of_writes_are_not_copied_and_leave_with_their_header() {
    let end = play(|state| {
        state.write(1, MIB);
        state.written(1, MIB);
    });
    assert_eq!((end.moved, end.sent, end.messages), (MIB.into(), u64::from(MIB) + 4 + 112, 1));
    assert_eq!(copied(), 0);
    // Four buffers, and the answer.
    assert_eq!(end.calls, 5);
}

#[test]
fn of_the_data_of_a_read_only_those_are_copied_that_came_with_its_header() {
    let end = play(|state| {
        state.read(1, MIB);
        state.data(1, MIB);
    });
    assert_eq!((end.moved, end.messages), (MIB.into(), 1));
    let together = copied();
    assert!(together <= 4 << 10, "{together}");
    let end = play(|state| {
        for id in 0..9 {
            state.read(id, MIB / 16);
            state.data(id, MIB / 16);
        }
    });
    assert_eq!((end.moved, end.messages), (u64::from(MIB) / 16 * 9, 9));
    let copied = copied();
    assert!(copied <= 9 * (4 << 10), "{copied}");
    // All requests at once, and each answer with the header of the next.
    assert!(end.calls <= 1 + 10, "{}", end.calls);
}

#[test]
fn the_device_has_the_first_part_of_a_long_read_before_the_others_are_received() {
    let buffer = Params::default().buffer_len;
    let end = play(|state| {
        state.read(1, MIB);
        state.data(1, MIB);
    });
    assert_eq!((end.moved, end.messages), (MIB.into(), 1));
    // The first data come with the header, and wait for the rest of their buffer.
    assert!(end.waited < buffer.into(), "{} bytes that no device had, while more were received", end.waited);
}

#[test]
fn short_reads_are_handed_over_together() {
    let end = play_polls(1, |state| {
        for id in 0..4 {
            state.read(id, MIB / 16);
            state.data(id, MIB / 16);
        }
    });
    assert_eq!(end.moved, u64::from(MIB) / 4);
}

#[test]
fn fragments_that_came_together_leave_together() {
    let end = play(|state| {
        state.signed_write(1, MIB / 8);
        state.written(1, MIB / 8);
    });
    assert_eq!((end.moved, end.sent, end.messages), (0, u64::from(MIB) / 8 + 4 + 112, 1));
    // Of 98 fragments, and the answer.
    assert!(end.calls <= 4, "{}", end.calls);
}
