//! Waking the script's device when it sleeps over the first message of a connection, as siw does now and then
//! ([`Quirks::settle_millis`](smbd_verbs::quirks::Quirks::settle_millis)). An initiator in a kernel does not wait for it.
//!
//! Whatever comes from the peer has the device look. An RDMA Read of nothing is answered by the peer's device, unseen by the
//! peer, and needs no memory of it.

use std::time::Duration;

use smbd_core::{BufferDescriptorV1, Instant, RdmaVerb, Token};
use smbd_verbs::{Buffer, End};

use super::super::{News, Order};
use crate::suite::script::Line;

/// How long a first message may be on its way.
const PATIENCE: Duration = Duration::from_secs(3);

/// What is to be done about the first message of a connection.
#[derive(Clone, Copy)]
pub(super) enum Wake {
    /// Nothing: it is there, or the device does not sleep.
    Done,
    /// It is waited for as soon as the connection is up.
    Ready,
    /// It is waited for until then.
    At(Instant),
    /// The device was woken. That this has gone well is not the script's business.
    Tried { ticket: u64 },
}

impl Wake {
    /// For a connection that `end` accepts.
    pub(super) fn new(end: &End) -> Self {
        let sleeps = end.quirks().is_some_and(|quirks| quirks.settle_millis > 0);
        if sleeps { Self::Ready } else { Self::Done }
    }

    /// Wakes the device if it is time to; otherwise, when it will be.
    pub(super) fn look(&mut self, now: Instant, end: &mut End, line: &mut Line<Buffer>) -> Option<Instant> {
        let Self::At(at) = *self else { return None };
        if now < at {
            return Some(at);
        }
        let nothing = BufferDescriptorV1 { offset: 0, token: Token(0), length: 0 };
        let asked = line
            .allocate(end, &[0])
            .and_then(|buffer| line.order(end, Order::Rdma(RdmaVerb::Read, buffer, 0, nothing)));
        *self = asked.map_or(Self::Done, |ticket| Self::Tried { ticket });
        None
    }

    /// Whether these news, of that time, are of the waking alone.
    pub(super) fn takes(&mut self, (at, news): &(Instant, News)) -> bool {
        match (news, *self) {
            (News::Done(done, Ok(())), Self::Tried { ticket }) => *done == ticket,
            (News::Connected(_), Self::Ready) => {
                *self = Self::At(at.saturating_add(PATIENCE));
                false
            }
            (News::Message(..), Self::Ready | Self::At(_)) => {
                *self = Self::Done;
                false
            }
            _ => false,
        }
    }
}
