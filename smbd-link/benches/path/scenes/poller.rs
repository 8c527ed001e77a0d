use std::convert::Infallible;

use smbd_core::Instant;
use smbd_link::engine::Poller;

use super::device::{Device, NOW};

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
