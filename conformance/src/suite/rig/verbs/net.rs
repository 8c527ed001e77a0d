//! RDMA devices as what connections go over.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd as _, BorrowedFd};

use rustix::event::PollFlags;
use smbd_core::{Config, Instant};
use smbd_verbs::quirks::Invalidate;
use smbd_verbs::{Clock, LinkType, ListenOptions, Listener, RejectReason, VerbsConnection};

use crate::suite::rig::real::{End, Net, Place};
use crate::suite::rig::{Ability, Network, Opening, Unable};

/// The device that has an address.
#[derive(Clone, Copy, Debug)]
pub struct VerbsNet {
    pub(super) at: SocketAddr,
    pub(super) clock: Clock,
}

impl Place for SocketAddr {
    type Net = VerbsNet;

    fn net(&self) -> VerbsNet {
        VerbsNet { at: *self, clock: Clock::start() }
    }
}

impl Net for VerbsNet {
    type End = VerbsConnection;
    type Door = Listener;

    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn ip(&self) -> IpAddr {
        self.at.ip()
    }

    fn listen(&self) -> Result<Listener, Unable> {
        Listener::bind(self.at, ListenOptions::default()).map_err(broken)
    }

    fn connect(&self, _: &Opening, config: &Config) -> Result<VerbsConnection, Unable> {
        VerbsConnection::connect(self.at, None, config, self.clock).map_err(broken)
    }

    fn accept(
        &self,
        door: &mut Listener,
        _: &Opening,
        config: &Config,
    ) -> Result<Option<Result<VerbsConnection, Unable>>, Unable> {
        let incoming = door.poll().map_err(broken)?;
        Ok(incoming.map(|incoming| incoming.accept(config, self.clock).map_err(broken)))
    }

    fn refuse(&self, door: &mut Listener) -> bool {
        let Ok(Some(incoming)) = door.poll() else { return false };
        // It may have been withdrawn meanwhile.
        let _ = incoming.reject(RejectReason::Unwanted);
        true
    }
}

impl End for VerbsConnection {
    fn awaits(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        Some((self.as_fd(), PollFlags::IN))
    }

    fn arm(&mut self) -> bool {
        // A device that cannot be asked says so with its next input.
        smbd_verbs::Waitable::arm(self).unwrap_or(true)
    }

    fn lacks(&self, ability: Ability) -> Option<String> {
        let quirks = self.quirks()?;
        let (lacks, what) = match ability {
            Ability::ReadRights => (quirks.read_right_unchecked, "checks no right of an RDMA Read"),
            Ability::Invalidation => (!self.remote_invalidation(), "does not tell of an invalidated token"),
            Ability::ForeignTokens => (quirks.invalidates_foreign, "invalidates tokens of other connections"),
            // The kernel does not survive it on rxe, and siw takes it without a word.
            Ability::InvalidationOnce => (
                quirks.invalidate == Invalidate::Free || !self.remote_invalidation(),
                "does not refuse the second invalidation of a token",
            ),
        };
        lacks.then(|| format!("{} {what}", quirks.name))
    }

    fn network(&self) -> Option<Network> {
        self.link_type().map(|link| match link {
            LinkType::Iwarp => Network::Iwarp,
            LinkType::Roce | LinkType::InfiniBand => Network::Roce,
        })
    }

    fn device(&self) -> Option<String> {
        Some(format!("{} ({})", VerbsConnection::device(self)?.name, self.link_type()?))
    }

    /// On a thread of its own: with rxe the kernel's connection manager takes more than a minute now and then to forget a
    /// connection (`cm_destroy_id` waits until a message of its own was sent 16 times, 4.3 s apart).
    fn destroy(self) {
        std::thread::spawn(move || drop(self));
    }
}

pub(super) fn broken(error: smbd_verbs::Error) -> Unable {
    Unable::Broken(error.to_string())
}
