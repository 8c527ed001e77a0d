//! Direct TCP to the server of `smbd-smb2`, in no time.

use std::net::IpAddr;

use smbd_core::Instant;
use smbd_smb2::server::Transport;

use super::rig::{SimRig, UpperLayer};
use crate::suite::rig::subject::{ADDRESSES, Door, Work};
use crate::suite::rig::{Adapter, Heard, Rig, Streams, Unable};

impl Streams for SimRig {
    fn rdma_address(&mut self) -> IpAddr {
        let [_, rdma] = ADDRESSES;
        rdma
    }

    fn dial(&mut self, _: Adapter) -> Result<usize, Unable> {
        let UpperLayer::Server(share) = &self.upper else {
            return Err(Unable::Broken("the subject has no streams".into()));
        };
        self.streams.push(Door::new(share, Transport::Tcp));
        Ok(self.streams.len() - 1)
    }

    fn tell(&mut self, stream: usize, message: &[u8]) -> Result<(), Unable> {
        let now = self.now();
        let door = self.streams.get_mut(stream);
        door.ok_or_else(|| Unable::Broken("no such stream".into()))?.take(now, message);
        Ok(())
    }

    fn hear(&mut self, stream: usize, limit: Instant) -> Heard {
        loop {
            match self.streams.get_mut(stream).and_then(Door::next) {
                Some(Work::Send { bytes, .. }) => return Heard::Message(bytes.into()),
                Some(Work::End) => return Heard::Down,
                Some(Work::Rdma { .. }) => {}
                // What is under way on other connections may hold it up.
                None if self.now() < limit => self.step(limit),
                None => return Heard::Nothing,
            }
        }
    }
}
