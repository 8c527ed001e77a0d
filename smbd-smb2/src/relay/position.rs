//! Where in the server's stream a relay is.

use super::deliver::Delivery;
use super::incoming::{Incoming, split};
use crate::wire::{KEEP_ALIVE, Token};

/// Where in the server's stream it is.
#[derive(Debug)]
pub(super) enum State {
    /// In the header of direct TCP (2.1).
    Framing { header: [u8; 4], have: usize },
    /// The front of a message of `len` bytes is kept until it is clear whether its elements stay together. Those before `at` do.
    Deciding { len: u32, at: usize },
    /// An element begins.
    Element(Mode),
    /// The element goes to the client; `left` bytes of it have not gone yet.
    Sending { mode: Mode, left: usize, outgoing: Outgoing },
    /// Data go to the client's memory.
    Delivering(Delivery),
    /// The rest of an element is not needed.
    Skipping { left: usize },
}

/// How elements go to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// As one message; `remaining` bytes of it have not gone yet.
    Together { remaining: u32 },
    /// There is only one.
    Single,
    /// Each as a message of its own, although they came together.
    Alone,
}

/// A message to the client, of which `remaining` bytes have not gone yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outgoing {
    pub(super) remaining: u32,
    pub(super) invalidate: Option<Token>,
}

impl State {
    pub(super) const FRAMING: Self = Self::Framing { header: [0; 4], have: 0 };

    /// What comes behind an element, of which `left` bytes are not needed.
    #[inline]
    pub(super) fn behind(incoming: &Incoming, left: usize, mode: Mode) -> Self {
        if left > 0 {
            Self::Skipping { left }
        } else if incoming.remaining() == 0 {
            Self::FRAMING
        } else {
            Self::Element(mode)
        }
    }

    /// Whether an element moves, or its data.
    #[inline]
    pub(super) const fn is_moving(&self) -> bool {
        matches!(self, Self::Delivering(_) | Self::Sending { .. })
    }

    /// Whether a message has come in part, or has not gone yet.
    pub(super) fn is_amid_message(&self, incoming: &Incoming) -> bool {
        let has_rest = match self {
            Self::Framing { have, .. } => return *have > 0,
            Self::Deciding { .. } | Self::Delivering(_) => true,
            Self::Element(_) => false,
            Self::Sending { left, .. } | Self::Skipping { left } => *left > 0,
        };
        has_rest || incoming.remaining() > 0
    }
}

/// The header of direct TCP, of which `have` bytes came before. Keep-alives before it are dropped ([`KEEP_ALIVE`]).
#[inline]
pub(super) fn frame(header: &mut [u8; 4], have: &mut usize, stream: &mut &[u8]) -> Option<u32> {
    loop {
        let bytes = split(stream, header.len().saturating_sub(*have));
        header.iter_mut().skip(*have).zip(bytes).for_each(|(to, from)| *to = *from);
        *have = have.saturating_add(bytes.len());
        if *have < header.len() {
            return None;
        }
        if *header != KEEP_ALIVE {
            return Some(u32::from_be_bytes(*header));
        }
        *have = 0;
    }
}
