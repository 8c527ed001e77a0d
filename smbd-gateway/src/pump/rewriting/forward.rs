//! A client over SMB Direct, a server over a stream.

use smbd_core::RdmaVerb;
use smbd_smb2::relay::{self, ClientBytes, Misuse, Placement, Relay, Side, Statistics};
use smbd_smb2::wire::Dialect;

use super::{Action, Arrived, Event, Rewriting, Room};

impl Rewriting for Relay {
    const STREAM: Side = Side::Server;

    fn buffers(&self) -> (u16, u32) {
        (self.config().buffers(), self.config().params().buffer_len)
    }

    #[inline]
    fn poll<'r, 'a: 'r>(&'r mut self, arrived: &mut Arrived<'a>, room: Room) -> Action<'r> {
        let client = ClientBytes { bytes: arrived.piece, remaining: arrived.remaining };
        let mut both = relay::Arrived { client, server: arrived.stream };
        let room = relay::Room { client: room.messages, server: room.stream };
        let action = Self::poll(self, &mut both, room);
        (arrived.piece, arrived.stream) = (both.client.bytes, both.server);
        match action {
            relay::Action::ToServer(source) => Action::ToStream(source),
            relay::Action::ToClient { write, bytes, remaining, invalidate } => {
                Action::ToPeer { write, bytes, remaining, invalidate }
            }
            relay::Action::RdmaRead(transfer) => Action::Rdma(RdmaVerb::Read, transfer),
            relay::Action::RdmaWrite(transfer) => Action::Rdma(RdmaVerb::Write, transfer),
            relay::Action::Store { buffer, offset, bytes } => Action::Store { buffer, offset, bytes },
            relay::Action::Idle(_) => Action::Idle,
            relay::Action::Close(reason) => Action::Close(reason),
        }
    }

    fn handle(&mut self, event: Event) -> Result<(), Misuse> {
        let event = match event {
            Event::RdmaDone { buffer, is_success } => relay::Event::RdmaDone { buffer, is_success },
            Event::Sent { buffer, len } => relay::Event::Sent { buffer, len },
            Event::Placed { buffer, len } => relay::Event::Placed { buffer, len },
            Event::StreamEnded => relay::Event::Ended(Self::STREAM),
            // It registers nothing.
            Event::Registered { buffer, .. } | Event::Deregistered { buffer } | Event::Failed { buffer } => {
                return Err(Misuse { event: "Registered", buffer });
            }
        };
        Self::handle(self, event)
    }

    fn placement(&mut self) -> Option<Placement> {
        Self::placement(self)
    }

    fn is_amid_message(&self) -> bool {
        self.is_amid_answer()
    }

    fn statistics(&self) -> &Statistics {
        Self::statistics(self)
    }

    fn has_rdma(&self) -> bool {
        Self::statistics(self).sessions.rdma > 0
    }

    fn dialect(&self) -> Option<Dialect> {
        Self::dialect(self)
    }

    fn has_session(&self) -> bool {
        Self::has_session(self)
    }
}
