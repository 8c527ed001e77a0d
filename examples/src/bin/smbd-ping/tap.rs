//! An end that stays when its connection fails, so that it can be asked what the peer said.

use smbd_core::backend::{Backend, HostMemory, OutOfMemory, OutOfRange, ReceiveMemory, Step};
use smbd_core::{Input, Instant, RecvId};
use smbd_verbs::blocking::Blocking;
use smbd_verbs::{Buffer, End, Error};

/// A borrowed end.
#[derive(Debug)]
pub(crate) struct Tap<'a>(pub(crate) &'a mut End);

impl ReceiveMemory for Tap<'_> {
    fn received(&self, id: RecvId) -> &[u8] {
        self.0.received(id)
    }
}

impl Backend for Tap<'_> {
    type Buffer = Buffer;

    fn now(&self) -> Instant {
        self.0.now()
    }

    fn execute(&mut self, step: Step<'_, Buffer>) {
        self.0.execute(step);
    }

    fn ring(&mut self) {
        self.0.ring();
    }

    fn next_input(&mut self) -> Option<Input<'_>> {
        self.0.next_input()
    }
}

impl HostMemory for Tap<'_> {
    fn allocate(&mut self, len: u32) -> Result<Buffer, OutOfMemory> {
        self.0.allocate(len)
    }

    fn fill(&mut self, buffer: &Buffer, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        self.0.fill(buffer, offset, bytes)
    }

    fn read(&self, buffer: &Buffer, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        self.0.read(buffer, offset, out)
    }
}

impl Blocking for Tap<'_> {
    fn wait(&mut self, until: Option<Instant>) -> Result<(), Error> {
        self.0.wait(until)
    }
}
