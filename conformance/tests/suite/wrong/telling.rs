//! What an upper layer is told otherwise.

use std::time::Duration;

use smbd_conformance::catalogue::{Event, Telling};
use smbd_conformance::suite::rig::Told;
use smbd_core::error::{Aborted, CloseReason, ConnectError, OpError, RegistrationError, WorkError};
use smbd_core::{Instant, Negotiated, Token};

/// Whether it is such an event.
const fn is(event: Event, told: &Told) -> bool {
    match event {
        Event::Established => matches!(told, Told::Established(_)),
        Event::ConnectFailed => matches!(told, Told::ConnectFailed(_)),
        Event::Message => matches!(told, Told::Message(_)),
        Event::Invalidated => matches!(told, Told::Invalidated(..)),
        Event::Sent => matches!(told, Told::Sent(..)),
        Event::RdmaDone => matches!(told, Told::RdmaDone(..)),
        Event::Registered => matches!(told, Told::Registered(..)),
        Event::Deregistered => matches!(told, Told::Deregistered(..)),
        Event::Closed => matches!(told, Told::Closed(_)),
        Event::Drained => matches!(told, Told::Drained),
    }
}

/// What is told instead of all this.
pub fn told(now: Instant, event: Event, how: Telling, all: Vec<(Instant, Told)>) -> Vec<(Instant, Told)> {
    match how {
        Telling::Early => {
            let early = (Instant::ORIGIN, Told::Established(NEGOTIATED));
            let rest = all.into_iter().filter(|(_, told)| !is(event, told));
            return std::iter::once(early).chain(rest).collect();
        }
        Telling::Reversed => {
            let mut all = all;
            let places: Vec<_> = (0..all.len()).filter(|index| is(event, &all[*index].1)).collect();
            let (half, len) = (places.len() / 2, places.len());
            (0..half).for_each(|index| all.swap(places[index], places[len - 1 - index]));
            return all;
        }
        _ => {}
    }
    let mut out = Vec::new();
    for (at, told) in all {
        if !is(event, &told) {
            out.push((at, told));
            continue;
        }
        match how {
            Telling::Never => {}
            Telling::Twice => out.extend([(at, told.clone()), (at, told)]),
            Telling::Late(late) => {
                let at = at.saturating_add(Duration::from_millis(late));
                if at <= now {
                    out.push((at, told));
                }
            }
            _ => out.push((at, otherwise(how, told))),
        }
    }
    out
}

const NEGOTIATED: Negotiated = Negotiated {
    protocol: 0x0100,
    max_send_size: 1024,
    max_receive_size: 1024,
    max_fragmented_send_size: 131_072,
    max_fragmented_recv_size: 131_072,
    max_read_write_size: 1 << 20,
    keepalive_interval: None,
};

const REFUSED: WorkError = WorkError::PostFailed { errno: 1 };

fn otherwise(how: Telling, told: Told) -> Told {
    match (how, told) {
        (Telling::Good, Told::Sent(msg, _)) => Told::Sent(msg, Ok(())),
        (Telling::Bad, Told::Sent(msg, _)) => Told::Sent(msg, Err(Aborted)),
        (Telling::Good, Told::RdmaDone(op, _)) => Told::RdmaDone(op, Ok(())),
        (Telling::Bad, Told::RdmaDone(op, _)) => Told::RdmaDone(op, Err(OpError::Work(REFUSED))),
        (Telling::Good, Told::Registered(id, _)) => Told::Registered(id, Ok(())),
        (Telling::Bad, Told::Registered(id, _)) => {
            Told::Registered(id, Err(RegistrationError::Work(REFUSED)))
        }
        (Telling::Good, Told::Deregistered(id, _)) => Told::Deregistered(id, Ok(())),
        (Telling::Bad, Told::Deregistered(id, _)) => {
            Told::Deregistered(id, Err(RegistrationError::Work(REFUSED)))
        }
        (Telling::Otherwise, Told::Established(all)) => {
            Told::Established(Negotiated { protocol: 0x0101, max_send_size: all.max_send_size ^ 1, ..all })
        }
        (Telling::Otherwise, Told::Invalidated(id, token)) => Told::Invalidated(id, Token(token.0 ^ 1)),
        (Telling::Otherwise, Told::ConnectFailed(_)) => Told::ConnectFailed(ConnectError::Timeout),
        (Telling::Otherwise, Told::Closed(_)) => Told::Closed(CloseReason::CreditStall),
        (Telling::Otherwise, Told::Message(bytes)) => Told::Message(bytes.slice(..bytes.len() - 1)),
        (Telling::AsTheOther, Told::Closed(_)) => Told::ConnectFailed(ConnectError::PeerClosed),
        (Telling::AsTheOther, Told::ConnectFailed(_)) => Told::Closed(CloseReason::PeerClosed),
        (_, told) => told,
    }
}
