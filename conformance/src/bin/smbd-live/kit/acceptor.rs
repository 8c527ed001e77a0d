//! An acceptor's end before its request has come: a listener and what was posted so far.

use std::collections::VecDeque;

use smbd_core::backend::{
    Backend, BackendOp, HostMemory, OutOfMemory, OutOfRange, ReceiveMemory, TransportReports,
};
use smbd_core::error::{DisconnectReason, WorkError};
use smbd_core::{Config, Input, Instant, RecvId};
use smbd_verbs::{Buffer, Clock, Error, Listener, VerbsConnection};

/// An end as a loop has it.
pub(super) trait Carrier: HostMemory<Buffer = Buffer> {
    fn carry(end: VerbsConnection) -> Result<Self, Error>
    where
        Self: Sized;
    fn end_mut(&mut self) -> &mut VerbsConnection;
}

impl Carrier for VerbsConnection {
    fn carry(end: VerbsConnection) -> Result<Self, Error> {
        Ok(end)
    }

    fn end_mut(&mut self) -> &mut VerbsConnection {
        self
    }
}

/// An end of either role.
#[derive(Debug)]
pub(super) enum Side<C> {
    Ready(Box<C>),
    Waiting(Box<Waiting>),
}

/// Until the request comes.
#[derive(Debug)]
pub(super) struct Waiting {
    listener: Option<Listener>,
    config: Config,
    clock: Clock,
    receives: Vec<(RecvId, u32)>,
    accept: bool,
    /// How many work requests the device is to take.
    posts_max: Option<usize>,
    flushed: VecDeque<RecvId>,
    link: TransportReports,
}

impl Waiting {
    /// Without a listener nothing ever comes.
    pub(super) fn new(listener: Option<Listener>, config: &Config, clock: Clock) -> Self {
        let (receives, flushed) = (Vec::new(), VecDeque::new());
        let link = TransportReports::default();
        Self {
            listener,
            config: config.clone(),
            clock,
            receives,
            accept: false,
            posts_max: None,
            flushed,
            link,
        }
    }

    /// From now on the device takes so many work requests.
    pub(super) const fn refuse_posts_after(&mut self, accepted: usize) {
        self.posts_max = Some(accepted);
    }

    /// The end, if the request has come.
    fn answer<C: Carrier>(&mut self) -> Option<C> {
        if !self.accept {
            return None;
        }
        let incoming = self.listener.as_mut()?.poll().ok()??;
        let mut end = incoming.accept(&self.config, self.clock).ok()?;
        if let Some(accepted) = self.posts_max {
            end.refuse_posts_after(accepted);
        }
        let mut end = C::carry(end).ok()?;
        for (id, len) in self.receives.drain(..) {
            end.execute(BackendOp::PostRecv { id, len });
        }
        end.execute(BackendOp::Accept);
        end.ring_doorbell();
        Some(end)
    }

    fn execute(&mut self, step: &BackendOp<'_, Buffer>) {
        match *step {
            BackendOp::PostRecv { id, len } => self.receives.push((id, len)),
            BackendOp::Accept => self.accept = true,
            BackendOp::Disconnect => {
                self.accept = false;
                self.flushed.extend(self.receives.drain(..).map(|(id, _)| id));
                self.link.disconnected(DisconnectReason::Local);
            }
            _ => {}
        }
    }

    fn next_input(&mut self) -> Option<Input<'static>> {
        let flushed = self.flushed.pop_front();
        let failed = flushed.map(|id| Input::Failed { id: id.into(), error: WorkError::Flushed });
        failed.or_else(|| self.link.poll_end())
    }
}

impl<C: Carrier> ReceiveMemory for Side<C> {
    fn received(&self, id: RecvId) -> &[u8] {
        match self {
            Self::Ready(end) => end.received(id),
            Self::Waiting(_) => &[],
        }
    }
}

impl<C: Carrier> Backend for Side<C> {
    type Buffer = Buffer;

    fn now(&self) -> Instant {
        match self {
            Self::Ready(end) => end.now(),
            Self::Waiting(waiting) => waiting.clock.now(),
        }
    }

    fn execute(&mut self, step: BackendOp<'_, Buffer>) {
        match self {
            Self::Ready(end) => end.execute(step),
            Self::Waiting(waiting) => waiting.execute(&step),
        }
    }

    fn ring_doorbell(&mut self) {
        if let Self::Ready(end) = self {
            end.ring_doorbell();
        }
    }

    fn next_input(&mut self) -> Option<Input<'_>> {
        if let Self::Waiting(waiting) = self
            && let Some(end) = waiting.answer::<C>()
        {
            *self = Self::Ready(Box::new(end));
        }
        match self {
            Self::Ready(end) => end.next_input(),
            Self::Waiting(waiting) => waiting.next_input(),
        }
    }
}

impl<C: Carrier> HostMemory for Side<C> {
    fn allocate(&mut self, len: u32) -> Result<Buffer, OutOfMemory> {
        Buffer::new(len)
    }

    fn fill(&mut self, buffer: &Buffer, offset: u32, bytes: &[u8]) -> Result<(), OutOfRange> {
        buffer.fill(offset, bytes)
    }

    fn read(&self, buffer: &Buffer, offset: u32, out: &mut [u8]) -> Result<(), OutOfRange> {
        buffer.read(offset, out)
    }
}
