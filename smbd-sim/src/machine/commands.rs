//! Commands of an upper layer, for a connection or an endpoint.

use std::cell::RefCell;
use std::sync::Arc;

use bytes::Bytes;
use smbd_core::error::{CommandError, RdmaError, RegisterError, SendError};
use smbd_core::{
    Access, BufferDescriptorV1, Close, Connection, Endpoint, Fragment, Instant, Misuse, MsgId, OpId,
    RdmaVerb, RegId, Token,
};

use super::endpoint::EndpointRecords;
use super::watched::Watched;

/// The bytes of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source<'b> {
    /// To be copied by whoever keeps them.
    Bytes(&'b [u8]),
    /// They stay what they are.
    Static(&'static [u8]),
}

/// What takes commands.
#[derive(Debug)]
pub(crate) enum Commands<'a> {
    Connection(&'a mut Connection),
    Endpoint(&'a mut Endpoint, &'a mut EndpointRecords),
}

impl Commands<'_> {
    pub(crate) const fn connection(&self) -> &Connection {
        match self {
            Self::Connection(connection) => connection,
            Self::Endpoint(endpoint, _) => endpoint.connection(),
        }
    }

    /// Whether it keeps the bytes of messages until they are sent.
    pub(crate) const fn keeps_messages(&self) -> bool {
        matches!(self, Self::Endpoint(..))
    }

    /// An endpoint keeps the bytes until they are sent.
    pub(crate) fn send<'b>(
        &mut self,
        now: Instant,
        len: u32,
        source: impl FnOnce() -> Source<'b>,
        invalidate: Option<Token>,
        unsignalled: bool,
    ) -> Result<MsgId, SendError> {
        match self {
            Self::Connection(connection) => {
                let send = if unsignalled { Connection::send_unsignalled } else { Connection::send };
                send(connection, now, len, invalidate)
            }
            Self::Endpoint(endpoint, records) => {
                let payload = match source() {
                    Source::Bytes(bytes) => records.copy_of(bytes),
                    Source::Static(bytes) => Bytes::from_static(bytes),
                };
                let send = if unsignalled { Endpoint::send_unsignalled } else { Endpoint::send };
                match send(endpoint, now, payload.clone(), invalidate) {
                    Ok(msg) => {
                        records.sent(msg, payload);
                        Ok(msg)
                    }
                    Err(not_sent) => {
                        records.not_sent(payload, &not_sent.payload);
                        Err(not_sent.error)
                    }
                }
            }
        }
    }

    pub(crate) fn rdma(
        &mut self,
        now: Instant,
        verb: RdmaVerb,
        len: u32,
        (remote, offset): (Arc<[BufferDescriptorV1]>, u64),
        unsignalled: bool,
    ) -> Result<OpId, RdmaError> {
        match self {
            Self::Connection(connection) => {
                let rdma = if unsignalled { Connection::rdma_unsignalled } else { Connection::rdma };
                rdma(connection, now, verb, len, remote, offset)
            }
            Self::Endpoint(endpoint, _) => {
                let rdma = if unsignalled { Endpoint::rdma_unsignalled } else { Endpoint::rdma };
                rdma(endpoint, now, verb, len, remote, offset)
            }
        }
    }

    pub(crate) fn register(
        &mut self,
        now: Instant,
        access: Access,
        segments_max: u16,
    ) -> Result<RegId, RegisterError> {
        match self {
            Self::Connection(connection) => connection.register(now, access, segments_max),
            Self::Endpoint(endpoint, _) => endpoint.register(now, access, segments_max),
        }
    }

    pub(crate) fn deregister(&mut self, now: Instant, id: RegId) -> Result<(), RegisterError> {
        match self {
            Self::Connection(connection) => connection.deregister(now, id),
            Self::Endpoint(endpoint, _) => endpoint.deregister(now, id),
        }
    }

    pub(crate) fn release(&mut self, now: Instant, fragment: Fragment) -> Result<(), Misuse> {
        match self {
            Self::Connection(connection) => connection.release(now, fragment),
            Self::Endpoint(endpoint, _) => endpoint.release(now, fragment),
        }
    }

    pub(crate) fn probe(&mut self, now: Instant) -> Result<(), CommandError> {
        match self {
            Self::Connection(connection) => connection.probe(now),
            Self::Endpoint(endpoint, _) => endpoint.probe(now),
        }
    }

    pub(crate) fn close(&mut self, now: Instant, how: Close) {
        match self {
            Self::Connection(connection) => connection.close(now, how),
            Self::Endpoint(endpoint, _) => endpoint.close(now, how),
        }
    }
}

impl<P> Watched<Connection, P> {
    /// To give it commands.
    pub(crate) fn commands(&mut self) -> Commands<'_> {
        self.watched_commands().0
    }

    /// To give it commands, and who is to see them.
    pub(crate) fn watched_commands(&mut self) -> (Commands<'_>, &RefCell<P>) {
        self.expect_news();
        (Commands::Connection(&mut self.machine), &self.probe)
    }
}

impl<P> Watched<Endpoint, P> {
    /// As [`commands`](Watched::commands) of a connection.
    pub(crate) fn commands(&mut self) -> Commands<'_> {
        self.watched_commands().0
    }

    /// As [`watched_commands`](Watched::watched_commands) of a connection.
    pub(crate) fn watched_commands(&mut self) -> (Commands<'_>, &RefCell<P>) {
        self.expect_news();
        (Commands::Endpoint(&mut self.machine, &mut self.records), &self.probe)
    }
}
