//! Turns of an engine whose connections have nothing to do.

use smbd_core::{Instant, Params};
use smbd_link::engine::Engine;
use smbd_repository::instructions::Work;

use super::measured;
use super::side::Side;

/// `count` turns of an engine with so many connections.
pub fn turns<const CONNECTIONS: u32>(count: u32) -> Work {
    let params =
        Params { receive_credit_max: 10, send_credit_target: 10, message_slots: 4, ..Params::linux_client() };
    let side = Side::idle(&params);
    let mut engine = Engine::new(()).expect("an engine");
    for _ in 0..CONNECTIONS {
        let Side { machine, device, program } = side.clone();
        engine.add(machine, device, program).expect("added");
    }
    // All are driven, and their devices armed.
    for _ in 0..2 {
        engine.poll(Some(Instant::ORIGIN)).expect("a poller");
    }
    Box::new(move || {
        for _ in 0..count {
            measured::idle(&mut engine);
        }
        Box::new(engine)
    })
}
