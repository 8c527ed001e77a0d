//! A byte stream as a backend that a task can wait for.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use smbd_core::backend::{Backend, BackendOp, Payload, ReceiveMemory, TransportReports};
use smbd_core::error::{DisconnectReason, WorkError};
use smbd_core::{Config, Head, Input, Instant, Limits, RecvId, WrId};
use smbd_link::handles::PollReady;
use tokio::io::{AsyncRead, AsyncWrite, ReadHalf, WriteHalf};
use tokio::time::{Instant as TokioInstant, Sleep, sleep_until};

use super::stream;

/// How long the peer may take to end its direction of the stream after this side ended its own.
const LINGER: Duration = Duration::from_secs(1);

/// One end of a stream.
#[derive(Debug)]
pub(crate) struct StreamEnd<S> {
    incoming: stream::Incoming<ReadHalf<S>>,
    outgoing: stream::Outgoing<WriteHalf<S>>,
    limits: Limits,
    /// Receives without a message.
    posted: VecDeque<RecvId>,
    /// The message in each receive buffer, by slot.
    memory: Vec<Bytes>,
    news: VecDeque<Input<'static>>,
    link: TransportReports,
    /// This side ends its direction; the peer has until then to end its own.
    leaving: Option<TokioInstant>,
    started: TokioInstant,
    timer: Pin<Box<Sleep>>,
}

impl<S: AsyncRead + AsyncWrite> StreamEnd<S> {
    pub(crate) fn new(stream: S, config: &Config) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        let (budget, started) = (config.budget(), TokioInstant::now());
        let limits = Limits {
            read_depth: 0,
            send_queue: u16::try_from(budget.send_queue).unwrap_or(u16::MAX),
            rdma_len_max: u32::MAX,
            registration_requests: 0,
            send_with_invalidate: false,
            reads_in_order: true,
        };
        Self {
            incoming: stream::Incoming::new(reader, budget.recv_buffer_len as usize),
            outgoing: stream::Outgoing::new(writer),
            limits,
            posted: VecDeque::new(),
            memory: vec![Bytes::new(); budget.recv_slots as usize],
            news: VecDeque::new(),
            link: TransportReports::default(),
            leaving: None,
            started,
            timer: Box::pin(sleep_until(started)),
        }
    }

    fn fail(&mut self, id: impl Into<WrId>, error: WorkError) {
        self.news.push_back(Input::Failed { id: id.into(), error });
    }

    /// Ends this side's direction and gives back what is posted.
    fn leave(&mut self) {
        self.leaving = Some(TokioInstant::now() + LINGER);
        for id in self.outgoing.clear() {
            self.fail(id, WorkError::Flushed);
        }
        for id in std::mem::take(&mut self.posted) {
            self.fail(id, WorkError::Flushed);
        }
    }

    /// Moves what can be moved; ready when the stream is over, with the reason.
    fn poll_stream(&mut self, cx: &mut Context<'_>) -> Poll<DisconnectReason> {
        if let Some(until) = self.leaving {
            // An error says that it has ended already.
            let _ = ready!(self.outgoing.poll_end(cx));
            self.timer.as_mut().reset(until);
            if self.timer.as_mut().poll(cx).is_pending() {
                ready!(self.incoming.poll_discard(cx));
            }
            return Poll::Ready(DisconnectReason::Local);
        }
        while !self.outgoing.is_empty() {
            match self.outgoing.poll_write(cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(error)) => return Poll::Ready(self.incoming.why(&error)),
                Poll::Pending => break,
            }
        }
        while let Some(id) = self.outgoing.next_sent() {
            self.news.push_back(Input::Sent { id });
        }
        // Without a receive nothing may come: credits see to it.
        while let Some(&id) = self.posted.front() {
            match self.incoming.next() {
                Ok(Some(message)) => {
                    self.posted.pop_front();
                    let (head, len) = (Head::of(&message), u32::try_from(message.len()).unwrap_or(u32::MAX));
                    self.memory[usize::from(id.slot())] = message;
                    self.news.push_back(Input::Received { id, head, len, invalidated: None });
                }
                Ok(None) => {
                    if let Err(error) = ready!(self.incoming.poll_fill(cx)) {
                        return Poll::Ready(self.incoming.why(&error));
                    }
                }
                Err(_) => return Poll::Ready(DisconnectReason::DeviceFailed),
            }
        }
        Poll::Pending
    }
}

impl<S> ReceiveMemory for StreamEnd<S> {
    fn received(&self, id: RecvId) -> &[u8] {
        self.memory.get(usize::from(id.slot())).map_or(&[], |message| message)
    }
}

impl<S: AsyncRead + AsyncWrite> Backend for StreamEnd<S> {
    type Buffer = ();

    fn now(&self) -> Instant {
        Instant::ORIGIN.saturating_add(self.started.elapsed())
    }

    fn execute(&mut self, step: BackendOp<'_, ()>) {
        const REFUSED: WorkError = WorkError::PostFailed { errno: 0 };
        match step {
            BackendOp::Connect | BackendOp::Accept => self.link.connected(self.limits),
            BackendOp::Disconnect => self.leave(),
            BackendOp::PostRecv { id, .. } if self.leaving.is_none() => self.posted.push_back(id),
            BackendOp::PostSend { id, head, body, .. } if self.leaving.is_none() => match body {
                None => self.outgoing.push(id, head, &[]),
                Some(Payload::Copy(bytes)) => self.outgoing.push(id, head, bytes),
                Some(Payload::InPlace(_)) => self.fail(id, REFUSED),
            },
            BackendOp::PostRecv { id, .. } => self.fail(id, WorkError::Flushed),
            BackendOp::PostSend { id, .. } => self.fail(id, WorkError::Flushed),
            // Never commanded here.
            BackendOp::PostRdma { id, .. } => self.fail(id, REFUSED),
            BackendOp::Register { id, .. } | BackendOp::Deregister { id, .. } => self.fail(id, REFUSED),
        }
    }

    fn ring_doorbell(&mut self) {}

    fn next_input(&mut self) -> Option<Input<'_>> {
        let connected = self.link.poll_connected();
        connected.or_else(|| self.news.pop_front()).or_else(|| self.link.poll_end())
    }
}

impl<S: AsyncRead + AsyncWrite> PollReady for StreamEnd<S> {
    type Error = Infallible;

    fn poll_ready(&mut self, cx: &mut Context<'_>, until: Option<Instant>) -> Poll<Result<(), Infallible>> {
        let over = !self.link.is_over();
        let over = if over { self.poll_stream(cx) } else { Poll::Pending };
        if let Poll::Ready(reason) = over {
            self.link.disconnected(reason);
        }
        if over.is_ready() || !self.news.is_empty() || until.is_some_and(|until| until <= self.now()) {
            return Poll::Ready(Ok(()));
        }
        if let (Some(until), None) = (until, self.leaving) {
            let at = self.started + until.saturating_since(Instant::ORIGIN);
            self.timer.as_mut().reset(at);
            return self.timer.as_mut().poll(cx).map(Ok);
        }
        Poll::Pending
    }
}
