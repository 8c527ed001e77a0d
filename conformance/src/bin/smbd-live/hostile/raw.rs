//! A peer that says whatever it is told to: the script of the conformance suite, without its rules.

use std::net::SocketAddr;
use std::time::Duration;

use smbd_conformance::catalogue::UnderTest;
use smbd_conformance::suite::rig::verbs::{Foreign, Remote};
use smbd_conformance::suite::rig::{News, Opening, Order, Rig, Target as _};
use smbd_conformance::suite::{Data, Request};
use smbd_core::error::WorkError;
use smbd_core::{Instant, Token};

use crate::case::Failure;
use crate::patience::PATIENCE;

/// Receives of a connection. More are never needed: the server has no more credits.
const RECEIVES: u16 = 40;

/// Connections to one server.
pub(super) struct Raw {
    rig: Box<dyn Rig>,
}

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Id(usize);

/// What the server said last in its Negotiate Response.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    pub(super) credits: u16,
    pub(super) max_receive_size: u32,
    pub(super) max_fragmented_size: u32,
}

/// Something that a connection saw.
#[derive(Debug)]
pub(super) enum Seen {
    Message(Vec<u8>),
    /// A message could not be sent.
    Failed,
    /// The connection is over.
    Over,
}

impl Raw {
    pub(super) fn to(at: SocketAddr) -> Result<Self, Failure> {
        let rig = Foreign::acceptor(at, Remote::default()).rig(0, UnderTest::Acceptor, None);
        Ok(Self { rig: rig.map_err(|unable| unable.to_string())? })
    }

    /// The transport connection, with receives posted.
    pub(super) fn connect(&mut self) -> Result<Id, Failure> {
        let opening =
            Opening { receives: RECEIVES, receive_len: 1024, send_len: 12_000, ..Opening::default() };
        let id = Id(self.rig.open(&opening).map_err(|unable| unable.to_string())?);
        for _ in 0..RECEIVES {
            self.order(id, Order::Receive(1024))?;
        }
        self.order(id, Order::Connect)?;
        let until = self.until(PATIENCE);
        loop {
            match self.news(id, until) {
                Some(News::Connected(_)) => return Ok(id),
                Some(News::ConnectFailed(reason)) => return Err(format!("no connection: {reason}").into()),
                Some(_) => {}
                None => return Err("the transport connection did not come up".into()),
            }
        }
    }

    /// A connection after an ordinary negotiation.
    pub(super) fn established(&mut self) -> Result<(Id, Terms), Failure> {
        let id = self.connect()?;
        Ok((id, self.negotiate(id)?))
    }

    /// An ordinary negotiation.
    pub(super) fn negotiate(&mut self, id: Id) -> Result<Terms, Failure> {
        let request = Request { credits_requested: 255, ..Request::default() };
        self.say(id, &request.encode())?;
        let Seen::Message(bytes) = self.next(id, PATIENCE)? else {
            return Err("the connection ended in an ordinary negotiation".into());
        };
        let half = |at: usize| Some(u16::from_le_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
        let word = |at: usize| Some(u32::from(half(at)?) | u32::from(half(at + 2)?) << 16);
        let terms = || {
            Some(Terms { credits: half(10)?, max_receive_size: word(24)?, max_fragmented_size: word(28)? })
        };
        terms().ok_or_else(|| "the Negotiate Response is too short".into())
    }

    /// Sends these bytes. That there is no connection any more is seen by the next look.
    pub(super) fn say(&mut self, id: Id, bytes: &[u8]) -> Result<(), Failure> {
        self.order(id, Order::Send(bytes, None))
    }

    /// Sends a message that asks for credits and grants some.
    pub(super) fn send(&mut self, id: Id, data: &Data) -> Result<(), Failure> {
        self.say(id, &data.encode(255, 10))
    }

    /// Sends these bytes, and invalidates a token of the server.
    pub(super) fn say_invalidating(&mut self, id: Id, bytes: &[u8], token: Token) -> Result<(), Failure> {
        self.order(id, Order::Send(bytes, Some(token)))
    }

    /// The next message, or the end; a receive is posted in its place.
    pub(super) fn next(&mut self, id: Id, within: Duration) -> Result<Seen, Failure> {
        let until = self.until(within);
        match self.next_until(id, until)? {
            Some(seen) => Ok(seen),
            None => Err(format!("the server said nothing within {within:?}").into()),
        }
    }

    /// The same; `None` if nothing came.
    pub(super) fn next_until(&mut self, id: Id, until: Instant) -> Result<Option<Seen>, Failure> {
        loop {
            match self.news(id, until) {
                Some(News::Message(bytes, _)) => {
                    // Refused on a connection that is over, whose end comes next.
                    let _ = self.order(id, Order::Receive(1024));
                    return Ok(Some(Seen::Message(bytes)));
                }
                Some(News::Done(_, Err(error))) if error != WorkError::Flushed => {
                    return Ok(Some(Seen::Failed));
                }
                Some(News::Disconnected | News::ConnectFailed(_)) => return Ok(Some(Seen::Over)),
                Some(_) => {}
                None => return Ok(None),
            }
        }
    }

    /// Waits for the end of a connection, whatever comes before. One on which something could not be sent is ended from
    /// here: its device has stopped, and the server need not know.
    pub(super) fn ended(&mut self, id: Id) -> Result<(), Failure> {
        loop {
            match self.next(id, PATIENCE)? {
                Seen::Message(_) => {}
                Seen::Over => return Ok(()),
                Seen::Failed => {
                    // Refused if it is over already.
                    let _ = self.leave(id);
                    return Ok(());
                }
            }
        }
    }

    /// Ends a connection.
    pub(super) fn leave(&mut self, id: Id) -> Result<(), Failure> {
        self.order(id, Order::Disconnect)
    }

    pub(super) fn until(&self, within: Duration) -> Instant {
        self.rig.now().saturating_add(within)
    }

    fn order(&mut self, id: Id, order: Order<'_>) -> Result<(), Failure> {
        self.rig.order(id.0, order).map(|_| ()).map_err(|full| full.0.into())
    }

    fn news(&mut self, id: Id, until: Instant) -> Option<News> {
        loop {
            if let Some((_, news)) = self.rig.news(id.0) {
                return Some(news);
            }
            if self.rig.now() >= until {
                return None;
            }
            self.rig.pass(until);
        }
    }
}
