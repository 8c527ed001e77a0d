//! Messages of the peer: any bytes, or fields that make sense but for one or the other.

use arbitrary::Arbitrary;
use smbd_core::wire::{
    DataTransfer, Flags, HEADER_LEN_PADDED, NegotiateRequest, NegotiateResponse, NtStatus,
};
use smbd_core::{Head, Input, PhaseName, Role, Token};

use super::Rig;
use super::setup::Start;

/// A message that arrives.
#[derive(Arbitrary, Clone, Debug)]
pub enum Said {
    /// Any bytes, of a message of any length.
    Bytes { first: [u8; 32], len: u32 },
    /// A data message in which all is as it should be.
    Good { credits: u8, len: u16, more: bool, asks: bool },
    /// A data message without data.
    Empty { asked: u8, granted: u8, asks: bool },
    /// A data message with any fields.
    Fields { asked: u16, granted: u16, flags: u8, remaining: u32, offset: u8, len: u16, behind: u8 },
    /// A Negotiate Request, or a Response with the first fields; `twist` makes one field wrong.
    Greeting {
        asked: u8,
        granted: u8,
        preferred: u32,
        receive: u32,
        fragmented: u32,
        read_write: u32,
        twist: u8,
    },
}

/// Bytes at the beginning of a message, and its length.
struct Message {
    head: Head,
    len: u32,
}

impl Rig {
    /// A message arrives on the receive posted first, or another.
    pub(super) fn hear(&mut self, at: u8, said: &Said, invalidates: Option<u8>) {
        let at = usize::from(at).checked_rem(self.recvs.len()).unwrap_or(0);
        let Some(&(id, _)) = self.recvs.get(at) else { return };
        let Message { head, len } = self.message(said);
        let invalidated = invalidates.map(|n| self.token(n));
        // Before there is a connection nothing can have arrived.
        if self.tell(Input::Received { id, head, len, invalidated }) {
            self.recvs.remove(at);
            self.past.push(id.into());
        }
    }

    /// A token that was handed out, or nobody's.
    fn token(&self, n: u8) -> Token {
        let at = usize::from(n).checked_rem(self.tokens.len() + 1).unwrap_or(0);
        self.tokens.get(at).copied().unwrap_or(Token(0xFFFF_FF00 | u32::from(n)))
    }

    fn message(&self, said: &Said) -> Message {
        match *said {
            Said::Bytes { first, len } => {
                let kept = usize::try_from(len).unwrap_or(usize::MAX).min(first.len());
                Message { head: Head::of(&first[..kept]), len }
            }
            Said::Good { credits, len, more, asks } => self.good(credits, len, more, asks),
            Said::Empty { asked, granted, asks } => data(
                &DataTransfer {
                    credits_requested: u16::from(asked),
                    credits_granted: u16::from(granted),
                    flags: flags(asks),
                    ..DataTransfer::default()
                },
                0,
            ),
            Said::Fields { asked, granted, flags, remaining, offset, len, behind } => data(
                &DataTransfer {
                    credits_requested: asked,
                    credits_granted: granted,
                    flags: Flags(u16::from(flags)),
                    remaining_data_length: remaining,
                    data_offset: u32::from(offset),
                    data_length: u32::from(len),
                },
                behind,
            ),
            Said::Greeting { .. } => self.greeting(said),
        }
    }

    /// The next fragment, or a new message.
    fn good(&self, credits: u8, len: u16, more: bool, asks: bool) -> Message {
        let most = self.connection.config().max_receive_size - u32::try_from(HEADER_LEN_PADDED).unwrap_or(24);
        let expected = match self.connection.incomplete() {
            0 if more => self.connection.config().max_fragmented_recv_size,
            0 => u32::from(len).clamp(1, most),
            expected => expected,
        };
        let len =
            if expected <= most && !more { expected } else { u32::from(len).clamp(1, most.min(expected)) };
        data(
            &DataTransfer {
                credits_requested: 10,
                credits_granted: u16::from(credits % 8),
                flags: flags(asks),
                remaining_data_length: expected - len,
                data_offset: 24,
                data_length: len,
            },
            0,
        )
    }

    fn greeting(&self, said: &Said) -> Message {
        let Said::Greeting { asked, granted, preferred, receive, fragmented, read_write, twist } = *said
        else {
            return Message { head: Head::of(&[]), len: 0 };
        };
        let wrong = |n: u8, good: u16| if twist == n { good ^ 0x0201 } else { good };
        let mut bytes = [0; 32];
        let len = if self.connection.role() == Role::Acceptor {
            let request = NegotiateRequest {
                min_version: wrong(1, 0x0100),
                max_version: wrong(2, 0x0100),
                credits_requested: u16::from(asked),
                preferred_send_size: preferred,
                max_receive_size: receive,
                max_fragmented_size: fragmented,
            };
            request.encode(&mut bytes)
        } else {
            let response = NegotiateResponse {
                min_version: wrong(1, 0x0100),
                max_version: wrong(2, 0x0100),
                negotiated_version: wrong(3, 0x0100),
                credits_requested: u16::from(asked),
                credits_granted: u16::from(granted),
                status: if twist == 4 { NtStatus(0xC000_00BB) } else { NtStatus(0) },
                max_read_write_size: read_write,
                preferred_send_size: preferred,
                max_receive_size: receive,
                max_fragmented_size: fragmented,
            };
            response.encode(&mut bytes)
        };
        let len = len.expect("32 bytes are enough for both");
        Message { head: Head::of(&bytes[..len]), len: u32::try_from(len).unwrap_or(0) }
    }

    /// Does what comes before the fuzzer's first step.
    pub(super) fn begin(&mut self, setup: &super::Setup) {
        if setup.start == Start::Fresh {
            return;
        }
        self.drain();
        if self.connection.role() == Role::Acceptor {
            // The Accept leaves with the first actions; the request may come before its answer.
            self.drain();
        }
        self.connected(setup.limits());
        self.drain();
        let Start::Negotiated { asked, granted, receive_size, read_write } = setup.start else { return };
        let asked = asked.max(1);
        let receive = u32::from(receive_size).max(128);
        // No more than may be preferred, and no more credits than were asked for.
        let preferred = self.connection.config().max_receive_size.min(8136);
        let granted = granted.max(1);
        let fragmented = 131_072;
        self.hear(
            0,
            &Said::Greeting { asked, granted, preferred, receive, fragmented, read_write, twist: 0 },
            None,
        );
        self.drain();
        while let Some(id) = self.sends.pop_front() {
            self.past.push(id.into());
            self.tell(Input::Sent { id });
        }
        self.drain();
        if self.connection.role() == Role::Acceptor && self.connection.phase() == PhaseName::Established {
            self.hear(0, &Said::Empty { asked, granted, asks: false }, None);
            self.drain();
        }
    }
}

const fn flags(asks: bool) -> Flags {
    if asks { Flags::RESPONSE_REQUESTED } else { Flags::NONE }
}

/// A data message, as long as its fields say, with so many bytes behind the data.
fn data(header: &DataTransfer, behind: u8) -> Message {
    let mut bytes = [0; Head::MAX];
    let fixed = header.encode(&mut bytes).map_or(DataTransfer::LEN, |len| len.max(DataTransfer::LEN));
    let end = match header.data_length {
        0 => u32::try_from(DataTransfer::LEN).unwrap_or(20),
        len => header.data_offset.saturating_add(len).max(u32::try_from(fixed).unwrap_or(24)),
    };
    let len = end.saturating_add(u32::from(behind));
    let kept = usize::try_from(len).unwrap_or(usize::MAX).min(Head::MAX);
    Message { head: Head::of(&bytes[..kept]), len }
}
