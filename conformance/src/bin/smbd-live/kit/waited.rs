//! An end as a task of tokio has it: asked for nothing until the task is woken.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use smbd_core::backend::{Backend, BackendOp, HostMemory, OutOfMemory, OutOfRange, ReceiveMemory};
use smbd_core::{Input, Instant, RecvId};
use smbd_link::handles::PollReady;
use smbd_verbs::tokio::AsyncEnd;
use smbd_verbs::{Buffer, Error, VerbsConnection};
use tokio::time::timeout;

use super::acceptor::{Carrier, Side};

/// Says nothing while it sleeps, whatever it has: a wake that is lost is a wait in vain.
#[derive(Debug)]
pub(super) struct Waited {
    end: AsyncEnd,
    is_awake: bool,
}

/// Lets tasks sleep that have nothing to do.
pub(super) fn pass(connections: &mut [[Side<Waited>; 2]], time: Duration) {
    let sleeping = poll_fn(|cx| {
        let ends = connections.iter_mut().flatten();
        for side in ends {
            if let Side::Ready(waited) = side
                && !waited.is_awake
            {
                // An end that fails says so with its next input.
                waited.is_awake = waited.end.poll_ready(cx, None).is_ready();
            }
        }
        Poll::<()>::Pending
    });
    let passed = async { timeout(time, sleeping).await };
    let over = tokio::runtime::Handle::current().block_on(passed);
    debug_assert!(over.is_err(), "it only ends with the time");
}

impl Carrier for Waited {
    fn carry(end: VerbsConnection) -> Result<Self, Error> {
        Ok(Self { end: AsyncEnd::new(end)?, is_awake: true })
    }

    fn end_mut(&mut self) -> &mut VerbsConnection {
        self.end.get_mut()
    }
}

impl ReceiveMemory for Waited {
    fn received(&self, id: RecvId) -> &[u8] {
        self.end.received(id)
    }
}

impl Backend for Waited {
    type Buffer = Buffer;

    fn now(&self) -> Instant {
        self.end.now()
    }

    fn execute(&mut self, step: BackendOp<'_, Buffer>) {
        // Whoever commands asks for what came of it.
        self.is_awake = true;
        self.end.execute(step);
    }

    fn ring_doorbell(&mut self) {
        self.is_awake = true;
        self.end.ring_doorbell();
    }

    fn next_input(&mut self) -> Option<Input<'_>> {
        if !self.is_awake {
            return None;
        }
        let input = self.end.next_input();
        self.is_awake = input.is_some();
        input
    }
}

impl HostMemory for Waited {
    fn allocate(&mut self, len: u32) -> Result<Buffer, OutOfMemory> {
        self.end.allocate(len)
    }

    fn fill(&mut self, buffer: &Buffer, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        self.end.fill(buffer, offset, bytes)
    }

    fn read(&self, buffer: &Buffer, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        self.end.read(buffer, offset, out)
    }
}
