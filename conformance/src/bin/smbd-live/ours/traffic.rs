//! Work that goes on until someone ends it.

use std::sync::Arc;

use smbd_core::{Access, BufferDescriptorV1, Config, RdmaVerb};
use smbd_tools::exercise::pattern;
use smbd_verbs::Buffer;

use super::client::{Client, Offered};
use super::pair::buffer_of;
use crate::case::Failure;
use crate::patience::PATIENCE;
use crate::settings;

/// Bytes of an RDMA operation.
const LEN: u32 = 1 << 20;
const MESSAGE: usize = 50_000;

/// A client that works.
#[derive(Debug)]
pub(crate) struct Traffic {
    pub(crate) client: Client,
    source: Buffer,
    sink: Buffer,
    remote: Arc<[BufferDescriptorV1]>,
}

impl Traffic {
    pub(crate) fn begin(to: std::net::SocketAddr, config: &Config) -> Result<Self, Failure> {
        Self::over(Client::connect(to, config)?)
    }

    pub(crate) fn over(mut client: Client) -> Result<Self, Failure> {
        let Offered { whole, .. } = client.offer(LEN, Access::ReadWrite, 1)?;
        Ok(Self { client, source: buffer_of(2, LEN)?, sink: Buffer::new(LEN)?, remote: [whole].into() })
    }

    /// Messages and RDMA both ways at the same time.
    pub(crate) fn round(&mut self) -> Result<(), Failure> {
        let Self { client: Client { connection, .. }, source, sink, remote } = self;
        let write = connection.start_rdma(RdmaVerb::Write, source, remote, 0, LEN)?;
        let read = connection.start_rdma(RdmaVerb::Read, sink, remote, 0, LEN)?;
        connection.send(pattern(3, MESSAGE))?;
        connection.recv(PATIENCE)?;
        connection.finish_rdma(write)?;
        connection.finish_rdma(read)?;
        Ok(())
    }
}

/// What both sides of the traffic use.
pub(super) fn config() -> Result<Config, Failure> {
    Ok(Config::try_from(settings::windows())?)
}
