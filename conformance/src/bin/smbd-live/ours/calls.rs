//! What a client asks of its connection, over any loop of the library: each call waits for its answer.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use smbd_core::error::CloseReason;
use smbd_core::{Access, BufferDescriptorV1, Config, Negotiated, RdmaVerb};
use smbd_link::Registration;
use smbd_verbs::blocking::{Connection, Failure};
use smbd_verbs::{Buffer, tokio};

use crate::patience::PATIENCE;

/// A connection.
pub(crate) trait Calls: Sized {
    fn connect(to: SocketAddr, config: &Config) -> Result<Self, Failure>;
    fn negotiated(&self) -> Option<Negotiated>;
    fn send(&mut self, message: Bytes) -> Result<(), Failure>;
    fn recv(&mut self, within: Duration) -> Result<Bytes, Failure>;
    fn rdma(
        &mut self,
        verb: RdmaVerb,
        buffer: &Buffer,
        remote: &Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) -> Result<(), Failure>;
    fn register(&mut self, buffer: &Buffer, access: Access) -> Result<Registration, Failure>;
    fn deregister(&mut self, registration: &Registration) -> Result<(), Failure>;
    fn close(self, within: Duration) -> Result<CloseReason, Failure>;
}

impl Calls for Connection {
    fn connect(to: SocketAddr, config: &Config) -> Result<Self, Failure> {
        Self::connect(to, config)
    }

    fn negotiated(&self) -> Option<Negotiated> {
        self.negotiated()
    }

    fn send(&mut self, message: Bytes) -> Result<(), Failure> {
        self.send(message).map(drop)
    }

    fn recv(&mut self, within: Duration) -> Result<Bytes, Failure> {
        self.recv(within)
    }

    fn rdma(
        &mut self,
        verb: RdmaVerb,
        buffer: &Buffer,
        remote: &Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) -> Result<(), Failure> {
        self.rdma(verb, buffer, remote, offset, len)
    }

    fn register(&mut self, buffer: &Buffer, access: Access) -> Result<Registration, Failure> {
        self.register(buffer, access)
    }

    fn deregister(&mut self, registration: &Registration) -> Result<(), Failure> {
        self.deregister(registration)
    }

    fn close(self, within: Duration) -> Result<CloseReason, Failure> {
        self.close(within)
    }
}

/// A connection of `smbd_verbs::tokio` with a runtime of its own, whose one worker drives it also between calls.
#[derive(Debug)]
pub(crate) struct InTokio {
    connection: tokio::Connection,
    runtime: ::tokio::runtime::Runtime,
}

/// A runtime with everything that connections need.
pub(crate) fn runtime() -> ::tokio::runtime::Runtime {
    let built = ::tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    built.unwrap_or_else(|error| panic!("no runtime: {error}"))
}

impl InTokio {
    fn within<T>(
        &mut self,
        time: Duration,
        call: impl AsyncFnOnce(&mut tokio::Connection) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let Self { connection, runtime } = self;
        runtime.block_on(async {
            ::tokio::time::timeout(time, call(connection)).await.unwrap_or(Err(Failure::TimedOut))
        })
    }
}

impl Calls for InTokio {
    fn connect(to: SocketAddr, config: &Config) -> Result<Self, Failure> {
        let runtime = runtime();
        let connection = runtime.block_on(tokio::connect(to, config))?;
        Ok(Self { connection, runtime })
    }

    fn negotiated(&self) -> Option<Negotiated> {
        Some(self.connection.negotiated())
    }

    fn send(&mut self, message: Bytes) -> Result<(), Failure> {
        self.within(PATIENCE, async |connection| connection.send(message).await)
    }

    fn recv(&mut self, within: Duration) -> Result<Bytes, Failure> {
        self.within(within, async |connection| connection.recv().await)
    }

    fn rdma(
        &mut self,
        verb: RdmaVerb,
        buffer: &Buffer,
        remote: &Arc<[BufferDescriptorV1]>,
        offset: u64,
        len: u32,
    ) -> Result<(), Failure> {
        self.within(PATIENCE, async |connection| match verb {
            RdmaVerb::Read => connection.rdma_read(buffer, remote, offset, len).await,
            RdmaVerb::Write => connection.rdma_write(buffer, remote, offset, len).await,
        })
    }

    fn register(&mut self, buffer: &Buffer, access: Access) -> Result<Registration, Failure> {
        self.within(PATIENCE, async |connection| connection.register(buffer, access).await)
    }

    fn deregister(&mut self, registration: &Registration) -> Result<(), Failure> {
        self.within(PATIENCE, async |connection| connection.deregister(registration).await)
    }

    fn close(self, within: Duration) -> Result<CloseReason, Failure> {
        let Self { connection, runtime } = self;
        runtime.block_on(connection.close(within))
    }
}
