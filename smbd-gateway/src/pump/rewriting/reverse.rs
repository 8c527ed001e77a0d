//! A client over a stream, a server over SMB Direct.

use smbd_smb2::relay::reverse::{self, Reverse, ServerBytes};
use smbd_smb2::relay::{self, Misuse, Placement, Side, Statistics};
use smbd_smb2::wire::Dialect;

use super::{Action, Arrived, Event, Rewriting, Room};

impl Rewriting for Reverse {
    const STREAM: Side = Side::Client;

    fn buffers(&self) -> (u16, u32) {
        (self.config().buffers(), self.config().params().buffer_len)
    }

    fn poll<'r, 'a: 'r>(&'r mut self, arrived: &mut Arrived<'a>, room: Room) -> Action<'r> {
        let server = ServerBytes { bytes: arrived.piece, remaining: arrived.remaining };
        let mut both = reverse::Arrived { client: arrived.stream, server };
        let room = relay::Room { client: room.stream, server: room.messages };
        let action = Self::poll(self, &mut both, room);
        (arrived.piece, arrived.stream) = (both.server.bytes, both.client);
        match action {
            reverse::Action::ToServer { bytes, remaining } => {
                Action::ToPeer { write: None, bytes, remaining, invalidate: None }
            }
            reverse::Action::ToClient(source) => Action::ToStream(source),
            reverse::Action::Store { buffer, offset, bytes } => Action::Store { buffer, offset, bytes },
            reverse::Action::Zero { buffer, offset, len } => Action::Zero { buffer, offset, len },
            reverse::Action::Register { buffer, access } => Action::Register { buffer, access },
            reverse::Action::Deregister { buffer } => Action::Deregister { buffer },
            reverse::Action::Idle(_) => Action::Idle,
            reverse::Action::Close(reason) => Action::Close(reason),
        }
    }

    fn handle(&mut self, event: Event) -> Result<(), Misuse> {
        let event = match event {
            Event::Registered { buffer, descriptor } => reverse::Event::Registered { buffer, descriptor },
            Event::Deregistered { buffer } => reverse::Event::Deregistered { buffer },
            Event::Failed { buffer } => reverse::Event::Failed { buffer },
            Event::Sent { buffer, len } => reverse::Event::Sent { buffer, len },
            Event::Placed { buffer, len } => reverse::Event::Placed { buffer, len },
            Event::StreamEnded => reverse::Event::Ended(Self::STREAM),
            // The server moves the data.
            Event::RdmaDone { buffer, .. } => return Err(Misuse { event: "RdmaDone", buffer }),
        };
        Self::handle(self, event)
    }

    fn placement(&mut self) -> Option<Placement> {
        Self::placement(self)
    }

    fn is_amid_message(&self) -> bool {
        // A request has no answer yet, and is counted as outstanding.
        false
    }

    fn statistics(&self) -> &Statistics {
        Self::statistics(self)
    }

    fn has_rdma(&self) -> bool {
        Self::statistics(self).bytes.rdma_read > 0
    }

    fn dialect(&self) -> Option<Dialect> {
        Self::dialect(self)
    }

    fn has_session(&self) -> bool {
        Self::has_session(self)
    }
}
