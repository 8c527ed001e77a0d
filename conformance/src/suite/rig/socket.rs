//! The script over sockets, in real time: for any implementation that speaks the protocol of `docs/socket-target.md`.

use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd, BorrowedFd};

use rustix::event::PollFlags;
use smbd_core::{Config, Instant, Role};

use super::real::{End, Net, Place};
pub use super::real::{Foreign, Remote, Trigger};
use super::{Opening, Unable};
use crate::socket::{Address, Clock, Listener, SocketEnd};

/// Sockets of an address.
#[derive(Clone, Debug)]
pub struct SocketNet {
    at: Address,
    clock: Clock,
}

/// A listener.
#[derive(Debug)]
pub struct Door(Listener);

impl AsFd for Door {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Place for Address {
    type Net = SocketNet;

    fn net(&self) -> SocketNet {
        SocketNet { at: self.clone(), clock: Clock::start() }
    }
}

impl Net for SocketNet {
    type End = SocketEnd;
    type Door = Door;

    const TELLS_INVALIDATION: bool = true;

    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn ip(&self) -> IpAddr {
        match &self.at {
            Address::Tcp(at) => at.ip(),
            Address::Unix(_) => Ipv4Addr::LOCALHOST.into(),
        }
    }

    fn listen(&self) -> Result<Door, Unable> {
        let listener = self.at.listen();
        listener.map(Door).map_err(|error| Unable::Broken(format!("{}: {error}", self.at)))
    }

    fn connect(&self, opening: &Opening, config: &Config) -> Result<SocketEnd, Unable> {
        Ok(opened(SocketEnd::connect(&self.at, config, self.clock), opening))
    }

    fn accept(
        &self,
        door: &mut Door,
        opening: &Opening,
        config: &Config,
    ) -> Result<Option<Result<SocketEnd, Unable>>, Unable> {
        let broken = |error: std::io::Error| Unable::Broken(format!("{}: {error}", self.at));
        let Some(stream) = door.0.accept().map_err(broken)? else { return Ok(None) };
        let end = SocketEnd::new(stream, Role::Acceptor, config, self.clock).map_err(broken);
        Ok(Some(end.map(|end| opened(end, opening))))
    }

    fn refuse(&self, door: &mut Door) -> bool {
        let Ok(Some(stream)) = door.0.accept() else { return false };
        SocketEnd::refuse(stream);
        true
    }
}

/// An end of a device as a case asks for it.
fn opened(end: SocketEnd, opening: &Opening) -> SocketEnd {
    if opening.send_with_invalidate { end } else { end.keeping_tokens() }
}

impl End for SocketEnd {
    fn awaits(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        SocketEnd::awaits(self)
    }

    fn arm(&mut self) -> bool {
        self.has_input()
    }

    fn cut(&mut self) -> Result<(), Unable> {
        SocketEnd::cut(self);
        Ok(())
    }

    fn trouble(&self) -> Option<&str> {
        SocketEnd::trouble(self)
    }

    fn device(&self) -> Option<String> {
        Some("a socket".into())
    }
}
