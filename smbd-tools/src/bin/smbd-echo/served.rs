//! One connection: the exercise server, and its log messages.

use std::time::Duration;

use smbd_core::backend::{Backend, BufferLookup, Handler};
use smbd_core::endpoint::EndpointEvent;
use smbd_core::error::{CloseReason, ConnectError, DisconnectReason};
use smbd_core::{Endpoint, Instant, Negotiated, OpId, RegId};
use smbd_tools::exercise::{Limits, Server, ServerStats};
use smbd_verbs::{Buffer, EngineError, VerbsConnection};

use crate::say::say;

/// A connection that is served.
#[derive(Debug)]
pub(crate) struct Served {
    /// Its number, from 1 on.
    number: u64,
    peer: String,
    server: Server<Buffer>,
    since: Option<Instant>,
    end: Option<EndReason>,
    /// This server ends it because it stops.
    pub(crate) stopped: bool,
}

#[derive(Clone, Copy, Debug)]
enum EndReason {
    Failed(ConnectError),
    Closed(CloseReason, Duration),
}

impl Served {
    pub(crate) fn new(number: u64, peer: String, limits: Limits) -> Self {
        Self { number, peer, server: Server::new(limits), since: None, end: None, stopped: false }
    }

    pub(crate) const fn stats(&self) -> &ServerStats {
        self.server.stats()
    }

    fn established(&mut self, end: &VerbsConnection, negotiated: &Negotiated) {
        self.since = Some(end.now());
        let device = end.device().map_or("no device", |device| device.name.as_str());
        let link = end.link_type().map_or_else(String::new, |link| format!("{link}, "));
        let Negotiated { max_send_size, max_receive_size, max_fragmented_send_size, .. } = negotiated;
        say(format_args!(
            "{}: {} is connected ({link}{device}); sends of {max_send_size}, receives of {max_receive_size} bytes, \
             messages of {max_fragmented_send_size} bytes to it",
            self.number, self.peer
        ));
    }

    /// Says that it was ended without an end of its own.
    pub(crate) fn say_engine_error(&self, error: &EngineError) {
        say(format_args!("{}: {} was cut off: {error}", self.number, self.peer));
    }

    /// Says how it ended: who did what.
    fn say_end(&self) {
        let Self { number, peer, .. } = self;
        let what = match (self.end, self.server.overrun()) {
            (None, _) => "ended without a reason".to_owned(),
            (Some(EndReason::Failed(error)), _) => format!("did not come up: {error}"),
            (Some(EndReason::Closed(_, after)), Some(overrun)) => {
                format!("was ended by this server after {after:.3?}: {overrun}")
            }
            (Some(EndReason::Closed(CloseReason::Local, after)), _) if self.stopped => {
                format!("was ended by this server after {after:.3?}: it stops")
            }
            (Some(EndReason::Closed(CloseReason::PeerClosed, after)), _) => {
                format!("was ended by the client after {after:.3?}")
            }
            (Some(EndReason::Closed(CloseReason::Lost { reason: DisconnectReason::Unknown }, after)), _) => {
                format!("was ended by the client, or lost, after {after:.3?}")
            }
            (Some(EndReason::Closed(CloseReason::Lost { reason }, after)), _) => {
                format!("was lost after {after:.3?}: {reason}")
            }
            (Some(EndReason::Closed(reason, after)), _) => {
                format!("was ended by this server after {after:.3?}: {reason}")
            }
        };
        say(format_args!("{number}: {peer} {what}; {}", summary(self.stats())));
    }
}

/// What was done, on one line.
pub(crate) fn summary(stats: &ServerStats) -> String {
    let messages = [
        ("returned", stats.returned, stats.returned_bytes),
        ("counted", stats.counted, stats.counted_bytes),
        ("sourced", stats.sourced, stats.sourced_bytes),
    ];
    let counts = [
        ("RDMA Reads", stats.reads),
        ("RDMA Writes", stats.writes),
        ("RDMA bytes", stats.rdma_bytes),
        ("requests", stats.requests),
        ("failures", stats.failures),
    ];
    let messages = messages.into_iter().filter(|(_, count, _)| *count > 0);
    let messages = messages.map(|(what, count, bytes)| format!("{what} {count} messages ({bytes} bytes)"));
    let counts = counts.into_iter().filter(|(_, count)| *count > 0);
    let all: Vec<_> = messages.chain(counts.map(|(what, count)| format!("{what} {count}"))).collect();
    if all.is_empty() { "nothing was asked for".to_owned() } else { all.join(", ") }
}

impl BufferLookup<Buffer> for Served {
    fn operation(&self, op: OpId) -> Option<&Buffer> {
        self.server.operation(op)
    }

    fn registration(&self, id: RegId) -> Option<&Buffer> {
        self.server.registration(id)
    }
}

impl Handler<VerbsConnection, Endpoint> for Served {
    fn event(&mut self, endpoint: &mut Endpoint, backend: &mut VerbsConnection, event: EndpointEvent) {
        match &event {
            EndpointEvent::Established(negotiated) => self.established(backend, negotiated),
            EndpointEvent::ConnectFailed(error) => self.end = Some(EndReason::Failed(*error)),
            EndpointEvent::Closed(reason) => {
                let now = backend.now();
                let after = now.saturating_since(self.since.unwrap_or(now));
                self.end = Some(EndReason::Closed(*reason, after));
            }
            _ => {}
        }
        let is_end = matches!(event, EndpointEvent::ConnectFailed(_) | EndpointEvent::Closed(_));
        self.server.event(endpoint, backend, event);
        if is_end {
            self.say_end();
        }
    }
}
