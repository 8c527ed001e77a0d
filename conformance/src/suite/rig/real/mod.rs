//! Real time: the script over connections of any [`Net`], the subject at the other end, be it part of this program or not.

mod remote;
mod requests;
mod rig;
mod streams;
mod subject;
mod target;
mod tcp;

use std::fmt;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd};

use rustix::event::PollFlags;
use smbd_core::backend::HostMemory;
use smbd_core::{Config, Instant};

use super::{Ability, Network, Opening, Unable};
pub use remote::Trigger;
pub(super) use rig::RealRig;
pub(super) use subject::Subject;
pub use target::{Foreign, Remote};

/// Where a subject is, or where it connects to.
pub trait Place: Clone + fmt::Display {
    /// What connections go over.
    type Net: Net + 'static;

    /// The net from now on: the origin of its time is now.
    fn net(&self) -> Self::Net;
}

/// What the connections of one play go over, and its clock.
pub trait Net {
    /// The script's end of a connection.
    type End: End;
    /// Where the script listens.
    type Door: AsFd;

    /// Whether a subject that is not part of this program is told by the net whether the script's end can have tokens invalidated.
    const TELLS_INVALIDATION: bool = false;

    /// The time.
    fn now(&self) -> Instant;

    /// Where the subject is, or where it connects to.
    fn ip(&self) -> IpAddr;

    /// Listens for a subject that connects.
    ///
    /// # Errors
    /// Why that cannot be.
    fn listen(&self) -> Result<Self::Door, Unable>;

    /// An end that connects when it is told to.
    ///
    /// # Errors
    /// There is no device for it.
    fn connect(&self, opening: &Opening, config: &Config) -> Result<Self::End, Unable>;

    /// The end for the next connection request; inside: why it cannot be accepted.
    ///
    /// # Errors
    /// Nothing can be listened for any more.
    fn accept(
        &self,
        door: &mut Self::Door,
        opening: &Opening,
        config: &Config,
    ) -> Result<Option<Result<Self::End, Unable>>, Unable>;

    /// Refuses the next connection request; `false` if there is none.
    fn refuse(&self, door: &mut Self::Door) -> bool;
}

/// One end of a connection of the script.
pub trait End: HostMemory {
    /// What to poll for before the next look.
    fn awaits(&self) -> Option<(BorrowedFd<'_>, PollFlags)>;

    /// To be called before waiting: whether there is something to look at, now.
    fn arm(&mut self) -> bool;

    /// As [`device_lacks`](super::Rig::device_lacks).
    fn lacks(&self, ability: Ability) -> Option<String> {
        let _ = ability;
        None
    }

    /// As [`network`](super::Rig::network).
    fn network(&self) -> Option<Network> {
        None
    }

    /// As [`device`](super::Rig::device).
    fn device(&self) -> Option<String> {
        None
    }

    /// As [`cut`](super::Rig::cut).
    ///
    /// # Errors
    /// As there.
    fn cut(&mut self) -> Result<(), Unable> {
        Err(Unable::NotApplicable("a connection cannot be dropped without a disconnect here".into()))
    }

    /// As [`trouble`](super::Rig::trouble).
    fn trouble(&self) -> Option<&str> {
        None
    }

    /// Drops it; that may take long.
    fn destroy(self)
    where
        Self: Sized,
    {
    }
}
