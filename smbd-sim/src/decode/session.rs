//! SMB Direct on one connection: the type of a message, and its place in a fragmented message.

use smbd_core::wire::{DataTransfer, NegotiateRequest, NegotiateResponse, PROTOCOL_VERSION, WireError};

use super::item::{Body, Fragment, Identified};
use super::smb2;

/// Ports of SMB Direct: InfiniBand and RoCE, iWARP.
const PORTS: [u16; 2] = [445, 5445];

/// One end of a connection before it is known which is the initiator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    A,
    B,
}

impl Side {
    pub(super) const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    pub(super) const fn index(self) -> usize {
        match self {
            Self::A => 0,
            Self::B => 1,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    Unknown,
    SmbDirect,
    Foreign,
}

/// An upper-layer message whose last fragment has not come.
#[derive(Debug, Clone, Copy)]
struct Open {
    index: u32,
    offset: u64,
    remaining: u64,
    total: u64,
}

#[derive(Debug, Default)]
struct Sender {
    messages: u64,
    open: Option<Open>,
    /// Something of this sender's is missing: the next message may continue an unseen one.
    gap: bool,
}

#[derive(Debug)]
pub(super) struct Session {
    protocol: Protocol,
    /// The initiator, when the connection's set-up was seen.
    initiator: Option<Side>,
    /// The initiator by what the messages are.
    hint: Option<Side>,
    senders: [Sender; 2],
}

/// What [`Session::message`] found.
#[derive(Debug)]
pub(super) struct Classified {
    pub(super) body: Body,
    pub(super) identified: Identified,
    pub(super) ordinal: u64,
    pub(super) fragment: Option<Fragment>,
    pub(super) upper: Option<String>,
    pub(super) remarks: Vec<String>,
}

impl Session {
    /// A connection whose set-up was seen: `initiator` asked for it, at `port` of the other side.
    pub(super) fn from_start(initiator: Side, port: Option<u16>) -> Self {
        let protocol = match port {
            Some(port) if PORTS.contains(&port) => Protocol::SmbDirect,
            _ => Protocol::Unknown,
        };
        Self { protocol, initiator: Some(initiator), hint: None, senders: <[Sender; 2]>::default() }
    }

    /// A connection that was there before the capture began.
    pub(super) fn from_middle() -> Self {
        let sender = || Sender { gap: true, ..Sender::default() };
        Self { protocol: Protocol::Unknown, initiator: None, hint: None, senders: [sender(), sender()] }
    }

    pub(super) fn is_smb_direct(&self) -> bool {
        self.protocol == Protocol::SmbDirect && self.senders.iter().any(|sender| sender.messages > 0)
    }

    /// The first message was of another protocol.
    pub(super) fn is_foreign(&self) -> bool {
        self.protocol == Protocol::Foreign
    }

    pub(super) fn hint(&self) -> Option<Side> {
        self.hint
    }

    /// `side` issued an RDMA request: in SMB Direct only the acceptor does.
    pub(super) fn rdma_request(&mut self, side: Side) {
        self.hint.get_or_insert(side.other());
    }

    /// Packets of `side` are missing here.
    pub(super) fn lost(&mut self, side: Side) {
        let sender = &mut self.senders[side.index()];
        sender.gap = true;
        sender.open = None;
    }

    /// Takes a message of `side`, of which the capture has `bytes`; `None` when it is of another protocol.
    pub(super) fn message(&mut self, side: Side, bytes: &[u8], len: u64) -> Option<Classified> {
        let by_place = self.place(side);
        let kind = by_place.or_else(|| shape(bytes, len)).or_else(|| {
            // Not what a data message looks like; on a known connection it is one nevertheless.
            (self.protocol == Protocol::SmbDirect).then_some(Kind::DataTransfer)
        });
        if self.protocol == Protocol::Unknown {
            let fits = match (by_place, kind) {
                (Some(Kind::NegotiateRequest), _) => shape(bytes, len) == Some(Kind::NegotiateRequest),
                (_, kind) => kind.is_some(),
            };
            self.protocol = if fits { Protocol::SmbDirect } else { Protocol::Foreign };
        }
        if self.protocol == Protocol::Foreign {
            return None;
        }
        let kind = kind?;
        let identified = if by_place.is_some() { Identified::ByPlace } else { Identified::ByShape };
        self.senders[side.index()].messages += 1;
        let ordinal = self.senders[side.index()].messages;
        let body = kind.parse(bytes).unwrap_or_else(Body::Malformed);
        let mut found =
            Classified { body, identified, ordinal, fragment: None, upper: None, remarks: Vec::new() };
        if let Some(missing) = len.checked_sub(bytes.len() as u64).filter(|missing| *missing > 0) {
            found.remarks.push(format!("{missing} of {len} bytes are not in the capture"));
        }
        match body {
            Body::NegotiateRequest(_) => _ = self.hint.get_or_insert(side),
            Body::NegotiateResponse(_) => _ = self.hint.get_or_insert(side.other()),
            Body::DataTransfer(header) => self.data(side, &header, bytes, len, &mut found),
            Body::Malformed(_) => self.lost(side),
        }
        Some(found)
    }

    /// The type of the next message of `side` by its place, when the place is known.
    fn place(&self, side: Side) -> Option<Kind> {
        let initiator = self.initiator?;
        let sender = &self.senders[side.index()];
        match (sender.messages, sender.gap) {
            (0, true) => None,
            (0, false) if side == initiator => Some(Kind::NegotiateRequest),
            (0, false) => Some(Kind::NegotiateResponse),
            _ => Some(Kind::DataTransfer),
        }
    }

    fn data(&mut self, side: Side, header: &DataTransfer, bytes: &[u8], len: u64, found: &mut Classified) {
        if header.flags.unknown() != 0 {
            found.remarks.push(format!("Flags has unknown bits {:#06x}", header.flags.unknown()));
        }
        if header.data_length == 0 {
            if header.remaining_data_length != 0 {
                found.remarks.push("RemainingDataLength without data".into());
            }
            return;
        }
        let (offset, length) = (u64::from(header.data_offset), u64::from(header.data_length));
        if offset < DataTransfer::LEN as u64 {
            found.remarks.push("DataOffset lies inside the header".into());
        }
        if offset + length > len {
            found
                .remarks
                .push(format!("DataOffset + DataLength is {}, the message has {len}", offset + length));
        }
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let end = usize::try_from(offset + length).unwrap_or(usize::MAX).min(bytes.len());
        let upper = smb2::name(bytes.get(start..end).unwrap_or_default());
        let begins = self.sequence(side, header, upper.is_some(), found);
        if begins && let Some(upper) = upper {
            if let Some(response) = upper.response {
                self.hint.get_or_insert(if response { side.other() } else { side });
            }
            found.upper = Some(upper.name);
        }
    }

    /// Follows the sequence of fragments; tells whether an upper-layer message begins here.
    fn sequence(&mut self, side: Side, header: &DataTransfer, is_smb: bool, found: &mut Classified) -> bool {
        let (length, remaining) = (u64::from(header.data_length), u64::from(header.remaining_data_length));
        let sender = &mut self.senders[side.index()];
        let continued = sender.open.take();
        if let Some(open) = &continued
            && open.remaining != length + remaining
        {
            found.remarks.push(format!(
                "DataLength + RemainingDataLength is {}, the sequence has {} left",
                length + remaining,
                open.remaining
            ));
        }
        let begin_unknown = continued.is_none() && std::mem::take(&mut sender.gap) && !is_smb;
        let mut open = continued.unwrap_or(Open {
            index: u32::from(!begin_unknown),
            offset: 0,
            remaining: 0,
            total: length + remaining,
        });
        let begins = open.index == 1 && continued.is_none();
        if remaining > 0 || !begins {
            let (index, offset, total) = (open.index, open.offset, open.total);
            found.fragment = Some(Fragment { index, offset, total, last: remaining == 0 });
        }
        if remaining > 0 {
            open.index = if open.index == 0 { 0 } else { open.index.saturating_add(1) };
            open.offset += length;
            open.remaining = remaining;
            sender.open = Some(open);
        }
        if begin_unknown && remaining == 0 {
            // A whole message without an SMB header is as likely as the end of one.
            found.fragment = None;
        }
        begins
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    NegotiateRequest,
    NegotiateResponse,
    DataTransfer,
}

impl Kind {
    fn parse(self, bytes: &[u8]) -> Result<Body, WireError> {
        match self {
            Self::NegotiateRequest => NegotiateRequest::parse(bytes).map(Body::NegotiateRequest),
            Self::NegotiateResponse => NegotiateResponse::parse(bytes).map(Body::NegotiateResponse),
            Self::DataTransfer => DataTransfer::parse(bytes).map(Body::DataTransfer),
        }
    }
}

/// The type that length and values agree with. A negotiation is looked for first where its length is exact: read
/// as a data message it would have its payload outside.
fn shape(bytes: &[u8], len: u64) -> Option<Kind> {
    if let Ok(message) = NegotiateResponse::parse(bytes)
        && len == NegotiateResponse::LEN as u64
        && [message.min_version, message.max_version] == [PROTOCOL_VERSION; 2]
        && (message.negotiated_version == PROTOCOL_VERSION || !message.status.is_success())
    {
        return Some(Kind::NegotiateResponse);
    }
    let data = DataTransfer::parse(bytes).ok()?;
    let end = u64::from(data.data_offset) + u64::from(data.data_length);
    let reserved_is_zero = bytes.get(6..8) == Some(&[0, 0]);
    let is_data = match data.data_length {
        0 => data.remaining_data_length == 0 && end <= len,
        _ => data.data_offset >= DataTransfer::LEN as u32 && end <= len,
    };
    if is_data && reserved_is_zero && data.flags.unknown() == 0 {
        return Some(Kind::DataTransfer);
    }
    let message = NegotiateRequest::parse(bytes).ok()?;
    let is_request = len == NegotiateRequest::LEN as u64
        && message.min_version <= message.max_version
        && (message.min_version..=message.max_version).contains(&PROTOCOL_VERSION)
        && reserved_is_zero_in_request(bytes);
    is_request.then_some(Kind::NegotiateRequest)
}

fn reserved_is_zero_in_request(bytes: &[u8]) -> bool {
    bytes.get(4..6) == Some(&[0, 0])
}

#[cfg(test)]
mod tests;
