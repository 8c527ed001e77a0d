//! The wire between two peers.

use smbd_core::{BufferDescriptorV1, Head, Token};

/// What leaves a device for the peer's, in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Packet {
    Message(Message),
    Write(BufferDescriptorV1),
    Read(BufferDescriptorV1),
}

/// A message: its head, and where what follows belongs instead of the bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Message {
    pub(super) head: Vec<u8>,
    pub(super) payload: Option<Payload>,
    pub(super) invalidate: Option<Token>,
    /// CreditsGranted.
    pub(super) granted: u16,
    /// A negotiation message spends no credit.
    pub(super) spends: bool,
}

impl Message {
    /// In bytes.
    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.head.len()).unwrap_or(u32::MAX) + self.payload.map_or(0, |payload| payload.len)
    }

    /// What a receiver sees of it; payload counts as zeros.
    pub(super) fn seen(&self) -> Head {
        let mut bytes = self.head.clone();
        bytes.resize(Head::MAX.min(self.len() as usize), 0);
        Head::of(&bytes)
    }
}

/// A range of an upper-layer message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Payload {
    /// Its place in the order of the sender's messages.
    pub(super) msg: u32,
    pub(super) offset: u32,
    pub(super) len: u32,
    /// Length of the whole message.
    pub(super) total: u32,
    /// The buffer that the message tells of.
    pub(super) tells: Option<BufferDescriptorV1>,
}

/// Connection management.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Word {
    Request,
    Accepted,
    Gone,
}

/// What leaves a side.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Out {
    Packet(Packet),
    /// The answer to an RDMA Read. It may overtake packets.
    Answer,
    Word(Word),
}

/// Whether the connection is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Cut {
    #[default]
    Whole,
    /// The receiving side is told when it looks.
    Told,
    Silent,
}
