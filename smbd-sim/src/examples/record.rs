//! The messages on the wire and their meaning, for showing and checking.

use smbd_core::wire::{DataTransfer, NegotiateRequest, NegotiateResponse};
use smbd_core::{Action, BufferDescriptorV1, Event, Head, Input, Instant, Misuse, RdmaVerb};

use crate::Side;
use crate::probe::{At, Command, Frame, Probe};

/// A message, parsed from the bytes on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message {
    Request(NegotiateRequest),
    Response(NegotiateResponse),
    Data(Data),
    Unreadable,
}

/// A Data Transfer message, with what is needed to say where its credits come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Data {
    pub(super) header: DataTransfer,
    /// The four bytes before the data, if there are data.
    pub(super) padding: Option<[u8; 4]>,
    pub(super) payload: Vec<u8>,
    /// Data messages its sender has received since it last granted.
    pub(super) received_since: u32,
    /// It spends the last credit of its sender.
    pub(super) last_credit: bool,
    /// It is the first that grants anything.
    pub(super) first_grant: bool,
}

/// Something seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    Message { len: u32, reserved: u16, message: Message },
    ReadRequest(BufferDescriptorV1),
    ReadData { len: u32 },
    Write { remote: BufferDescriptorV1 },
    Note(String),
    Waits(&'static str),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) at: Instant,
    pub(super) side: Side,
    pub(super) what: What,
}

/// The credit ledger of one side as an observer of the wire keeps it.
#[derive(Clone, Debug, Default)]
struct Ledger {
    negotiated: bool,
    heard: bool,
    credits: u32,
    received_since: u32,
    granted: bool,
    /// Bytes still to come of the message it is sending.
    remaining: u32,
    waiting: bool,
    /// Messages posted that have not left: their doorbell is rung when the connection waits.
    posted: u32,
    /// It waits, and this is to be noted when they have left.
    waits: bool,
}

/// Records a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Recorder {
    pub(super) seen: Vec<Seen>,
    sides: [Ledger; 2],
}

impl Recorder {
    fn push(&mut self, at: At, what: What) {
        self.seen.push(Seen { at: at.now, side: at.side, what });
    }

    fn message(&mut self, at: At, head: &Head, body: &[u8], len: u32) {
        let mut bytes = head.as_bytes().to_vec();
        bytes.extend_from_slice(body);
        let ledger = &mut self.sides[at.side.index()];
        let first = !std::mem::replace(&mut ledger.negotiated, true);
        let (reserved_at, message) = if first && at.side == Side::Initiator {
            (4, NegotiateRequest::parse(&bytes).map(Message::Request))
        } else if first {
            let response = NegotiateResponse::parse(&bytes);
            if let Ok(response) = &response {
                self.sides[at.side.peer().index()].credits += u32::from(response.credits_granted);
                self.sides[at.side.index()].granted = true;
            }
            (6, response.map(Message::Response))
        } else {
            (6, DataTransfer::parse(&bytes).map(|header| Message::Data(ledger.sends(header, &bytes))))
        };
        let reserved =
            bytes.get(reserved_at..reserved_at + 2).map_or(0, |b| u16::from_le_bytes([b[0], b[1]]));
        let message = message.unwrap_or(Message::Unreadable);
        self.push(at, What::Message { len, reserved, message });
        self.sides[at.side.index()].posted = self.sides[at.side.index()].posted.saturating_sub(1);
        self.note_wait(at);
    }

    /// Notes that a side waits, behind what it has posted before.
    fn note_wait(&mut self, at: At) {
        let ledger = &mut self.sides[at.side.index()];
        if ledger.posted > 0 || !std::mem::take(&mut ledger.waits) {
            return;
        }
        if ledger.remaining > 0 && !std::mem::replace(&mut ledger.waiting, true) {
            let what = if ledger.credits == 0 { "waits for credits" } else { "waits for its send queue" };
            self.push(at, What::Waits(what));
        }
    }
}

impl Ledger {
    fn sends(&mut self, header: DataTransfer, bytes: &[u8]) -> Data {
        let grants = header.credits_granted > 0;
        let start = header.data_offset as usize;
        let data = Data {
            header,
            padding: bytes.get(20..24).and_then(|p| p.first_chunk().copied()),
            payload: bytes.get(start..start + header.data_length as usize).unwrap_or_default().to_vec(),
            received_since: self.received_since,
            last_credit: self.credits == 1,
            first_grant: grants && !self.granted,
        };
        self.granted |= grants;
        self.received_since = 0;
        self.credits = self.credits.saturating_sub(1);
        self.remaining = header.remaining_data_length;
        self.waiting = false;
        data
    }
}

impl Probe for Recorder {
    fn input(&mut self, at: At, input: &Input<'_>, _: Result<(), Misuse>) {
        if let Input::Received { head, .. } = input {
            let ledger = &mut self.sides[at.side.index()];
            // The first message heard is the peer's of the negotiation.
            if std::mem::replace(&mut ledger.heard, true)
                && let Ok(header) = DataTransfer::parse(head.as_bytes())
            {
                ledger.received_since += 1;
                ledger.credits += u32::from(header.credits_granted);
            }
        }
    }

    fn action(&mut self, at: At, action: &Action) {
        match action {
            Action::Wait(_) => {
                self.sides[at.side.index()].waits = true;
                self.note_wait(at);
            }
            Action::PostSend { .. } => self.sides[at.side.index()].posted += 1,
            Action::Notify(_)
            | Action::Connect
            | Action::Accept
            | Action::Disconnect
            | Action::PostRecv { .. }
            | Action::PostRdma { .. }
            | Action::Register { .. }
            | Action::Deregister { .. } => {}
        }
    }

    fn event(&mut self, at: At, event: &Event) {
        let note = match event {
            Event::Established(_) => "is established",
            Event::RdmaDone { .. } => "has all bytes moved",
            Event::Deregistered { .. } => "has deregistered the buffer",
            _ => return,
        };
        self.push(at, What::Note(note.to_owned()));
    }

    fn command(&mut self, at: At, command: &Command<'_>) {
        let note = match command {
            Command::Register { range, .. } => format!("registers a buffer of {} bytes", range.len),
            Command::Deregister { .. } => "deregisters the buffer".to_owned(),
            Command::Rdma { verb, local, .. } => {
                let verb = match verb {
                    RdmaVerb::Read => "Read",
                    RdmaVerb::Write => "Write",
                };
                format!("asks for an RDMA {verb} of {} bytes", local.len)
            }
            Command::Send { range, .. } => format!("sends a message of {} bytes", range.len),
            Command::Release { .. } | Command::Probe { .. } | Command::Close(_) => return,
        };
        self.push(at, What::Note(note));
    }

    fn wants_frames(&self) -> bool {
        true
    }

    fn frame(&mut self, at: At, frame: &Frame<'_>) {
        match frame {
            Frame::Send { head, body, body_len, .. } => {
                self.message(at, head, body, head.len() + body_len);
            }
            Frame::Write { remote, .. } => self.push(at, What::Write { remote: *remote }),
            Frame::Read { remote, .. } => self.push(at, What::ReadRequest(*remote)),
            Frame::ReadData { payload, .. } => {
                let len = u32::try_from(payload.len()).unwrap_or(u32::MAX);
                self.push(at, What::ReadData { len });
            }
            Frame::Connect { .. }
            | Frame::Accept { .. }
            | Frame::Reject
            | Frame::Disconnect
            | Frame::Ack { .. }
            | Frame::Nak { .. }
            | Frame::Terminate { .. } => {}
        }
    }
}
