//! What is measured: data through a gateway whose ends are always ready and do nothing with them.

#[path = "../../tests/ends/mod.rs"]
#[allow(dead_code, reason = "what is copied is counted by a test only")]
mod ends;
mod gateway;
mod measured;

use smbd_repository::instructions::{Operation, Work};

use ends::State;
use gateway::{Gateway, MIB, runtime};

/// All of them move 1 MiB. The kernel's copies and calls, and the device's connection, are not in them.
pub const OPERATIONS: &[Operation] = &[
    Operation::new("read_1m", "1 MiB by one READ with a channel", read_1m).between(1, 17),
    Operation::new("write_1m", "1 MiB by one WRITE with a channel", write_1m).between(1, 17),
    Operation::new("read_64k", "1 MiB by 16 READs at once, with a channel", read_64k).between(1, 17),
    Operation::new("write_64k", "1 MiB by 16 WRITEs at once, with a channel", write_64k).between(1, 17),
    Operation::new("signed_write", "1 MiB by 8 signed WRITEs, in fragments of 1340 bytes", signed_write)
        .between(1, 17),
];

fn read_1m(count: u32) -> Work {
    play(count, 1, |state, id| {
        state.read(id, MIB);
        state.data(id, MIB);
    })
}

fn write_1m(count: u32) -> Work {
    play(count, 1, |state, id| {
        state.write(id, MIB);
        state.written(id, MIB);
    })
}

fn read_64k(count: u32) -> Work {
    play(count, 16, |state, id| {
        state.read(id, MIB / 16);
        state.data(id, MIB / 16);
    })
}

fn write_64k(count: u32) -> Work {
    play(count, 16, |state, id| {
        state.write(id, MIB / 16);
        state.written(id, MIB / 16);
    })
}

fn signed_write(count: u32) -> Work {
    play(count, 8, |state, id| {
        state.signed_write(id, MIB / 8);
        state.written(id, MIB / 8);
    })
}

/// `each` requests at once with their answers, and that `count` times.
fn play(count: u32, each: u32, exchange: fn(&mut State, u64)) -> Work {
    let runtime = runtime();
    let mut gateway = {
        let _entered = runtime.enter();
        Gateway::new()
    };
    Box::new(move || {
        let _entered = runtime.enter();
        for round in 0..count {
            gateway.run(each, |state| {
                (0..each).for_each(|nth| exchange(state, u64::from(1 + round * each + nth)));
            });
        }
        Box::new(gateway.end)
    })
}
