//! The queue of answers, messages and RDMA operations that wait to be sent.

use std::fmt;

use bytes::Bytes;
use smbd_core::backend::HostMemory;
use smbd_core::endpoint::NotSent;
use smbd_core::error::{CommandError, RdmaError, SendError};
use smbd_core::{Endpoint, RdmaVerb, Token};

use super::super::pattern::pattern;
use super::memory::{self, Transfer};
use super::{Answer, Server, Status};

/// Something that waits for its turn.
#[derive(Debug)]
pub(super) enum Item<M> {
    Message { bytes: Bytes, invalidate: Option<Token> },
    Transfer(Transfer<M>),
}

impl<M> Item<M> {
    fn cost(&self) -> u64 {
        match self {
            Self::Message { bytes, .. } => bytes.len() as u64,
            Self::Transfer(transfer) => transfer.cost(),
        }
    }
}

/// Messages still to be made up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    pub(super) left: u32,
    pub(super) size: u32,
    pub(super) seed: u64,
}

/// There is no room in the connection: come back with the next event.
struct Full;

impl<M: Clone + fmt::Debug> Server<M> {
    pub(super) fn answer<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
        tag: u32,
        answer: &Answer,
    ) {
        if matches!(answer, Answer::Failed(_)) {
            self.stats.failures += 1;
        }
        self.enqueue(endpoint, backend, Item::Message { bytes: answer.encode(tag), invalidate: None });
    }

    /// Puts something at the end of the queue, and sends what can be sent.
    pub(super) fn enqueue<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
        item: Item<M>,
    ) {
        if self.is_over {
            return;
        }
        self.held = self.held.with(item.cost());
        if let Err(overrun) = self.held.check(&self.limits) {
            return self.overrun_by(endpoint, overrun);
        }
        self.stats.backlog_max = self.stats.backlog_max.max(self.held.bytes);
        match item {
            // It waits for nothing, so it is not queued.
            Item::Message { bytes, invalidate } if self.queue.is_empty() => {
                // What there is no room for is in the queue then.
                if self.send(endpoint, bytes, invalidate).is_err() {
                    return;
                }
            }
            item => self.queue.push_back(item),
        }
        self.pump(endpoint, backend);
    }

    /// Sends what there is room for.
    #[inline]
    pub(super) fn pump<B: HostMemory<Buffer = M>>(&mut self, endpoint: &mut Endpoint, backend: &mut B) {
        if !self.queue.is_empty() || self.source.is_some() {
            self.pump_all(endpoint, backend);
        }
    }

    #[inline(never)]
    fn pump_all<B: HostMemory<Buffer = M>>(&mut self, endpoint: &mut Endpoint, backend: &mut B) {
        while let Some(item) = self.queue.pop_front() {
            let sent = match item {
                Item::Message { bytes, invalidate } => self.send(endpoint, bytes, invalidate),
                Item::Transfer(transfer) => self.start(endpoint, backend, transfer),
            };
            if sent.is_err() {
                return;
            }
        }
        while self.held.is_light(&self.limits) {
            let Some(source) = &mut self.source else { return };
            let (size, seed) = (source.size, source.seed);
            source.left -= 1;
            source.seed = seed.wrapping_add(1);
            if source.left == 0 {
                self.source = None;
            }
            self.held = self.held.with(u64::from(size));
            self.stats.sourced += 1;
            self.stats.sourced_bytes += u64::from(size);
            if self.send(endpoint, pattern(seed, size as usize), None).is_err() {
                return;
            }
        }
    }

    fn send(&mut self, endpoint: &mut Endpoint, bytes: Bytes, invalidate: Option<Token>) -> Result<(), Full> {
        let Err(NotSent { error, payload }) = endpoint.send(endpoint.now(), bytes, invalidate) else {
            return Ok(());
        };
        if let SendError::Command(CommandError::NoRoom { .. }) = error {
            self.queue.push_front(Item::Message { bytes: payload, invalidate });
            return Err(Full);
        }
        self.held = self.held.without(payload.len() as u64);
        if let SendError::TooLong { .. } = error {
            // The longest the client takes is longer than any failure.
            self.put_first(0, &Answer::failed(Status::TooLarge, error.to_string()), None);
        }
        // Anything else: the connection is over, and says so itself.
        Ok(())
    }

    /// An answer that leaves before all that waits.
    fn put_first(&mut self, tag: u32, answer: &Answer, invalidate: Option<Token>) {
        if matches!(answer, Answer::Failed(_)) {
            self.stats.failures += 1;
        }
        let bytes = answer.encode(tag);
        self.held = self.held.with(bytes.len() as u64);
        self.queue.push_front(Item::Message { bytes, invalidate });
    }

    /// Begins an RDMA operation. The answer to a write follows at once: the connection keeps it behind the data.
    fn start<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
        mut transfer: Transfer<M>,
    ) -> Result<(), Full> {
        let buffer = match transfer.buffer.take().map_or_else(|| self.prepare(backend, &transfer), Ok) {
            Ok(buffer) => buffer,
            Err(failure) => {
                self.held = self.held.without(transfer.cost());
                self.put_first(transfer.tag, &failure, None);
                return Ok(());
            }
        };
        let Transfer { tag, verb, length, offset, invalidate, .. } = transfer;
        match endpoint.rdma(endpoint.now(), verb, length, transfer.remote.clone(), offset) {
            Ok(op) => {
                self.memory.transfers.insert(op, (transfer, buffer));
                if verb == RdmaVerb::Write {
                    self.put_first(tag, &Answer::Done, invalidate);
                }
                Ok(())
            }
            Err(RdmaError::Command(CommandError::NoRoom { .. })) => {
                transfer.buffer = Some(buffer);
                self.queue.push_front(Item::Transfer(transfer));
                Err(Full)
            }
            Err(error) => {
                self.memory.bytes -= u64::from(length);
                self.held = self.held.without(transfer.cost());
                self.put_first(tag, &Answer::failed(Status::Refused, error.to_string()), None);
                Ok(())
            }
        }
    }

    fn prepare<B: HostMemory<Buffer = M>>(
        &mut self,
        backend: &mut B,
        transfer: &Transfer<M>,
    ) -> Result<M, Answer> {
        let buffer = self.allocate(backend, transfer.length)?;
        if transfer.verb == RdmaVerb::Write {
            let from = (transfer.seed, transfer.offset);
            if let Err(error) = memory::fill(backend, &buffer, from, transfer.length) {
                self.memory.bytes -= u64::from(transfer.length);
                return Err(Answer::failed(Status::Failed, error.to_string()));
            }
        }
        Ok(buffer)
    }

    /// A buffer within the limits; booked.
    pub(super) fn allocate<B: HostMemory<Buffer = M>>(
        &mut self,
        backend: &mut B,
        length: u32,
    ) -> Result<M, Answer> {
        let bytes = self.memory.bytes + u64::from(length);
        if bytes > self.limits.buffers {
            let (used, max) = (self.memory.bytes, self.limits.buffers);
            let text =
                format!("a buffer of {length} bytes besides {used} in use; {max} bytes are allowed together");
            return Err(Answer::failed(Status::NoRoom, text));
        }
        // An operation of no bytes needs a buffer, too.
        let buffer = backend
            .allocate(length.max(1))
            .map_err(|error| Answer::failed(Status::NoRoom, error.to_string()))?;
        self.memory.bytes = bytes;
        Ok(buffer)
    }
}
