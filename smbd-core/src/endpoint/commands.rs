//! Commands: `send` and `release` have a part here, the others are the connection's.

use alloc::sync::Arc;
use core::fmt;

use bytes::Bytes;
use thiserror::Error;

use super::Endpoint;
use super::event::Length;
use crate::error::{CommandError, RdmaError, RegisterError, SendError};
use crate::{
    Access, BufferDescriptorV1, Close, Fragment, Instant, Misuse, MsgId, OpId, RdmaVerb, RegId, Token,
};

/// A message was not taken: why, and its bytes back.
#[derive(Clone, PartialEq, Eq, Error)]
#[error("{error}")]
pub struct NotSent {
    /// Why.
    #[source]
    pub error: SendError,
    /// The bytes of the message.
    pub payload: Bytes,
}

impl fmt::Debug for NotSent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NotSent")
            .field("error", &self.error)
            .field("payload", &Length(&self.payload))
            .finish()
    }
}

impl Endpoint {
    /// As [`Connection::send`](crate::Connection::send). The bytes come back with
    /// [`EndpointEvent::Sent`](super::EndpointEvent::Sent).
    ///
    /// # Errors
    /// As [`Connection::send`](crate::Connection::send), with the bytes.
    pub fn send(
        &mut self,
        now: Instant,
        payload: Bytes,
        invalidate: Option<Token>,
    ) -> Result<MsgId, NotSent> {
        let len = u32::try_from(payload.len()).unwrap_or(u32::MAX);
        match self.connection.send(now, len, invalidate) {
            Ok(msg) => {
                self.outgoing.put(msg, payload);
                Ok(msg)
            }
            Err(error) => Err(NotSent { error, payload }),
        }
    }

    /// Gives a borrowed message back.
    ///
    /// # Errors
    /// As [`Connection::release`](crate::Connection::release).
    pub fn release(&mut self, now: Instant, fragment: Fragment) -> Result<(), Misuse> {
        self.connection.release(now, fragment)?;
        self.borrowed = self.borrowed.saturating_sub(1);
        Ok(())
    }

    /// As [`Connection::rdma`](crate::Connection::rdma).
    ///
    /// # Errors
    /// As [`Connection::rdma`](crate::Connection::rdma).
    pub fn rdma(
        &mut self,
        now: Instant,
        verb: RdmaVerb,
        len: u32,
        remote: Arc<[BufferDescriptorV1]>,
        offset: u64,
    ) -> Result<OpId, RdmaError> {
        self.connection.rdma(now, verb, len, remote, offset)
    }

    /// As [`Connection::register`](crate::Connection::register).
    ///
    /// # Errors
    /// As [`Connection::register`](crate::Connection::register).
    pub fn register(
        &mut self,
        now: Instant,
        access: Access,
        segments_max: u16,
    ) -> Result<RegId, RegisterError> {
        self.connection.register(now, access, segments_max)
    }

    /// As [`Connection::deregister`](crate::Connection::deregister).
    ///
    /// # Errors
    /// As [`Connection::deregister`](crate::Connection::deregister).
    pub fn deregister(&mut self, now: Instant, id: RegId) -> Result<(), RegisterError> {
        self.connection.deregister(now, id)
    }

    /// As [`Connection::probe`](crate::Connection::probe).
    ///
    /// # Errors
    /// As [`Connection::probe`](crate::Connection::probe).
    pub fn probe(&mut self, now: Instant) -> Result<(), CommandError> {
        self.connection.probe(now)
    }

    /// As [`Connection::close`](crate::Connection::close).
    pub fn close(&mut self, now: Instant, how: Close) {
        self.connection.close(now, how);
    }
}
