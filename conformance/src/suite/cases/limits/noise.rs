//! Random messages.

use std::time::Duration;

use smbd_core::wire::DataTransfer;
use smbd_core::wire::status::NOT_SUPPORTED;

use super::due::{self, Due};
use crate::suite::rig::Opening;
use crate::suite::{Data, Grant, Next, Peer, Play, Request, Response, Stop, Terms, pattern};

/// Decides all bytes and lengths.
const SEED: u64 = 1_000_003;
const CONNECTIONS: u64 = 1000;
/// The same where time is real.
const CONNECTIONS_REAL: u64 = 40;
/// How often the other connection is asked for an echo: once in so many.
const ASKED: u64 = 10;

/// One connection knows nothing of another.
const OWN: &str = "3.1.4.1-01 3.1.7.2-01";

/// What is drawn for one connection.
struct Draw {
    bytes: Vec<u8>,
    at: usize,
}

impl Draw {
    fn of(connection: u64) -> Self {
        Self { bytes: pattern(SEED.wrapping_add(connection), 1024).to_vec(), at: 0 }
    }

    fn byte(&mut self) -> usize {
        self.at += 1;
        self.bytes[self.at % self.bytes.len()].into()
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.byte() << 16 | self.byte() << 8 | self.byte()) % limit
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| u8::try_from(self.byte()).unwrap_or_default()).collect()
    }

    /// A good message with one 16-bit word drawn.
    fn changed(&mut self, mut message: Vec<u8>, header: usize) -> Vec<u8> {
        let at = 2 * self.below(header / 2);
        let word = self.bytes(2);
        message[at..at + 2].copy_from_slice(&word);
        message
    }

    /// Noise, or a good message with one field drawn.
    fn message(&mut self, good: Vec<u8>, header: usize) -> Vec<u8> {
        if self.below(2) == 0 {
            return self.changed(good, header);
        }
        let len = 1 + self.below(512);
        self.bytes(len)
    }
}

pub(in super::super) fn ends_nothing_else(play: &mut Play) -> Result<(), Stop> {
    play.step(format!("all is drawn from seed {SEED}"));
    let other = if play.keeps_connections() { Some(play.established()?.id()) } else { None };
    let connections = if play.is_real() { CONNECTIONS_REAL } else { CONNECTIONS };
    for connection in 0..connections {
        let mut draw = Draw::of(connection);
        if connection % 2 == 0 {
            noise_first(play, &mut draw)?;
        } else {
            noise_later(play, &mut draw)?;
        }
        if connection % ASKED == 0 {
            match other {
                Some(other) => play.peer(other).exchange(OWN, connection, 100)?,
                None => play.established()?.exchange(OWN, connection, 100)?,
            };
        }
    }
    if let Some(other) = other {
        play.peer(other).nothing_lost(OWN);
    }
    Ok(())
}

/// An end of the script that takes little memory: there are many.
fn opening() -> Opening {
    Opening { receives: 40, receive_len: 1024, send_len: 1024, ..Opening::default() }
}

/// Receives behind the first one.
const RECEIVES: u16 = 10;

/// As the script's first message.
fn noise_first(play: &mut Play, draw: &mut Draw) -> Result<(), Stop> {
    let accepts = play.subject_accepts();
    let opening = opening();
    let mut peer = play.connect_as("", &opening)?;
    peer.post_receives(RECEIVES)?;
    if accepts {
        let request = peer.as_sent(&Request::default());
        let message = draw.message(request.encode(), 20);
        peer.say(&message)?;
        let due = due::by_acceptor(&message, opening.receive_len);
        if due == Due::Nothing {
            let (response, _) = peer.response("3.1.5.5-01")?;
            peer.accepted("3.1.5.5-01", &response)?;
        }
        becomes(&mut peer, due, "3.1.5.5-01")
    } else {
        let (request, _) = peer.asked("")?;
        let message = draw.message(Response::default().encode(request.max_receive_size), 32);
        peer.say(&message)?;
        let due = due::by_initiator(&message, request.max_receive_size, (RECEIVES, opening.receive_len));
        becomes(&mut peer, due, "3.1.5.5-02")
    }
}

/// As its first message after negotiation.
fn noise_later(play: &mut Play, draw: &mut Draw) -> Result<(), Stop> {
    let mut peer = play.established_as(&Terms::default(), &opening())?;
    peer.settle();
    let payload = draw.bytes(100);
    let good = Data { grant: Grant::Used, ..Data::of(&payload) }.encode(10, 0);
    let message = draw.message(good, 20);
    let announced = peer.announced()?;
    peer.say(&message)?;
    let due = due::by_established(&message, announced.max_receive_size(), announced.max_fragmented_size());
    // An upper layer that returns no messages may take offence at bytes that are none of its own.
    let is_payload = matches!(DataTransfer::parse(&message), Ok(header) if header.data_length > 0);
    let due = if due == Due::Nothing && is_payload && !peer.answers_in_order() { Due::Open } else { due };
    becomes(&mut peer, due, "3.1.5.5-05")
}

/// What has to become of the connection becomes of it; `statements` are about how the message is read.
fn becomes(peer: &mut Peer<'_>, due: Due, statements: &str) -> Result<(), Stop> {
    match due {
        Due::End(statements) => {
            peer.must_end(statements);
        }
        Due::Refusal => {
            let (response, _) = peer.response("3.1.5.6-04 +3.1.5.5-01")?;
            let status = response.status;
            peer.check("3.1.5.6-04 +3.1.5.5-01", status == NOT_SUPPORTED, || {
                format!("Status should be {NOT_SUPPORTED}, it is {status}")
            });
            peer.must_end("3.1.5.3-08");
        }
        Due::Nothing => {
            peer.settle();
            let up = !peer.is_down();
            peer.check(statements, up, || "the message breaks no rule, and the connection went down".into());
            if up {
                peer.goes_on(statements)?;
            }
        }
        Due::Open => ends_or_goes_on(peer, statements)?,
    }
    if !peer.is_down() {
        peer.disconnect()?;
    }
    Ok(())
}

/// The connection ends within 12 s, or it goes on.
fn ends_or_goes_on(peer: &mut Peer<'_>, statements: &str) -> Result<(), Stop> {
    // What a subject does about a message it does at once; an end takes the time of the transport.
    let mut down = false;
    for _ in 0..20 {
        match peer.next(Duration::from_millis(100)) {
            Next::Down => {
                down = true;
                break;
            }
            Next::Message(_) => {}
            Next::Nothing => break,
        }
    }
    if down || peer.credits() <= 0 {
        // Without a credit nothing can be asked. A slow subject may not have answered yet.
        let settled = down || !matches!(peer.next(Duration::from_secs(12)), Next::Nothing);
        peer.check(statements, settled, || {
            "the connection should go on, for which it has no credit, or be down after 12 s, it is up and says nothing".into()
        });
        return Ok(());
    }
    // With two credits it can answer whatever it has posted.
    let alive = peer.try_send(&Data::probe().granting(2))?
        && matches!(peer.next(Duration::from_secs(12)), Next::Message(_) | Next::Down);
    let settled = alive || peer.is_down();
    peer.check(statements, settled, || {
        "the connection should go on or be down after 12 s, it is up and says nothing".into()
    });
    Ok(())
}
