//! Totals of a report.

use super::item::{Body, Direction, Item, ItemKind, RdmaKind};

/// Messages and operations of one direction, over all connections. The names of its fields are those of the JSON output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize))]
pub struct Totals {
    /// Negotiate Requests.
    pub negotiate_requests: u64,
    /// Negotiate Responses.
    pub negotiate_responses: u64,
    /// Data Transfer messages.
    pub data_transfers: u64,
    /// Messages too short for their type.
    pub malformed: u64,
    /// Bytes of all messages, headers included.
    pub message_bytes: u64,
    /// Payload bytes of data messages.
    pub payload_bytes: u64,
    /// Sum of CreditsGranted.
    pub credits_granted: u64,
    /// RDMA Read requests.
    pub read_requests: u64,
    /// RDMA Read responses.
    pub read_responses: u64,
    /// Bytes of RDMA Read responses.
    pub read_bytes: u64,
    /// RDMA Writes.
    pub writes: u64,
    /// Bytes of RDMA Writes.
    pub write_bytes: u64,
}

impl Totals {
    /// SMB Direct messages of all types.
    #[must_use]
    pub const fn messages(&self) -> u64 {
        self.negotiate_requests + self.negotiate_responses + self.data_transfers + self.malformed
    }

    fn add(&mut self, kind: &ItemKind) {
        match kind {
            ItemKind::Message(message) => {
                self.message_bytes += message.len;
                match &message.body {
                    Body::NegotiateRequest(_) => self.negotiate_requests += 1,
                    Body::NegotiateResponse(response) => {
                        self.negotiate_responses += 1;
                        self.credits_granted += u64::from(response.credits_granted);
                    }
                    Body::DataTransfer(header) => {
                        self.data_transfers += 1;
                        self.credits_granted += u64::from(header.credits_granted);
                        self.payload_bytes += u64::from(header.data_length);
                    }
                    Body::Malformed(_) => self.malformed += 1,
                }
            }
            ItemKind::Rdma(operation) => match operation.kind {
                RdmaKind::ReadRequest => self.read_requests += 1,
                RdmaKind::ReadResponse => {
                    self.read_responses += 1;
                    self.read_bytes += operation.bytes;
                }
                RdmaKind::Write => {
                    self.writes += 1;
                    self.write_bytes += operation.bytes;
                }
            },
            ItemKind::Cm(_) | ItemKind::Mpa(_) | ItemKind::Terminate { .. } | ItemKind::Lost { .. } => {}
        }
    }
}

/// Packets that became no item, by reason. The names of its fields are those of the JSON output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Serialize))]
pub struct Counters {
    /// Frames read from the file.
    pub frames: u64,
    /// Packets (RoCE) and TCP segments that repeat what was seen before.
    pub retransmissions: u64,
    /// RoCE acknowledgements.
    pub acknowledgements: u64,
    /// RoCE negative acknowledgements: a packet was refused.
    pub negative_acknowledgements: u64,
    /// RoCE negative acknowledgements: no receive was posted.
    pub receiver_not_ready: u64,
    /// Packets whose ICRC or FPDUs whose CRC is wrong; they are read nevertheless.
    pub bad_checksums: u64,
    /// Packets of RDMA connections, or FPDUs, that make no sense where they are.
    pub not_understood: u64,
    /// Frames of which the capture has only the beginning.
    pub cut_frames: u64,
    /// Frames with a header that is cut or contradicts itself.
    pub broken_frames: u64,
    /// Messages on RDMA connections of other protocols than SMB Direct.
    pub foreign_messages: u64,
    /// RDMA operations on such connections.
    pub foreign_operations: u64,
    /// Frames of other protocols than RoCEv2 and iWARP.
    pub foreign_frames: u64,
    /// Frames of a link type that cannot be read, so that nothing is known of what is in them.
    pub unknown_link_frames: u64,
    /// The link type of the first of them, by its number in the file.
    pub unknown_link_type: Option<u32>,
}

/// All totals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// Initiator to acceptor.
    pub to_acceptor: Totals,
    /// Acceptor to initiator.
    pub to_initiator: Totals,
    /// What became no item.
    pub counters: Counters,
}

impl Summary {
    pub(super) fn of(items: &[Item], counters: Counters) -> Self {
        let mut summary = Self { counters, ..Self::default() };
        for item in items {
            match item.direction {
                Direction::ToAcceptor => summary.to_acceptor.add(&item.kind),
                Direction::ToInitiator => summary.to_initiator.add(&item.kind),
            }
        }
        summary
    }

    /// SMB Direct messages of both directions.
    #[must_use]
    pub const fn messages(&self) -> u64 {
        self.to_acceptor.messages() + self.to_initiator.messages()
    }
}
