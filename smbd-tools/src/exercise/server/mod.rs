//! The server: an upper layer of [`Endpoint`] over any backend with [`HostMemory`].

mod memory;
mod outbox;
mod requests;
mod stats;

use std::collections::VecDeque;
use std::fmt;

use bytes::Bytes;
use smbd_core::backend::{BufferLookup, Handler, HostMemory};
use smbd_core::endpoint::{EndpointEvent, Message};
use smbd_core::error::{OpError, RegistrationError};
use smbd_core::{Close, Endpoint, OpId, RdmaVerb, RegId};

use super::pattern::Digest;
use super::{Answer, Limits, Malformed, Report, Request, Status, Tagged};
use memory::Memory;
use outbox::{Item, Source};
use stats::Held;
pub use stats::{Overrun, ServerStats};

/// Serves one connection, as an upper layer of its [`Endpoint`]. `M` is the backend's buffer.
///
/// A returned message is copied at most once: out of its receive buffer, or from its fragments, and then sent from
/// there. Receive buffers are released at once, so the server always grants credits to its client. Instead [`Limits`]
/// bounds what waits to be sent. A client that sends without receiving grants no credits, so its answers wait. When
/// they reach [`Limits::backlog`], the server closes the connection ([`overrun`](Self::overrun)). This never happens to
/// a client that keeps fewer bytes under way.
#[derive(Debug)]
pub struct Server<M> {
    limits: Limits,
    queue: VecDeque<Item<M>>,
    held: Held,
    memory: Memory<M>,
    counting: bool,
    count: Count,
    source: Option<Source>,
    stats: ServerStats,
    overrun: Option<Overrun>,
    is_over: bool,
}

#[derive(Debug, Default)]
struct Count {
    messages: u64,
    bytes: u64,
    hash: bool,
    digest: Digest,
}

impl Count {
    fn report(&self) -> Report {
        Report { messages: self.messages, bytes: self.bytes, hash: self.digest.value() }
    }
}

/// What a message is for the server.
enum Taken {
    Request(Tagged<Request>),
    Malformed(Malformed),
    /// To be returned.
    Return(Bytes),
    Nothing,
}

impl<M> Server<M> {
    /// A server for one connection.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            queue: VecDeque::new(),
            held: Held::default(),
            memory: Memory::default(),
            counting: false,
            count: Count::default(),
            source: None,
            stats: ServerStats::default(),
            overrun: None,
            is_over: false,
        }
    }

    /// Its counters.
    #[must_use]
    pub const fn stats(&self) -> &ServerStats {
        &self.stats
    }

    /// Why the server closed the connection; `None` if it did not.
    #[must_use]
    pub const fn overrun(&self) -> Option<Overrun> {
        self.overrun
    }

    /// Bytes of the buffers in use: offered ones and those of RDMA operations.
    #[must_use]
    pub const fn buffer_bytes(&self) -> u64 {
        self.memory.bytes
    }

    /// Bytes that wait to be sent.
    #[must_use]
    pub const fn backlog(&self) -> u64 {
        self.held.bytes
    }

    fn look(&mut self, bytes: &[u8], whole: Option<&Bytes>) -> Taken {
        match Request::parse(bytes) {
            Ok(Some(request)) => return Taken::Request(request),
            Err(malformed) => return Taken::Malformed(malformed),
            Ok(None) => {}
        }
        // Two servers connected to each other would else answer for ever.
        if Request::is_answer(bytes) {
            return Taken::Nothing;
        }
        let len = bytes.len() as u64;
        if self.counting {
            self.count.messages += 1;
            self.count.bytes += len;
            if self.count.hash {
                self.count.digest.update(bytes);
            }
            self.stats.counted += 1;
            self.stats.counted_bytes += len;
            return Taken::Nothing;
        }
        self.stats.returned += 1;
        self.stats.returned_bytes += len;
        Taken::Return(whole.cloned().unwrap_or_else(|| Bytes::copy_from_slice(bytes)))
    }
}

impl<M: Clone + fmt::Debug> Server<M> {
    fn message<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
        message: Message,
    ) {
        let taken = match message {
            Message::Owned(bytes) => {
                let bytes = bytes.freeze();
                self.look(&bytes, Some(&bytes))
            }
            Message::Borrowed(fragment) => {
                let bytes = backend.fragment(&fragment);
                let taken = bytes.map_or(Taken::Nothing, |bytes| self.look(bytes, None));
                let released = endpoint.release(endpoint.now(), fragment);
                debug_assert_eq!(released, Ok(()), "a fragment of this endpoint");
                taken
            }
        };
        match taken {
            Taken::Nothing => {}
            Taken::Return(bytes) => self.give_back(endpoint, backend, bytes),
            Taken::Malformed(malformed) => {
                let (tag, text) = (malformed.tag, malformed.to_string());
                self.answer(endpoint, backend, tag, &Answer::failed(Status::Malformed, text));
            }
            Taken::Request(Tagged { tag, what }) => {
                self.stats.requests += 1;
                self.request(endpoint, backend, tag, what);
            }
        }
    }

    fn rdma_done<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
        op: OpId,
        result: Result<(), OpError>,
    ) {
        let Some((transfer, buffer)) = self.memory.transfers.remove(&op) else { return };
        self.held = self.held.without(transfer.cost());
        if let Err(error) = result {
            self.memory.lingering.push(buffer);
            let text = format!("RDMA operation of {} bytes: {error}", transfer.length);
            return self.answer(endpoint, backend, transfer.tag, &Answer::failed(Status::Failed, text));
        }
        self.memory.bytes -= u64::from(transfer.length);
        self.stats.rdma_bytes += u64::from(transfer.length);
        match transfer.verb {
            // Its answer followed the data.
            RdmaVerb::Write => self.stats.writes += 1,
            RdmaVerb::Read => {
                self.stats.reads += 1;
                let answer = match memory::hash(backend, &buffer, 0, transfer.length) {
                    Ok(hash) => Answer::Hash(hash),
                    Err(error) => Answer::failed(Status::Failed, error.to_string()),
                };
                self.answer(endpoint, backend, transfer.tag, &answer);
            }
        }
    }

    fn registered<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
        registration: RegId,
        result: Result<(), RegistrationError>,
    ) {
        let Some((id, offer)) = self.memory.offer_of(registration) else { return };
        let (tag, length) = (offer.asked, offer.length);
        let answer = match result {
            Ok(()) => Answer::Offered {
                id,
                descriptors: endpoint.connection().live_segments(registration).collect(),
            },
            // Until `Drained` the device may have it.
            Err(RegistrationError::Aborted(_)) => return,
            Err(error) => {
                self.memory.remove_offer(id);
                Answer::failed(Status::Failed, format!("registering {length} bytes: {error}"))
            }
        };
        self.answer(endpoint, backend, tag, &answer);
    }

    fn deregistered<B: HostMemory<Buffer = M>>(
        &mut self,
        endpoint: &mut Endpoint,
        backend: &mut B,
        registration: RegId,
        result: Result<(), RegistrationError>,
    ) {
        let Some((id, offer)) = self.memory.offer_of(registration) else { return };
        let tag = offer.asked;
        let answer = match result {
            Ok(()) => {
                self.memory.remove_offer(id);
                Answer::Done
            }
            Err(RegistrationError::Aborted(_)) => return,
            Err(error) => Answer::failed(Status::Failed, format!("deregistering buffer {id}: {error}")),
        };
        self.answer(endpoint, backend, tag, &answer);
    }

    fn end(&mut self) {
        self.is_over = true;
        self.queue.clear();
        self.source = None;
    }

    fn overrun_by(&mut self, endpoint: &mut Endpoint, overrun: Overrun) {
        self.overrun = Some(overrun);
        self.end();
        endpoint.close(endpoint.now(), Close::Abort);
    }
}

impl<M> BufferLookup<M> for Server<M> {
    fn operation(&self, op: OpId) -> Option<&M> {
        self.memory.transfers.get(&op).map(|(_, buffer)| buffer)
    }

    fn registration(&self, id: RegId) -> Option<&M> {
        self.memory.offer_of(id).map(|(_, offer)| &offer.buffer)
    }
}

impl<B: HostMemory> Handler<B, Endpoint> for Server<B::Buffer> {
    fn event(&mut self, endpoint: &mut Endpoint, backend: &mut B, event: EndpointEvent) {
        match event {
            EndpointEvent::Message(message) => self.message(endpoint, backend, message),
            EndpointEvent::Sent { payload, .. } => {
                self.held = self.held.without(payload.len() as u64);
                self.pump(endpoint, backend);
            }
            EndpointEvent::Writable => self.pump(endpoint, backend),
            EndpointEvent::RdmaDone { op, result } => {
                self.rdma_done(endpoint, backend, op, result);
                self.pump(endpoint, backend);
            }
            EndpointEvent::Registered { id, result } => self.registered(endpoint, backend, id, result),
            EndpointEvent::Deregistered { id, result } => self.deregistered(endpoint, backend, id, result),
            EndpointEvent::Invalidated { .. } => self.stats.invalidated += 1,
            EndpointEvent::Closed(_) | EndpointEvent::ConnectFailed(_) => self.end(),
            EndpointEvent::Drained => self.memory = Memory::default(),
            EndpointEvent::Established(_) | EndpointEvent::Probed(_) => {}
        }
    }
}
