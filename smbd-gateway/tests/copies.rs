//! What a gateway copies, and how often it calls the system: with ends that are always ready.

mod ends;

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use smbd_gateway::Pump;
use smbd_smb2::relay::{Config, Params};

use ends::{End, State, copied};

/// Plays exchanges in a session.
fn play(exchanges: impl FnOnce(&mut State)) -> State {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let _entered = runtime.enter();
    let end = End::default();
    let config = Config::new(&Params::default()).unwrap();
    let mut pump = Pump::new(&config, end.clone(), end.clone(), Duration::from_secs(30));
    let mut run = || {
        // As often as it yields.
        for _ in 0..100 {
            let polled = pin!(pump.run()).poll(&mut Context::from_waker(Waker::noop()));
            assert_eq!(polled, Poll::Pending);
        }
    };
    end.0.borrow_mut().log_in();
    run();
    copied();
    end.0.take();
    exchanges(&mut end.0.borrow_mut());
    run();
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
fn fragments_that_came_together_leave_together() {
    let end = play(|state| {
        state.signed_write(1, MIB / 8);
        state.written(1, MIB / 8);
    });
    assert_eq!((end.moved, end.sent, end.messages), (0, u64::from(MIB) / 8 + 4 + 112, 1));
    // Of 98 fragments, and the answer.
    assert!(end.calls <= 4, "{}", end.calls);
}
