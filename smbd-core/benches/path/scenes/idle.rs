//! Turns of an engine whose connections have nothing to do.

use std::convert::Infallible;

use smbd_core::runtime::engine::{Engine, Poller};
use smbd_core::{Instant, Params};
use smbd_repository::instructions::Work;

use super::device::{Device, NOW};
use super::measured;
use super::side::Side;

/// A poller that nothing is ever ready for.
pub struct Nothing;

impl Poller<Device> for Nothing {
    type Error = Infallible;
    type Clock = ();
    type Watched<'a> = ();

    fn open((): ()) -> Result<Self, Infallible> {
        Ok(Self)
    }

    fn clock(&self) {}

    fn now(&self) -> Instant {
        NOW
    }

    fn add(&mut self, _: &Device, _: usize) -> Result<(), Infallible> {
        Ok(())
    }

    fn remove(&mut self, _: &Device, _: usize) {}

    fn watch(&self, (): ()) -> Result<(), Infallible> {
        Ok(())
    }

    fn wait(&mut self, _: Option<Instant>, _: &mut Vec<usize>) -> Result<bool, Infallible> {
        Ok(false)
    }
}

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
