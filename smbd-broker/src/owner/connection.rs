//! The socket of a connection.

use std::collections::{BTreeMap, VecDeque};

use super::error::{BrokerError, SendError, TransferError};
use crate::wire::{
    AREAS_MAX, Age, Area, Command, DESCRIPTORS_MAX, Event, Invalidate, Limits, Messages, PIECE_MAX, Packet,
    Transfer,
};
use smbd_core::Token;

/// A connection, as its owner sees it.
#[derive(Debug)]
pub struct Connection {
    limits: Limits,
    max_send_size: u32,
    max_read_write_size: u32,
    /// Lengths of the messages that wait to be sent.
    sends: VecDeque<u32>,
    waiting: u64,
    transfers: BTreeMap<u64, Vec<Area>>,
    tags: u64,
    begun: Option<Begun>,
    is_lost: bool,
}

#[derive(Debug)]
struct Begun {
    age: Age,
    bytes: Vec<u8>,
    remaining: u32,
}

/// What has happened on a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happened {
    /// A whole message, or one that somebody else has taken or sent.
    Message {
        /// Whether there is something to do about it.
        age: Age,
        /// The message.
        bytes: Vec<u8>,
    },
    /// So many messages were handed to the transport.
    Sent {
        /// How many.
        count: u32,
    },
    /// A transfer has ended. Its slots are free.
    Done {
        /// That of the transfer.
        tag: u64,
        /// Its slots.
        areas: Vec<Area>,
        /// Whether all bytes were moved.
        is_success: bool,
    },
    /// The client has invalidated a token of this side.
    Invalidated {
        /// The token.
        token: Token,
    },
    /// The connection has ended. Nothing comes behind that.
    Lost {
        /// For people.
        why: String,
    },
}

/// The longest message that an owner takes, in bytes.
pub(crate) const MESSAGE_MAX: u32 = 16 << 20;

impl Connection {
    /// One of a broker with these limits, with what its [`Newcomer`](crate::wire::Newcomer) says.
    #[must_use]
    pub const fn new(limits: Limits, max_send_size: u32, max_read_write_size: u32) -> Self {
        Self {
            limits,
            max_send_size,
            max_read_write_size,
            sends: VecDeque::new(),
            waiting: 0,
            transfers: BTreeMap::new(),
            tags: 0,
            begun: None,
            is_lost: false,
        }
    }

    /// Whether [`send`](Self::send) takes another message.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.sends.len() < usize::from(self.limits.sends_max)
            && self.waiting < u64::from(self.limits.send_bytes_max)
    }

    /// Whether [`start`](Self::start) takes another transfer.
    #[must_use]
    pub fn has_transfer(&self) -> bool {
        self.transfers.len() < usize::from(self.limits.transfers_max)
    }

    /// Transfers under way.
    #[must_use]
    pub fn transfers(&self) -> usize {
        self.transfers.len()
    }

    /// Messages that wait to be sent, as far as the broker has told.
    #[must_use]
    pub fn unsent(&self) -> usize {
        self.sends.len()
    }

    /// The packets of a message.
    ///
    /// # Errors
    /// It is not taken.
    pub fn send(&mut self, message: &[u8], invalidate: Invalidate) -> Result<Vec<Packet>, SendError> {
        let max = self.max_send_size;
        let len = u32::try_from(message.len()).ok().filter(|len| *len <= max);
        let len = len.ok_or(SendError::TooLong { len: message.len(), max })?;
        if self.is_lost {
            return Err(SendError::Lost);
        }
        if len == 0 {
            return Err(SendError::Empty);
        }
        if !self.has_room() {
            return Err(SendError::Full);
        }
        self.sends.push_back(len);
        self.waiting = self.waiting.saturating_add(len.into());
        let mut remaining = len;
        let packets = message.chunks(PIECE_MAX).map(|bytes| {
            remaining = remaining.saturating_sub(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
            let mut packet = Packet::new();
            let invalidate = invalidate.filter(|_| remaining == 0);
            Command::Send { remaining, invalidate, bytes }.write(&mut packet);
            packet
        });
        Ok(packets.collect())
    }

    /// The packet of a transfer, and its tag. Its slots are the broker's until [`Happened::Done`].
    ///
    /// # Errors
    /// It is not taken.
    pub fn start(&mut self, transfer: Transfer) -> Result<(u64, Packet), TransferError> {
        let (areas, descriptors) = (transfer.areas.len(), transfer.remote.len());
        let is_sound = (1..=AREAS_MAX).contains(&areas) && (1..=DESCRIPTORS_MAX).contains(&descriptors);
        if !is_sound || transfer.areas.iter().any(|area| area.len == 0) {
            return Err(TransferError::Shape { areas, descriptors });
        }
        let (len, max) = (transfer.len(), self.max_read_write_size);
        if len > u64::from(max) {
            return Err(TransferError::TooLong { len, max });
        }
        if self.is_lost {
            return Err(TransferError::Lost);
        }
        if !self.has_transfer() {
            return Err(TransferError::Full);
        }
        self.tags = self.tags.wrapping_add(1);
        let tag = self.tags;
        self.transfers.insert(tag, transfer.areas.clone());
        let mut packet = Packet::new();
        Command::Rdma { tag, transfer }.write(&mut packet);
        Ok((tag, packet))
    }

    /// The packet that says that messages of the client were taken: those with [`Age::New`], in their order.
    #[must_use]
    pub fn taken(&self, count: u32) -> Packet {
        let mut packet = Packet::new();
        Command::Taken { count }.write(&mut packet);
        packet
    }

    /// The packet that ends the connection, when what was ordered is done, in `within` milliseconds at most.
    #[must_use]
    pub fn disconnect(&self, within: u32) -> Packet {
        let mut packet = Packet::new();
        Command::Disconnect { within }.write(&mut packet);
        packet
    }

    /// What a packet tells.
    ///
    /// # Errors
    /// The broker does what it must not.
    pub fn received(&mut self, packet: &[u8]) -> Result<Vec<Happened>, BrokerError> {
        let mut happened = Vec::new();
        for message in Messages::of(packet) {
            let event = Event::parse(&message?)?;
            if self.is_lost {
                return Err(BrokerError::AfterEnd);
            }
            if matches!(event, Event::Lost { .. }) {
                // What the broker has not read is not carried out.
                let open = std::mem::take(&mut self.transfers).into_iter();
                happened.extend(open.map(|(tag, areas)| Happened::Done { tag, areas, is_success: false }));
            }
            happened.extend(self.on(event)?);
        }
        Ok(happened)
    }

    /// What a packet tells that the broker has written to a former owner: messages and the end. What was sent and moved was ordered by
    /// that one.
    ///
    /// # Errors
    /// The broker does what it must not.
    pub fn received_before(&mut self, packet: &[u8]) -> Result<Vec<Happened>, BrokerError> {
        let mut happened = Vec::new();
        for message in Messages::of(packet) {
            match Event::parse(&message?)? {
                Event::Sent { .. } | Event::RdmaDone { .. } => {}
                event => happened.extend(self.on(event)?),
            }
        }
        Ok(happened)
    }

    /// Whether it has ended: [`Happened::Lost`] was told, or its socket has ended.
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Whether no message has come in part, and no transfer is under way.
    #[must_use]
    pub fn is_between(&self) -> bool {
        self.begun.is_none() && self.transfers.is_empty()
    }

    /// The socket has ended without [`Happened::Lost`]: the broker is gone, or the connection was moved. What that means for each transfer:
    /// its tag and its slots. The memory of a broker that is gone is not to be used again.
    pub fn socket_ended(&mut self) -> Vec<(u64, Vec<Area>)> {
        self.is_lost = true;
        std::mem::take(&mut self.transfers).into_iter().collect()
    }

    fn on(&mut self, event: Event<'_>) -> Result<Option<Happened>, BrokerError> {
        Ok(Some(match event {
            Event::Received { age, remaining, bytes } => return self.piece(age, remaining, bytes),
            Event::Sent { count } => {
                let waiting = self.sends.len();
                if usize::try_from(count).map_or(true, |count| count > waiting) {
                    return Err(BrokerError::Sent { count, waiting });
                }
                for len in self.sends.drain(..count as usize) {
                    self.waiting = self.waiting.saturating_sub(len.into());
                }
                Happened::Sent { count }
            }
            Event::RdmaDone { tag, is_success } => {
                let areas = self.transfers.remove(&tag).ok_or(BrokerError::Transfer { tag })?;
                Happened::Done { tag, areas, is_success }
            }
            Event::Invalidated { token } => Happened::Invalidated { token },
            Event::Lost { why } => {
                self.is_lost = true;
                Happened::Lost { why }
            }
        }))
    }

    fn piece(&mut self, age: Age, remaining: u32, bytes: &[u8]) -> Result<Option<Happened>, BrokerError> {
        let rest = u64::from(remaining).saturating_add(bytes.len() as u64);
        let begun = match self.begun.take() {
            Some(begun) if u64::from(begun.remaining) != rest || begun.age != age => {
                return Err(BrokerError::Pieces { remaining, expected: begun.remaining });
            }
            Some(begun) => begun,
            None if rest > u64::from(MESSAGE_MAX) => {
                return Err(BrokerError::TooLong { len: rest, max: MESSAGE_MAX });
            }
            None => Begun { age, bytes: Vec::new(), remaining: 0 },
        };
        let mut message = begun.bytes;
        message.extend_from_slice(bytes);
        if remaining == 0 {
            return Ok(Some(Happened::Message { age, bytes: message }));
        }
        self.begun = Some(Begun { age, bytes: message, remaining });
        Ok(None)
    }
}
