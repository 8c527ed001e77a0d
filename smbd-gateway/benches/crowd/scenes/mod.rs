//! What is measured: many connections of a gateway, with what it does for them and keeps for them. Their ends are always ready and do
//! nothing with data, and their buffers have no bytes. The bytes of the ends' queues are counted.

#[path = "../../../tests/ends/mod.rs"]
#[allow(dead_code, reason = "what is copied is counted by a test only")]
mod ends;
#[path = "../../scenes/gateway.rs"]
mod gateway;
#[path = "../../scenes/measured.rs"]
mod measured;

use std::any::Any;

use allocation_counter::measure;
use smbd_repository::instructions::{Operation, Work};
use smbd_testkit::crowd::{BUSY, counted, crowd, held, is_counted};

use gateway::{Gateway, MIB, runtime};

/// Requests of a connection that are under way at one time, and bytes of each.
const EACH: u32 = 16;
const LEN: u32 = MIB / EACH;

pub const OPERATIONS: &[Operation] = &[
    Operation::new("idle", "a connection whose client has logged in: what is kept for it", |count| {
        connections(count, 0)
    })
    .held(held)
    .between(10, 110),
    Operation::new("idle_1000", "the same, one of a thousand", |count| connections(count, 0))
        .held(held)
        .between(1000, 1010),
    Operation::new("busy", "the same, after 16 READs and 16 WRITEs of 64 KiB at once, four times", |count| {
        connections(count, 4)
    })
    .held(held)
    .between(10, 110),
    Operation::new(
        "busy_100_idle_0",
        "100 connections with 16 READs of 64 KiB each, in turn: a READ",
        reads::<0>,
    )
    .between(EACH * BUSY, 3 * EACH * BUSY),
    Operation::new("busy_100_idle_1000", "the same with 1,000 more connections that are idle", reads::<1000>)
        .between(EACH * BUSY, 3 * EACH * BUSY),
];

/// The READs of one turn, or WRITEs.
fn exchange(gateway: &mut Gateway, first: u32, writes: bool) {
    gateway.run(EACH, |state| {
        for id in (first..first + EACH).map(u64::from) {
            if writes {
                state.write(id, LEN);
                state.written(id, LEN);
            } else {
                state.read(id, LEN);
                state.data(id, LEN);
            }
        }
    });
}

/// So many connections, each after so many turns.
fn connections(count: u32, turns: u32) -> Work {
    let play = move || -> Box<dyn Any> {
        let runtime = runtime();
        let entered = runtime.enter();
        let mut all: Vec<_> = (0..count).map(|_| Gateway::new()).collect();
        for turn in 0..turns {
            for gateway in &mut all {
                exchange(gateway, 1 + 2 * turn * EACH, false);
                exchange(gateway, 1 + (2 * turn + 1) * EACH, true);
            }
        }
        drop(entered);
        Box::new((all, runtime))
    };
    // What the ends make and the gateway drops is counted with it.
    Box::new(move || if is_counted() { counted(bytes, play) } else { play() })
}

/// So many READs of those that are busy, in turn.
fn reads<const IDLE: u32>(count: u32) -> Work {
    let runtime = runtime();
    let (mut busy, idle) = {
        let _entered = runtime.enter();
        crowd(IDLE, |_| Gateway::new())
    };
    Box::new(move || {
        let entered = runtime.enter();
        for turn in 0..count / (EACH * BUSY) {
            busy.iter_mut().for_each(|gateway| exchange(gateway, 1 + turn * EACH, false));
        }
        drop(entered);
        Box::new((busy, idle, runtime))
    })
}

/// The bytes that are allocated by the work and kept.
fn bytes(work: &mut dyn FnMut()) -> i64 {
    measure(work).bytes_current
}
