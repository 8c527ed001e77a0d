//! Direct TCP to a subject that is not part of this program.

use std::net::{IpAddr, SocketAddr};

use smbd_core::Instant;

use super::tcp::Stream;
use super::{Net, RealRig};
use crate::suite::rig::{Adapter, Heard, Streams, Unable};

impl<N: Net> Streams for RealRig<N> {
    fn rdma_address(&mut self) -> IpAddr {
        self.net.ip()
    }

    fn dial(&mut self, by: Adapter) -> Result<usize, Unable> {
        let is_wanted = |at: &&SocketAddr| match by {
            Adapter::Rdma => at.ip() == self.net.ip(),
            Adapter::Other => at.ip() != self.net.ip(),
            Adapter::Any => true,
        };
        let Some(at) = self.tcp.iter().find(is_wanted).copied() else {
            let which = if by == Adapter::Rdma { "its RDMA adapter" } else { "another adapter" };
            let why = format!("the peer is not known to be reached over TCP by {which} (--tcp)");
            return Err(Unable::NotApplicable(why));
        };
        let stream = Stream::to(at).map_err(|error| Unable::Broken(format!("TCP to {at}: {error}")))?;
        self.streams.push(stream);
        Ok(self.streams.len() - 1)
    }

    fn tell(&mut self, stream: usize, message: &[u8]) -> Result<(), Unable> {
        let known = self.streams.get_mut(stream).ok_or_else(|| Unable::Broken("no such stream".into()))?;
        known.write(message).map_err(|error| Unable::Broken(format!("TCP to the peer: {error}")))
    }

    fn hear(&mut self, stream: usize, limit: Instant) -> Heard {
        loop {
            let Some(known) = self.streams.get_mut(stream) else { return Heard::Down };
            if let Some(message) = known.message() {
                return Heard::Message(message);
            }
            if known.has_more() {
                if known.read() {
                    continue;
                }
                return Heard::Down;
            }
            if self.net.now() >= limit {
                return Heard::Nothing;
            }
            known.is_awaited = true;
            self.turn(limit, |rig| rig.streams.get(stream).is_none_or(Stream::has_more));
            if let Some(known) = self.streams.get_mut(stream) {
                known.is_awaited = false;
            }
        }
    }
}
